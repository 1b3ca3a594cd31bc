"""Jobs that no machine can tell apart become one group, and the answer for it is split again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import gcd

import numpy as np
from flint import fmpq

from fairlead.sharing.filling.rates import siblings
from fairlead.sharing.numbers.amounts import Whole
from fairlead.sharing.problem.alone import alone
from fairlead.sharing.problem.problem import Bools, Floats, Ints, Problem

# Where a job's tasks are this close to what its machines hold, rationals say which is less.
_NEAR = 1e-9


@dataclass(frozen=True)
class Cap:
    """A tenant's limit: so much of a resource, of which a bundle of each group takes a part."""

    amount: fmpq
    takes: dict[int, int]  # by group


@dataclass(frozen=True)
class Groups:
    """The arrays that the rounds work on: G groups, C classes, R resources, all in whole numbers.

    A group's tasks are counted in bundles: a task of job j is `size[j]` bundles of its group, and
    a bundle takes `demand[g]`, numbers without a common divisor.
    """

    demand: Whole  # (G, R)
    usable: Bools  # (G, C)
    capacity: Whole  # (C, R) of all machines of the class together
    most: tuple[fmpq | None, ...]  # (G,) the bundles at which its tasks run out
    most_on: dict[
        tuple[int, int], int
    ]  # (group, class): the bundles that a job that spreads may have
    caps: tuple[Cap, ...]
    group: Ints  # (J,) the group of a job, -1 where a job can get nothing
    size: tuple[int, ...]  # (J,)
    members: tuple[tuple[int, ...], ...]  # (G,) the jobs

    @cached_property
    def use(self) -> Floats:
        """(G, R) `demand` in doubles."""
        return self.demand.astype(np.float64)

    @cached_property
    def room(self) -> Floats:
        """(C, R) `capacity` in doubles."""
        return self.capacity.astype(np.float64)

    @cached_property
    def spreads(self) -> Bools:
        """(G,) whether a group is a job that spreads."""
        found = np.zeros(len(self.members), dtype=np.bool_)
        found[[g for g, _ in self.most_on]] = True
        return found


def coalesce(problem: Problem, scale: Sequence[fmpq], *, merge: bool = True) -> Groups:
    """The groups of the jobs that can get something. Without `merge`, each job is a group.

    Jobs are merged where they are unlimited, do not spread, can use the same classes, need
    resources in the same proportion, and rise at rates in a fixed proportion: then they freeze
    together, whatever their weights and scales.
    """
    amounts, tree = problem.amounts, problem.tree
    can_run = np.asarray(problem.usable.any(axis=1))
    alive = [j for j, each in enumerate(scale) if each > 0 and can_run[j]]
    finite = _finite(problem, alive)
    limited = {limit.tenant for limit in tree.limits}
    family = siblings(tree)
    seen = np.packbits(problem.usable, axis=1)
    size, group = [0] * len(scale), np.full(len(scale), -1, dtype=np.int64)
    numbers: dict[object, int] = {}
    members: list[list[int]] = []
    demand: list[tuple[int, ...]] = []
    for j in alive:
        needs = amounts.demand[j].tolist()
        size[j] = reduce(gcd, needs)
        bundle = tuple(need // size[j] for need in needs)
        alike = merge and j not in finite and not problem.spread[j]
        alike = alike and int(tree.job_tenant[j]) not in limited
        key = (int(family[j]), seen[j].tobytes(), bundle) if alike else j
        number = numbers.setdefault(key, len(numbers))
        if number == len(members):
            members.append([])
            demand.append(bundle)
        members[number].append(j)
        group[j] = number
    first = [jobs[0] for jobs in members]
    count = problem.count.tolist()
    usable = problem.usable[first] if first else np.zeros((0, len(count)), dtype=np.bool_)
    capacity = np.empty(amounts.capacity.shape, dtype=object)
    for c, machines in enumerate(count):
        capacity[c] = amounts.capacity[c] * machines
    return Groups(
        demand=_rows(demand, len(problem.resources)),
        usable=usable,
        capacity=capacity,
        most=tuple(
            finite[jobs[0]] * size[jobs[0]] if jobs[0] in finite else None for jobs in members
        ),
        most_on={
            (g, c): count[c] * size[j]
            for g, j in enumerate(first)
            if problem.spread[j]
            for c in np.flatnonzero(usable[g]).tolist()
        },
        caps=_caps(problem, group, demand),
        group=group,
        size=tuple(size),
        members=tuple(map(tuple, members)),
    )


def _rows(rows: Sequence[tuple[int, ...]], width: int) -> Whole:
    found = np.empty((len(rows), width), dtype=object)
    for index, row in enumerate(rows):
        found[index] = row
    return found


def _finite(problem: Problem, alive: Sequence[int]) -> dict[int, fmpq]:
    """The tasks of the jobs that may run out of them. A count that the machines cannot hold anyway
    says nothing."""
    tasks = problem.amounts.tasks
    some = [j for j in alive if tasks[j] is not None]
    if not some:
        return {}
    holds = np.where(problem.usable[some], problem.holds[some], 0.0) @ problem.count
    wanted = problem.tasks[some]
    found = {}
    for j, held, number in zip(some, holds.tolist(), wanted.tolist(), strict=True):
        most = tasks[j]
        assert most is not None
        fits = number < held
        if abs(number - held) <= _NEAR * held:
            fits = most < alone(problem, [j], allowed=True)[0]
        if fits:
            found[j] = most
    return found


def _caps(problem: Problem, group: Ints, demand: Sequence[tuple[int, ...]]) -> tuple[Cap, ...]:
    tree = problem.tree
    found = []
    for limit, amount in zip(tree.limits, problem.amounts.limits, strict=True):
        below = np.zeros(len(group), dtype=np.bool_)
        node = tree.job_tenant.copy()
        while (node >= 0).any():
            below |= node == limit.tenant
            node = np.where(node >= 0, tree.parent[node], -1)
        groups = {int(g) for g in group[below] if g >= 0}
        takes = {g: demand[g][limit.resource] for g in sorted(groups)}
        found.append(Cap(amount, {g: need for g, need in takes.items() if need}))
    return tuple(found)
