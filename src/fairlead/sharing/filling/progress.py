"""A filling's progress: where it stands, and where it goes until a machine stops somebody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

import numpy as np
from flint import fmpq

from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.rates import NONE, Rates
from fairlead.sharing.numbers.amounts import nearest
from fairlead.sharing.numbers.sums import total
from fairlead.sharing.problem.problem import Tree

Terms = list[tuple[fmpq, fmpq]]
"""A number of bundles as a sum of levels, each times something: (level, times). Few levels are
shared by many groups, and times are short, so that sums are short as long as they can be."""


class Progress:
    """A group has base + rate * level bundles; its rate is 0 once all of it is frozen.

    While no rate changes, base stays 0.
    """

    def __init__(
        self, tree: Tree, weight: Sequence[fmpq], groups: Groups, scale: Sequence[fmpq]
    ) -> None:
        self.groups = groups
        self.level = NONE
        self._active = groups.group >= 0
        self._rates = Rates(tree, weight, self._active)
        # What a unit of a job's share is in bundles.
        self._bundles = [each * size for each, size in zip(scale, groups.size, strict=True)]
        self.share = [NONE] * len(scale)  # of those who are frozen
        self._start = [NONE] * len(scale)  # share - rate * level
        self.base = [NONE] * len(groups.members)
        self.rate = [NONE] * len(groups.members)
        # What the base is the sum of: whenever a rate changed, that level times by how much less.
        self._terms: list[Terms] = [[] for _ in groups.members]
        # The level at which each finite group runs out of tasks, and a heap of them; what changed
        # is not the one that is kept.
        self._end: dict[int, fmpq] = {}
        self._ends: list[tuple[float, fmpq, int]] = []  # doubles tell most of them apart
        # The level at which each limit is reached, and those that have to be asked for again.
        self._reached: list[fmpq | None] = [None] * len(groups.caps)
        self._stale: set[int] = set()
        self._capped: dict[int, list[int]] = {}
        for index, cap in enumerate(groups.caps):
            for g in cap.takes:
                self._capped.setdefault(g, []).append(index)
        for g in range(len(groups.members)):
            self._add_up(g)
        # The same in doubles, for those who look for the structure.
        self.near_base = np.zeros(len(groups.members))
        self.near_rate = np.array([nearest(each) for each in self.rate])

    @property
    def anyone(self) -> bool:
        """Whether anybody still rises."""
        return bool(self._active.any())

    def terms(self, g: int, level: fmpq) -> Terms:
        """The bundles of a group at a level."""
        return [*self._terms[g], (level, self.rate[g])] if self.rate[g] else self._terms[g]

    def out_of_tasks(self) -> fmpq | None:
        """The level at which groups run out of tasks next; None where none ever does."""
        ends = self._ends
        while ends and self._end.get(ends[0][2]) is not ends[0][1]:
            heappop(ends)
        return ends[0][1] if ends else None

    def run_out(self, level: fmpq) -> list[int]:
        """The groups that run out of tasks at that level, which is the next; they are to freeze,
        and are not told again."""
        out = []
        while self.out_of_tasks() == level:
            out.append(heappop(self._ends)[2])
        return out

    def at_limit(self) -> tuple[fmpq | None, int]:
        """The level at which a limit is reached next, and which; None where none ever is."""
        for index in self._stale:
            self._reached[index] = self._limit(index)
        self._stale = set()
        levels = ((level, at) for at, level in enumerate(self._reached) if level is not None)
        return min(levels, default=(None, -1))

    def _limit(self, index: int) -> fmpq | None:
        """The level at which a limit is reached; None where it never is."""
        cap = self.groups.caps[index]
        rising = total([self.rate[g] * need for g, need in cap.takes.items()])
        if not rising:
            return None
        held = total([self.base[g] * need for g, need in cap.takes.items()])
        return (cap.amount - held) / rising

    def freeze(self, stopped: Iterable[int], level: fmpq) -> tuple[list[int], set[int]]:
        """At that level these groups freeze: they keep what they have, and their rates pass to
        their active siblings. Returns the jobs that froze, and the groups that rise otherwise
        than before."""
        self.level = level
        stopped = list(stopped)
        frozen = [j for g in stopped for j in self.groups.members[g] if self._active[j]]
        rate = self._rates.rate
        for j in frozen:
            self.share[j] = self._start[j] + rate[j] * level
            self._active[j] = False
        before = list(rate)
        changed: set[int] = set()
        for j in self._rates.freeze(frozen):
            if rate[j] != before[j]:
                self._start[j] += (before[j] - rate[j]) * level
                changed.add(int(self.groups.group[j]))
        for g in {*stopped, *changed}:
            was = self.rate[g]
            self._add_up(g)
            if self.rate[g] != was:
                self._terms[g].append((level, was - self.rate[g]))
            self.near_base[g], self.near_rate[g] = nearest(self.base[g]), nearest(self.rate[g])
        return frozen, changed

    def _add_up(self, g: int) -> None:
        rate, base = [], []
        for j in self.groups.members[g]:
            bundles = self._bundles[j]
            if self._active[j]:
                rate.append(self._rates.rate[j] * bundles)
                if self._start[j]:
                    base.append(self._start[j] * bundles)
            elif self.share[j]:
                base.append(self.share[j] * bundles)
        self.rate[g], self.base[g] = total(rate), total(base)
        most = self.groups.most[g]
        if most is not None:
            self._end.pop(g, None)
            if self.rate[g]:
                self._end[g] = level = (most - self.base[g]) / self.rate[g]
                heappush(self._ends, (nearest(level), level, g))
        self._stale.update(self._capped.get(g, ()))
