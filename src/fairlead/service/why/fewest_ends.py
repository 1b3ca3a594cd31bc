"""Which tasks would have to end for a job to start: the fewest on some machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.preemption.picture import Held, HeldMachine, Pieces, Room, pieces_of
from fairlead.scheduling.transitions import TaskState
from fairlead.service.fairness.causes import could_run

MOST_MACHINES = 200
"""So many machines are looked at, those that lack least first."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Tasks on one machine, as (job's slot, number), whose ends make room for `fits` tasks."""

    machine: int
    tasks: tuple[tuple[int, int], ...]
    fits: int


def fewest_ends(core: Core, slot: int, wanted: int = 1) -> list[Ends]:
    """For each machine that could run the job, what would have to end there for one task of it (or
    as many of `wanted` as it holds) to fit: the fewest first, then by the machines' order.

    A machine that has room already is left out, and one where the job's own tasks alone are."""
    state = core.state
    usable = could_run(core, slot)
    demand = state.demand[slot]
    usable &= ~((state.room[: len(usable)] >= demand).all(axis=1)) | (wanted > 1)
    if state.job[slot]["spread"]:
        task = state.task[: int(state.header[0]["tasks"])]
        own = task["machine"][(task["job"] == slot) & (task["state"] > TaskState.WAITING)]
        usable[own] = False
    machines = np.flatnonzero(usable)
    lacks = np.maximum(demand - np.maximum(state.free[machines], 0), 0) / np.maximum(demand, 1)
    order = machines[np.argsort(lacks.max(axis=1, initial=0), kind="stable")][:MOST_MACHINES]
    found = [
        ends
        for m in order.tolist()
        if (ends := _room_for(core, m, slot, tuple(demand.tolist()), wanted)) is not None
    ]
    return sorted(found, key=lambda ends: (len(ends.tasks) / ends.fits, ends.machine))


@dataclass(frozen=True, slots=True)
class _Task:
    """A task on the machine, what it takes there, and since when."""

    job: int
    number: int
    demand: tuple[int, ...]
    pieces: Pieces
    launched: int


def _room_for(core: Core, m: int, slot: int, demand: tuple[int, ...], wanted: int) -> Ends | None:
    """Tasks that would have to end, one after the other the one that brings the most of what is
    missing; None where nothing has to, or where that is not enough."""
    room, left = _room(core, m), _tasks(core, m, slot)
    ended: list[_Task] = []
    fits = 0
    while fits < wanted:
        if room.fits(demand):
            room.enter(demand)
            fits += 1
            continue
        if not left:
            break
        # Alike tasks bring the same: the newest loses least.
        kinds = {(task.demand, task.pieces): task for task in reversed(left)}
        best = min(kinds.values(), key=lambda task: _missing(room, task, demand))
        left.remove(best)
        room.leave(best.demand, best.pieces)
        ended.append(best)
    # One that turned out not to be needed, since a later one was larger, goes on.
    for task in list(ended):
        again = _room(core, m)
        for other in ended:
            if other is not task:
                again.leave(other.demand, other.pieces)
        if _holds(again, demand, fits):
            ended.remove(task)
    if not fits or not ended:
        return None
    return Ends(m, tuple((task.job, task.number) for task in ended), fits)


def _room(core: Core, m: int) -> Room:
    """What is free on the machine."""
    state = core.state
    units = state.unit.tolist()
    pieces = []
    for r, unit in enumerate(units):
        first = int(state.column[r])
        count = int(state.capacity[m, r]) // unit if unit else 0
        pieces.append(tuple(state.piece[m, first : first + count].tolist()))
    machine = HeldMachine(seq=m, free=tuple(state.free[m].tolist()), pieces=tuple(pieces))
    return Room(Held((), (), (), tuple(units)), machine)


def _tasks(core: Core, m: int, slot: int) -> list[_Task]:
    """The tasks of other jobs on the machine, the newest first."""
    state = core.state
    found, at = [], int(state.machine[m]["first"])
    while at >= 0:
        task = state.task[at]
        job = int(task["job"])
        if job != slot:
            demand = tuple(state.demand[job].tolist())
            pieces = pieces_of(state, int(task["pieces"]))
            number, launched = int(task["number"]), int(task["launched"])
            found.append(_Task(job, number, demand, pieces, launched))
        at = int(task["machine_next"])
    return sorted(found, key=lambda task: (-task.launched, task.job, task.number))


def _holds(room: Room, demand: tuple[int, ...], count: int) -> bool:
    for _ in range(count):
        if not room.fits(demand):
            return False
        room.enter(demand)
    return True


def _missing(room: Room, task: _Task, demand: tuple[int, ...]) -> float:
    """How much would be missing still, in parts of the demand, if the task ended; of several that
    bring all, the one that brings least comes first."""
    then = room.copy()
    then.leave(task.demand, task.pieces)
    if then.fits(demand):
        return -1.0 / (1.0 + sum(task.demand))
    parts = [max(need - then.free[r], 0) / need for r, need in enumerate(demand) if need]
    return 1e-9 + sum(parts)
