"""An attempt on its way from its launch to its end, and what is to be done with it at some time."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, Lost

DEAD_TIMERS = 1000
"""Timers of attempts that are over: a time limit of years would be waited for."""


class Phase(Enum):
    """An attempt's way from its launch to its end."""

    ORDERED = "ordered"  # the spawner was told
    RUNNING = "running"
    CLEARING = "clearing"  # its shim is dead, something of it may not be
    OVER = "over"


@dataclass(slots=True)
class Task:
    """An attempt whose end was not acknowledged."""

    attempt: Attempt
    assignment: Assignment | None
    phase: Phase = Phase.ORDERED
    pid: int = 0
    start: int = 0  # of a shim that is no child of the present spawner
    own: bool = True  # its shim is a child of the present spawner
    uid: int = field(default_factory=os.geteuid)  # as whom it runs
    grouped: bool = False  # it has a control group
    cut: bool = False  # its shim was told to keep no more of what it writes
    silent: bool = False  # nobody expects it, so nothing is reported of it
    begun: float = 0.0  # by the steady clock
    time: int = 0  # in microseconds since 1970
    start_reported: bool = False
    stopping: Cause | None = None
    used: int | None = None  # bytes of memory, where it was stopped for these
    stopped: int = 0  # since when, in nanoseconds since 1970
    over: Ended | Lost | None = None
    timers: int = 0  # the number of its first timer; those before it are of who had its name

    def under_way(self) -> bool:
        """Whether its shim may be at work."""
        return self.phase in (Phase.ORDERED, Phase.RUNNING)


class Timer(Enum):
    """Actions on a task that are due at some time."""

    SAY = "say that it started"
    LIMIT = "its time limit has passed"
    GENTLY = "tell it to stop"
    BY_FORCE = "kill it"


class Timers:
    """Actions on those of these tasks that run, each at a time of the steady clock."""

    def __init__(self, tasks: Mapping[Attempt, Task]) -> None:
        self._tasks = tasks
        self._heap: list[tuple[float, int, Attempt, Timer]] = []
        self._count = 0

    def add(self, when: float, task: Task, timer: Timer) -> None:
        if len(self._heap) > len(Timer) * len(self._tasks) + DEAD_TIMERS:
            self._heap = [each for each in self._heap if each[2] in self._tasks]
            heapq.heapify(self._heap)
        self._count += 1
        task.timers = task.timers or self._count
        heapq.heappush(self._heap, (when, self._count, task.attempt, timer))

    def due(self) -> float:
        """When the next one is; infinity: there is none. Those of what no longer runs are none."""
        while self._heap:
            when, number, attempt, _ = self._heap[0]
            task = self._tasks.get(attempt)
            if task is not None and task.phase is Phase.RUNNING and 0 < task.timers <= number:
                return when
            heapq.heappop(self._heap)
        return inf

    def take(self, now: float) -> Iterator[tuple[Task, Timer]]:
        """Those that are due, and still to be done when they are taken."""
        while self.due() <= now:
            _, _, attempt, timer = heapq.heappop(self._heap)
            yield self._tasks[attempt], timer
