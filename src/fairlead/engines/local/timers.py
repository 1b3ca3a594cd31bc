"""What is to be done with tasks that run, each at its time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from math import inf

from fairlead.engines.interface import Attempt
from fairlead.engines.local.task import Phase, Task, Timer

DEAD_TIMERS = 1000
"""Timers of attempts that are over: a time limit of years would be waited for."""


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
        heapq.heappush(self._heap, (when, self._count, task.attempt, timer))

    def due(self) -> float:
        """When the next one is; infinity: there is none. Those of what no longer runs are none."""
        while self._heap:
            when, _, attempt, _ = self._heap[0]
            task = self._tasks.get(attempt)
            if task is not None and task.phase is Phase.RUNNING:
                return when
            heapq.heappop(self._heap)
        return inf

    def take(self, now: float) -> Iterator[tuple[Task, Timer]]:
        """Those that are due, and still to be done when they are taken."""
        while self.due() <= now:
            _, _, attempt, timer = heapq.heappop(self._heap)
            yield self._tasks[attempt], timer
