"""The fewest tasks on a machine that would have to end for a job to start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fairlead.scheduling.core import Core
from fairlead.scheduling.preemption.picture import Room
from fairlead.scheduling.reading.machine_room import (
    Amounts,
    MachineTask,
    demand_of,
    free_room,
    nearest_machines,
    standing,
    tasks_on,
)

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
    demand = demand_of(core, slot)
    order = nearest_machines(core, slot, full=wanted == 1)[:MOST_MACHINES]
    found = [
        ends
        for m in order.tolist()
        if (ends := _room_for(core, m, slot, demand, wanted)) is not None
    ]
    return sorted(found, key=lambda ends: (len(ends.tasks) / ends.fits, ends.machine))


def differing(core: Core, slot: int, found: Iterable[Ends]) -> Iterator[Ends]:
    """Those after which the core would decide otherwise than after one before: not where the same
    is free then on a machine that is alike, and the jobs that lose tasks stand alike."""
    seen = set[tuple[int, object]]()
    for ends in found:
        kind = ends.fits, standing(core, slot, ends.machine, [job for job, _ in ends.tasks])
        if kind not in seen:
            seen.add(kind)
            yield ends


def _room_for(core: Core, m: int, slot: int, demand: Amounts, wanted: int) -> Ends | None:
    """Tasks that would have to end, one after the other the one that brings the most of what is
    missing; None where nothing has to, or where that is not enough."""
    room, left = free_room(core, m), [task for task in tasks_on(core, m) if task.job != slot]
    ended: list[MachineTask] = []
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
        again = free_room(core, m)
        for other in ended:
            if other is not task:
                again.leave(other.demand, other.pieces)
        if _holds(again, demand, fits):
            ended.remove(task)
    if not fits or not ended:
        return None
    return Ends(m, tuple((task.job, task.number) for task in ended), fits)


def _holds(room: Room, demand: Amounts, count: int) -> bool:
    for _ in range(count):
        if not room.fits(demand):
            return False
        room.enter(demand)
    return True


def _missing(room: Room, task: MachineTask, demand: Amounts) -> float:
    """Measures what would be missing, in parts of the demand, if the task ended; of several that
    bring all, the one that brings least comes first."""
    then = room.copy()
    then.leave(task.demand, task.pieces)
    if then.fits(demand):
        return -1.0 / (1.0 + sum(task.demand))
    parts = [max(need - then.free[r], 0) / need for r, need in enumerate(demand) if need]
    return 1e-9 + sum(parts)
