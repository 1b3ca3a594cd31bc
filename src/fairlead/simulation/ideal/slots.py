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
        self.free = np.bincount(machine_class, slots, minlength=classes).astype(np.int64)
        self._order = np.arange(len(slots)) if order is None else order
        self._place = np.argsort(self._order, kind="stable")
        # The free slots of each class, as places in the order of the machines.
        self._slots: list[list[int]] = [[] for _ in range(classes)]
        for place in np.repeat(np.arange(len(slots)), slots[self._order]).tolist():
            self._slots[machine_class[self._order[place]]].append(place)
        self._taken = np.zeros(classes, dtype=np.int64)  # slots given away at this moment
        self._rows: list[int] = []  # the job in each row
        self._row: dict[int, int] = {}
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
        if row == len(self.usable):
            self._grow(2 * row)
        self._rows.append(job)
        self._row[job] = row
        self.usable[row] = usable
        self.waiting[row], self.held[row], self.unit[row], self.seq[row] = tasks, 0, unit, job
        if self.target:
            self.target.join(job, usable, tasks, unit)
            self._stale = True

    def leave(self, job: int) -> None:
        """A job that has nothing left is gone."""
        row, last = self._row.pop(job), len(self._rows) - 1
        self.free += self.on[row]  # a target's: a run's job holds nothing any more
        for array in self._arrays():
            array[row] = array[last]
            array[last] = 0
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
        self.on[row, c] -= 1
        self.held[row] -= 1
        self.free[c] += 1

    def decide(self) -> list[Placed]:
        """The best that the kind may do now: who gets how many more tasks, and where."""
        rows = len(self._rows)
        before = self.held[:rows].copy()
        if self.kind is Kind.PERIODIC:
            return self._follow()
        self.new[:rows] = 0
        self._taken[:] = 0
        self._fill()
        if self.kind is Kind.PREEMPTION:
            self._exchange()
        if not self.stays:
            change = self.held[:rows] - before
            return [Placed(self._rows[r], int(change[r])) for r in np.flatnonzero(change)]
        found = [
            Placed(self._rows[row], 1, self._next_machine(c))
            for row, c in np.argwhere(self.new[:rows])
            for _ in range(self.new[row, c])
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
        while self.free.any():
            rows = len(self._rows)
            waits = np.flatnonzero(self.waiting[:rows] > 0)
            if not len(waits):
                return
            near = self.free > 0
            first = self._least(waits)
            if (self.usable[first] & near).any():
                self._take(first, self._lowest(self.usable[first] & near))
                continue
            reach = _Reach(self.usable[:rows], self._movable()[:rows], near)
            can = waits[(self.usable[waits] & reach.classes).any(axis=1)]
            if not len(can):
                return
            row = self._least(can)
            at = self.usable[row] & reach.classes
            if (at & near).any():
                self._take(row, self._lowest(at & near))
                continue
            c = int(np.argmin(np.where(at, reach.depth, np.iinfo(np.int64).max)))
            start = c
            while not near[c]:
                mover, to = int(reach.mover[c]), int(reach.to[c])
                self._move(mover, c, to)
                c = to
            self.free[c] -= 1
            self.free[start] += 1
            self._take(row, start)

    def _movable(self) -> Ints:
        return self.new if self.stays else self.on

    def _least(self, rows: Ints) -> int:
        """Of these the one with the least level, then the first that came."""
        level = self.held[rows] * self.unit[rows]
        return int(rows[np.lexsort((self.seq[rows], level))[0]])

    def _lowest(self, classes: Bools) -> int:
        """Of these classes with free slots the one that has the first machine."""
        if not self.stays:
            return int(np.argmax(classes))
        options = np.flatnonzero(classes).tolist()
        return min(options, key=lambda c: self._slots[c][int(self._taken[c])])

    def _take(self, row: int, c: int) -> None:
        self.free[c] -= 1
        self.on[row, c] += 1
        self.new[row, c] += 1
        self._taken[c] += 1
        self.held[row] += 1
        self.waiting[row] -= 1

    def _move(self, row: int, c: int, to: int) -> None:
        """A task goes to another class; who counts the free slots is the caller."""
        self.on[row, c] -= 1
        self.on[row, to] += 1
        if self.stays:
            self.new[row, c] -= 1
            self.new[row, to] += 1
            self._taken[c] -= 1
            self._taken[to] += 1

    # --- slots of those who have more -------------------------------------------------------

    def _exchange(self) -> None:
        """From those who have more to those who have less, until nobody has a whole task more."""
        while self._exchange_one():
            self._fill()

    def _exchange_one(self) -> bool:
        rows = len(self._rows)
        level = self.held[:rows] * self.unit[:rows]
        waits = np.flatnonzero(self.waiting[:rows] > 0)
        # Whoever is stuck leaves nothing to those who have as much and reach only the same.
        covered = np.zeros(len(self.free), dtype=np.bool_)
        for row in waits[np.lexsort((self.seq[waits], level[waits]))]:
            if not (self.usable[row] & ~covered).any():
                continue
            out = _Out(self.usable[:rows], self.on[:rows], int(row))
            after = np.where(out.jobs, (self.held[:rows] - 1) * self.unit[:rows], -1.0)
            giver = int(np.lexsort((-self.seq[:rows], after))[-1])
            if after[giver] > level[row] * (1 + _LESS):
                self._give(out, giver, int(row))
                return True
            covered |= out.classes
        return False

    def _give(self, out: _Out, giver: int, row: int) -> None:
        self.held[giver] -= 1
        self.waiting[giver] += 1
        self.held[row] += 1
        self.waiting[row] -= 1
        holder = giver
        while True:
            c = int(out.left[holder])
            taker = int(out.enters[c])
            self.on[holder, c] -= 1
            self.on[taker, c] += 1
            if taker == row:
                return
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
        rows = len(self._rows)
        goals = self.target.on_classes()
        wanted = self.usable[:rows][self.waiting[:rows] > 0].any(axis=0)
        for c in np.flatnonzero(wanted & (self.free > 0)).tolist():
            target = np.array([goals[job][c] for job in self._rows])
            while self.free[c] > 0:
                can = np.flatnonzero((self.waiting[:rows] > 0) & self.usable[:rows, c])
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
        classes = len(self.free)
        old = self._arrays() if self._rows else ()
        self.usable = np.zeros((rows, classes), dtype=np.bool_)
        self.on = np.zeros((rows, classes), dtype=np.int64)
        self.new = np.zeros((rows, classes), dtype=np.int64)
        self.waiting = np.zeros(rows, dtype=np.int64)
        self.held = np.zeros(rows, dtype=np.int64)
        self.seq = np.zeros(rows, dtype=np.int64)
        self.unit = np.zeros(rows)
        for array, before in zip(self._arrays(), old, strict=False):
            array[: len(before)] = before

    def _arrays(self) -> tuple[Bools | Ints | Floats, ...]:
        return (self.usable, self.on, self.new, self.waiting, self.held, self.seq, self.unit)


class _Reach:
    """The classes from which tasks can be moved on until a slot there is free."""

    def __init__(self, usable: Bools, movable: Ints, near: Bools) -> None:
        self.classes = near.copy()
        self.depth = np.zeros(len(near), dtype=np.int64)
        self.mover = np.full(len(near), -1)
        self.to = np.full(len(near), -1)
        seen = np.zeros(len(usable), dtype=np.bool_)
        edge, depth = near, 0
        while edge.any():
            depth += 1
            movers = np.flatnonzero(~seen & usable[:, edge].any(axis=1))
            seen[movers] = True
            has = movable[movers] > 0
            fresh = np.flatnonzero(has.any(axis=0) & ~self.classes)
            if not len(fresh):
                return
            who = movers[np.argmax(has[:, fresh], axis=0)]
            self.mover[fresh] = who
            self.to[fresh] = np.argmax(usable[who] & edge, axis=1)
            self.depth[fresh] = depth
            edge = np.zeros(len(near), dtype=np.bool_)
            edge[fresh] = True
            self.classes |= edge


class _Out:
    """The jobs whose slots one job could get, each of them moving on to where the next one is."""

    def __init__(self, usable: Bools, on: Ints, row: int) -> None:
        self.classes = usable[row].copy()
        self.jobs = np.zeros(len(usable), dtype=np.bool_)
        self.enters = np.where(usable[row], row, -1)  # by class: who would take a slot there
        self.left = np.full(len(usable), -1)  # by job: the class on which it would give one up
        known = self.jobs.copy()
        known[row] = True
        edge = self.classes
        while edge.any():
            at = np.flatnonzero(edge)
            has = on[:, at] > 0
            fresh = np.flatnonzero(has.any(axis=1) & ~known)
            if not len(fresh):
                return
            known[fresh] = self.jobs[fresh] = True
            self.left[fresh] = at[np.argmax(has[fresh], axis=1)]
            wider = usable[fresh].any(axis=0) & ~self.classes
            self.enters[wider] = fresh[np.argmax(usable[fresh][:, wider], axis=0)]
            self.classes = self.classes | wider
            edge = wider
