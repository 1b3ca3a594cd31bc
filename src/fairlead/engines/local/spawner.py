"""A small process: it starts the shims, waits for them, and inherits what they leave behind.

It is run as a program of its own, and imports of Fairlead only what it and its forks run. It goes
away with the engine: at the end of its input, or once its parent is another. It has one thread and
little memory, so that forking from it is safe and cheap, whatever the service has; waiting for any
child takes no other's child away; and being the reaper of its descendants it keeps hold of
processes that left their parents.

Messages to it: a length of 4 bytes, then what `marshal` makes of a tree: who sends it runs the same
Python, and to load JSON takes a fifth as long as all this. Messages from it: lines of words.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import marshal
import os
import select
import signal
import sys
import time

from fairlead.engines.local.cleaner import Cleaner, serve, write_all
from fairlead.engines.local.shim import LIBRARY, Order, Owner, close_all, fork

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from typing import Any

PR_SET_CHILD_SUBREAPER = 36

COMMAND, MACHINE = "command", "machine"
"""The two that can be to blame where an attempt could not be started."""

BLAMELESS_MACHINE = (errno.E2BIG, errno.EINVAL, errno.ENAMETOOLONG)

JOBS_A_FOLDER = 1000
"""Jobs whose outputs share a folder."""

CLAIMING = "claiming-"
"""How the name of the folder begins in which a spawner's shims write their claims. It is beside
that of the records."""

LOOK = 0.5
"""Seconds until it looks whether its parent is still there."""

OWN_FAULT = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""Signals that nobody survives."""


def main() -> None:
    """Serve the engine at the other end of a socket (its descriptor is given), holding a lock; then
    come the folders of records, of working folders and of outputs."""
    given = int(sys.argv[1])
    # A low number: `select` knows none above 1023, and the service may have more files open.
    door = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, 0)
    os.close(given)
    os.set_blocking(door, True)
    parent = os.getppid()
    LIBRARY.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A terminal's Ctrl-C is the service's affair, and what a task sends to its own group is its
    # own. Handlers, for an ignored signal would be ignored by everything that is started here, as
    # some are where the service is started in a script's background.
    for one in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, *OWN_FAULT}:
        with contextlib.suppress(OSError):  # the C library has two for itself
            signal.signal(one, lambda *_: None)
    os.umask(0o022)
    lock = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    while True:  # whoever had it is about to go, or is another service's
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            if os.getppid() != parent:
                return
            time.sleep(0.01)
    gc.freeze()  # forks share what no collection writes to
    Spawner(door, parent, sys.argv[3], sys.argv[4], sys.argv[5]).serve()


class Spawner:
    """Serves one engine. Descriptors: the engine's socket, the folder of the records, /dev/null."""

    def __init__(self, door: int, parent: int, records: str, work: str, outputs: str) -> None:
        self._door, self._parent = door, parent
        self._work, self._outputs = work, outputs
        self._records = os.open(records, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._shims: set[int] = set()
        self._awake, wake = os.pipe()
        for end in (self._awake, wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake)
        _fence(os.path.dirname(records))
        self._claiming = ""
        self._say(f"ready {os.getpid()}\n")
        self._cleaner = Cleaner(work, self._first_output, self._clean)

    def serve(self) -> None:
        """Do what the engine asks for, until it is gone."""
        buffer = bytearray()
        while True:
            door, cleaner = self._door, self._cleaner.fileno()
            ready, _, _ = select.select([door, cleaner, self._awake], [], [], LOOK)
            if os.getppid() != self._parent:
                return
            if self._awake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._awake, 4096)
            if cleaner in ready:
                self._tell_kept(self._cleaner.hear())
            if door in ready:
                try:
                    data = os.read(door, 1 << 18)
                except ConnectionResetError:  # the engine was killed before it read everything
                    return
                if not data:
                    return
                buffer += data
            for message in _messages(buffer):
                self._do(message)
                self._reap()  # a long batch must not hold back the ends of short tasks
            self._reap()

    def _say(self, text: str) -> None:
        try:
            write_all(self._door, text.encode(errors="replace"))
        except OSError:
            os._exit(0)  # the engine is gone

    def _tell_kept(self, folders: list[str]) -> None:
        for why in folders:
            self._say(f"kept {why}\n")

    def _do(self, message: Any) -> None:
        if "remove" in message:
            self._tell_kept(self._cleaner.add(message["remove"]))
            return
        try:
            pid = self._start(message)
        except (OSError, ValueError) as error:  # ValueError: text that is no text for the system
            number = error.errno if isinstance(error, OSError) else errno.EINVAL
            blame = COMMAND if number in BLAMELESS_MACHINE else MACHINE
            why = " ".join(str(error).split())
            self._say(f"failed {message['attempt']} {blame} {why}\n")
            return
        self._shims.add(pid)
        self._say(f"started {message['attempt']} {pid} {time.time_ns() // 1000}\n")

    def _start(self, message: Any) -> int:
        """Start the shim of an attempt in a session of its own; its process number."""
        owner = message["owner"] and Owner(*message["owner"])
        argv = [os.fsencode(word) for word in message["argv"]]
        env = {os.fsencode(key): os.fsencode(value) for key, value in message["env"].items()}
        folder = os.fsencode(message["folder"])
        # The disk may have been full, and a task of the service's user removes what it likes.
        if not (self._claiming and os.access(self._claiming, os.F_OK, dir_fd=self._records)):
            name = f"../{CLAIMING}{os.urandom(8).hex()}"
            os.mkdir(name, 0o700, dir_fd=self._records)
            self._claiming = name
        opened: list[int] = []
        try:
            # What an attempt finds under its name that was never launched is another's.
            fresh = message["fresh"]
            opened.extend(_output(path, owner, fresh) for path in message["outputs"])
            if message["own_folder"]:  # after the outputs: a folder without them is a forgotten one
                if fresh and os.path.lexists(folder):
                    self._tell_kept(self._cleaner.add([message["attempt"]]))
                _make_folder(folder, owner)
            order = Order(
                message["attempt"],
                argv,
                env,
                folder,
                (opened[0], opened[1]),
                owner,
                message["group"],
                message["limits"],
                message["most_output"],
                message["grace"],
                self._claiming,
            )
            return fork(order, self._records, self._nothing)
        finally:
            for one in opened:
                os.close(one)

    def _clean(self, reading: int, writing: int) -> None:
        """The life of the process that removes folders."""
        signal.set_wakeup_fd(-1)
        close_all({reading, writing})
        serve(reading, writing, self._work, self._first_output)

    def _first_output(self, name: str) -> str:
        """The path of an output that the attempt of this name has until it is forgotten."""
        job = int(name.partition(".")[0])
        return f"{self._outputs}/{job // JOBS_A_FOLDER}/{name}.stdout"

    def _reap(self) -> None:
        """Tell the ends of shims, once what is left of their groups was killed."""
        said = []
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                break
            if found is None:
                break
            pid = found.si_pid
            if pid in self._shims:
                # As long as nobody waited for the shim, its number is nobody else's.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            if pid in self._shims:
                self._shims.discard(pid)
                code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
                said.append(f"dead {pid} {code}\n")
            elif pid == self._cleaner.pid:
                self._tell_kept(self._cleaner.bury())
        if said:
            self._say("".join(said))


def _messages(buffer: bytearray) -> list[Any]:
    found = []
    while len(buffer) >= 4:
        length = int.from_bytes(buffer[:4], "big")
        if len(buffer) < 4 + length:
            break
        found.append(marshal.loads(bytes(buffer[4 : 4 + length])))
        del buffer[: 4 + length]
    return found


def _fence(above: str) -> None:
    """From now on no shim of a spawner of before claims anything: one that stood still meanwhile
    would have the next attempt of its number, which may be another journal's. It writes its claim
    in a folder that is gone, and gives it its name from there, which is one step of the system."""
    for name in os.listdir(above):
        if not name.startswith(CLAIMING):
            continue
        gone = f"{above}/{CLAIMING}{os.urandom(8).hex()}"
        os.rename(f"{above}/{name}", gone)
        with contextlib.suppress(OSError):  # what is left is tried again by the next one
            for each in os.listdir(gone):
                os.unlink(f"{gone}/{each}")
            os.rmdir(gone)


def _make_folder(path: bytes, owner: Owner | None) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    if owner is not None:
        os.chown(path, owner.uid, owner.gid)


def _output(path: str, owner: Owner | None, fresh: bool) -> int:
    """A file for output, made with the folder that it is in where that is not there; an empty one
    where it is to be `fresh`."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    flags |= os.O_TRUNC if fresh else 0
    file = None
    while file is None:  # the engine removes a folder that it finds empty
        try:
            file = os.open(path, flags, 0o600)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                os.mkdir(os.path.dirname(path), 0o700)
    if owner is not None:
        os.fchown(file, owner.uid, owner.gid)
    return file
