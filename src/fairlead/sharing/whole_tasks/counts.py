"""A problem in whole numbers: what tasks take and machines have, in multiples of exact units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.sharing.problem.problem import Ints, Problem, jobs_below
from fairlead.sharing.whole_tasks.pieces import in_pieces

LARGEST = 2**53
"""Amounts in units are below this, so that they are exact in floating point too."""

UNBOUNDED = 2**40
"""Stands for as many tasks as one likes: all machines together hold fewer of any job."""


@dataclass(frozen=True)
class Cap:
    """A bound on jobs together: `use` (J,) times their tasks is at most `amount`, which is what
    a tenant may hold or the tasks that a job has."""

    use: Ints
    amount: int


@dataclass(frozen=True)
class Counts:
    """The problem's jobs and classes in its order, in whole numbers.

    `holds[j, c]`: whole tasks of j that one empty machine of class c holds, constraints ignored;
    `most[j, c]`: 0 where the job may not use the class, and no more than it has tasks.
    `count[c]` machines are in each class.
    `weight` (T,) is exact, 1 where a pool says it. `gang` (J,): so many tasks start together.
    `limits`: which jobs each limit caps, what a task of each takes (J,), and the amount.
    """

    problem: Problem
    demand: Ints  # (J, R)
    capacity: Ints  # (C, R)
    holds: Ints  # (J, C)
    most: Ints  # (J, C)
    count: Ints  # (C,)
    weight: tuple[Fraction, ...]
    gang: Ints  # (J,)
    limits: tuple[Cap, ...] = ()

    @cached_property
    def tasks(self) -> Ints:
        """(J,) how many tasks each job has, `UNBOUNDED` where it has any number."""
        return _tasks(self.problem)

    @cached_property
    def alone(self) -> Ints:
        """(J,) whole tasks that each job could run alone in the cluster, constraints ignored."""
        alone: Ints = self.holds @ self.count
        return alone

    @cached_property
    def usable(self) -> Ints:
        """(J,) whole tasks that each job could run alone on the machines that it may use."""
        usable: Ints = np.where(self.most > 0, self.holds, 0) @ self.count
        return usable

    def used_classes(self) -> tuple[Counts, Ints]:
        """The same for the classes alone on which some job can run, and which those are: what
        nobody can use cannot change what is drawn."""
        used: Ints = np.flatnonzero(self.most.any(axis=0))
        if len(used) == len(self.count):
            return self, used
        fewer = replace(
            self,
            capacity=self.capacity[used],
            holds=self.holds[:, used],
            most=self.most[:, used],
            count=self.count[used],
        )
        return fewer, used

    @cached_property
    def caps(self) -> tuple[Cap, ...]:
        """Limits and numbers of tasks that the machines could exceed."""
        jobs = len(self.demand)
        most = np.minimum(self.usable, self.tasks)
        own = [
            Cap(np.eye(1, jobs, j, dtype=np.int64)[0], int(self.tasks[j]))
            for j in np.flatnonzero(self.tasks < self.usable).tolist()
        ]
        return (*own, *(cap for cap in self.limits if total_use(cap.use, most) > cap.amount))


def total_use(use: Ints, tasks: Ints) -> int:
    """The amount that these tasks take together, exactly."""
    return sum(int(use[j]) * int(tasks[j]) for j in np.flatnonzero(use).tolist())


def counts_of(cluster: Cluster, jobs: Sequence[Job], problem: Problem) -> Counts:
    """The problem in whole numbers. Refuses amounts that are too fine or too many for that."""
    by_name = {job.name: job for job in jobs}
    machines = {machine.name: machine for machine in cluster.machines}
    ordered = [by_name[name] for name in problem.job_names]
    examples = [machines[names[0]] for names in problem.class_machines]
    columns, units = [], []
    for name in problem.resources:
        needs = [job.demand.get(name, Fraction(0)) for job in ordered]
        has = [machine.capacity.get(name, Fraction(0)) for machine in examples]
        if name in cluster.devices:
            has = [Fraction(amount.__floor__()) for amount in has]
            several = any(amount > 1 for amount in has)
            takes = in_pieces(name, dict(zip(problem.job_names, needs, strict=True)), several)
            needs = [takes[job] for job in problem.job_names]
        # Of what a machine has, only what whole tasks can take counts.
        unit = lcm(*(amount.denominator for amount in needs))
        column = [(amount * unit).__floor__() for amount in (*needs, *has)]
        if max(column, default=0) >= LARGEST:
            raise InputError(
                f"the amounts of {name} are too fine to be counted: their common unit is 1/{unit}",
                "round them, so that the largest is below 2^53 units",
            )
        columns.append(column)
        units.append(unit)
    amounts = np.array(columns, np.int64).reshape(len(columns), len(ordered) + len(examples)).T
    demand, capacity = amounts[: len(ordered)], amounts[len(ordered) :]
    holds = np.full((len(ordered), len(examples)), LARGEST, np.int64)
    for r in range(len(problem.resources)):
        needs_it = demand[:, r] > 0
        fits = capacity[None, :, r] // demand[needs_it, r, None]
        holds[needs_it] = np.minimum(holds[needs_it], fits)
    holds = np.where(problem.spread[:, None], np.minimum(holds, 1), holds)
    fit = holds.astype(np.float64) @ problem.count
    if (fit >= UNBOUNDED).any():
        j = int(fit.argmax())
        raise InputError(
            f"the machines hold {fit[j]:.3g} of its tasks, more than whole tasks are counted to,"
            f" which is {UNBOUNDED:.3g}",
            "make its tasks larger, or share divisible tasks",
            about=("job", problem.job_names[j], "demand"),
        )
    most = np.where(problem.eligible, np.minimum(holds, _tasks(problem)[:, None]), 0)
    limits = _limits(cluster, problem, ordered)
    gang = np.array([job.gang for job in ordered], np.int64)
    written = {tenant.name: tenant.weight for tenant in cluster.tenants}
    weight = tuple(written.get(name) or Fraction(1) for name in problem.tree.names)
    return Counts(problem, demand, capacity, holds, most, problem.count, weight, gang, limits)


def _limits(cluster: Cluster, problem: Problem, jobs: Sequence[Job]) -> tuple[Cap, ...]:
    """The capped amounts of each limit, as jobs ask for them, also of devices."""
    tree = problem.tree
    node = {name: t for t, name in enumerate(tree.names)}
    below = jobs_below(tree)
    found = []
    for tenant in cluster.tenants:
        for name, amount in tenant.limit.items():
            if name in problem.resources:
                needs = [job.demand.get(name, Fraction(0)) for job in jobs]
                unit = lcm(*(need.denominator for need in needs))
                use = np.zeros(len(jobs), np.int64)
                for j in below[node[tenant.name]]:
                    use[j] = int(needs[j] * unit)
                found.append(Cap(use, (amount * unit).__floor__()))
    return tuple(found)


def _tasks(problem: Problem) -> Ints:
    tasks: Ints = np.where(np.isfinite(problem.tasks), problem.tasks, float(UNBOUNDED)).astype(
        np.int64
    )
    return tasks
