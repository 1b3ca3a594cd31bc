"""When which sink is told of a moment: at the multiples of its interval."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.scheduling.kernels.memory.tables import NEVER
from fairlead.simulation.measure.sinks import Sink


class Sampling:
    """The samples of a run that are still to come."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._every = [(sink, sink.every) for sink in sinks if sink.every is not None]
        self._next: list[int] = []

    def start(self, begin: int) -> None:
        """Samples are taken at the multiples of their interval from this moment on."""
        self._next = [-(-begin // every) * every for _, every in self._every]

    def next(self) -> int:
        """The moment of the next sample; NEVER."""
        return min(self._next, default=NEVER)

    def due(self, time: int) -> list[Sink]:
        """The sinks that are told of this moment, once."""
        found = []
        for place, (sink, every) in enumerate(self._every):
            if self._next[place] == time:
                self._next[place] += every
                found.append(sink)
        return found
