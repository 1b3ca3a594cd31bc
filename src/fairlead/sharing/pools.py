"""Weights from pools: a tenant that brought machines weighs what those machines could give it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairlead.model.errors import InputError, Mistake
from fairlead.model.proof import PoolProof
from fairlead.model.shares import Placement, Stop
from fairlead.sharing.answer import Names, jobs_below
from fairlead.sharing.problem import Floats, Ints, Problem


@dataclass(frozen=True)
class _Pool:
    """The largest share of a tenant in its pool: tasks (jobs x classes) that reach it, and stops
    with their prices, over the problem's classes."""

    tenant: int
    share: float
    jobs: Ints
    tasks: Floats
    stops: tuple[Stop, ...]

    def proof(self, names: Names) -> PoolProof:
        """The same in names."""
        tree, show = names.problem.tree, names.show
        own = set(np.flatnonzero(tree.pool_count[self.tenant]))
        return PoolProof(
            tenant=tree.names[self.tenant],
            share=self.share,
            placements=tuple(
                sorted(
                    (
                        names.problem.job_names[j],
                        tuple(Placement(show[c], float(x[c])) for c in names.order if x[c] > 0),
                    )
                    for j, x in zip(self.jobs, self.tasks, strict=True)
                )
            ),
            stops=tuple(
                stop
                if stop.machine_class is None
                else replace(stop, machine_class=show[stop.machine_class])
                for stop in self.stops
            ),
            classes=tuple(
                shown for shown, c in zip(names.classes(), names.order, strict=True) if c in own
            ),
        )


@dataclass(frozen=True)
class Weights:
    """(T,) the weight of every tenant, and what shows those that no formula gives."""

    weight: Floats
    _pools: tuple[_Pool, ...] = ()

    def proofs(self, names: Names) -> tuple[PoolProof, ...]:
        """The proofs, by tenant. The names are those of the problem with the machines as they
        are."""
        return tuple(sorted((pool.proof(names) for pool in self._pools), key=lambda p: p.tenant))


def tenant_weights(problem: Problem, scale: Floats) -> Weights:
    """The weight of every tenant: as written, or what its pool could give it.

    That is the largest share that the tenant's jobs could reach in its pool alone (Theorem 1 of
    the TSF paper: w = k / scale, k the tasks of its job in the pool), with finite tasks, `spread`
    and limits counted. A tenant with a pool of which no job can run anywhere weighs 1: it takes
    part in nothing. The problem is the real one, with the machines as they are, whatever the
    policy looks at.
    """
    weight = problem.tree.weight.copy()
    pools = []
    below = jobs_below(problem.tree)
    need = _need_under_limits(problem, below)
    for tenant in np.flatnonzero(np.isnan(weight)):
        jobs = np.array(sorted(below[tenant]), dtype=np.int64)
        able = jobs[scale[jobs] > 0]
        if not able.size:
            weight[tenant] = 1.0
        elif jobs.size == 1 and not need[:, jobs].any():
            job = jobs[0]
            holds = np.where(problem.usable[job], problem.holds[job], 0.0)
            fits = problem.tree.pool_count[tenant] @ holds
            weight[tenant] = min(problem.tasks[job], fits) / scale[job]
        else:
            pool = _largest_share(problem, int(tenant), able, scale, need)
            weight[tenant] = pool.share
            pools.append(pool)
        if not weight[tenant] > 0:
            name = problem.tree.names[tenant]
            raise InputError(
                Mistake(
                    f"tenant `{name}` could run nothing in its pool, so it would weigh nothing",
                    "give it a pool and limits that let at least one of its jobs run, or a weight",
                )
            )
    return Weights(weight, tuple(pools))


def _need_under_limits(problem: Problem, below: list[list[int]]) -> Floats:
    """(L, J) what a task of each job takes of what each limit caps, 0 for jobs not below it."""
    limits = problem.tree.limits
    need = np.zeros((len(limits), len(problem.job_names)))
    for row, limit in enumerate(limits):
        jobs = below[limit.tenant]
        need[row, jobs] = problem.demand[jobs, limit.resource]
    return need


def _largest_share(problem: Problem, tenant: int, jobs: Ints, scale: Floats, need: Floats) -> _Pool:
    # Imported here because only pools of several jobs need a solver.
    from fairlead.sharing.solvers.linear import Program

    pool = problem.tree.pool_count[tenant]
    tasks = np.zeros((jobs.size, pool.size))
    usable = problem.usable[jobs] & (pool > 0)
    # What limits of 0 forbid is no question for a solver, whose tolerance would let a little pass.
    forbidding = np.array([limit.amount == 0 for limit in problem.tree.limits], dtype=np.bool_)
    usable[need[forbidding][:, jobs].any(axis=0)] = False
    at_job, machine_class = np.nonzero(usable)
    if not at_job.size:
        return _Pool(tenant, 0.0, jobs, tasks, ())
    job = jobs[at_job]
    most = pool[machine_class] * problem.holds[job, machine_class]  # tasks on that class alone
    gain = most / scale[job]
    rows = _rows(problem, pool, job, machine_class, need)
    # Columns in parts of what the class alone holds, rows in parts of what there is, and the
    # share in parts of the best column: every number is then of the order of 1.
    unit = float(gain.max())
    bound = np.array([row.bound for row in rows])
    at_row = np.repeat(np.arange(len(rows)), [row.columns.size for row in rows])
    column = np.concatenate([row.columns for row in rows])
    amount = np.concatenate([row.amounts for row in rows]) * most[column] / bound[at_row]
    by_column = np.argsort(column, kind="stable")
    program = Program(np.full(len(rows), -np.inf), np.ones(len(rows)))
    program.add_columns(
        -gain / unit,
        np.full(job.size, np.inf),
        np.searchsorted(column[by_column], np.arange(job.size)),
        at_row[by_column],
        amount[by_column],
    )
    solution = program.solve()
    tasks[at_job, machine_class] = np.maximum(solution.column_value, 0.0) * most
    price = np.maximum(-solution.row_dual, 0.0) * unit / bound
    stops = [replace(row.stop, price=float(price[i])) for i, row in enumerate(rows) if price[i]]
    for index in np.flatnonzero(forbidding):
        # Any price that is high enough will do: nothing of it is for sale.
        capped = jobs[need[index, jobs] > 0]
        if capped.size:
            dear = float((1.0 / scale[capped] / need[index, capped]).max())
            stops.append(replace(_limit_stop(problem, int(index)), price=dear))
    share = float((tasks.sum(axis=1) / scale[jobs]).sum())
    return _Pool(tenant, share, jobs, tasks, tuple(stops))


def _limit_stop(problem: Problem, index: int) -> Stop:
    """A limit as what stops its jobs, without a price."""
    limit = problem.tree.limits[index]
    return Stop(
        0.0, tenant=problem.tree.names[limit.tenant], resource=problem.resources[limit.resource]
    )


@dataclass(frozen=True)
class _Row:
    """One thing that is scarce: entries (column, amount a task takes), what there is, its name."""

    columns: Ints
    amounts: Floats
    bound: float
    stop: Stop


def _rows(problem: Problem, pool: Ints, job: Ints, machine_class: Ints, need: Floats) -> list[_Row]:
    rows = []
    for c in np.unique(machine_class):
        on = np.flatnonzero(machine_class == c)
        for r, resource in enumerate(problem.resources):
            takes = on[problem.demand[job[on], r] > 0]
            if takes.size:
                there = float(pool[c] * problem.capacity[c, r])
                stop = Stop(0.0, machine_class=int(c), resource=resource)
                rows.append(_Row(takes, problem.demand[job[takes], r], there, stop))
        for column in on[problem.spread[job[on]]]:
            name = problem.job_names[job[column]]
            stop = Stop(0.0, machine_class=int(c), job=name)
            rows.append(_Row(np.array([column]), np.ones(1), float(pool[c]), stop))
    for j in np.unique(job):
        if np.isfinite(problem.tasks[j]):
            mine = np.flatnonzero(job == j)
            stop = Stop(0.0, job=problem.job_names[j])
            rows.append(_Row(mine, np.ones(mine.size), float(problem.tasks[j]), stop))
    for index in np.flatnonzero(need[:, job].any(axis=1)):
        capped = np.flatnonzero(need[index, job])
        amount = problem.tree.limits[index].amount
        stop = _limit_stop(problem, int(index))
        rows.append(_Row(capped, need[index, job[capped]], amount, stop))
    return rows
