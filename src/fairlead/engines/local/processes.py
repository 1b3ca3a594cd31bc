"""Processes as the kernel shows them in /proc: who is alive, of which group, started when."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PAGE = os.sysconf("SC_PAGE_SIZE")


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
        text = Path(f"/proc/{pid}/stat").read_bytes()
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
    for name in os.listdir(PROC):
        if name.isdigit() and (found := process(int(name))) is not None:
            yield found


def alive(pid: int, start: int) -> bool:
    """Whether exactly this process runs: its number may be another's by now."""
    found = process(pid)
    return found is not None and found.start == start and not found.zombie


def kill(pid: int, start: int, sent: signal.Signals) -> bool:
    """Send a signal to exactly this process. Whether it was there."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except OSError:  # no descriptor is left: then by its number, right after a look
        return _kill_number(pid, start, sent)
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
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
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
        text = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    prefix = name.encode() + b"="
    for entry in text.split(b"\0"):
        if entry.startswith(prefix):
            return os.fsdecode(entry[len(prefix) :])
    return None


def owner(pid: int) -> int | None:
    """The user of the system whose process this is."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except FileNotFoundError:
        return None


def boot() -> str:
    """A name for the time since this machine was started."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()
