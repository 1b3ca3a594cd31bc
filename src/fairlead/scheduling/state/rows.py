"""Rows of the state's tables: those in use, those of a list, and the limits above a tenant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairlead.scheduling.kernels.memory.state import Ints, Records, State, Words
from fairlead.scheduling.kernels.memory.tables import NONE, UNLIMITED
from fairlead.scheduling.kernels.search.levels import levels_of
from fairlead.scheduling.transitions import HELD, MachineState, TaskState
from fairlead.sharing.problem.problem import Bools, Floats

UP, DRAINING = int(MachineState.UP), int(MachineState.DRAINING)
ON_MACHINES = tuple(map(int, HELD))
STOPPING = int(TaskState.STOPPING)
"""States as plain numbers: NumPy compares a column with a member of an enumeration five times as
slowly."""


def machines_there(state: State) -> Ints:
    """The slots of the machines that are up or drain."""
    kind = state.machine["state"][: int(state.header[0]["machines"])]
    return np.flatnonzero((kind == UP) | (kind == DRAINING))


def are_reserved(state: State) -> Bools:
    """Which machines are reserved, and not by a pledge."""
    machine, found = state.machine, np.zeros(len(state.machine), bool)
    there = machines_there(state)
    found[there] = (machine["reserved"][there] != NONE) & (machine["pledged"][there] == 0)
    return found


def jobs_kept(state: State) -> Ints:
    """The slots of the jobs that are known, in the order of submission."""
    return _by_seq(state, np.flatnonzero(state.job["used"][: int(state.header[0]["jobs"])] == 1))


def jobs_present(state: State) -> Ints:
    """The slots of the jobs that have tasks which wait or are held, in the order of submission."""
    rows = state.job[: int(state.header[0]["jobs"])]
    wants = (rows["waiting"] > 0) | (rows["held"] > 0)
    return _by_seq(state, np.flatnonzero((rows["used"] == 1) & wants))


def _by_seq(state: State, jobs: Ints) -> Ints:
    return jobs[np.argsort(state.job["seq"][jobs], kind="stable")]


def jobs_in_line(state: State) -> tuple[Ints, Floats]:
    """The slots of active jobs, the least level first, then who was submitted earlier; and the
    levels."""
    jobs = jobs_kept(state)
    jobs = jobs[state.job["active"][jobs] == 1]
    levels = levels_of(state.handle, jobs)
    order = np.argsort(levels, kind="stable")
    return jobs[order], levels[order]


def tasks_held(state: State) -> Ints:
    """The slots of the tasks that are on a machine."""
    return np.flatnonzero(are_held(state.task[: int(state.header[0]["tasks"])]))


def are_held(tasks: Records) -> Bools:
    """Which of these rows are of tasks on a machine."""
    kind = tasks["state"]
    held: Bools = kind == ON_MACHINES[0]
    for each in ON_MACHINES[1:]:
        held |= kind == each
    return held


def stopping_tasks(state: State) -> Ints:
    """(slots of jobs,) the number of tasks of each that were told to stop."""
    task = state.task[: int(state.header[0]["tasks"])]
    told = task["job"][task["state"] == STOPPING]
    return np.bincount(told, minlength=len(state.job)).astype(np.int64)


def ever_used(state: State, name: str) -> Records:
    """The rows of a table (`job`, `tenant`, `task`, `node`, `stake`) that somebody has used: those
    behind them, most of a table that was made large, are as they were made."""
    table: Records = getattr(state, name)
    return table[: int(state.header[0][f"{name}s"])]


def columns(table: Records, *names: str) -> list[list[Any]]:
    """Columns of a table as lists: one number of one row takes several times as long to read."""
    return [table[name].tolist() for name in names]


def chain(following: Sequence[int] | Ints, first: int) -> list[int]:
    """The slots of a linked list; one slot more than there are where it runs in a circle."""
    found: list[int] = []
    at = int(first)
    while at >= 0 and len(found) <= len(following):
        found.append(at)
        at = int(following[at])
    return found


def tasks_on(state: State, m: int) -> list[int]:
    """The slots of the tasks on a machine."""
    return chain(state.task["machine_next"], state.machine[m]["first"])


def tasks_of(state: State, j: int) -> list[int]:
    """The slots of a job's tasks that are on machines."""
    return chain(state.task["job_next"], state.job[j]["first_task"])


def bits(words: Words) -> Bools:
    """(rows, 64 for each word): whether the bit is set, the least of a word first."""
    octets = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, bitorder="little").view(np.bool_)


def limits(state: State, tenant: int, demand: Ints) -> Iterator[tuple[int, int, int]]:
    """Of what a task needs, what a tenant and those above it may hold: the slot of the tenant, the
    resource, and the limit."""
    t, needed = tenant, [r for r, need in enumerate(demand.tolist()) if need > 0]
    while t >= 0:
        limits = state.limit[t].tolist()
        for r in needed:
            if limits[r] != UNLIMITED:
                yield t, r, limits[r]
        t = int(state.tenant[t]["parent"])


def eased(state: State) -> Ints:
    """How much of what is set aside below each tenant (tenants, R) others may have until tasks end
    that must."""
    least: Ints = np.minimum(state.owed, state.ending)
    return least


def asides(state: State, tenant: int, resource: int) -> list[int]:
    """The jobs of a tenant, and below it, for which some of the resource is set aside below limits,
    in the order of their submission."""
    job = state.job
    found = []
    for j in np.flatnonzero((job["used"] == 1) & (job["aside"] > 0)).tolist():
        t = int(job["tenant"][j])
        while t >= 0 and t != tenant:
            t = int(state.tenant["parent"][t])
        if t == tenant and state.demand[j, resource] > 0:
            found.append(j)
    return sorted(found, key=lambda j: int(job["seq"][j]))


def tenant_slots(state: State) -> list[int]:
    """The slots of the tenants that are there, in their order."""
    used = state.tenant["used"][: int(state.header[0]["tenants"])]
    return [int(t) for t in np.flatnonzero(used == 1)]
