"""Whether a job could ever run, machine by machine: what `possible` says, for the invariants."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.state import Ints, State
from fairlead.scheduling.kernels.memory.tables import ALONE, MANY
from fairlead.scheduling.state.rows import columns, limits


def could_run(state: State, jobs: Ints, there: Ints) -> list[int]:
    """0, 1 or ALONE of each job, as it says in `usable`."""
    found = []
    gangs, scales = columns(state.job[jobs], "gang", "scale")
    every = zip(jobs.tolist(), gangs, scales, _whole(state, jobs, there), strict=True)
    for j, gang, scale, holds in every:
        if not (scale > 0 and any(holds) and _within_limits(state, j, 1)):
            found.append(0)
        else:
            many = sum(holds) >= gang and _within_limits(state, j, gang)
            found.append(1 if many else ALONE)
    return found


def _whole(state: State, jobs: Ints, there: Ints) -> list[list[int]]:
    """How many tasks of each job each empty machine holds that satisfies its terms; 0 of others."""
    lacks = state.needs[jobs, None] & ~state.satisfies[None, there]
    good = (lacks == 0).all(axis=2)
    found = np.full(good.shape, MANY)
    found[state.job["spread"][jobs] != 0] = 1
    for r, unit in enumerate(state.unit.tolist()):
        need, has = state.demand[jobs, None, r], state.capacity[None, there, r]
        some = np.where(need == 0, 1, need)
        count = has // some
        if unit:
            count = np.where(need <= unit, has // unit * (unit // some), count)
        found = np.where(need == 0, found, np.minimum(found, count))
        good &= need <= has
    whole: list[list[int]] = np.where(good, found, 0).tolist()
    return whole


def _within_limits(state: State, j: int, tasks: int) -> bool:
    """Whether so many tasks of the job are no more than a tenant above it may hold."""
    above = limits(state, int(state.job[j]["tenant"]), state.demand[j])
    return all(int(state.demand[j, r]) * tasks <= limit for _, r, limit in above)
