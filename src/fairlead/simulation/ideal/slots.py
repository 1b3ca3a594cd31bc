"""Tasks that all take one slot: allocations that are lexicographically best, by moving tasks along.

A job that is below others may get a slot that another job leaves for a third one. What may be
moved, and what may be taken away, is what tells the ideal schedulers apart.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np

from fairlead.sharing.problem.problem import Bools, Floats, Ints
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.reach import Bits, Out, Reach, bits, first, places, with_class

_LESS = 1e-12
"""Relative: levels closer than this are the same."""


@dataclass(frozen=True)
class Placed:
    """A job has so many more tasks on a machine; or anywhere (-1), less if negative."""

    job: int
    tasks: int
    machine: int = -1


class Slots:
    """Jobs on classes of machines with free slots. Jobs are numbers that the caller chooses.

    Where several free machines are as good for the moment, a task that stays gets the first in
    `order` (all machines; None: as they are numbered).
    """

    def __init__(
        self,
        kind: Kind,
        machine_class: Ints,
        slots: Ints,
        classes: int,
        order: Ints | None = None,
    ) -> None:
        self.kind = kind
        self.stays = kind in (Kind.RESTRICTED, Kind.PERIODIC)
        self.machine_class = machine_class
        self.free: list[int] = (
            np.bincount(machine_class, slots, minlength=classes).astype(np.int64).tolist()
        )
        self._near: Bits = bits(np.array(self.free) > 0)  # where something is free
        self._order = np.arange(len(slots)) if order is None else order
        self._place = np.argsort(self._order, kind="stable")
        # The free slots of each class, as places in the order of the machines.
        self._slots: list[list[int]] = [[] for _ in range(classes)]
        for place in np.repeat(np.arange(len(slots)), slots[self._order]).tolist():
            self._slots[machine_class[self._order[place]]].append(place)
        self._taken = [0] * classes  # slots given away at this moment
        self._rows: list[int] = []  # the job in each row
        self._row: dict[int, int] = {}
        self._usable: list[Bits] = []  # by row: where it may run,
        self._on: list[Bits] = []  # where it has tasks,
        self._new: list[Bits] = []  # and where it has got some at this moment:
        self._given: dict[tuple[int, int], int] = {}  # so many, by row and class
        self._turns = 0
        self._grow(16)
        # What is best for all who are present, to be followed as tasks end.
        self.target = (
            Slots(Kind.PREEMPTION, machine_class, slots, classes) if kind is Kind.PERIODIC else None
        )
        self._stale = False

    # --- what happens -----------------------------------------------------------------------

    def join(self, job: int, usable: Bools, tasks: int, unit: float) -> None:
        """A job with so many waiting tasks; a task adds `unit` to its level."""
        row = len(self._rows)
        if row == len(self.waiting):
            self._grow(2 * row)
        self._rows.append(job)
        self._row[job] = row
        self.waiting[row], self.held[row], self.unit[row] = tasks, 0, unit
        self._take_turn(row)
        for sets, those in ((self._usable, bits(usable)), (self._on, 0), (self._new, 0)):
            sets.append(those)
        if self.target:
            self.target.join(job, usable, tasks, unit)
            self._stale = True

    def leave(self, job: int) -> None:
        """A job that has nothing left is gone."""
        row, last = self._row.pop(job), len(self._rows) - 1
        for c in places(self._on[row]):  # a target's: a run's job holds nothing any more
            self._release(c, int(self.on[row, c]))
        for array in self._arrays():
            array[row] = array[last]
            array[last] = 0
        for sets in (self._usable, self._on, self._new):
            sets[row] = sets[last]
            sets.pop()
        moved = self._rows.pop()
        if row != last:
            self._rows[row] = moved
            self._row[moved] = row
        if self.target:
            self.target.leave(job)
            self._stale = True

    def weigh(self, job: int, unit: float) -> None:
        """From now on a task of the job adds so much to its level."""
        self.unit[self._row[job]] = unit
        if self.target:
            self.target.weigh(job, unit)

    def end(self, job: int, machine: int) -> None:
        """A task has ended, on this machine if tasks stay where they are."""
        row = self._row[job]
        if self.stays:
            c = int(self.machine_class[machine])
            bisect.insort(self._slots[c], int(self._place[machine]))
        else:
            c = int(np.argmax(self.on[row]))
        self._hold(row, c, -1)
        self.held[row] -= 1
        self._release(c, 1)

    def decide(self) -> list[Placed]:
        """The best that the kind may do now: who gets how many more tasks, and where."""
        rows = len(self._rows)
        before = self.held[:rows].copy()
        if self.kind is Kind.PERIODIC:
            return self._follow()
        self._new = [0] * rows
        self._given = {}
        self._taken = [0] * len(self.free)
        self._fill()
        if self.kind is Kind.PREEMPTION:
            self._exchange()
        if not self.stays:
            change = self.held[:rows] - before
            return [Placed(self._rows[r], int(change[r])) for r in np.flatnonzero(change)]
        found = [
            Placed(self._rows[row], 1, self._next_machine(c))
            for (row, c), tasks in sorted(self._given.items())
            for _ in range(tasks)
        ]
        return sorted(found, key=lambda placed: (placed.job, placed.machine))

    def on_classes(self) -> dict[int, Ints]:
        """The tasks of each job on each class."""
        return {job: self.on[row] for row, job in enumerate(self._rows)}

    def _next_machine(self, c: int) -> int:
        return int(self._order[self._slots[c].pop(0)])

    # --- free slots -------------------------------------------------------------------------

    def _fill(self) -> None:
        """Slots that are free, or can be made free by moving tasks, to whoever has the least."""
        while self._near:
            waits = self._waits()
            if not len(waits):
                return
            row = self._least(waits)
            if here := self._usable[row] & self._near:
                self._take(row, self._lowest(here))
                continue
            movable = self._new if self.stays else self._on
            reach = Reach(self._usable, movable, self._near, self._usable[row])
            can = [row for row in waits.tolist() if self._usable[row] & reach.classes]
            if not can:
                return
            row = self._least(np.array(can))
            if here := self._usable[row] & self._near:
                self._take(row, self._lowest(here))
                continue
            way = reach.way(self._usable[row])
            for mover, c, to in way:
                self._move(mover, c, to)
            self._release(way[-1][2], -1)
            self._release(way[0][1], 1)
            self._take(row, way[0][1])

    def _waits(self) -> Ints:
        found: Ints = np.flatnonzero(self.waiting[: len(self._rows)] > 0)
        return found

    def _least(self, rows: Ints) -> int:
        """Of these the one with the least level, then whose turn it is, as in the core."""
        level = self.held[rows] * self.unit[rows]
        least = rows[level == level.min()]
        return int(least[np.argmin(self.turn[least])])

    def _lowest(self, classes: Bits) -> int:
        """Of these classes with free slots the one that has the first machine."""
        if not self.stays:
            return first(classes)
        return min(places(classes), key=lambda c: self._slots[c][self._taken[c]])

    def _take(self, row: int, c: int) -> None:
        self._release(c, -1)
        self._hold(row, c, 1)
        self._give_new(row, c, 1)
        self._taken[c] += 1
        self.held[row] += 1
        self.waiting[row] -= 1
        self._take_turn(row)

    def _take_turn(self, row: int) -> None:
        """It comes behind all others of its level."""
        self.turn[row] = self._turns
        self._turns += 1

    def _move(self, row: int, c: int, to: int) -> None:
        """A task goes to another class; who counts the free slots is the caller."""
        self._hold(row, c, -1)
        self._hold(row, to, 1)
        if self.stays:
            self._give_new(row, c, -1)
            self._give_new(row, to, 1)
            self._taken[c] -= 1
            self._taken[to] += 1

    def _release(self, c: int, slots: int) -> None:
        """So many slots more are free on the class."""
        self.free[c] += slots
        self._near = with_class(self._near, c, self.free[c] > 0)

    def _hold(self, row: int, c: int, tasks: int) -> None:
        """The row has so many tasks more on the class."""
        self.on[row, c] += tasks
        self._on[row] = with_class(self._on[row], c, bool(self.on[row, c]))

    def _give_new(self, row: int, c: int, tasks: int) -> None:
        """So many tasks more of the row are new on the class."""
        count = self._given[row, c] = self._given.get((row, c), 0) + tasks
        self._new[row] = with_class(self._new[row], c, count > 0)

    # --- slots of those who have more -------------------------------------------------------

    def _exchange(self) -> None:
        """From those who have more to those who have less, until nobody has a whole task more."""
        while self._exchange_one():
            self._fill()

    def _exchange_one(self) -> bool:
        rows = len(self._rows)
        level = self.held[:rows] * self.unit[:rows]
        after = (self.held[:rows] - 1) * self.unit[:rows]
        most = after.max(initial=0.0)
        waits = self._waits()
        # Whoever is stuck leaves nothing to those who have as much and reach only the same.
        covered = 0
        for row in waits[np.lexsort((self.turn[waits], level[waits]))].tolist():
            enough = level[row] * (1 + _LESS)
            if most <= enough:
                return False
            if not self._usable[row] & ~covered:
                continue
            out = Out(self._usable, self._on, row)
            giver = max(out.left, key=lambda j: (after[j], -self.turn[j]), default=row)
            if after[giver] > enough:
                self._give(out, giver, row)
                return True
            covered |= out.classes
        return False

    def _give(self, out: Out, giver: int, row: int) -> None:
        self.held[giver] -= 1
        self.waiting[giver] += 1
        self.held[row] += 1
        self.waiting[row] -= 1
        holder = giver
        while holder != row:
            c = out.left[holder]
            taker = out.enters(c)
            self._hold(holder, c, -1)
            self._hold(taker, c, 1)
            holder = taker

    # --- a target ---------------------------------------------------------------------------

    def _follow(self) -> list[Placed]:
        """Free slots to whoever is furthest below its target on them, else to the least level."""
        assert self.target is not None
        if self._stale:
            for job, row in self._row.items():
                self.target.set_tasks(job, int(self.held[row] + self.waiting[row]))
            self.target.decide()
            self._stale = False
        found = []
        goals = self.target.on_classes()
        wanted = 0
        for row in self._waits().tolist():
            wanted |= self._usable[row]
        for c in places(wanted & self._near):
            target = np.array([goals[job][c] for job in self._rows])
            while self.free[c] > 0:
                can = np.array([r for r in self._waits().tolist() if self._usable[r] >> c & 1])
                if not len(can):
                    break
                below = np.maximum(target[can] - self.on[can, c], 0)
                row = self._least(can[below == below.max()])
                self._take(row, c)
                found.append(Placed(self._rows[row], 1, self._next_machine(c)))
        return found

    def set_tasks(self, job: int, tasks: int) -> None:
        """The job has so many tasks now; what it holds beyond them is free."""
        row = self._row[job]
        while self.held[row] > tasks:
            self.end(job, -1)
        self.waiting[row] = tasks - self.held[row]

    # --- rows -------------------------------------------------------------------------------

    def _grow(self, rows: int) -> None:
        old = self._arrays() if self._rows else ()
        self.on = np.zeros((rows, len(self.free)), dtype=np.int64)
        self.waiting = np.zeros(rows, dtype=np.int64)
        self.held = np.zeros(rows, dtype=np.int64)
        self.turn = np.zeros(rows, dtype=np.int64)
        self.unit = np.zeros(rows)
        for array, before in zip(self._arrays(), old, strict=False):
            array[: len(before)] = before

    def _arrays(self) -> tuple[Ints | Floats, ...]:
        return (self.on, self.waiting, self.held, self.turn, self.unit)
