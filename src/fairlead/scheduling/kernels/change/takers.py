"""Takers: which job of a tenant takes what the tenant has on a machine when that ends.

It is the first one, by (level, turn), that finds no room there now, and would once all is free that
the tenant has there: people's jobs ask for this and that, and while the small ones run the large
ones wait. Who has room there already is kept from it by something else, such as a limit. A gang
takes the place of one of as many tasks. A core of an older version asked only a task's own job.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner
from fairlead.scheduling.kernels.change.awaited import would_fit
from fairlead.scheduling.kernels.change.claims import ask_alike
from fairlead.scheduling.kernels.memory.state import Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.room.permission import at_once, satisfies
from fairlead.scheduling.kernels.search.levels import leads, levels_of, turn_of

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
KINDS = 256
"""So many kinds of a tenant's jobs are asked at most, on each machine."""


@inner
def are_alike(s: Handle, j: int, other: int) -> bool:
    """Do both jobs ask machines for the same, and start as many tasks together?"""
    alike = at_once(s, j) == at_once(s, other) and s.job[j].spread == s.job[other].spread
    return alike and ask_alike(s, j, other)


@inner
def _is_one_kind(s: Handle, j: int, other: int) -> bool:
    """May one of both speak for the other? Where it starts tells of a job what another one of the
    tenant is told, unless it spreads or prefers machines."""
    one, two = s.job[j], s.job[other]
    plain = not one.spread and not one.likes and not two.likes
    return one.tenant == two.tenant and plain and are_alike(s, j, other)


@inner
def _place_of(s: Handle, j: int, size: int) -> int:
    """Where a table of so many places, a power of two, is asked first for a job's kind."""
    word = np.uint64(s.job[j].tenant)
    for r in range(s.demand.shape[1]):
        word = (word ^ np.uint64(s.demand[j, r])) * GOLDEN
        word ^= word >> np.uint64(29)
    for i in range(s.needs.shape[1]):
        word = (word ^ s.needs[j, i]) * GOLDEN
        word ^= word >> np.uint64(29)
    return int64(word & np.uint64(size - 1))


@inner
def _find_kinds(s: Handle) -> Ints:
    """Of each kind the active job that is first, of tenants that have a task. What those hold may
    count as nothing of a share: where no machine is as large any more as it was when they came."""
    w = s.header[0]
    has = np.zeros(w.tenants, np.bool_)
    for j in range(w.jobs):
        if s.job[j].used and s.job[j].held > 0:
            has[s.job[j].tenant] = True
    size = 2
    while size < 2 * w.active:
        size *= 2
    known = np.full(size, NONE, np.int64)
    found = np.empty(w.active, np.int64)
    count = 0
    for j in range(w.jobs):
        job = s.job[j]
        if not job.used or not job.active or not has[job.tenant]:
            continue
        if s.tenant[job.tenant].jobs > 1:
            i = _place_of(s, j, size)
            while known[i] >= 0 and not _is_one_kind(s, j, found[known[i]]):
                i = (i + 1) & (size - 1)
            if known[i] >= 0:
                if leads(s, j, found[known[i]]):
                    found[known[i]] = j
                continue
            known[i] = count
        found[count] = j
        count += 1
    return found[:count]


@inner
def _put_in_line(s: Handle, kinds: Ints, first: Ints) -> Ints:
    """These jobs by (tenant, level, turn); `first` says where those of each tenant begin."""
    tenants = len(first) - 1
    for j in kinds:
        first[s.job[j].tenant + 1] += 1
    for i in range(tenants):
        first[i + 1] += first[i]
    line, free = np.empty(len(kinds), np.int64), first.copy()
    for j in kinds:
        t = s.job[j].tenant
        line[free[t]] = j
        free[t] += 1
    for i in range(tenants):
        if first[i + 1] - first[i] < 2:
            continue
        mine = line[first[i] : first[i + 1]].copy()
        turns = np.empty(len(mine), np.int64)
        for k in range(len(mine)):
            turns[k] = turn_of(s, mine[k])
        mine = mine[np.argsort(turns, kind="mergesort")]
        order = np.argsort(levels_of(s, mine), kind="mergesort")
        for k in range(len(mine)):
            line[first[i] + k] = mine[order[k]]
    return line


@inner
def _add_up(s: Handle, m: int, at: Ints, who: Ints, place: Ints, most: Ints, gangs: Ints) -> int:
    """Adds up what each tenant has on the machine (`place`; of devices only what is of whole ones),
    and finds its largest demands and its largest gang. Returns how many tenants `who` there are,
    and says in `at` where each of them is in these tables."""
    count = 0
    t = int64(s.machine[m].first)
    while t >= 0:
        k = int64(s.task[t].job)
        of = int64(s.job[k].tenant)
        i = at[of]
        if i >= count or who[i] != of:
            i = at[of] = count
            who[i] = of
            gangs[i] = 1
            for r in range(place.shape[1]):
                place[i, r] = most[i, r] = 0
            count += 1
        gangs[i] = max(gangs[i], int64(s.job[k].gang))
        for r in range(place.shape[1]):
            demand = s.demand[k, r]
            most[i, r] = max(most[i, r], demand)
            if demand >= s.unit[r]:
                place[i, r] += demand
        t = int64(s.task[t].machine_next)
    return count


@inner
def _fill_up(s: Handle, m: int, place: Ints, most: Ints) -> None:
    """The largest demands that fit once what the tenant has on the machine is free: in `place` of
    plain resources and whole devices, in `most` of parts of one."""
    for r in range(len(place)):
        free = s.free[m, r] if s.unit[r] == 0 else s.room[m, r]
        place[r] = max(place[r] + free, s.room[m, r])
        most[r] = max(most[r], s.room[m, r])


@inner
def _first_to_fit(
    s: Handle, m: int, line: Ints, wants: Ints, place: Ints, most: Ints, gang: int
) -> int:
    """The first of those in line, who want so much, that takes the place; NONE."""
    for i in range(len(line)):
        fits = True
        for r in range(len(place)):
            want = wants[i, r]
            fits &= want <= (place[r] if want >= s.unit[r] else most[r])
        if not fits:
            continue
        h = line[i]
        tasks = at_once(s, h)
        # One with room already is kept from it by something else.
        waits = tasks > 1 or not would_fit(s, h, m, s.free[m], s.piece[m])
        if tasks <= gang and waits and satisfies(s, h, m):
            return int64(h)
    return int64(NONE)


@inner
def find_takers(s: Handle) -> Ints:
    """Of each task on a machine that is not reserved the job that takes its place; NONE."""
    w, resources = s.header[0], s.demand.shape[1]
    takers = np.full(w.tasks, NONE, np.int64)
    if w.reserve_for == NEVER:
        _find_own(s, takers)
        return takers
    first = np.zeros(w.tenants + 1, np.int64)
    line = _put_in_line(s, _find_kinds(s), first)
    wants = np.empty((len(line), resources), np.int64)
    # One by one: a row put into a row compiles Numba's words for shapes that differ.
    for i in range(len(line)):
        for r in range(resources):
            wants[i, r] = s.demand[line[i], r]
    at, who = np.zeros(w.tenants, np.int64), np.zeros(w.tenants, np.int64)
    gangs = np.zeros(w.tenants, np.int64)
    place = np.zeros((w.tenants, resources), np.int64)
    most = np.zeros((w.tenants, resources), np.int64)
    for m in range(w.machines):
        if s.machine[m].reserved >= 0:
            continue
        count = _add_up(s, m, at, who, place, most, gangs)
        for i in range(count):
            begin = first[who[i]]
            end = min(begin + KINDS, first[who[i] + 1])
            _fill_up(s, m, place[i], most[i])
            who[i] = _first_to_fit(
                s, m, line[begin:end], wants[begin:end], place[i], most[i], gangs[i]
            )
        t = int64(s.machine[m].first)
        while t >= 0:
            takers[t] = who[at[s.job[s.task[t].job].tenant]]
            t = int64(s.task[t].machine_next)
    return takers


@inner
def _find_own(s: Handle, takers: Ints) -> None:
    """As an older version: each task's own job, if it waits and misses the room."""
    for m in range(s.header[0].machines):
        t = int64(s.machine[m].first)
        while t >= 0:
            k = int64(s.task[t].job)
            if s.job[k].active and not would_fit(s, k, m, s.free[m], s.piece[m]):
                takers[t] = k
            t = int64(s.task[t].machine_next)
