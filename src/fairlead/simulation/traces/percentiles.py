"""Percentiles of a stream of whole numbers, exact, in the memory of its distinct values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.simulation.workload import Ints

_PENDING = 2_000_000  # values that wait before they are counted


class Counted:
    """Counts of values: how often each came."""

    def __init__(self) -> None:
        self._values = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._waiting: list[tuple[Ints, Ints]] = []
        self._rows = 0

    def add(self, values: Ints, counts: Ints) -> None:
        """Each value came so many times more."""
        self._waiting.append((values, counts))
        self._rows += len(values)
        if self._rows > max(_PENDING, len(self._values)):
            self._gather()

    def _gather(self) -> None:
        values = np.concatenate([self._values, *(values for values, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._waiting)])
        self._values, place = np.unique(values, return_inverse=True)
        self._counts = np.zeros(len(self._values), dtype=np.int64)
        np.add.at(self._counts, place, counts)
        self._waiting, self._rows = [], 0

    def percentiles(self, percents: Sequence[int]) -> list[int] | None:
        """For each percentage, the least value that at least so many of a hundred do not exceed
        (the nearest rank); None where no value came."""
        self._gather()
        there = self._counts > 0
        values, counts = self._values[there], self._counts[there]
        if not len(values):
            return None
        upto = np.cumsum(counts)
        ranks = [max(1, -(-int(upto[-1]) * percent // 100)) for percent in percents]
        return [int(value) for value in values[np.searchsorted(upto, ranks)]]

    def distinct(self) -> int:
        """The number of different values."""
        self._gather()
        return int((self._counts > 0).sum())
