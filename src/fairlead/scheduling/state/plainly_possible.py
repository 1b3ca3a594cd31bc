"""Whether a job could ever run, machine by machine: what `possible` says, for the invariants."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import ALONE, MANY
from fairlead.scheduling.state.rows import limits


def could_run(state: State, j: int, there: Iterable[int]) -> int:
    """0, 1 or ALONE, as the job says in `usable`."""
    job, gang = state.job[j], int(state.job[j]["gang"])
    holds = [_whole(state, j, m) for m in there]
    if not (job["scale"] > 0 and any(holds) and _within_limits(state, j, 1)):
        return 0
    return 1 if sum(holds) >= gang and _within_limits(state, j, gang) else ALONE


def _holds(state: State, j: int, m: int) -> bool:
    """Does the machine satisfy the job's terms and hold a task when empty?"""
    if (state.needs[j] & ~state.satisfies[m]).any():
        return False
    return all(need <= state.capacity[m, r] for r, need in enumerate(state.demand[j].tolist()))


def _whole(state: State, j: int, m: int) -> int:
    """How many tasks of the job the empty machine holds, by its terms too."""
    if not _holds(state, j, m):
        return 0
    found = [1] if state.job[j]["spread"] else []
    for r, need in enumerate(state.demand[j].tolist()):
        has, unit = int(state.capacity[m, r]), int(state.unit[r])
        if need:
            found.append(has // unit * (unit // need) if unit and need <= unit else has // need)
    return min(found, default=MANY)


def _within_limits(state: State, j: int, tasks: int) -> bool:
    """Whether so many tasks of the job are no more than a tenant above it may hold."""
    above = limits(state, int(state.job[j]["tenant"]), state.demand[j])
    return all(int(state.demand[j, r]) * tasks <= limit for _, r, limit in above)
