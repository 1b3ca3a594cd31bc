"""The room of machines, and their devices piece by piece.

`room` is the largest demand that fits: of a resource that comes in pieces, the wholly free ones
together, or the most that is free of any one where none is wholly free. So a task fits if and
only if each amount that it demands is at most `room`. What it does not demand does not matter,
also where less than nothing is free.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, kernel
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE, PIECES
from fairlead.scheduling.kernels.room.places import NOTHING, ONE, mark_stale
from fairlead.scheduling.kernels.room.spare import devices, left_beside


@inner
def measure(s: Handle, m: int) -> None:
    """The room of a machine, from what is free."""
    for r in range(s.free.shape[1]):
        unit = s.unit[r]
        if unit == 0:
            s.room[m, r] = max(s.free[m, r], 0)
            continue
        whole, most = 0, 0
        for p in range(s.column[r], s.column[r] + devices(s, m, r)):
            if s.piece[m, p] == unit:
                whole += 1
            most = max(most, s.piece[m, p])
        s.room[m, r] = whole * unit if whole > 0 else most


@inner
def take(s: Handle, m: int, j: int) -> np.uint64:
    """Takes what a task of the job needs on the machine. Returns the pieces, as bits."""
    pieces = NOTHING
    free, demand = s.free, s.demand
    for r in range(free.shape[1]):
        need = demand[j, r]
        free[m, r] -= need
        unit = s.unit[r]
        if unit == 0 or need == 0:
            continue
        first = s.column[r]
        last = first + devices(s, m, r)
        if need > unit:
            wanted = need // unit
            for p in range(first, last):
                if wanted > 0 and s.piece[m, p] == unit:
                    s.piece[m, p] = 0
                    pieces |= ONE << np.uint64(p)
                    wanted -= 1
            continue
        fullest = NONE
        for p in range(first, last):
            left = s.piece[m, p]
            if left >= need and (fullest < 0 or left < s.piece[m, fullest]):
                fullest = p
        s.piece[m, fullest] -= need
        pieces |= ONE << np.uint64(fullest)
    measure(s, m)
    mark_stale(s, m)
    return pieces


@inner
def give(s: Handle, m: int, j: int, pieces: np.uint64) -> None:
    """Gives back what a task of the job had taken."""
    for r in range(s.free.shape[1]):
        need, unit = s.demand[j, r], s.unit[r]
        s.free[m, r] += need
        if unit == 0 or need == 0:
            continue
        for p in range(s.column[r], min(s.column[r] + PIECES, s.piece.shape[1])):
            if pieces >> np.uint64(p) & ONE and _column_of(s, p) == r:
                s.piece[m, p] += min(need, unit)
    measure(s, m)
    mark_stale(s, m)


@inner
def _column_of(s: Handle, p: int) -> int:
    """The resource that a place in `piece` belongs to."""
    found = NONE
    for r in range(len(s.unit)):
        if s.unit[r] > 0 and s.column[r] <= p:
            found = r
    return found


@inner
def fill(s: Handle, m: int) -> None:
    """Counts anew what is free on a machine whose capacity is new: less than nothing where what
    runs on it no longer fits, and on pieces that are there no longer."""
    for r in range(s.free.shape[1]):
        s.free[m, r] = s.capacity[m, r]
    for r in range(s.free.shape[1]):
        if s.unit[r] > 0:
            for p in range(s.piece.shape[1]):
                if _column_of(s, p) == r:
                    s.piece[m, p] = s.unit[r] if p - s.column[r] < devices(s, m, r) else 0
    t = s.machine[m].first
    while t >= 0:
        task = s.task[t]
        for r in range(s.free.shape[1]):
            need, unit = s.demand[task.job, r], s.unit[r]
            s.free[m, r] -= need
            if unit > 0 and need > 0:
                for p in range(s.piece.shape[1]):
                    if task.pieces >> np.uint64(p) & ONE and _column_of(s, p) == r:
                        s.piece[m, p] -= min(need, unit)
        t = int64(task.machine_next)


@kernel
def when_empty(s: Handle, j: int, m: int) -> int:
    """How many tasks of the job the machine holds when nothing else is there; pieces counted."""
    holds = NONE
    for r in range(s.capacity.shape[1]):
        need, unit = s.demand[j, r], s.unit[r]
        if need == 0:
            continue
        if unit == 0:
            here = s.capacity[m, r] // need
        elif need > unit:
            here = devices(s, m, r) // (need // unit)
        else:
            here = devices(s, m, r) * (unit // need)
        holds = here if holds < 0 else min(holds, here)
    return min(max(holds, 0), 1) if s.job[j].spread else max(holds, 0)


@kernel
def fits_now(s: Handle, j: int, m: int) -> int:
    """How many tasks of the job fit into what is free now; pieces counted."""
    return fits_beside(s, j, m, j, 0)


@inner
def fits_beside(s: Handle, j: int, m: int, other: int, tasks: int) -> int:
    """How many tasks of the job fit into what is free now if so many of another one are to find
    their room there, too (see `spare`); pieces counted."""
    holds = NONE
    for r in range(s.capacity.shape[1]):
        need, unit = s.demand[j, r], s.unit[r]
        if need == 0:
            continue
        kept = tasks * s.demand[other, r]
        here = 0
        if unit == 0:
            here = (left_beside(s, m, r) if kept > 0 else s.free[m, r]) // need
        elif kept == 0 or s.demand[other, r] >= unit:
            whole = 0
            for p in range(s.column[r], s.column[r] + devices(s, m, r)):
                if s.piece[m, p] == unit:
                    whole += 1
                else:
                    here += max(s.piece[m, p], 0) // need
            whole = max(whole - kept // unit, 0)
            here = whole // (need // unit) if need > unit else here + whole * (unit // need)
        here = max(here, 0)
        holds = here if holds < 0 else min(holds, here)
    return min(holds, 1) if s.job[j].spread else holds
