"""The chain of permission: may a task of this job be placed on this machine now?

A task may be placed where no question of the chain says no. They are asked in this order, the quick
ones that mostly decide first:

1. Does the machine take tasks? One that drains, or is gone, does not.
2. Does it satisfy the job's terms (`satisfies`)? Words are compared: 64 terms at once.
3. Has it room for a task (`has_room`)? An amount for each resource is compared.
4. Does nothing block the job there (`not_blocked`)? A reservation for another job does, and so does
   a task of its own where it spreads, for which a list may have to be read: therefore after room.
5. Do the limits of its tenants leave room for all that starts together (`within_caps`)? The tenants
   above the job are read.
6. Does all of a gang find room at once (`may_start`)? Questions 1 to 4 are asked of all machines:
   the dearest one is the last.

`is_permitted` asks 1 to 4, of a job and a machine; `may_start` asks 5 and 6, which are about the
job wherever it goes. A caller that knows some answers begins behind them: the sets of machines
(`next_permitted`, `takes`) and the walk through the tries (`search.next_job`) answer 1 to 3 for
many pairs at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import inner, kernel, shared, small
from fairlead.scheduling.kernels.memory.spots import pair_of, spot_of
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, UNLIMITED
from fairlead.scheduling.kernels.room.places import UP, ask_for, next_within
from fairlead.scheduling.kernels.room.rooms import fits_beside, fits_now
from fairlead.scheduling.kernels.room.spare import has_spare, is_open, is_owned


@inner
def cap_room(s: Handle, t: int, r: int, own: int) -> int:
    """The largest demand of a resource that the limits of a tenant and of those above leave to who
    has so much set aside of his own, or beside what tasks hold that end before others start."""
    room = int64(NEVER)
    while t >= 0:
        limit = s.limit[t, r]
        if limit != UNLIMITED:
            used = s.used[t, r] - max(own, min(s.owed[t, r], s.ending[t, r]))
            room = min(room, max(limit - used, 0))
        t = int64(s.tenant[t].parent)
    return room


@inner
def within_caps(s: Handle, j: int, tasks: int) -> bool:
    """Do the limits leave room for so many tasks of the job?"""
    t = int64(s.job[j].tenant)
    if not s.tenant[t].capped:
        return True
    for r in range(s.demand.shape[1]):
        need = s.demand[j, r]
        if need > 0 and tasks * need > cap_room(s, t, r, need * s.job[j].aside):
            s.tenant[t].cut = 1
            return False
    return True


@inner
def count(s: Handle, j: int, m: int, tasks: int) -> None:
    """So many more tasks of job j, which spreads, are on machine m."""
    i = spot_of(j, m, len(s.spots))
    s.spots[i, 0] += tasks
    s.spots[i, 1] ^= pair_of(j, m)


@inner
def on_machine(s: Handle, j: int, m: int) -> bool:
    """Is a task of the job, which spreads, on the machine?"""
    spots, task = s.spots, s.task
    i = spot_of(j, m, len(spots))
    if spots[i, 0] < 2:
        return spots[i, 0] == 1 and spots[i, 1] == pair_of(j, m)
    if s.job[j].held < s.machine[m].tasks:
        t = int64(s.job[j].first_task)
        while t >= 0 and task[t].machine != m:
            t = int64(task[t].job_next)
    else:
        t = int64(s.machine[m].first)
        while t >= 0 and task[t].job != j:
            t = int64(task[t].machine_next)
    return t >= 0


@small
def has_room(s: Handle, amounts: Any, row: int, m: int) -> bool:
    """Has the machine room for the amounts in a row of `demand` or `need`?"""
    fits = True
    for r in range(amounts.shape[1]):
        fits &= amounts[row, r] <= s.room[m, r]
    return fits


@small
def has_terms(s: Handle, terms: Any, row: int, m: int) -> bool:
    """Does the machine satisfy the terms in a row of `needs`, `prefers` or `terms`?"""
    lacking = np.uint64(0)
    for i in range(terms.shape[1]):
        lacking |= terms[row, i] & ~s.satisfies[m, i]
    return lacking == np.uint64(0)


@small
def satisfies(s: Handle, j: int, m: int) -> bool:
    """Does the machine satisfy all that the job needs, and what it still waits for?"""
    return has_terms(s, s.needs, j, m) and (not s.job[j].patient or has_terms(s, s.prefers, j, m))


@small
def _let_in(s: Handle, j: int, m: int) -> bool:
    """Is the machine reserved for nobody else, or does the task end before it is needed?"""
    machine = s.machine[m]
    if machine.reserved < 0 or machine.reserved == j:
        return True
    if is_owned(s, m) or s.job[j].expected == 0:
        return False
    return s.header[0].now + s.job[j].expected <= machine.until


@small
def _finds_spare(s: Handle, j: int, m: int) -> bool:
    """May the job have of a machine that is reserved what the reservation does not count on?"""
    return is_open(s, m) and has_spare(s, j, m)


@small
def not_blocked(s: Handle, j: int, m: int) -> bool:
    """Do neither a reservation nor a task of a job that spreads keep its next one away?"""
    let_in = _let_in(s, j, m) or _finds_spare(s, j, m)
    return let_in and not (s.job[j].spread and on_machine(s, j, m))


@small
def takes(s: Handle, j: int, m: int) -> bool:
    """May a task of the job be placed on a machine that is in the sets asked for?"""
    return has_room(s, s.demand, j, m) and not_blocked(s, j, m)


@kernel
def is_permitted(s: Handle, j: int, m: int) -> bool:
    """May one task of an active job be placed here, as far as the pair says?"""
    return s.machine[m].state == UP and satisfies(s, j, m) and takes(s, j, m)


@inner
def known_useless(s: Handle, m: int) -> bool:
    """Has a machine whose room grew no more of it than when nobody could be placed there?"""
    machine = s.machine[m]
    more = machine.refused == 0
    for r in range(s.room.shape[1]):
        if s.room[m, r] > s.before[m, r]:
            more = True
    if more:
        return False
    apart = int64(machine.apart)
    return apart < 0 or not s.job[apart].active or not is_permitted(s, apart, m)


@inner
def next_permitted(s: Handle, j: int, start: int) -> int:
    """The first machine from `start` on where a task of the job, for which was asked, may be
    placed; NONE. What is true of the job wherever it goes (gang, limits) is not looked at."""
    m = next_within(s, start)
    while m >= 0 and not takes(s, j, m):
        m = next_within(s, m + 1)
    return m


@shared
def first_permitted(s: Handle, j: int) -> int:
    """The first machine of all where a task of the job may be placed; NONE. The next ones are
    `next_permitted`'s to say, as long as nothing else is asked."""
    ask_for(s, j)
    return next_permitted(s, j, 0)


@kernel
def places(s: Handle, j: int, m: int) -> int:
    """How many tasks of the job may be placed on a machine at once, as far as room there and a
    reservation say."""
    machine = s.machine[m]
    if _let_in(s, j, m):
        return fits_now(s, j, m)
    if not is_open(s, m):
        return int64(0)
    return fits_beside(s, j, m, int64(machine.reserved), int64(machine.wanted))


@small
def at_once(s: Handle, j: int) -> int:
    """How many tasks of the job start together: its gang, and one where fewer are left."""
    job = s.job[j]
    return job.gang if job.waiting >= job.gang else int64(1)


@small
def rests(s: Handle, j: int) -> bool:
    """Is it a gang of a tenant that rests after a stint (`change.stints`), which would be above its
    part with it? It comes after all others then."""
    tasks = at_once(s, j)
    if s.header[0].stints == 0 or tasks == 1:
        return False
    t = int64(s.job[j].tenant)
    while t >= 0:
        tenant = s.tenant[t]
        then = tenant.held + tasks * s.job[j].unit
        if tenant.owes > 0 and not tenant.alone and then > tenant.part:
            return True
        t = int64(tenant.parent)
    return False


@inner
def may_start(s: Handle, j: int) -> bool:
    """May the job start anywhere, as far as its tenants' limits and its gang say? A gang that found
    no room is not asked again in a decision, in which room only shrinks."""
    tasks = at_once(s, j)
    if not within_caps(s, j, tasks):
        return False
    if tasks == 1:
        return True
    job = s.job[j]
    if s.header[0].last == 0 and rests(s, j):
        job.behind |= job.fresh
        return False
    if job.checked == s.header[0].decided:
        return False
    room = 0
    m = first_permitted(s, j)
    while m >= 0:
        room += places(s, j, m)
        if room >= tasks:
            return True
        m = next_permitted(s, j, m + 1)
    job.checked = s.header[0].decided
    return False
