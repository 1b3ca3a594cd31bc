"""Pools online: a tenant that brought machines weighs what those of them that are there could give
to one of its jobs."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.scheduling.kernels.memory.state import Ints, State
from fairlead.scheduling.kernels.memory.tables import ALONE, NONE, UNLIMITED
from fairlead.scheduling.state.ids import Ids
from fairlead.scheduling.state.scales import Scaler
from fairlead.sharing.problem.problem import Bools, Floats


def pool_weights(state: State, ids: Ids, scaler: Scaler) -> dict[int, float]:
    """The weight of every tenant that has a pool, by its slot, in the order of the slots.

    That is the largest share that one of its present jobs, or of those below it, could reach in
    the pool alone, in whole tasks and no more than the job has (Wang et al., Multi-resource fair
    sharing for datacenter jobs with placement constraints, Theorem 1: w = k / h). A job that can
    never run is no demand. A tenant of which no job could run anything there weighs 1.
    """
    return {
        t: _weight(state, ids, scaler, t, tenant.pool)
        for t, tenant in sorted(ids.tenant_at.items())
        if tenant.pool is not None
    }


def _weight(state: State, ids: Ids, scaler: Scaler, t: int, pool: tuple[str, ...]) -> float:
    jobs = _jobs_below(state, t)
    machines = np.array([ids.machines[name] for name in pool if name in ids.machines], np.int64)
    jobs = jobs[_could_run(state, jobs)]
    if not jobs.size or not machines.size:
        return 1.0
    spread = state.job["spread"][jobs] > 0
    holds = scaler.holds(state.demand[jobs], spread, state.capacity[machines])
    lacking = state.needs[jobs][:, None, :] & ~state.satisfies[machines][None, :, :]
    total = state.job["total"][jobs]
    return largest_share(
        np.where(lacking.any(axis=2), 0.0, holds),
        np.ones(len(machines), np.int64),
        np.where(total == UNLIMITED, np.inf, total),
        state.job["scale"][jobs],
    )


def _could_run(state: State, jobs: Ints) -> Bools:
    """(J,) whether each could ever run: of one whose gang fits nowhere, if it has fewer tasks."""
    rows = state.job[jobs]
    few = (rows["total"] != UNLIMITED) & (rows["total"] < rows["gang"])
    able: Bools = (rows["usable"] == 1) | ((rows["usable"] == ALONE) & few)
    able &= rows["scale"] > 0
    return able


def largest_share(holds: Floats, count: Ints, total: Floats, scale: Floats) -> float:
    """The largest share that one of these jobs could reach on so many machines of each kind, of
    which one holds so many tasks of it (J, C), in whole tasks and no more than its `total`; 1 where
    none could run anything."""
    tasks = np.minimum(np.floor(holds) @ count, total)
    weight = float((tasks / scale).max(initial=0))
    return weight if weight > 0 else 1.0


def _jobs_below(state: State, t: int) -> Ints:
    """The slots of the jobs of a tenant and of all the tenants below it."""
    header = state.header[0]
    parent = state.tenant["parent"][: int(header["tenants"])]
    below = np.zeros(len(parent), bool)
    below[t] = True
    while True:  # a child's slot may be lower than its parent's, as slots are used again
        more = below | (below[parent] & (parent != NONE))
        if (more == below).all():
            break
        below = more
    job = state.job[: int(header["jobs"])]
    found: Ints = np.flatnonzero((job["used"] > 0) & below[job["tenant"]])
    return found


def check_siblings(ids: Ids, tenant: Tenant) -> None:
    """Tenants below the same parent have all weights or all pools. Raises InputError."""
    # The others are alike, so the first of them says it of all.
    beside = (ids.tenant_at[t] for t in ids.below.get(tenant.parent, ()))
    first = next((each for each in beside if each.name != tenant.name), None)
    if first is not None and (first.pool is None) is not (tenant.pool is None):
        has = "no pool" if first.pool is None else "a pool"
        raise InputError(
            f'its sibling "{first.name}" has {has}: siblings have all weights or all pools',
            "give it what its siblings have",
            about=("tenant", tenant.name, "pool"),
        )
    if tenant.pool is not None:
        for job in ids.job_at.values():
            if job.tenant == tenant.parent:
                refuse_beside(tenant.name, job.name)


def check_job_beside(ids: Ids, job: str, parent: str | None) -> None:
    """A job weighs 1, so no tenant beside it has a pool. Raises InputError."""
    beside = ids.below.get(parent)  # all of them are alike
    if beside and (first := ids.tenant_at[beside[0]]).pool is not None:
        refuse_beside(first.name, job)


def refuse_beside(tenant: str, job: str) -> NoReturn:
    """Raises InputError: a job would stand beside a tenant that has a pool."""
    raise InputError(
        f'it would weigh 1 beside tenant "{tenant}", which has a pool',
        "give the job a tenant that has a pool",
        about=("job", job, "tenant"),
    )
