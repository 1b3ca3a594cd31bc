"""When which sink is told of a moment: at the multiples of its interval, which a run's length may
choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.scheduling.kernels.memory.tables import NEVER
from fairlead.simulation.measure.sinks import Sink
from fairlead.simulation.workload import Workload

MOST_SAMPLES = 1000
"""Samples of a run whose length chooses the interval."""

MOST_ROWS = 2_000_000
"""Rows of all its samples in one table."""

BYTES_A_ROW = 50
"""Bytes of memory that a row takes until the run is over."""

SECOND = 1_000_000
MINUTE = 60 * SECOND
INTERVALS = tuple(
    SECOND * seconds
    for seconds in (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400)
)
"""Intervals to choose from. Each is a multiple of the one before: what is sampled by the longer one
was sampled by the shorter one, too. After the last one each is twice as long."""

KNOWN = 2_000_000
"""Tasks up to which a workload is looked through for its length."""


def longer(every: int) -> int:
    """The next interval."""
    return next((each for each in INTERVALS if each > every), 2 * every)


def first_interval(workload: Workload) -> int:
    """The interval for a run that is as long as it must be at least: until the last submission, and
    until the work is done by machines that are all busy. A minute where that is not known."""
    if workload.tasks is None or workload.tasks > KNOWN:
        return MINUTE
    machines = workload.machines
    last = np.zeros((len(machines.names), len(workload.resources)))
    last[machines.machine] = machines.capacity  # the latest of each
    capacity = last.sum(axis=0)
    first, until, work = None, 0, np.zeros(len(workload.resources))
    for batch in workload.batches():
        if not len(batch):
            continue
        first = int(batch.submit[0]) if first is None else first
        until = int(batch.submit[-1])
        given = np.diff(batch.first)
        sums = np.add.reduceat(np.append(batch.durations, 0).astype(float), batch.first[:-1])
        work += (sums * (batch.tasks / given)) @ batch.demand
    busy = np.divide(work, capacity, out=np.zeros_like(work), where=capacity > 0)
    length = max(until - (first or 0), float(busy.max(initial=0)))
    every = INTERVALS[0]
    while length / every > MOST_SAMPLES:
        every = longer(every)
    return every


class Sampling:
    """The samples of a run that are still to come."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks
        self._next: dict[int, int] = {}

    def start(self, begin: int) -> None:
        """Samples are taken at the multiples of their interval from this moment on."""
        self._next = {
            place: -(-begin // sink.every) * sink.every
            for place, sink in enumerate(self._sinks)
            if sink.every is not None
        }

    def next(self) -> int:
        """The moment of the next sample; NEVER."""
        return min(self._next.values(), default=NEVER)

    def due(self, time: int) -> list[Sink]:
        """The sinks that are told of this moment."""
        return [self._sinks[place] for place, at in self._next.items() if at == time]

    def pass_by(self, time: int) -> None:
        """The sinks were told of this moment; each may have chosen a longer interval at that, or
        that it has seen enough."""
        for place, at in list(self._next.items()):
            every = self._sinks[place].every
            if every is None:
                del self._next[place]
            elif at == time:
                self._next[place] = (time // every + 1) * every
