"""Claims: whose it is to start again where a task ends.

What a task has belongs to its tenant, not to its job, which may have been its only task: the next
job of the tenant that asks machines for the same takes the place (see
docs/decisions/0327-places-are-the-tenants.md). Where that one has no more than who wants machines
reserved, the machine is left to it.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner
from fairlead.scheduling.kernels.change.awaited import makes_room, would_fit
from fairlead.scheduling.kernels.memory.state import Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.search.levels import (
    common,
    height,
    leads,
    level,
    level_with,
    turn_of,
)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inner
def ask_alike(s: Handle, j: int, other: int) -> bool:
    """Do tasks of both jobs ask machines for the same?"""
    alike = True
    for r in range(s.demand.shape[1]):
        alike &= s.demand[j, r] == s.demand[other, r]
    for i in range(s.needs.shape[1]):
        alike &= s.needs[j, i] == s.needs[other, i]
    return alike


@inner
def are_twins(s: Handle, j: int, other: int) -> bool:
    """Are both jobs of one tenant, and ask for the same? A core of an older version asked of no
    other job."""
    if j == other or s.header[0].reserve_for == NEVER:
        return j == other
    return s.job[j].tenant == s.job[other].tenant and ask_alike(s, j, other)


@inner
def own_tasks(s: Handle, j: int, m: int) -> int:
    """How many tasks of the job, and of its twins, are on the machine."""
    own = int64(0)
    t = int64(s.machine[m].first)
    while t >= 0:
        own += are_twins(s, j, int64(s.task[t].job))
        t = int64(s.task[t].machine_next)
    return own


@inner
def _place_of(s: Handle, j: int, size: int) -> int:
    """Where a table of so many places, a power of two, is asked first for the twins of a job."""
    word = np.uint64(s.job[j].tenant)
    for r in range(s.demand.shape[1]):
        word = (word ^ np.uint64(s.demand[j, r])) * GOLDEN
        word ^= word >> np.uint64(29)
    for i in range(s.needs.shape[1]):
        word = (word ^ s.needs[j, i]) * GOLDEN
        word ^= word >> np.uint64(29)
    return int64(word & np.uint64(size - 1))


@inner
def find_heirs(s: Handle) -> Ints:
    """A table of active jobs: of all twins the one that is next."""
    w = s.header[0]
    size = 2
    while size < 2 * w.active:
        size *= 2
    heirs = np.full(size, NONE, np.int64)
    for j in range(w.jobs):
        if not s.job[j].used or not s.job[j].active:
            continue
        i = _place_of(s, j, size)
        while heirs[i] >= 0 and not are_twins(s, j, heirs[i]):
            i = (i + 1) & (size - 1)
        if heirs[i] < 0:
            heirs[i] = j
        else:
            mine, its = s.job[j].mu, s.job[heirs[i]].mu
            if mine < its or (mine == its and turn_of(s, j) < turn_of(s, heirs[i])):
                heirs[i] = j
    return heirs


@inner
def heir_of(s: Handle, heirs: Ints, k: int) -> int:
    """The active job that takes the place of a task of job k; NONE."""
    i = _place_of(s, k, len(heirs))
    while heirs[i] >= 0 and not are_twins(s, k, heirs[i]):
        i = (i + 1) & (len(heirs) - 1)
    return int64(heirs[i])


@inner
def _starts_again(s: Handle, k: int, m: int, j: int, wanted: int, then: float) -> bool:
    """Is it active job k that what ends on machine m makes room for, and not job j? It has no more
    (or, where all levels are equal, was submitted before), and misses the room: were there some for
    another task already, a limit would hold it back. `then`: the level at which job j would be with
    what it starts together, where it is asked what both would have then; else below 0. Of one
    tenant's jobs the next one takes what is the tenant's."""
    if would_fit(s, k, m, s.free[m], s.piece[m]):
        return False
    above = common(s, j, k) if s.header[0].reserve_for != NEVER else int64(NONE)
    if above >= 0 and above == s.job[j].tenant and above == s.job[k].tenant:
        return not leads(s, j, k)
    if then >= 0.0 and above >= 0:
        return height(s, k, above) < level_with(s, j, wanted, above)
    if then >= 0.0:
        return level(s, k) < then
    return not leads(s, j, k) or (not s.header[0].fifo and level(s, j) == level(s, k))


@inner
def is_left_out(s: Handle, heirs: Ints, j: int, m: int, wanted: int, then: float) -> bool:
    """Has nobody of a higher level a task on the machine that is too small to make room alone? Of a
    single task its own make room for the next; a gang's do only together."""
    machine = s.machine[m]
    only = wanted == 1 and own_tasks(s, j, m) == machine.tasks
    if only or not s.header[0].filling:
        return only
    t = int64(machine.first)
    while t >= 0:
        k = int64(s.task[t].job)
        if are_twins(s, j, k):
            again = wanted == 1 or then >= 0.0
        else:
            heir = heir_of(s, heirs, k)
            again = heir >= 0 and _starts_again(s, heir, m, j, wanted, then)
        if not again and (wanted > 1 or not makes_room(s, j, m, k)):
            return False
        t = int64(s.task[t].machine_next)
    return bool(machine.tasks > 0)
