"""Stands over one attempt: claims it, runs it as its user, and writes down its end.

A shim is a fork of the spawner, whose user it keeps: that of the service. Only its child, which
becomes the task, changes to the user of the tenant, and has by then nothing open and no folder by
which that user could reach the records. So whoever is not the service can neither write them nor
stop who does. The shim outlives the spawner and the service.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import time

from fairlead.engines.local.outputs import Outputs
from fairlead.engines.local.record_file import add, create

TYPE_CHECKING = False  # nor `typing`: see `Owner`
if TYPE_CHECKING:
    from typing import NoReturn

NO_FOLDER, CANNOT_RUN, NOT_FOUND = 125, 126, 127
"""The codes of a task that could not be started; the last two are a shell's."""

NOT_RUN = 75
"""The shim's exit code where the attempt was claimed before, or could not be."""

BROKEN = 76
"""The shim's exit code where the machine could not run the attempt."""

SPENT = (errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE)
"""The resources that the machine ran out of: the command is not to blame."""

OOM_SCORE = "500"
"""The system kills tasks before the service when memory runs out."""

LATER = 5.0
"""Seconds after the grace time in which the engine kills what it stopped; then its shim does, as
no service runs."""

PR_SET_DUMPABLE = 4

LIBRARY = ctypes.CDLL(None, use_errno=True)


class Owner:  # no named tuple and no dataclass: to load those is a third of the spawner's start
    """The user of the system as whom a task runs."""

    __slots__ = ("gid", "groups", "uid")

    def __init__(self, uid: int, gid: int, groups: tuple[int, ...]) -> None:
        self.uid, self.gid, self.groups = uid, gid, groups


class Order:
    """All that a shim has to know.

    `group`: the folder of the attempt's control group, which is made; `limits`: the contents of
    that folder's files; `most_output`: bytes of both outputs together; `grace`: seconds between the
    engine's gentle signal and its force; `claiming`: the folder of the spawner's claims, among the
    records: without it nothing is claimed."""

    def __init__(
        self,
        attempt: str,
        argv: list[bytes],
        env: dict[bytes, bytes],
        folder: bytes,
        outputs: tuple[int, int],
        owner: Owner | None,
        group: str | None,
        limits: dict[str, str],
        most_output: int,
        grace: float,
        claiming: str,
    ) -> None:
        self.attempt, self.argv, self.env, self.folder = attempt, argv, env, folder
        self.outputs, self.owner, self.group, self.limits = outputs, owner, group, limits
        self.most_output, self.grace, self.claiming = most_output, grace, claiming


def fork(order: Order, records: int, nothing: int) -> int:
    """Start a shim; its process number. Descriptors: of the folder of the records, of /dev/null.

    The process that calls this has one thread and buffers nothing. Its handlers of signals become
    the shim's: nothing that is sent to the whole group takes the shim along."""
    pid = os.fork()
    if pid:
        return pid
    code = BROKEN
    try:
        code = _stand_over(order, records, nothing)
    finally:
        os._exit(code)


def _stand_over(order: Order, records: int, nothing: int) -> int:
    os.setsid()
    signal.set_wakeup_fd(-1)
    os.chdir("/")  # what tasks of the service's own user see of a shim leads nowhere
    close_all({records, nothing, *order.outputs})
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    uid = os.geteuid() if order.owner is None else order.owner.uid
    with open("/proc/self/stat", "rb") as file:
        stat = file.read()
    start = int(stat[stat.rindex(b")") + 2 :].split()[19])
    try:
        claim = f"{os.getpid()} {start} {uid}\n"
        if not create(f"{order.attempt}.claim", claim, records, order.claiming):
            return NOT_RUN
    except OSError:  # a full disk, or there is another spawner
        return NOT_RUN
    stopping = _Stopping(order, records)
    try:
        line, code = _run(order, records, stopping)
    except OSError as error:
        line, code = f"broken {BROKEN} {error.errno or errno.EIO}", BROKEN
    try:
        create(f"{order.attempt}.status", f"{line}\n", records)
    except OSError:  # a full disk, perhaps of what this task wrote
        with contextlib.suppress(OSError):  # the exit code tells the spawner
            add(f"{order.attempt}.claim", f"{line} {time.time_ns()}\n", records)
    stopping.clear()
    return code


def _run(order: Order, records: int, stopping: _Stopping) -> tuple[str, int]:
    """Runs the task to its end; the line to be written down, and the code to exit with."""
    if order.group is not None:
        _make_group(order.group, order.limits)
    heard, told = os.pipe()
    uid = None if order.owner is None else order.owner.uid

    def cut(_kept: int) -> bool:
        return os.access(f"{order.attempt}.cut", os.F_OK, dir_fd=records)

    outputs = Outputs(order.outputs, order.most_output, uid, cut)
    child = os.fork()
    if child == 0:
        try:
            _become(order, told, outputs.writing)
        finally:
            os._exit(BROKEN)
    os.close(told)
    outputs.close_writing()
    line = os.read(heard, 100).decode()  # empty once exec closed the other end
    os.close(heard)
    stopping.begin(child)
    outputs.pass_on(child)
    stopping.end()
    _, status = os.waitpid(child, 0)
    if line:
        return line, int(line.split()[1])
    code = os.waitstatus_to_exitcode(status)
    code = code if code >= 0 else 128 - code  # as a shell tells of a signal
    return f"exit {code} {int(outputs.missing)}", code


class _Stopping:
    """Kills a task that the engine stopped where no engine does once its grace time is over."""

    def __init__(self, order: Order, records: int) -> None:
        self._order, self._records = order, records
        self._child: int | None = None
        self._asked = self._killed = False

    def begin(self, child: int) -> None:
        """From now on the task can be stopped."""
        self._child = child
        signal.signal(signal.SIGALRM, self._kill)
        signal.signal(signal.SIGTERM, self._hear)

    def end(self) -> None:
        """Once the task is over, before its number can be another's."""
        self._child = None

    def clear(self) -> None:
        """Kills what is left of a task that was killed, and this process with it."""
        if not self._killed:
            return
        if self._order.group is not None:
            with contextlib.suppress(OSError):  # an old kernel has no such file
                _write(f"{self._order.group}/cgroup.kill", "1")
        os.killpg(0, signal.SIGKILL)

    def _hear(self, *_: object) -> None:
        """The gentle signal, which others may send, too."""
        why = f"{self._order.attempt}.why"
        if not self._asked and os.access(why, os.F_OK, dir_fd=self._records):
            self._asked = True
            signal.setitimer(signal.ITIMER_REAL, self._order.grace + LATER)

    def _kill(self, *_: object) -> None:
        if self._asked and self._child is not None:
            self._killed = True
            os.kill(self._child, signal.SIGKILL)


def _make_group(folder: str, limits: dict[str, str]) -> None:
    os.mkdir(folder, 0o755)
    for name, value in limits.items():
        _write(f"{folder}/{name}", value)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _become(order: Order, told: int, outputs: tuple[int, int]) -> NoReturn:
    """Become the task, or tell why that cannot be."""
    kind, code = "broken", BROKEN
    try:
        for number, descriptor in enumerate(outputs, 1):
            os.dup2(descriptor, number)
        _write("/proc/self/oom_score_adj", OOM_SCORE)
        if order.group is not None:
            _write(f"{order.group}/cgroup.procs", "0")
        os.umask(0o022)
        # Python ignores them, and what is ignored would be ignored by the task.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if order.owner is not None:
            uid, gid = order.owner.uid, order.owner.gid
            os.setgroups(order.owner.groups)
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            # Until exec the memory is the spawner's: other processes of this user do not see it.
            LIBRARY.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        kind, code = "missed", NO_FOLDER
        os.chdir(order.folder)
        code = CANNOT_RUN
        _execute(order)
    except ValueError:  # text that is no text for the system
        number = errno.EINVAL
    except OSError as error:
        number = error.errno or errno.EIO
    if number in SPENT:
        kind, code = "broken", BROKEN
    elif (code, number) == (CANNOT_RUN, errno.ENOENT):
        code = NOT_FOUND
    os.write(told, f"{kind} {code} {number}".encode())
    os._exit(BROKEN)


def _execute(order: Order) -> NoReturn:
    """Run the program, looked for as by a shell; one that names no interpreter is the shell's."""
    program = order.argv[0]
    search = order.env.get(b"PATH", b"").split(b":")
    failed = OSError(errno.ENOENT, "there is no such program")
    for place in [b""] if b"/" in program else search:
        path = os.path.join(place, program)
        try:
            os.execve(path, order.argv, order.env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                os.execve("/bin/sh", [b"sh", path, *order.argv[1:]], order.env)
            failed = error
    raise failed


def close_all(kept: set[int]) -> None:
    """Close all descriptors above the first three but for these."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            with contextlib.suppress(OSError):  # that by which they are listed
                os.close(int(name))
