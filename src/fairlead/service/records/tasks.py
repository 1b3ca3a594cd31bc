"""The table of all tasks of all jobs: plain columns, so that a million tasks stay small."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import IntEnum

from fairlead.scheduling.transitions import TaskState

NO_TIME = 0
"""No attempt starts in 1970."""


class Outcome(IntEnum):
    """An attempt's end, as far as one can tell; the first six are the engine's causes."""

    NONE = 0  # it has not
    EXITED = 1
    SIGNALLED = 2
    TIME_LIMIT = 3
    MEMORY = 4
    STOPPED = 5
    NOT_STARTED = 6
    LOST = 7  # nobody will ever say


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task with its last attempt, if there was one. Times are the engine's, in
    microseconds since 1970. `tries`: how many retries were spent. `why`: what there is to say of
    the end. `code`: the exit code, or the signal."""

    task: int
    state: TaskState
    attempt: int  # 0: none so far
    tries: int
    machine: str | None
    outcome: Outcome
    code: int
    launched: int | None  # the service's time
    started: int | None
    ended: int | None
    why: str = ""
    pieces: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """An attempt that is over, and is not the task's last."""

    attempt: int
    machine: str
    outcome: Outcome
    code: int
    launched: int
    started: int | None
    ended: int | None
    why: str = ""


COLUMNS = {
    "state": "b",
    "attempt": "i",
    "tries": "i",
    "machine": "i",
    "outcome": "b",
    "code": "i",
    "launched": "q",
    "started": "q",
    "ended": "q",
}
"""Of each column the type of its numbers."""


class TaskTable:
    """Rows of tasks; those of a job stand together. Rows of forgotten jobs are swept out once they
    are more than half."""

    def __init__(self) -> None:
        self.state = array("b")
        self.attempt = array("i")
        self.tries = array("i")
        self.machine = array("i")
        self.outcome = array("b")
        self.code = array("i")
        self.launched = array("q")
        self.started = array("q")
        self.ended = array("q")
        self.free = 0  # rows that belong to nobody

    def __len__(self) -> int:
        return len(self.state)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TaskTable):
            return NotImplemented
        return self.columns() == other.columns() and self.free == other.free

    __hash__ = None  # type: ignore[assignment]  # it changes

    def columns(self) -> dict[str, array[int]]:
        return {name: getattr(self, name) for name in COLUMNS}

    def add(self, count: int) -> int:
        """The first of so many new rows of tasks that wait."""
        first = len(self.state)
        for column in self.columns().values():
            column.frombytes(bytes(count * column.itemsize))
        return first

    def move(self, first: int, count: int, to: int) -> int:
        """The first of `to` rows, whose beginning is a copy of these; these are free then."""
        new = self.add(to)
        keep = min(count, to)
        for column in self.columns().values():
            column[new : new + keep] = column[first : first + keep]
        self.free += count
        return new

    def wasteful(self) -> bool:
        """Whether it is time to sweep."""
        return self.free > 4096 and self.free * 2 > len(self.state)

    def sweep(self, ranges: list[tuple[int, int]]) -> list[int]:
        """Keeps only these rows (first, count), in this order; where each range begins now."""
        firsts, at = [], 0
        pieces: list[tuple[int, int]] = []  # that are copied at once: from where to where
        for first, count in ranges:
            firsts.append(at)
            if count:
                at += count
                begins = pieces.pop()[0] if pieces and pieces[-1][1] == first else first
                pieces.append((begins, first + count))
        for name, column in self.columns().items():
            size, rows = column.itemsize, memoryview(column).cast("B")
            kept = b"".join(rows[first * size : end * size] for first, end in pieces)
            setattr(self, name, array(COLUMNS[name], kept))
        self.free = 0
        return firsts
