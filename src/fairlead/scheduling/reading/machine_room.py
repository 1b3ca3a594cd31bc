"""Machines that could run a job, what is free on them, and what runs there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.kernels.memory.state import Ints
from fairlead.scheduling.preemption.picture import (
    Held,
    HeldMachine,
    Pieces,
    Room,
    free_pieces,
    pieces_of,
)
from fairlead.scheduling.state import rows
from fairlead.scheduling.transitions import MachineState, TaskState
from fairlead.sharing.problem.problem import Bools

Amounts = tuple[int, ...]
"""Of each resource, in the core's units."""


def demand_of(core: Core, slot: int) -> Amounts:
    return tuple(core.state.demand[slot].tolist())


def may_run(core: Core, slot: int) -> Bools:
    """(machines,) which of them are up and satisfy the job's constraint."""
    state = core.state
    used = int(state.header[0]["machines"])
    needs = state.needs[slot]
    up = state.machine["state"][:used] == MachineState.UP
    allowed: Bools = up & ((state.satisfies[:used] & needs) == needs).all(axis=1)
    return allowed


def could_run(core: Core, slot: int) -> Bools:
    """(machines,) which of them are up, satisfy the job's constraint and hold a task of it when
    empty."""
    usable = may_run(core, slot)
    usable &= (core.state.capacity[: len(usable)] >= core.state.demand[slot]).all(axis=1)
    return usable


def nearest_machines(core: Core, slot: int, *, full: bool) -> Ints:
    """Machines that could run the job and on which tasks of it may start, those that lack least
    first. `full`: those alone that have no room for a task."""
    state = core.state
    usable, demand = could_run(core, slot), state.demand[slot]
    if full:
        usable &= ~(state.room[: len(usable)] >= demand).all(axis=1)
    if state.job[slot]["spread"]:
        task = state.task[: int(state.header[0]["tasks"])]
        own = task["machine"][(task["job"] == slot) & (task["state"] > TaskState.WAITING)]
        usable[own] = False
    machines = np.flatnonzero(usable)
    lacks = np.maximum(demand - np.maximum(state.free[machines], 0), 0) / np.maximum(demand, 1)
    order: Ints = machines[np.argsort(lacks.max(axis=1, initial=0), kind="stable")]
    return order


def least_reductions(core: Core, slot: int) -> list[tuple[int, Amounts]]:
    """Machines with room for a part of the job's demand, and the part, devices whole: where the
    demand shrinks least first. Machines that are reserved for others are left out."""
    state = core.state
    demand, open_ = state.demand[slot], may_run(core, slot)
    used = len(open_)
    open_ &= state.machine["reserved"][:used] < 0
    least = np.minimum(state.room[:used], demand)
    unit = state.unit
    whole = (unit > 0) & (least > unit)
    least = np.where(whole, least // np.maximum(unit, 1) * unit, least)
    open_ &= (least[:, demand > 0] > 0).all(axis=1)
    there = np.flatnonzero(open_)
    less = (demand - least[there]) / np.maximum(demand, 1)
    order = there[np.lexsort((less.sum(axis=1), less.max(axis=1, initial=0)))]
    return [(m, tuple(least[m].tolist())) for m in order.tolist()]


def free_room(core: Core, m: int) -> Room:
    state = core.state
    free = tuple(state.free[m].tolist())
    machine = HeldMachine(seq=m, free=free, pieces=free_pieces(state, m))
    return Room(Held((), (), (), tuple(state.unit.tolist())), machine)


@dataclass(frozen=True, slots=True)
class MachineTask:
    """A task on a machine, by its job's slot, with what it holds there, and since when."""

    job: int
    number: int
    demand: Amounts
    pieces: Pieces
    launched: int


def tasks_on(core: Core, m: int) -> list[MachineTask]:
    """The tasks on a machine, the newest first."""
    state, tasks = core.state, []
    for row in state.task[rows.tasks_on(state, m)]:
        job, pieces = int(row["job"]), pieces_of(state, int(row["pieces"]))
        number, launched = int(row["number"]), int(row["launched"])
        tasks.append(MachineTask(job, number, demand_of(core, job), pieces, launched))
    return sorted(tasks, key=lambda task: (-task.launched, task.job, task.number))


def standing(core: Core, slot: int, m: int, jobs: list[int]) -> object:
    """By what the core decides who gets the room, for a job in this slot that waits, once tasks of
    these jobs end on a machine: equal where it would decide alike."""
    state = core.state
    losing = [state.job[name][jobs].tolist() for name in ("tenant", "held", "gang", "scale")]
    first = (state.job["turn"][jobs] < state.job["turn"][slot]).tolist()
    waits = (state.job["waiting"][jobs] > 0).tolist()
    demand = map(tuple, state.demand[jobs].tolist())
    there = state.task["job"][rows.tasks_on(state, m)]
    alone = np.sort(there[state.job["spread"][there] > 0])  # no other task of these goes there
    return (
        int(state.machine["reserved"][m]),
        alone.tobytes(),
        *(each[m].tobytes() for each in (state.capacity, state.satisfies, state.free)),
        *sorted(zip(*losing, first, waits, demand, strict=True)),
    )
