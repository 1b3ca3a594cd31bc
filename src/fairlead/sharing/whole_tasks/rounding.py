"""Exact shares rounded to whole tasks: packings close to them, and what is left in share order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairlead.sharing.problem.problem import Floats, Ints
from fairlead.sharing.solvers.whole.packed import most_packed
from fairlead.sharing.solvers.whole.packing import Packer
from fairlead.sharing.whole_tasks.capped import trim
from fairlead.sharing.whole_tasks.counts import Counts
from fairlead.sharing.whole_tasks.gangs import whole_gangs
from fairlead.sharing.whole_tasks.point import Packing

_WHOLE = 1e-9  # what a rounding error leaves of a whole machine or task


@dataclass(frozen=True)
class Rounded:
    """Packings of whole tasks by class, each on so many machines. `packed`: no packing within the
    exact shares of each class has more tasks than this. `bound` (J,): so many tasks below its
    exact ones a job can be at most: what is packed before leftover room is filled stays."""

    machines: tuple[tuple[int, Packing, Fraction], ...]
    packed: float
    bound: Floats


def round_tasks(counts: Counts, tasks: Floats, exact: Floats, unit: Floats) -> Rounded:
    """Whole tasks close to the divisible ones: `exact` (J,), of which (J, C) `tasks` are placed.

    On each class the mixture of packings in which nobody loses a large part of its tasks; as many
    machines of each packing as that says, rounded down; and then one task after the other: first
    for those who are a whole task below their exact share, whoever has the least part of it; then
    for whoever has the least share, tasks / `unit` (J,). A task goes where its job should still
    have some, to the machine that it fills best. The tasks of a gang are given out together.
    """
    start: list[tuple[int, Packing, int]] = []
    packed = 0.0
    for c in range(len(counts.count)):
        most = np.minimum(counts.most[:, c], np.ceil(tasks[:, c] - _WHOLE).astype(np.int64))
        if not most.any():
            continue
        packer = Packer(counts.demand, counts.capacity[c], most)
        found = most_packed(packer, tasks[:, c], int(counts.count[c]))
        packed += found.most
        start += [
            (c, packing, int(amount + _WHOLE))
            for packing, amount in found.mixture
            if amount >= 1 - _WHOLE
        ]
    filled = _Filling(counts, tasks, exact, unit, start)
    bound = np.maximum(exact - filled.has, 0.0)
    filled.run()
    return Rounded(filled.machines(), packed, bound)


class _Filling:
    """Machines that are alike and hold the same, as groups; and who is next."""

    def __init__(
        self,
        counts: Counts,
        tasks: Floats,
        exact: Floats,
        unit: Floats,
        start: Sequence[tuple[int, Packing, int]],
    ) -> None:
        jobs = len(counts.demand)
        self.counts, self.unit = counts, unit
        self.missing = tasks.copy()
        self.exact = np.maximum(exact * (1 + _WHOLE), 1e-300)
        self.known: dict[tuple[int, Packing], int] = {}
        self.keys: list[tuple[int, Packing]] = []
        room = 64 + 2 * len(start)
        self.of = np.zeros(room, np.int64)
        self.number = np.zeros(room, np.int64)
        self.left = np.zeros((room, counts.demand.shape[1]), np.int64)
        self.rows = np.zeros((room, jobs), np.int64)
        self.has = np.zeros(jobs, np.int64)
        # What the limits leave: `use` (L, J) is what a task takes of each.
        self.use = np.array([cap.use for cap in counts.limits], np.int64).reshape(
            len(counts.limits), jobs
        )
        self.room = np.array([min(cap.amount, 2**62) for cap in counts.limits], np.int64)
        empty = counts.count.copy()
        for c, packing, number in self._to_begin_with(start):
            self.room -= number * (self.use @ np.array(packing, np.int64))
            self._add(c, packing, number)
            empty[c] -= number
            row = np.array(packing, np.int64)
            self.has += number * row
            self.missing[:, c] -= number * row
        for c in np.flatnonzero(empty).tolist():
            self._add(c, (0,) * jobs, int(empty[c]))
        # What a machine is worth filling: each resource in parts of the machine.
        self.size = np.where(counts.capacity > 0, counts.capacity, 1).astype(np.float64)

    def _to_begin_with(
        self, start: Sequence[tuple[int, Packing, int]]
    ) -> Sequence[tuple[int, Packing, int]]:
        """The packings on so many machines as the limits allow, without parts of gangs."""
        room, has = self.room.copy(), np.zeros_like(self.has)
        found: list[tuple[int, Packing, int]] = []
        for c, packing, planned in start:
            takes = self.use @ np.array(packing, np.int64)
            number = int((room // np.maximum(takes, 1))[takes > 0].min(initial=planned))
            room -= number * takes
            has += number * np.array(packing, np.int64)
            found.append((c, packing, number))
        gang = self.counts.gang
        if (gang == 1).all():
            return found
        kept = map(whole_gangs, gang.tolist(), has.tolist(), self.counts.tasks.tolist())
        return trim(found, list(kept))

    def _add(self, c: int, packing: Packing, number: int) -> None:
        at = self.known.get((c, packing))
        if at is not None:
            self.number[at] += number
            return
        at = len(self.keys)
        if at == len(self.of):
            for name in ("of", "number", "left", "rows"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        self.known[c, packing] = at
        self.keys.append((c, packing))
        self.of[at], self.number[at] = c, number
        self.rows[at] = packing
        self.left[at] = self.counts.capacity[c] - self.rows[at] @ self.counts.demand

    def run(self) -> None:
        """Gives out one task, or gang, after the other until nothing fits any more."""
        waiting = self.unit > 0
        tasks, gang = self.counts.tasks, self.counts.gang
        while True:
            waiting &= self.has < tasks
            if not waiting.any():
                return
            share = self.has / np.where(waiting, self.unit, 1.0)
            # Below what it should have: by the part of it that it has. Everybody else afterwards.
            together = np.where(tasks - self.has >= gang, gang, 1)
            short = waiting & (self.has + together <= self.exact)
            if short.any():
                order = np.where(short, self.has / self.exact, np.inf)
            else:
                order = np.where(waiting, share, np.inf)
            j = int(order.argmin())
            if not self._hold(j, int(together[j])):
                waiting[j] = False  # what is full does not empty again
                continue
            for _ in range(int(together[j])):
                self._start(j)

    def _hold(self, j: int, tasks: int) -> bool:
        """Whether limits and machines have room for so many more tasks of j."""
        used = self.use[:, j] > 0
        if (self.room[used] // self.use[used, j] < tasks).any():
            return False
        found = self._fits(j)
        if tasks == 1 or not len(found):
            return bool(len(found))
        needs = self.counts.demand[j] > 0
        each = self.counts.most[j, self.of[found]] - self.rows[found, j]
        fit = self.left[found][:, needs] // self.counts.demand[j, needs]
        fit = np.minimum(fit.min(axis=1, initial=tasks), np.minimum(each, tasks))
        return int(fit @ np.minimum(self.number[found], tasks)) >= tasks

    def _start(self, j: int) -> None:
        """Gives j one task more, for which there is room."""
        at = self._place(j)
        c, packing = self.keys[at]
        self.number[at] -= 1
        more = (*packing[:j], packing[j] + 1, *packing[j + 1 :])
        self._add(c, more, 1)
        self.room -= self.use[:, j]
        self.has[j] += 1
        self.missing[j, c] -= 1

    def _fits(self, j: int) -> Ints:
        """The groups of machines with room for one more task of j."""
        fits = (self.number > 0) & (self.rows[:, j] < self.counts.most[j, self.of])
        fits &= (self.left >= self.counts.demand[j]).all(axis=1)
        return np.flatnonzero(fits)

    def _place(self, j: int) -> int:
        """The group of machines for one more task of j."""
        demand = self.counts.demand[j]
        found = self._fits(j)
        of = self.of[found]
        missing = np.maximum(self.missing[j, of], 0.0)
        after = ((self.left[found] - demand) / self.size[of]).sum(axis=1)
        return int(found[np.lexsort((after, -missing))[0]])

    def machines(self) -> tuple[tuple[int, Packing, Fraction], ...]:
        """Packings with the numbers of machines, in the order of classes and packings."""
        found = [
            (c, packing, Fraction(int(number)))
            for (c, packing), number in zip(self.keys, self.number, strict=False)
            if number and any(packing)
        ]
        return tuple(sorted(found))
