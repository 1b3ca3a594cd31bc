"""Processes as the kernel shows them in /proc: who is alive, of which group, started when."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

PROC = "/proc"
PAGE = os.sysconf("SC_PAGE_SIZE")
MUCH = 65_536
"""Bytes that are read at a time; fewer are a file's last."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process. `start` is in ticks since the machine was started: together with the process's
    number it means one process for ever, until the machine is started again."""

    pid: int
    start: int
    parent: int
    group: int
    session: int
    zombie: bool
    resident: int  # bytes


def process(pid: int) -> Process | None:
    """The process of this number, even if it is dead and nobody waited for it yet; None: none."""
    try:
        text = _content(f"{pid}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may itself hold spaces and parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(
        pid,
        int(fields[19]),
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        fields[0] in (b"Z", b"X"),
        int(fields[21]) * PAGE,
    )


def processes() -> Iterator[Process]:
    """Every process there is, in the order of their numbers as far as the kernel lists them so."""
    for pid in _numbers():
        if (found := process(pid)) is not None:
            yield found


def started_with(name: str) -> Iterator[tuple[Process, str]]:
    """Every process that was started with this variable, and what it was; none that is dead."""
    for pid in _numbers():
        # Few have it, so only of those all is read; then once more, for the number may be another's
        # by now.
        if variable(pid, name) and (found := process(pid)) and (value := variable(pid, name)):
            yield found, value


def _numbers() -> Iterator[int]:
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def alive(pid: int, start: int) -> bool:
    """Whether exactly this process runs: its number may be another's by now."""
    found = process(pid)
    return found is not None and found.start == start and not found.zombie


def opened(pid: int) -> int | None:
    """A descriptor that means the process which has this number now; None: none has it. Raises
    OSError where no descriptor is left."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        # A thread has it, or only a group of processes whose first one is gone: Linux says EINVAL
        # of both up to 6.15, and then ENOENT of the one and ESRCH of the other.
        if error.errno in (errno.ESRCH, errno.EINVAL, errno.ENOENT):
            return None
        raise


def kill(pid: int, start: int, sent: signal.Signals) -> bool:
    """Send a signal to exactly this process. Whether it was there."""
    try:
        handle = opened(pid)
    except OSError:  # no descriptor is left: then by its number, right after a look
        return _kill_number(pid, start, sent)
    if handle is None:
        return False
    try:
        # The handle means one process. If that has the right start, so does who gets the signal.
        if not alive(pid, start):
            return False
        signal.pidfd_send_signal(handle, sent)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def children(pid: int) -> list[int]:
    """The children of a process that has one thread; none where the kernel does not say."""
    try:
        return [int(word) for word in _content(f"{pid}/task/{pid}/children").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _kill_number(pid: int, start: int, sent: signal.Signals) -> bool:
    if not alive(pid, start):
        return False
    try:
        os.kill(pid, sent)
    except ProcessLookupError:
        return False
    return True


def descendants(pid: int) -> Iterator[Process]:
    """The processes below one, however deep, each before those below it."""
    waiting = [pid]
    while waiting:
        for child in children(waiting.pop()):
            found = process(child)
            if found is not None:
                yield found
                waiting.append(child)


def variable(pid: int, name: str) -> str | None:
    """A variable of the environment that a process was started with; None: not set, or not shown
    to us."""
    try:
        text = b"\0" + _content(f"{pid}/environ")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    _, found, rest = text.partition(b"\0%b=" % name.encode())
    return os.fsdecode(rest.partition(b"\0")[0]) if found else None


def owner(pid: int) -> int | None:
    """The user of the system whose process this is."""
    try:
        return os.stat(f"{PROC}/{pid}").st_uid
    except FileNotFoundError:
        return None


def boot() -> str:
    """A name for the time since this machine was started."""
    return _content("sys/kernel/random/boot_id").decode().strip()


def _content(name: str) -> bytes:
    """What a file of /proc says. All processes are looked at each time, so by the system's calls
    alone: Python's own files cost several times as much."""
    file = os.open(f"{PROC}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = part = os.read(file, MUCH)
        while len(part) == MUCH:
            part = os.read(file, MUCH)
            content += part
    finally:
        os.close(file)
    return content
