"""What a machine will have for a task that finds no room there now: when, by whose end, and how
much of it is missing."""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner
from fairlead.scheduling.kernels.memory.state import Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NEVER
from fairlead.scheduling.kernels.room.permission import on_machine
from fairlead.scheduling.kernels.room.places import ONE
from fairlead.scheduling.kernels.room.spare import devices


@inner
def would_fit(s: Handle, j: int, m: int, free: Ints, piece: Ints) -> bool:
    """Tells whether a task of the job fits on the machine if so much of it is free."""
    for r in range(len(free)):
        need, unit = s.demand[j, r], s.unit[r]
        if need == 0:
            continue
        if unit == 0:
            if need > free[r]:
                return False
        else:
            whole, most = 0, 0
            for p in range(s.column[r], s.column[r] + devices(s, m, r)):
                whole += piece[p] == unit
                most = max(most, piece[p])
            if need > (whole * unit if whole > 0 else most):
                return False
    return True


@inner
def _expected_end(s: Handle, t: int) -> int:
    """Returns when the task is expected to end; NEVER where its job does not say."""
    expected = s.job[s.task[t].job].expected
    return s.task[t].launched + expected if expected > 0 else int64(NEVER)


@inner
def _first_end(s: Handle, m: int) -> int:
    """Returns when the first task on the machine is expected to end; NEVER where nobody knows."""
    soonest = int64(NEVER)
    t = int64(s.machine[m].first)
    while t >= 0:
        soonest = min(soonest, _expected_end(s, t))
        t = int64(s.task[t].machine_next)
    return soonest


@inner
def expected_room(s: Handle, j: int, m: int, latest: int) -> int:
    """Returns when a task of the job is expected to fit on the machine; NEVER where nobody knows,
    or where that is after `latest`, for then the machine would not be chosen."""
    tasks = s.machine[m].tasks
    if not s.header[0].told and not s.job[j].spread:
        return s.header[0].now if would_fit(s, j, m, s.free[m], s.piece[m]) else int64(NEVER)
    later = latest != NEVER and _first_end(s, m) > latest
    if later and not would_fit(s, j, m, s.free[m], s.piece[m]):
        return int64(NEVER)
    free, piece = s.free[m].copy(), s.piece[m].copy()
    order = np.empty(tasks, np.int64)
    ends = np.empty(tasks, np.int64)
    own = 0  # tasks of the job itself, which a job that spreads waits for
    t = int64(s.machine[m].first)
    for i in range(tasks):
        order[i] = t
        ends[i] = _expected_end(s, t)
        own += s.task[t].job == j
        t = int64(s.task[t].machine_next)
    by_end = np.argsort(ends, kind="mergesort")
    spread = s.job[j].spread
    when = s.header[0].now
    if not (spread and own) and would_fit(s, j, m, free, piece):
        return when
    for i in by_end:
        if ends[i] == NEVER or ends[i] > latest:
            return int64(NEVER)
        task = s.task[order[i]]
        own -= task.job == j
        when = max(when, ends[i])
        for r in range(len(free)):
            need, unit = s.demand[task.job, r], s.unit[r]
            free[r] += need
            if unit == 0 or need == 0:
                continue
            last = len(piece)
            for other in range(r + 1, len(free)):
                if s.unit[other] > 0:
                    last = min(last, s.column[other])
            for p in range(s.column[r], last):
                if (task.pieces >> np.uint64(p)) & ONE:
                    piece[p] += min(need, unit)
        if not (spread and own) and would_fit(s, j, m, free, piece):
            return when
    return int64(NEVER)


@inner
def missing(s: Handle, j: int, m: int) -> float:
    """Returns what is missing for a task, as the largest part of the machine's capacity."""
    most = 0.0
    for r in range(s.demand.shape[1]):
        need = s.demand[j, r]
        if need > 0:
            most = max(most, max(need - s.free[m, r], 0) / s.capacity[m, r])
    return most


@inner
def makes_room(s: Handle, j: int, m: int, k: int) -> bool:
    """Does the end of a task of another job k on machine m alone make room for one of job j? It has
    as much of each resource that job j misses; smaller tasks may take what is free meanwhile."""
    if s.job[j].spread and on_machine(s, j, m):
        return False
    for r in range(s.demand.shape[1]):
        need = s.demand[j, r]
        if need > s.room[m, r] and need > s.demand[k, r]:
            return False
    return True
