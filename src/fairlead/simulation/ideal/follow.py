"""Tasks that differ: schedulers that follow the exact allocation of the present jobs.

Which whole tasks fit together best is too hard to solve, so these follow the divisible optimum, by
rules that are stated with each kind in `Follow`.
"""

from __future__ import annotations

import numpy as np

from fairlead.model.errors import InputError
from fairlead.sharing.present import Exact, Snapshot, exact_now
from fairlead.simulation.ideal.instance import Instance
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.slots import Placed
from fairlead.simulation.ideal.weights import Weights
from fairlead.simulation.workload import Bools, Floats, Ints


class Follow:
    """Jobs on machines with free amounts, and the exact tasks of each job on each class.

    The exact allocation is solved when a job comes or goes, and where a job has fewer tasks left
    than its exact ones. Devices are not cut into pieces.

    RESTRICTED: the job of least level first, on the machine of the class where it is furthest
    below its exact tasks; then the first. PERIODIC: first the job and the machine where it is
    furthest below, whatever the levels; then the least level. PREEMPTION: every job runs its
    exact tasks rounded down, and one more in order of levels while a class has room for it, the
    machines of a class taken together: nobody could do better with tasks that may be cut in two.
    """

    def __init__(self, instance: Instance, kind: Kind, weights: Weights, scale: Floats) -> None:
        """`weights` and `scale` (J,) are kept up to date by whoever made them."""
        if kind is Kind.MIGRATION:
            raise InputError(
                f"in `{instance.workload.name}` tasks differ in size, tenants have limits or"
                " machines come and go, and how to move running tasks so that others fit is"
                " too hard to solve then",
                "choose restricted, preemption or periodic",
            )
        self.weights, self.scale = weights, scale
        self.present = np.zeros(len(instance.machine), np.bool_)
        self.kind = kind
        self.stays = kind is not Kind.PREEMPTION
        self.instance = instance
        self.free = np.zeros_like(instance.capacity)
        self._tenant_limits = bool((weights.limit >= 0).any())
        self.unit: dict[int, float] = {}
        self.waiting: dict[int, int] = {}
        self.held: dict[int, int] = {}
        self.on: dict[int, Ints] = {}  # (M,) tasks on each machine
        self.usable: dict[int, Bools] = {}  # (M,)
        self._fresh: list[int] = []
        self._open: dict[int, None] = {}  # machines on which something has ended
        self._exact: Exact | None = None
        self._row: dict[int, int] = {}
        self._count: dict[int, int] = {}
        self._class_tasks: dict[int, Ints] = {}
        self._class: Ints = np.zeros(0, np.int64)  # (M,) of the exact allocation; -1: not there

    def join(self, job: int, usable: Bools, tasks: int, unit: float) -> None:
        """A job with so many waiting tasks; a task adds `unit` to its level."""
        self.unit[job], self.waiting[job], self.held[job] = unit, tasks, 0
        self.usable[job] = usable[self.instance.classes.of_machine]
        self.on[job] = np.zeros(len(self.free), np.int64)
        self._fresh.append(job)
        self._exact = None

    def leave(self, job: int) -> None:
        """A job that has nothing left is gone."""
        del self.unit[job], self.waiting[job], self.held[job], self.on[job], self.usable[job]
        self._fresh = [fresh for fresh in self._fresh if fresh != job]
        self._exact = None

    def weigh(self, job: int, unit: float) -> None:
        """From now on a task of the job adds so much to its level."""
        self.unit[job] = unit

    def changed(self) -> None:
        """Weights, scales or machines are others from now on."""
        self._exact = None

    def come(self, machine: int) -> None:
        """A machine is there, empty."""
        self.present[machine] = True
        self.free[machine] = self.instance.capacity[machine]
        self._open[machine] = None

    def become(self, was: int, now: int) -> None:
        """A machine is another row: what runs there goes on, even where it does not fit."""
        self.present[was], self.present[now] = False, True
        self.free[now] = self.free[was] + self.instance.capacity[now] - self.instance.capacity[was]
        self._open[now] = None
        for on in self.on.values():
            on[now], on[was] = on[was], 0

    def go(self, machine: int) -> None:
        """A machine is gone. Its tasks wait again where tasks stay; elsewhere nobody was on it."""
        self.present[machine] = False
        for job, on in self.on.items():
            lost = int(on[machine])
            if lost:
                self.held[job] -= lost
                self.waiting[job] += lost
                self._fresh.append(job)
            on[machine] = 0

    def end(self, job: int, machine: int) -> None:
        """A task has ended, on this machine if tasks stay where they are."""
        self.held[job] -= 1
        if self.stays:
            self.on[job][machine] -= 1
            self.free[machine] += self.instance.demand[job]
            self._open[machine] = None
            if self._exact is not None:
                self._class_tasks[job][self._class[machine]] -= 1
        left = self.held[job] + self.waiting[job]
        if self._exact is not None and left < self._count.get(job, 0):
            self._exact = None

    def decide(self) -> list[Placed]:
        """Decides which jobs get how many more tasks, and where."""
        if not any(self.waiting.values()) and self.stays:
            self._fresh, self._open = [], {}
            return []
        if self._exact is None:
            self._solve()
        return self._place() if self.stays else self._recount()

    def on_classes(self) -> dict[int, Ints]:
        """Nobody is anywhere: machines of a class are taken together and tasks are cut in two."""
        return {}

    # --- the exact allocation ---------------------------------------------------------------

    def _solve(self) -> None:
        g = self.instance
        jobs = np.array(sorted(self.held), np.int64)
        self._row = {int(job): row for row, job in enumerate(jobs)}
        there = self.present
        self._exact = exact_now(
            Snapshot(
                time=0,
                capacity=g.capacity[there],
                satisfies=g.satisfied[there],
                job=jobs,
                tenant=g.tenant[jobs],
                demand=g.demand[jobs],
                needs=g.needs[jobs],
                spread=g.spread[jobs],
                waiting=np.array([self.waiting[j] for j in jobs.tolist()], np.int64),
                held=np.array([self.held[j] for j in jobs.tolist()], np.int64),
                scale=self.scale[jobs],
            ),
            self.weights.tenants,
        )
        self._class = np.full(len(there), -1)
        self._class[there] = self._exact.machine_class
        self._count = {j: int(self._exact.whole[row]) for j, row in self._row.items()}
        if self.stays:
            classes = self._exact.tasks.shape[1]
            self._class_tasks = {
                job: np.bincount(self._class[there], self.on[job][there], classes).astype(np.int64)
                for job in self._row
            }
        else:
            self._round_up()

    def _round_up(self) -> None:
        """One more task, in order of levels, while a class has room for a whole one."""
        assert self._exact is not None
        g, exact = self.instance, self._exact
        classes = exact.tasks.shape[1]
        jobs = list(self._row)
        counts = np.array([self._count[job] for job in jobs], np.float64)
        part = np.divide(counts, exact.total, out=np.zeros(len(jobs)), where=exact.total > 0)
        used = (exact.tasks * np.minimum(part, 1.0)[:, None]).T @ g.demand[jobs]
        whole = np.stack(
            [
                np.bincount(exact.machine_class, g.capacity[self.present, r], classes)
                for r in range(g.demand.shape[1])
            ],
            axis=1,
        )
        left: Floats = whole - used
        first = np.flatnonzero(self.present)[np.unique(exact.machine_class, return_index=True)[1]]
        counted = dict(self._count)
        for job in sorted(jobs, key=lambda j: (self._count[j] * self.unit[j], j)):
            if self._count[job] >= self.held[job] + self.waiting[job]:
                continue
            fits = self.usable[job][first] & (left >= g.demand[job]).all(axis=1)
            if fits.any() and self._limits_allow(job, counted):
                counted[job] += 1
                left[int(np.argmax(fits))] -= g.demand[job]
                self._count[job] += 1

    def _recount(self) -> list[Placed]:
        changes = []
        for job in sorted(self.held):
            more = min(self._count[job], self.held[job] + self.waiting[job]) - self.held[job]
            if more:
                self.held[job] += more
                self.waiting[job] -= more
                changes.append(Placed(job, more))
        return sorted(changes, key=lambda change: (change.tasks > 0, change.job))

    # --- machines ---------------------------------------------------------------------------

    def _place(self) -> list[Placed]:
        """Nothing that waited before fits anywhere but where something has ended."""
        fresh, opened = set(self._fresh), [m for m in self._open if self.present[m]]
        if self._tenant_limits:
            # Room below a limit is room on any machine.
            fresh |= {job for job in self.waiting if self.instance.tenant[job] >= 0}
        self._fresh, self._open = [], {}
        fits: dict[int, Bools] = {}
        for job, tasks in sorted(self.waiting.items()):
            if tasks:
                where = np.arange(len(self.free)) if job in fresh else np.array(opened, np.int64)
                row = np.zeros(len(self.free), np.bool_)
                row[where] = self._fit(job, where)
                if row.any():
                    fits[job] = row
        found = []
        while fits:
            if self._tenant_limits:
                fits = {job: row for job, row in fits.items() if self._limits_allow(job, self.held)}
                if not fits:
                    break
            job, machine = self._next(fits)
            self._take(job, machine)
            found.append(Placed(job, 1, machine))
            if not self.waiting[job]:
                del fits[job]
            for other in list(fits):
                if fits[other][machine]:
                    fits[other][machine] = self._fit(other, np.array([machine]))[0]
                    if not fits[other].any():
                        del fits[other]
        return found

    def _limits_allow(self, job: int, counts: dict[int, int]) -> bool:
        """Do the limits of the job's tenants allow one more task beside so many of each job?"""
        g, limit = self.instance, self.weights.limit
        for tenant in self.weights.above(int(g.tenant[job])):
            capped = limit[tenant] >= 0
            if not capped.any():
                continue
            used = g.demand[job].copy()
            for other, count in counts.items():
                if tenant in self.weights.above(int(g.tenant[other])):
                    used += count * g.demand[other]
            needs = g.demand[job] > 0
            if (used > limit[tenant])[capped & needs].any():
                return False
        return True

    def _fit(self, job: int, where: Ints) -> Bools:
        """Tests for each of these machines whether it could take a task of the job now."""
        room: Bools = np.all(self.free[where] >= self.instance.demand[job], axis=1)
        room &= self.usable[job][where] & self.present[where]
        if self.instance.spread[job]:
            room &= self.on[job][where] == 0
        return room

    def _next(self, fits: dict[int, Bools]) -> tuple[int, int]:
        """The job and the machine that are next, by the rule of the kind."""
        if self.kind is Kind.PERIODIC:
            below = {job: float(self._below(job, row).max()) for job, row in fits.items()}
            job = min(fits, key=lambda j: (-max(below[j], 0.0), self._level(j), j))
        else:
            job = min(fits, key=lambda j: (self._level(j), j))
        return job, int(np.argmax(self._below(job, fits[job])))

    def _below(self, job: int, fits: Bools) -> Floats:
        """(M,) by how much the job is below its exact tasks on the class of each machine that
        fits, 0 at least; -1 elsewhere."""
        assert self._exact is not None
        below = self._exact.tasks[self._row[job]] - self._class_tasks[job]
        by_machine = np.maximum(below, 0.0)[self._class]
        found: Floats = np.where(fits, by_machine, -1.0)
        return found

    def _level(self, job: int) -> float:
        return self.held[job] * self.unit[job]

    def _take(self, job: int, machine: int) -> None:
        assert self._exact is not None
        self.waiting[job] -= 1
        self.held[job] += 1
        self.on[job][machine] += 1
        self.free[machine] -= self.instance.demand[job]
        self._class_tasks[job][self._class[machine]] += 1
