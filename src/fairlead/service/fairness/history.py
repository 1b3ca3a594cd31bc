"""Shares over time, in bounded memory: what is older is kept more thinly."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MOST_POINTS = 1024
"""Points that are kept. Each time it is full, every second one of the older half goes: with one
every ten seconds, the last hour and a half is whole and a year is still there in a hundred."""

MOST_NUMBERS = 1 << 22
"""No more numbers than that, whatever tenants there are: fewer points are kept then."""


@dataclass(frozen=True, slots=True)
class Point:
    """One tenant at one moment. `fair` is nan before the exact allocation is known."""

    time: int
    share: float
    fair: float
    running: int
    waiting: int


@dataclass(frozen=True, eq=False)
class Sample:
    """All tenants at one moment: share, fair share, running and waiting tasks, a row each."""

    time: int
    names: tuple[str, ...]
    values: npt.NDArray[np.float32]  # (T, 4)


class History:
    """A ring that thins: the newest points are all there, old ones are ever further apart."""

    def __init__(self, most: int = MOST_POINTS) -> None:
        self._most = max(most, 8)
        self._samples: list[Sample] = []
        self._places: dict[tuple[str, ...], dict[str, int]] = {}
        self._thinned = 0  # so many times

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, sample: Sample) -> None:
        """One more moment, not before the last."""
        if self._samples and self._samples[-1].names == sample.names:
            sample = Sample(sample.time, self._samples[-1].names, sample.values)  # one tuple
        self._samples.append(sample)
        numbers = max(4, sample.values.size)
        if len(self._samples) > min(self._most, max(8, MOST_NUMBERS // numbers)):
            old = len(self._samples) // 2
            self._samples[:old] = self._samples[:old:2]
            self._places.clear()
            self._thinned += 1

    def close(self) -> None:
        """Nothing more is added."""

    def _drop_after(self, time: int) -> bool:
        """Forgets what is later than that, of a clock that ran ahead; whether there was any."""
        before = len(self._samples)
        while self._samples and self._samples[-1].time > time:
            self._samples.pop()
        return len(self._samples) < before

    @property
    def since(self) -> int | None:
        """The time of the oldest point."""
        return self._samples[0].time if self._samples else None

    def tenants(self) -> tuple[str, ...]:
        """Everybody who is in the newest point."""
        return self._samples[-1].names if self._samples else ()

    def of(
        self, tenant: str, since: int | None = None, until: int | None = None, points: int = 1000
    ) -> tuple[Point, ...]:
        """A tenant's points of that time, oldest first, thinned evenly to so many. A point stands
        until the next one: the first is what stood when the time began, if that is known."""
        found = []
        for sample in self._since(since):
            if until is None or sample.time <= until:
                at = self._place(sample.names).get(tenant)
                if at is not None:
                    share, fair, running, waiting = sample.values[at].tolist()
                    found.append(Point(sample.time, share, fair, int(running), int(waiting)))
        return tuple(_evenly(found, points))

    def _since(self, since: int | None) -> Sequence[Sample]:
        """The samples from then on; the one that stood then as one of that moment."""
        if since is None:
            return self._samples
        first = bisect_left(self._samples, since, key=lambda sample: sample.time)
        later = self._samples[first:]
        if not first or (later and later[0].time == since):
            return later
        before = self._samples[first - 1]
        return [Sample(since, before.names, before.values), *later]

    def _place(self, names: tuple[str, ...]) -> dict[str, int]:
        if names not in self._places:
            self._places[names] = {name: index for index, name in enumerate(names)}
        return self._places[names]


def _evenly(points: Sequence[Point], most: int) -> list[Point]:
    """So many of them at most, the last one always."""
    if len(points) <= most:
        return list(points)
    chosen = np.unique(np.linspace(len(points) - 1, 0, max(most, 1)).astype(int))
    return [points[i] for i in chosen.tolist()]
