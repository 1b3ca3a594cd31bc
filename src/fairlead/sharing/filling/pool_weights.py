"""Weights from pools: a tenant that brought machines weighs what those machines could give it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from fairlead.model.errors import InputError
from fairlead.model.proof import Places, PoolProof
from fairlead.sharing.filling.corner import Row
from fairlead.sharing.filling.names import Names, scarce
from fairlead.sharing.numbers.amounts import nearest, rationals
from fairlead.sharing.problem.alone import held
from fairlead.sharing.problem.problem import Floats, Problem, jobs_below
from fairlead.sharing.solvers.exact_program import Column, Optimum, maximise

NONE = fmpq(0)


@dataclass(frozen=True)
class _Pool:
    """The largest share of a tenant in its pool: jobs with the classes that they are on to reach
    it, and what they use up."""

    tenant: int
    share: fmpq
    places: tuple[tuple[int, tuple[int, ...]], ...]
    full: tuple[Row, ...]

    def proof(self, names: Names) -> PoolProof:
        tree, show = names.problem.tree, names.show
        own = set(np.flatnonzero(tree.pool_count[self.tenant]))
        return PoolProof(
            tenant=tree.names[self.tenant],
            share=nearest(self.share),
            places=tuple(
                Places((names.problem.job_names[j],), tuple(sorted(show[c] for c in classes)))
                for j, classes in self.places
            ),
            scarce=tuple(scarce(names, row) for row in self.full),
            classes=tuple(
                shown for shown, c in zip(names.classes(), names.order, strict=True) if c in own
            ),
        )


@dataclass(frozen=True)
class Weights:
    """The weight of every tenant, and what shows those that no formula gives."""

    exact: tuple[fmpq, ...]  # (T,)
    _pools: tuple[_Pool, ...] = ()

    @property
    def weight(self) -> Floats:
        """(T,) the weights in doubles."""
        return np.array([nearest(each) for each in self.exact])

    def proofs(self, names: Names) -> tuple[PoolProof, ...]:
        """The proofs, by tenant. The names are those of the problem with the machines as they
        are."""
        return tuple(sorted((pool.proof(names) for pool in self._pools), key=lambda p: p.tenant))


def tenant_weights(problem: Problem, scale: Iterable[Any]) -> Weights:
    """The weight of every tenant: as written, or what its pool could give it.

    That is the largest share that the tenant's jobs could reach in its pool alone (Theorem 1 of
    the TSF paper: w = k / scale, k the tasks of its job in the pool), with finite tasks, `spread`
    and limits counted. A tenant with a pool of which no job can run anywhere weighs 1: it takes
    part in nothing. The problem is the real one, with the machines as they are, whatever the
    policy looks at.
    """
    scales, amounts = rationals(scale), problem.amounts
    pools = []
    below = jobs_below(problem.tree)
    need = _need_under_limits(problem, below)
    weight: list[fmpq] = []
    runs = problem.usable.max(axis=1, initial=False).tolist()
    for tenant, written in enumerate(amounts.weight):
        if written is not None:
            weight.append(written)
            continue
        jobs = sorted(below[tenant])
        able = [j for j in jobs if scales[j] > 0 and runs[j]]
        if not able:
            weight.append(fmpq(1))
        elif len(jobs) == 1 and not need[:, jobs].any():
            job = jobs[0]
            count = np.where(problem.usable[job], problem.tree.pool_count[tenant], 0)
            fits = held(problem, [job], count[None, :])[0]
            tasks = amounts.tasks[job]
            weight.append((fits if tasks is None else min(tasks, fits)) / scales[job])
        else:
            pool = _largest_share(problem, tenant, able, scales, need)
            weight.append(pool.share)
            pools.append(pool)
        if not weight[tenant] > 0:
            name = problem.tree.names[tenant]
            raise InputError(
                "it could run nothing in its pool, so it would weigh nothing",
                "give it a pool and limits that let at least one of its jobs run, or a weight",
                about=("tenant", name, "pool"),
            )
    return Weights(tuple(weight), tuple(pools))


def _need_under_limits(problem: Problem, below: list[list[int]]) -> Floats:
    """(L, J) what a task of each job takes of what each limit caps, 0 for jobs not below it."""
    limits = problem.tree.limits
    need = np.zeros((len(limits), len(problem.job_names)))
    for row, limit in enumerate(limits):
        jobs = below[limit.tenant]
        need[row, jobs] = problem.demand[jobs, limit.resource]
    return need


def _largest_share(
    problem: Problem, tenant: int, jobs: Sequence[int], scale: Sequence[fmpq], need: Floats
) -> _Pool:
    pool = problem.tree.pool_count[tenant]
    amounts = problem.amounts
    # A limit of 0 forbids its jobs, and has no price.
    closed = [index for index, amount in enumerate(amounts.limits) if amount == 0]
    able = [j for j in jobs if not need[closed, j].any()]
    places = [(j, int(c)) for j in able for c in np.flatnonzero(problem.usable[j] & (pool > 0))]
    rows: dict[Row, int] = {}
    bound: list[fmpq] = []
    columns: list[Column] = []

    def take(column: Column, row: Row, much: int, there: fmpq) -> None:
        if row not in rows:
            rows[row] = len(bound)
            bound.append(there)
        column[rows[row]] = fmpq(much)

    for j, c in places:
        column: Column = {}
        machines = int(pool[c])
        for r, takes in enumerate(amounts.demand[j].tolist()):
            if takes:
                take(column, ("on", c, r), takes, fmpq(amounts.capacity[c, r] * machines))
        if problem.spread[j]:
            take(column, ("spread", j, c), 1, fmpq(machines))
        tasks = amounts.tasks[j]
        if tasks is not None:
            take(column, ("tasks", j, 0), 1, tasks)
        for index in np.flatnonzero(need[:, j]).tolist():
            takes = int(amounts.demand[j, problem.tree.limits[index].resource])
            take(column, ("limit", index, 0), takes, amounts.limits[index])
        columns.append(column)
    found = Optimum({}, {}, NONE)
    if places:
        found = maximise(columns, bound, [1 / scale[j] for j, _ in places])
    names = list(rows)
    used: dict[int, tuple[int, ...]] = {}
    for j, c in (places[index] for index in found.basic):
        used[j] = (*used.get(j, ()), c)
    return _Pool(
        tenant,
        found.value,
        tuple(used.items()),
        tuple(names[index] for index in found.full),
    )
