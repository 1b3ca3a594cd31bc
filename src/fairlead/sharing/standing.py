"""Where filling stands, and where it goes as long as no machine stops anybody."""

from __future__ import annotations

from copy import copy

import numpy as np

from fairlead.sharing.coalesce import Groups
from fairlead.sharing.problem import Bools, Floats, Ints, Tree
from fairlead.sharing.rates import rates

# Levels closer than this, relative, are one.
SAME = 1e-12


class Standing:
    """A job's share is base + rate * level, its rate 0 once it is frozen. So is a group's.

    While no rate changes, base stays 0, so that nothing adds up rounding errors.
    """

    def __init__(self, tree: Tree, weight: Floats, groups: Groups) -> None:
        self.groups = groups
        self._tree, self._weight = tree, weight
        self.active = groups.group >= 0
        # Whether no rate changes but to 0: no job has siblings below a tenant.
        jobs = np.bincount(tree.job_tenant[self.active], minlength=1)
        self.steady = bool((tree.parent < 0).all()) and int(jobs.max()) <= 1
        # Whether anybody can run out of tasks or reach a limit.
        self._numbers = len(groups.limit) > 0 or bool(np.isfinite(groups.most).any())
        self.level = 0.0
        self.base = np.zeros(len(self.active))
        self.rate = rates(tree, weight, self.active)
        self.group_base = self.by_group(self.base)
        self.group_rate = self.by_group(self.rate)

    def share(self) -> Floats:
        """(J,) the share of every job."""
        now: Floats = self.base + self.rate * self.level
        return now

    def by_group(self, by_job: Floats) -> Floats:
        """(G,) what the jobs of each group have together, in the group's units."""
        groups = self.groups
        alive = groups.group >= 0
        weighted = (groups.part * by_job)[alive]
        total = np.bincount(groups.group[alive], weighted, minlength=len(groups.use))
        return total.astype(np.float64)

    def next_numbers(self) -> tuple[float, Ints, Ints]:
        """The level at which tasks run out or a limit is reached first, infinite if neither ever
        happens; the groups that run out of tasks there, and the limits. Both depend on shares
        only, wherever the tasks run."""
        none = np.zeros(0, dtype=np.int64)
        if not self._numbers:
            return np.inf, none, none
        groups, base, rate = self.groups, self.group_base, self.group_rate
        tasks = np.full(len(rate), np.inf)
        finite = (rate > 0) & np.isfinite(groups.most)
        tasks[finite] = (groups.most - base)[finite] / rate[finite]
        rising = groups.limit_use @ rate
        limits = np.full(len(rising), np.inf)
        some = rising > 0
        limits[some] = (groups.limit - groups.limit_use @ base)[some] / rising[some]
        first = min(tasks.min(), limits.min(initial=np.inf))
        if first == np.inf:
            return np.inf, none, none
        highest = max(first, self.level)
        near = highest + abs(highest) * SAME
        return highest, np.flatnonzero(tasks <= near), np.flatnonzero(limits <= near)

    def stopped_by_numbers(self, out_of_tasks: Ints, at_limit: Ints) -> Bools:
        """(G,) the rising groups that have no more tasks or are at one of these limits."""
        stopped: Bools = np.asarray((self.groups.limit_use[at_limit] > 0).any(axis=0))
        stopped[out_of_tasks] = True
        return stopped & (self.group_rate > 0)

    def freeze(self, stopped: Bools, level: float) -> Ints:
        """At that level these groups (G,) are frozen: they keep their shares, and their rates pass
        to their active siblings. Returns the jobs that froze."""
        self.level = max(self.level, level)
        frozen = self.active & stopped[self.groups.group]
        if self.steady:
            self.active = self.active ^ frozen
            gone, group_gone = self.rate * frozen, self.group_rate * stopped
            self.base, self.rate = self.base + gone * self.level, self.rate - gone
            self.group_base = self.group_base + group_gone * self.level
            self.group_rate = self.group_rate - group_gone
            return frozen.nonzero()[0]
        share = self.share()
        self.active = self.active & ~frozen
        rate = rates(self._tree, self._weight, self.active)
        # What only division rounded differently has not changed.
        kept = self.active & (abs(rate - self.rate) <= SAME * self.rate)
        rate[kept] = self.rate[kept]
        self.base = np.where(kept, self.base, np.where(rate > 0, share - rate * self.level, share))
        self.rate = rate
        self.group_base, self.group_rate = self.by_group(self.base), self.by_group(rate)
        return np.flatnonzero(frozen)

    def ahead(self, rounds: int) -> tuple[float, Floats]:
        """The level and the groups' shares (G,) after so many rounds, or as many as there are, in
        which tasks run out or limits are reached: where this goes if no machine stops anybody."""
        later = copy(self)  # `freeze` gives it new arrays and changes none
        for _ in range(rounds):
            level, out_of_tasks, at_limit = later.next_numbers()
            if level == np.inf:
                break
            later.freeze(later.stopped_by_numbers(out_of_tasks, at_limit), level)
            if not later.active.any():
                break
        return later.level, later.group_base + later.group_rate * later.level
