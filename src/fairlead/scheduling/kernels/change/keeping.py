"""Gangs: room that is theirs by their level is kept until all of it is there.

Who has the least level of those who could use a machine's room is a gang that does not fit yet:
a task of another job would take the room, and so with each that becomes free after it, and the gang
would never find enough at once. So the machine is reserved for the gang, place by place, until it
starts. What is kept counts as held: the gang keeps no more than it could hold. And it keeps nothing
while room is kept for another one that it could use: so no two wait for each other (see
docs/decisions/0313-room-for-gangs.md).
"""

from __future__ import annotations

from fairlead.compiling import inner, shared
from fairlead.scheduling.kernels.change.leases import is_resting, lease
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.room.permission import (
    at_once,
    has_terms,
    is_permitted,
    may_start,
    rests,
    within_caps,
)
from fairlead.scheduling.kernels.room.rooms import fits_now, when_empty
from fairlead.scheduling.kernels.search.levels import leads, level, level_with, turn_of


@inner
def _kept_tasks(s: Handle, j: int) -> int:
    """How many tasks of the job fit where room is kept for it."""
    left, tasks = int64(s.job[j].kept), int64(0)
    m = 0
    while left > 0:
        machine = s.machine[m]
        if machine.kept and machine.reserved == j:
            tasks += fits_now(s, j, m)
            left -= 1
        m += 1
    return tasks


@inner
def _waits_for_another(s: Handle, j: int) -> bool:
    """Is room kept for another gang on a machine that the job may use? Two that each keep what the
    other one needs would wait for ever."""
    left, g = int64(0), int64(s.header[0].gangs)
    while g >= 0:
        left += s.job[g].kept if g != j else 0
        g = int64(s.job[g].gang_next)
    m = 0
    while left > 0:
        machine = s.machine[m]
        if machine.kept and machine.reserved != j:
            if has_terms(s, s.needs, j, m) and when_empty(s, j, m) > 0:
                return True
            left -= 1
        m += 1
    return False


@inner
def _comes_before(s: Handle, g: int, j: int) -> bool:
    """Does a gang come before a job, also if it held what is kept for it?"""
    if rests(s, j):
        return True  # whoever does not rest does
    if not leads(s, g, j):
        return False
    if s.job[g].kept == 0:
        return True
    its, other = level_with(s, g, _kept_tasks(s, g), NONE), level(s, j)
    return its < other or (its == other and turn_of(s, g) < turn_of(s, j))


@shared
def _keeper(s: Handle, j: int, m: int) -> int:
    """The gang of least (level, turn) of those that come before job j, could place a task on
    machine m, and do not fit yet; NONE. Of a tenant's gangs one after the other keeps room."""
    best = NONE
    g = int64(s.header[0].gangs)
    while g >= 0:
        tasks = at_once(s, g)
        if (
            g != j
            and tasks > 1
            and not is_resting(s, g)
            and not rests(s, g)
            and (s.job[g].kept > 0 or s.tenant[s.job[g].tenant].kept == 0)
            and is_permitted(s, g, m)
            and (best < 0 or leads(s, g, best))
            and _comes_before(s, g, j)
            and within_caps(s, g, tasks)
            and not _waits_for_another(s, g)
            and not may_start(s, g)
        ):
            best = g
        g = int64(s.job[g].gang_next)
    return best


@inner
def keep(s: Handle, j: int, m: int) -> bool:
    """Before a task of job j takes room on machine m: keeps it for a gang that comes before the
    job, where there is one. Tells whether."""
    w, machine = s.header[0], s.machine[m]
    if w.gangs < 0 or not w.filling or w.reserve_after == NEVER or machine.reserved >= 0:
        return False
    g = _keeper(s, j, m)
    if g < 0:
        return False
    machine.reserved = g
    machine.wanted = min(when_empty(s, g, m), at_once(s, g))
    machine.kept = 1
    machine.until = NEVER
    s.job[g].reserved += 1
    s.job[g].kept += 1
    s.tenant[s.job[g].tenant].kept += 1
    w.reservations += 1
    lease(s, g, at_once(s, g), False)
    w.heap = -1
    w.choice = NONE
    return True
