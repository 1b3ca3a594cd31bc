"""Reads an attempt's end from its shim's record, and kills its remnants."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, Lost
from fairlead.engines.local.environment import RUN
from fairlead.engines.local.memory import limit_of
from fairlead.engines.local.outputs import MISSING
from fairlead.engines.local.processes import (
    Process,
    children,
    kill,
    owner,
    process,
    processes,
    started_with,
    variable,
)
from fairlead.engines.local.records import Claim, Status, parse
from fairlead.engines.local.shim import CANNOT_RUN, NO_FOLDER
from fairlead.engines.local.task import Phase, Task
from fairlead.model.words import size

SIGNALS = 64
"""A shell says 128 and the signal of a task that was killed by one of these."""


def end(
    attempt: Attempt,
    assignment: Assignment | None,
    claim: Claim,
    status: Status | None,
    stopped: tuple[Cause, int] | None,
    code: int | None,
    now: int,
) -> Ended | Lost:
    """The end of an attempt whose shim is dead: by what the shim wrote, by why and since when
    (nanoseconds) the engine stopped it, and by the code with which the shim exited, where that is
    known: it stands in for an end that could not be written down."""
    if status is None and code is not None and code >= 0:
        status = Status("exit", code, 0, now * 1000)
    if stopped is not None and (status is None or status.time >= stopped[1]):
        cause = stopped[0]
        time = now if status is None else status.time // 1000
        number = int(signal.SIGKILL) if status is None else _signal(status.code) or status.code
        return Ended(attempt, cause, number, max(time, claim.time), claim.time)
    if status is None:
        why = "its shim was killed, so its exit code is not known"
        return Lost(attempt, True, why, machine_at_fault=False)
    time = max(status.time // 1000, claim.time)
    if status.kind == "broken":
        return Lost(attempt, False, f"it could not be started: {os.strerror(status.number)}")
    if status.kind == "missed":
        message = _missed_message(status, assignment)
        return Ended(attempt, Cause.NOT_STARTED, status.code, time, None, message)
    killed = _signal(status.code)
    if killed:
        name = signal.Signals(killed).name if killed in set(signal.Signals) else str(killed)
        said = "; ".join(filter(None, (f"killed by {name}", MISSING.get(status.number))))
        return Ended(attempt, Cause.SIGNALLED, killed, time, claim.time, said)
    said = MISSING.get(status.number, "")
    return Ended(attempt, Cause.EXITED, status.code, time, claim.time, said)


def memory_message(assignment: Assignment | None, used: int | None) -> str:
    """How much memory a task took that was stopped for it, and how much it had asked for; `used` is
    not known where the kernel stopped it, or the engine was started anew meanwhile."""
    asked = limit_of(assignment)
    if asked is None:
        return "it took more memory than it asked for"
    if used is None:
        return f"it took more than the {size(asked)} of memory that it asked for"
    return f"it took {size(used)} of memory, and asked for {size(asked)}"


def _signal(code: int) -> int:
    return code - 128 if 128 < code <= 128 + SIGNALS else 0


def _missed_message(status: Status, assignment: Assignment | None) -> str:
    command = assignment.command if assignment else None
    program = repr(command[0]) if isinstance(command, tuple) else "the shell"
    if status.code == NO_FOLDER:
        named = assignment is not None and assignment.cwd is not None
        folder = f"the folder {assignment.cwd!r}" if named and assignment else "its working folder"
        return f"{folder} cannot be entered: {os.strerror(status.number)}"
    if status.code == CANNOT_RUN:
        return f"{program} cannot be run: {os.strerror(status.number)}"
    return f"there is no program {program}"


class Remnants:
    """Finds what is left of attempts whose shims are dead, and kills it."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._runs: dict[int, tuple[int, str]] = {}

    def clear(
        self,
        dead: Mapping[Attempt, int],
        users: Mapping[Attempt, int],
        reaper: int | None,
        shims: Iterable[int],
    ) -> set[Attempt]:
        """Kill what is left of these attempts, given with their sessions (0: nobody knows); those
        of which there was something, so that it is to be looked again. `users`: as whom each ran:
        another user's process can say of itself what it likes.

        `reaper`: their orphans are its children; None: they can be anywhere. `shims` are none.
        """
        if reaper is None:
            found = list(processes())
        else:
            skipped = set(shims)
            orphans = (process(pid) for pid in children(reaper) if pid not in skipped)
            found = [one for one in orphans if one is not None]
        sessions = {session: attempt for attempt, session in dead.items() if session}
        # A live process with the number of a dead shim is a later one. The kernel gives no number
        # anew that a session or a group still has, so nothing with that number is ours.
        for one in found:
            if not one.zombie:
                sessions.pop(one.pid, None)
        words = {f"{self._engine}:{attempt}": attempt for attempt in dead}
        left: set[Attempt] = set()
        for one in found:
            attempt = sessions.get(one.session) or sessions.get(one.group)
            if attempt is None:
                attempt = next((words[w] for w in self._words(one) if w in words), None)
                if attempt is not None and owner(one.pid) != users[attempt]:
                    continue
            if attempt is not None and not one.zombie:
                left.add(attempt)
                kill(one.pid, one.start, signal.SIGKILL)
        if reaper is not None:
            left |= {attempt for attempt, session in dead.items() if _group(session)}
        self._runs = {one.pid: self._runs[one.pid] for one in found if one.pid in self._runs}
        return left

    def _words(self, one: Process) -> list[str]:
        """The attempts that a process belongs to by its environment."""
        known = self._runs.get(one.pid)
        if known is None or known[0] != one.start or not known[1]:
            known = (one.start, variable(one.pid, RUN) or "")
            self._runs[one.pid] = known
        return known[1].split()


def kill_others(engine: str, followed: Mapping[Attempt, Task]) -> None:
    """Kill whatever says of itself that it is of an attempt of this engine that is not under way:
    what was left behind, and what hid its claim."""
    prefix = f"{engine}:"
    for one, runs in started_with(RUN):
        for word in runs.split():
            attempt = parse(word.removeprefix(prefix)) if word.startswith(prefix) else None
            task = followed.get(attempt) if attempt else None
            if attempt and (task is None or task.phase is Phase.OVER):
                kill(one.pid, one.start, signal.SIGKILL)


def _group(number: int) -> bool:
    """Whether a group of processes has members, which were sent SIGKILL already."""
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    leader = process(number)
    return leader is None or leader.zombie  # else the number is a later process's
