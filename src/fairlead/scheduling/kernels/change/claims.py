"""Claims: whose it is to start again where a task ends.

What a task has belongs to its tenant, not to its job, which may have been its only task: the next
job of the tenant that fits takes the place (`takers`). Where that one has no more than who wants
machines reserved, the place is left to it (see
docs/decisions/0327-places-are-the-tenants.md and 0328-whoever-fits-takes-the-place.md), and so is
the machine where the other places do not make room for a task (see
docs/decisions/0340-who-has-less-gives-nothing.md).
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner
from fairlead.scheduling.kernels.change.awaited import makes_room
from fairlead.scheduling.kernels.memory.state import Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.search.levels import common, height, leads, level, level_with


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
def _starts_again(s: Handle, k: int, j: int, more: int, then: float) -> bool:
    """Does active job k take what ends, and not job j? It has no more (or, where all levels are
    equal, was submitted before). `then`: the level at which job j would be with so many tasks
    `more`, where it is asked what both would have then; else below 0. Of one tenant's jobs the next
    one takes what is the tenant's."""
    above = common(s, j, k) if s.header[0].reserve_for != NEVER else int64(NONE)
    if above >= 0 and above == s.job[j].tenant and above == s.job[k].tenant:
        return not leads(s, j, k)
    if then >= 0.0 and above >= 0:
        return height(s, k, above) < level_with(s, j, more, above)
    if then >= 0.0:
        return level(s, k) < then
    return not leads(s, j, k) or (not s.header[0].fifo and level(s, j) == level(s, k))


@inner
def _make_room(s: Handle, j: int, m: int, gives: Ints) -> bool:
    """Do these amounts, which tasks on the machine hold, make room for a task of the job there? Of
    devices they are counted together, whichever piece they are of."""
    enough = True
    for r in range(len(gives)):
        need = s.demand[j, r]
        enough &= need == 0 or gives[r] + max(s.free[m, r], int64(0)) >= need
    return enough


@inner
def is_left_out(
    s: Handle, takers: Ints, j: int, m: int, wanted: int, more: int, then: float
) -> bool:
    """Is the machine left out when machines are reserved for the job, as those tasks there do not
    make room for one of it that keep it out, are of somebody who has more, and are too small to
    make room alone? For a job of single tasks its own make room for the next; a gang's do only
    together. `wanted`: so many tasks start together; `more`: so many its tenant would hold besides,
    with those for which machines are reserved; `then`: as of `_starts_again`."""
    w, machine = s.header[0], s.machine[m]
    only = wanted == 1 and own_tasks(s, j, m) == machine.tasks
    if only or not w.filling:
        return only
    gives = np.zeros(s.demand.shape[1], np.int64)
    t = int64(machine.first)
    while t >= 0:
        k = int64(s.task[t].job)
        taker = int64(takers[t])
        if are_twins(s, j, k):
            again = wanted == 1 or then >= 0.0
        elif taker == j:
            again = then >= 0.0 and wanted > 1  # a single task needs what makes room alone
        else:
            again = taker >= 0 and _starts_again(s, taker, j, more, then)
        if not again and (wanted > 1 or not makes_room(s, j, m, k)):
            for r in range(len(gives)):
                gives[r] += s.demand[k, r]
            # To a core of an older version one such task was enough.
            if w.reserve_for == NEVER or _make_room(s, j, m, gives):
                return False
        t = int64(s.task[t].machine_next)
    return bool(machine.tasks > 0)
