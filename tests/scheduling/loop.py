"""A tiny event loop around a core: tasks end after their durations, and time is told when asked."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import Event, TaskFinished, TimePassed

Duration = Callable[[str, int], int]
"""Microseconds that a task of a job takes."""


@dataclass
class Seen:
    """A log: after each instant, its time and how many tasks of each job run; and how many have
    ended at last."""

    times: list[int] = field(default_factory=list)
    running: list[Counter[str]] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def at(self, time: int) -> Counter[str]:
        """How many tasks of each job ran just after this time's events."""
        return max(
            zip(self.times, self.running, strict=True), key=lambda pair: (pair[0] <= time, pair[0])
        )[1]

    def between(self, start: int, end: int, job: str) -> list[int]:
        """How many tasks of the job ran after each instant of that time."""
        pairs = zip(self.times, self.running, strict=True)
        return [running[job] for time, running in pairs if start <= time <= end]


def run(core: Core, events: Iterable[Event], duration: Duration, until: int) -> Seen:
    """Tells the core these events and the ends of its tasks, up to and with the time `until`."""
    line: list[tuple[int, int, Event]] = []
    moments: set[int] = set()  # at which something in the line happens
    number = 0

    def later(event: Event) -> None:
        nonlocal number
        heapq.heappush(line, (event.time, number, event))
        moments.add(event.time)
        number += 1

    for event in events:
        later(event)
    seen, running = Seen(), Counter[str]()
    while line and line[0][0] <= until:
        now = line[0][0]
        while line and line[0][0] == now:
            event = heapq.heappop(line)[2]
            core.apply(event)
            if isinstance(event, TaskFinished):
                running[event.job] -= 1
                if not running[event.job]:
                    del running[event.job]  # jobs may be thousands, and each instant is kept
                seen.done[event.job] += 1
        moments.remove(now)
        for decision in core.decide():
            assert isinstance(decision, Launch)
            running[decision.job] += 1
            end = now + duration(decision.job, decision.task)
            later(TaskFinished(end, decision.job, decision.task))
        seen.times.append(now)
        seen.running.append(Counter(running))
        wake = core.wake()
        if wake is not None and wake not in moments:
            later(TimePassed(wake))
    return seen
