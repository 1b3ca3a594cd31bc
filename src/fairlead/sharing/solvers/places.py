"""Where groups are on their way up: each in its first place, and what its other places change."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem import Floats
from fairlead.sharing.rise import Basis, Rise

_FEW = 6  # prices, that are looked at one by one


class Places:
    """Pairs of a group and a class in numbers, and one of each group that is its first place: it is
    there if it is nowhere else, and what is elsewhere is taken from there.

    Shares are in units of the rates at first, capacities are 1. Cells are capacities, numbered
    class by class.
    """

    def __init__(self, problem: Rise, start: Basis) -> None:
        size, (classes, resources) = len(problem.use), problem.capacity.shape
        self._shape = classes, resources
        self._unit = problem.rate
        scarce = problem.capacity > 0
        self._inverse = np.divide(1.0, problem.capacity, out=np.zeros(self._shape), where=scarce)
        self._group, self._class = problem.places
        self._load = (problem.use * self._unit[:, None])[self._group] * self._inverse[self._class]
        # The pairs class by class.
        self._order = np.argsort(self._class, kind="stable")
        ends = np.searchsorted(self._class[self._order], np.arange(classes + 1))
        self._heads: list[int] = ends.tolist()
        # The first place of each group.
        self._key = np.flatnonzero(start.pairs[self._group, self._class])
        self._key_of = self._key[self._group]  # of every pair; itself where it is done with
        self._base, self._rate = np.zeros(size), np.ones(size)
        self._done = np.zeros(size, dtype=np.bool_)
        self._cells = np.arange(classes * resources).reshape(self._shape)
        self._count()

    def _count(self) -> None:
        """What is taken of the capacities where everyone is in its first place: for each unit of
        the level, and by what was had before."""
        load = self._load[self._key]
        cells = self._cells[self._class[self._key]].ravel()
        number = self._cells.size
        growing = np.bincount(cells, (load * self._rate[:, None]).ravel(), number)
        self._growing: Floats = growing.astype(np.float64, copy=False)
        self._held: Floats | None = None
        if self._base.any():
            held = np.bincount(cells, (load * self._base[:, None]).ravel(), number)
            self._held = held.astype(np.float64, copy=False)

    def _effects(self, pairs: list[int]) -> Floats:
        """(pairs, cells) what a unit takes there, less what it takes in its group's first place."""
        number = len(pairs)
        effect = np.zeros((number, *self._shape))
        at, row = np.array(pairs), np.arange(number)
        key = self._key_of[at]
        effect[row, self._class[at]] = self._load[at]
        effect[row, self._class[key]] -= self._load[key]
        return effect.reshape(number, -1)

    def _cost(self, tight: list[int], price: Floats) -> Floats:
        """(pairs,) what a unit costs there, at these prices of these capacities."""
        if len(price) > _FEW:
            prices = np.zeros(self._cells.size)
            prices[tight] = price
            by_class = prices.reshape(self._shape)
            return np.asarray(np.einsum("pr,pr->p", self._load, by_class[self._class]))
        cost = np.zeros(len(self._group))
        for cell, worth in zip(tight, price.tolist(), strict=True):
            if worth:
                at, r = divmod(cell, self._shape[1])
                there = self._order[self._heads[at] : self._heads[at + 1]]
                cost[there] += self._load[there, r] * worth
        return cost

    def _exchange(self, group: int, pair: int) -> None:
        """Makes this pair the first place of its group."""
        old = int(self._key[group])
        for amount, taken in ((self._rate[group], self._growing), (self._base[group], self._held)):
            if taken is not None:
                by_class = taken.reshape(self._shape)
                by_class[self._class[old]] -= amount * self._load[old]
                by_class[self._class[pair]] += amount * self._load[pair]
        self._key[group] = pair
        self._key_of[self._key_of == old] = pair
