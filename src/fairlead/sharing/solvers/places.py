"""Where groups are on their way up: each in its first place, and what its other places change."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from fairlead.sharing.problem import Floats
from fairlead.sharing.rise import Basis, Rise


class Places:
    """Pairs of a group and a class in numbers, class by class, and one of each group that is its
    first place: it is there if it is nowhere else, and what is elsewhere is taken from there.

    Shares are in units of the rates at first, capacities are 1. Cells are capacities, numbered
    class by class.
    """

    def __init__(self, problem: Rise, start: Basis, most: int) -> None:
        """At most so many pairs beside the first places are in use at a time."""
        size, (classes, resources) = len(problem.use), problem.capacity.shape
        self._shape = classes, resources
        self._unit = problem.rate
        scarce = problem.capacity > 0
        self._inverse = np.divide(1.0, problem.capacity, out=np.zeros(self._shape), where=scarce)
        group, machine_class = problem.places
        order = np.argsort(machine_class, kind="stable")
        self._group, self._class = group[order], machine_class[order]
        use = problem.use * self._unit[:, None]
        self._load = use.take(self._group, axis=0) * self._inverse.take(self._class, axis=0)
        heads = np.searchsorted(self._class, np.arange(classes + 1)).tolist()
        self._pairs_of = [slice(*ends) for ends in pairwise(heads)]
        self._cells_of = [slice(c * resources, (c + 1) * resources) for c in range(classes)]
        # The first place of each group.
        self._key = np.empty(size, dtype=np.int64)
        (first,) = start.pairs[self._group, self._class].nonzero()
        self._key[self._group[first]] = first
        self._itself = np.arange(len(group))
        self._key_of = self._key[self._group]  # of every pair; itself where it is done with
        self._base, self._rate = np.zeros(size), np.ones(size)
        self._done = np.zeros(size, dtype=np.bool_)
        self._basic: list[int] = []  # the other places in use
        # (., cells) what is taken where everyone is in its first place: by what was had before, and
        # for each unit of the level; then what a unit of each basic pair takes there, less what it
        # takes in its group's first place.
        self._rows = np.zeros((2 + most, classes * resources))
        self._count()

    def _count(self) -> None:
        """What is taken where everyone is in its first place."""
        load, resources = self._load.take(self._key, axis=0), self._shape[1]
        cells = self._class[self._key][:, None] * resources + np.arange(resources)
        for row, amount in enumerate((self._base, self._rate)):
            taken = (load * amount[:, None]).ravel()
            self._rows[row] = np.bincount(cells.ravel(), taken, self._rows.shape[1])

    def _enter(self, pair: int) -> Floats:
        """This pair is basic, too. Returns its row."""
        row: Floats = self._rows[2 + len(self._basic)]
        key = self._key_of.item(pair)
        row.fill(0.0)
        row[self._cells_of[self._class.item(pair)]] = self._load[pair]
        row[self._cells_of[self._class.item(key)]] -= self._load[key]
        self._basic.append(pair)
        return row

    def _empty(self, pair: int, share: list[float]) -> None:
        """This pair, basic or its group's first place, is basic no more. `share`: of the basic
        pairs."""
        basic, rows = self._basic, self._rows[2 : 2 + len(self._basic)]
        if pair not in basic:
            # The largest of the group's others becomes its first.
            group = self._group.item(pair)
            others = [i for i, other in enumerate(basic) if self._group.item(other) == group]
            at = max(others, key=share.__getitem__)
            rows[[i for i in others if i != at]] -= rows[at]
            self._rows[0] += self._base.item(group) * rows[at]
            self._rows[1] += self._rate.item(group) * rows[at]
            self._key_of[self._key_of == pair] = basic[at]
            self._key[group] = pair = basic[at]
        self._remove(basic.index(pair))

    def _remove(self, at: int) -> None:
        """The basic pair with this number is one no more."""
        del self._basic[at]
        end = 2 + len(self._basic)
        self._rows[2 + at : end] = self._rows[3 + at : end + 1]

    def _amounts(
        self, level: float, share: Iterable[float], rise: float, moves: Iterable[float]
    ) -> list[tuple[int, float, float]]:
        """How much is in each basic pair and in the first places of their groups at this level,
        with these shares of the basic pairs, and how fast it gets less where level and shares
        rise so fast: (pair, amount, fall)."""
        found: list[tuple[int, float, float]] = []
        first: dict[int, tuple[float, float]] = {}
        for pair, amount, move in zip(self._basic, share, moves, strict=True):
            group = self._group.item(pair)
            if group in first:
                there, grows = first[group]
            else:
                rate = self._rate.item(group)
                there, grows = self._base.item(group) + rate * level, rate * rise
            first[group] = there - amount, grows - move
            found.append((pair, amount, -move))
        found += [(self._key.item(g), there, -grows) for g, (there, grows) in first.items()]
        return found

    def _cost(self, tight: list[int], price: list[float]) -> Floats:
        """(pairs,) what a unit costs there, at these prices of these capacities."""
        cost = np.zeros(len(self._group))
        for cell, worth in zip(tight, price, strict=True):
            if worth:
                at, r = divmod(cell, self._shape[1])
                there = self._pairs_of[at]
                cost[there] += self._load[there, r] * worth
        return cost
