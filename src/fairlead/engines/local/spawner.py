"""A small process: it starts the shims, waits for them, and inherits what they leave behind.

It is run as a program of its own and imports nothing of Fairlead. It goes away with the engine: at
the end of its input, or once its parent is another. Forking from here is cheap and safe, whatever
threads and memory the service has; waiting for any child takes no other's child away; and being the
reaper of its descendants it keeps hold of processes that left their parents.

Messages to it: a length of 4 bytes, then JSON. Messages from it: lines of words.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

PR_SET_CHILD_SUBREAPER = 36

COMMAND, MACHINE = "command", "machine"
"""The two that can be to blame where an attempt could not be started."""

BLAMELESS_MACHINE = (errno.E2BIG, errno.EINVAL, errno.ENAMETOOLONG)

JOBS_A_FOLDER = 1000
"""Jobs whose outputs share a folder."""

SAYING = Lock()
"""Two threads say something: never one in the middle of the other's line."""

LOOK = 0.5
"""Seconds until it looks whether its parent is still there."""


def main() -> None:
    """Serve the engine at the other end of a socket (its descriptor is given), holding a lock."""
    door = socket.socket(fileno=int(sys.argv[1]))
    door.setblocking(True)
    os.set_inheritable(door.fileno(), False)
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A terminal's Ctrl-C is the service's affair. Handlers, for an ignored signal would be ignored
    # by everything that is started here, as some are where the service is started in a script's
    # background.
    for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
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
    awake, wake = os.pipe()
    for end in (awake, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    _say(door, f"ready {os.getpid()}\n")
    old: SimpleQueue[str] = SimpleQueue()
    Thread(target=_remove_all, args=(old, door, sys.argv[3], sys.argv[4]), daemon=True).start()
    _serve(door, awake, nothing, parent, old)


def _serve(
    door: socket.socket, awake: int, nothing: int, parent: int, old: SimpleQueue[str]
) -> None:
    shims: set[int] = set()
    buffer = bytearray()
    while True:
        ready, _, _ = select.select([door.fileno(), awake], [], [], LOOK)
        if os.getppid() != parent:
            return
        if awake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(awake, 4096)
        if door.fileno() in ready:
            try:
                data = door.recv(1 << 18)
            except ConnectionResetError:  # the engine was killed before it read everything
                return
            if not data:
                return
            buffer += data
        for message in _messages(buffer):
            _do(message, nothing, shims, door, old)
            _reap(shims, door)  # a long batch must not hold back the ends of short tasks
        _reap(shims, door)


def _messages(buffer: bytearray) -> list[Any]:
    found = []
    while len(buffer) >= 4:
        length = int.from_bytes(buffer[:4], "big")
        if len(buffer) < 4 + length:
            break
        found.append(json.loads(bytes(buffer[4 : 4 + length])))
        del buffer[: 4 + length]
    return found


def _say(door: socket.socket, text: str) -> None:
    with SAYING:
        try:
            door.sendall(text.encode())
        except OSError:
            os._exit(0)  # the engine is gone


def _do(
    message: Any, nothing: int, shims: set[int], door: socket.socket, old: SimpleQueue[str]
) -> None:
    for path in message.get("remove", ()):
        old.put(path)
    if "attempt" not in message:
        return
    try:
        pid = _start(message, nothing)
    except (OSError, ValueError) as error:  # ValueError: text that is no text for the system
        number = error.errno if isinstance(error, OSError) else errno.EINVAL
        blame = COMMAND if number in BLAMELESS_MACHINE else MACHINE
        why = " ".join(str(error).split())
        _say(door, f"failed {message['attempt']} {blame} {why}\n")
        return
    shims.add(pid)
    _say(door, f"started {message['attempt']} {pid} {time.time_ns() // 1000}\n")


def _start(message: Any, nothing: int) -> int:
    """Start the shim of an attempt in a session of its own; its process number."""
    records, work, owner = message["records"], message["work"], message["owner"]
    argv = [os.fsencode(word) for word in message["argv"]]
    env = {os.fsencode(key): os.fsencode(value) for key, value in message["env"].items()}
    opened: list[int] = []
    try:
        opened.extend(_output(path, owner) for path in message["outputs"])
        if work:  # after the outputs, so that a folder without them is a forgotten one
            _folder(work, owner)
        os.chdir(records)
        if owner is None:
            return os.posix_spawn(
                argv[0],
                argv[1:],
                env,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, nothing, 0),
                    (os.POSIX_SPAWN_DUP2, opened[0], 1),
                    (os.POSIX_SPAWN_DUP2, opened[1], 2),
                ],
                setsid=True,
                setsigmask=[],
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores them
            )
        child = subprocess.Popen(
            argv[1:],
            executable=argv[0],
            env=env,
            stdin=nothing,
            stdout=opened[0],
            stderr=opened[1],
            start_new_session=True,
            user=owner[0],
            group=owner[1],
            extra_groups=owner[2],
        )
        child.returncode = 0  # it is waited for below, with all others
        return child.pid
    finally:
        for one in opened:
            os.close(one)
        os.chdir("/")


def _folder(path: str, owner: list[Any] | None) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    if owner is not None:
        os.chown(path, owner[0], owner[1])


def _output(path: str, owner: list[Any] | None) -> int:
    """A file for output, made with the folder that it is in where that is not there."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        file = os.open(path, flags, 0o600)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), 0o700)
        file = os.open(path, flags, 0o600)
    if owner is not None:
        os.fchown(file, owner[0], owner[1])
    return file


def _remove_all(old: SimpleQueue[str], door: socket.socket, work: str, outputs: str) -> None:
    """Remove folders for ever: a large one must not hold back the starts. `?` before a path: only
    if it is empty."""
    for name in os.listdir(work) if os.path.isdir(work) else ():
        # What a spawner of before did not get round to: outputs are forgotten first.
        job = name.partition(".")[0]
        if job.isdigit() and not os.path.exists(
            f"{outputs}/{int(job) // JOBS_A_FOLDER}/{name}.stdout"
        ):
            old.put(f"{work}/{name}")
    while True:
        path = old.get()
        try:
            os.rmdir(path.removeprefix("?"))
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno == errno.ENOTEMPTY and path.startswith("?"):
                continue
            try:
                shutil.rmtree(path)
            except OSError as worse:
                why = " ".join(str(worse).split())
                _say(door, f"kept {why}\n")


def _reap(shims: set[int], door: socket.socket) -> None:
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
        if pid in shims:
            # As long as nobody waited for the shim, its number is nobody else's.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if pid in shims:
            shims.discard(pid)
            code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            said.append(f"dead {pid} {code}\n")
    if said:
        _say(door, "".join(said))


if __name__ == "__main__":
    main()
