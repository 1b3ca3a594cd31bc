"""Stints: who held more than its part rests after it.

A gang that takes all machines would else have them again whenever it ends: then its tenant holds
nothing and comes first. So whoever starts a gang is in `stints` for as long as it holds more than
its part while others wait, and until its average over this and its rest is down to its part: with
each microsecond at a share it owes (share / part - 1) more, and so with less than its part it owes
less. Where nobody else waits a microsecond at whatever share is one of rest.

Its part is what it has where it and those beside it that wait hold alike, by their weights, if they
could use what it took and do not hold all that their limits allow. Beside it are the tenants of the
same parent, and so it is at each tenant above.

Who owes rests: no room is kept or reserved for a gang with which it would be above its part, and
such a gang comes after all others, whatever its level: it starts where nobody else can use the room
(see docs/decisions/0345-who-held-more-rests.md).
"""

from __future__ import annotations

from fairlead.compiling import inner, shared, small
from fairlead.scheduling.kernels.change.clocks import stir
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import COARSE, NEVER, NONE, POINTS, UNLIMITED
from fairlead.scheduling.kernels.room.permission import (
    at_once,
    has_room,
    has_terms,
    is_permitted,
    may_start,
    rests,
)
from fairlead.scheduling.kernels.room.places import UP
from fairlead.scheduling.kernels.search.levels import leads

LOOKS = 4
"""A part is found so often at most in `reserve_after`: that goes through all tenants beside."""
MOST = 1 << 20
"""A rate is no more than this, a time no longer than LONG, and what is owed no more than DEBT."""
LONG = 1 << 42
DEBT = 1 << 61
HEAVIEST = float(1 << 40)
"""Whoever weighs a million times as much as a tenant beside it counts so."""


@inner
def end_stint(s: Handle, t: int) -> None:
    """The tenant is in `stints` no more."""
    w, tenant = s.header[0], s.tenant[t]
    if tenant.stint == 0:
        return
    last = s.stints[w.stints - 1]
    s.stints[tenant.stint - 1] = last
    s.tenant[last].stint = tenant.stint
    w.stints -= 1
    tenant.stint = 0
    tenant.owes = 0
    tenant.rate = 0


@inner
def charge(s: Handle, now: int) -> None:
    """Before time comes so far: what they owe by then who are in `stints`."""
    w = s.header[0]
    for i in range(w.stints):
        tenant = s.tenant[s.stints[i]]
        owed = tenant.owes
        more = owed + min(now - w.now, int64(LONG)) * tenant.rate
        tenant.owes = min(max(more, int64(0)), int64(DEBT))
        if owed > 0 and tenant.owes == 0:
            w.rested = 1


@small
def _step(s: Handle) -> int:
    """For so long a part stays as it was found."""
    return max(s.header[0].reserve_after // LOOKS, int64(1))


@small
def _weight(s: Handle, t: int, beside: int) -> int:
    """What one beside the tenant weighs where it weighs COARSE itself: weights may be of any size,
    and those of pools are shares. As a whole number, so that no order of a sum matters."""
    times = s.tenant[beside].weight / s.tenant[t].weight
    return int64(min(max(times * COARSE, 1.0), HEAVIEST))


@inner
def _could_use(s: Handle, t: int, m: int) -> bool:
    """Could a job of an active tenant use the machine, as far as what all below it ask for says?
    Of a machine that takes no tasks any more nobody knows."""
    leaf, fits = int64(s.tenant[t].leaf), True
    for r in range(s.need.shape[1]):
        fits &= s.need[leaf, r] <= s.capacity[m, r]
    return s.machine[m].state != UP or (fits and has_terms(s, s.terms, leaf, m))


@inner
def _is_full(s: Handle, t: int) -> bool:
    """Do the tenant's own limits leave no room for any job below it that waits? Others have what
    it cannot have then, so it takes nothing from their parts."""
    leaf, full = int64(s.tenant[t].leaf), False
    for r in range(s.need.shape[1]):
        limit, need = s.limit[t, r], s.need[leaf, r]
        held = s.used[t, r] - s.owed[t, r]
        full |= limit != UNLIMITED and need > 0 and held + need > limit
    return full


@inner
def _next_beside(s: Handle, t: int, m: int, k: int) -> int:
    """The next after k (NONE: the first) of those beside the tenant who wait and could use machine
    m; NONE."""
    parent = int64(s.tenant[t].parent)
    while True:
        if k < 0:
            k = int64(0) if parent < 0 else int64(s.tenant[parent].child)
        else:
            k = k + 1 if parent < 0 else int64(s.tenant[k].sibling)
        if k < 0 or k >= s.header[0].tenants:
            return NONE
        other = s.tenant[k]
        waits = other.used and other.parent == parent and other.jobs + other.children > 0
        if k != t and waits and _could_use(s, k, m) and not _is_full(s, k):
            return k


@inner
def _count_beside(s: Handle, t: int, m: int) -> int:
    """How many of those beside the tenant wait and could use the machine?"""
    count, k = int64(0), _next_beside(s, t, m, NONE)
    while k >= 0:
        count += 1
        k = _next_beside(s, t, m, k)
    return count


@small
def _are_alike(s: Handle, m: int, n: int) -> bool:
    """Could the same jobs use both machines, if they were empty?"""
    alike = s.machine[m].state == s.machine[n].state
    for r in range(s.capacity.shape[1]):
        alike &= s.capacity[m, r] == s.capacity[n, r]
    for i in range(s.satisfies.shape[1]):
        alike &= s.satisfies[m, i] == s.satisfies[n, i]
    return alike


@inner
def begin_stint(s: Handle, j: int, tasks: int) -> None:
    """A gang of so many tasks of job j was started: its tenants may be above their parts by now."""
    w = s.header[0]
    if w.fifo or not w.filling or w.reserve_for == NEVER or w.reserve_after == NEVER:
        return
    t = int64(s.job[j].tenant)
    while t >= 0:
        tenant = s.tenant[t]
        if tenant.stint == 0:
            s.stints[w.stints] = t
            w.stints += 1
            tenant.stint = w.stints
            tenant.owes = 0
            tenant.rate = 0
            tenant.took = NONE
        elif tenant.owes == 0 and tenant.measured >= 0:
            tenant.took = NONE
        _note_taken(s, t, j, tasks)
        tenant.measured = NONE
        t = int64(tenant.parent)


@inner
def _note_taken(s: Handle, t: int, j: int, tasks: int) -> None:
    """Of what the tenant took, and of the machines of these last tasks of the job: which could most
    of those beside it use? While it owes, it is no other one that fewer of them could use: gangs on
    machines of its own would make a rest of its stint."""
    tenant, n, most = s.tenant[t], int64(s.job[j].first_task), int64(-1)
    if tenant.took >= 0:
        most = _count_beside(s, t, int64(tenant.took))
    asked = NONE
    for _ in range(tasks):
        m = int64(s.task[n].machine)
        n = int64(s.task[n].job_next)
        if asked >= 0 and _are_alike(s, asked, m):
            continue
        asked = m
        count = _count_beside(s, t, m)
        if count > most:
            most = count
            tenant.took = m


@inner
def _find_part(s: Handle, t: int) -> None:
    """Finds the tenant's part: what it has where it and those beside it that wait, and could use
    what it took, hold alike; and whether there are any."""
    tenant = s.tenant[t]
    weights, held = int64(COARSE), int64(tenant.held)
    k = _next_beside(s, t, int64(tenant.took), NONE)
    while k >= 0:
        weights += _weight(s, t, k)
        held += s.tenant[k].held
        k = _next_beside(s, t, int64(tenant.took), k)
    tenant.part = max(int64(float(held) * COARSE / weights), int64(1))
    tenant.alone = 1 if weights == COARSE else 0
    tenant.measured = s.header[0].now
    tenant.stale = 0


@inner
def measure(s: Handle) -> None:
    """After a decision: how fast they owe more or less who are in `stints`. Who owes nothing and
    holds no more than its part, or nothing at all, is there no more."""
    w = s.header[0]
    w.last = 0
    i = int64(0)
    while i < w.stints:
        t = s.stints[i]
        tenant = s.tenant[t]
        tenant.stale = 1
        if tenant.measured < 0 or w.now >= tenant.measured + _step(s):
            _find_part(s, t)
        tenant.rate = -POINTS
        if not tenant.alone:
            tenant.rate += int64(min(float(tenant.held) * POINTS / tenant.part, float(MOST)))
        if tenant.owes == 0 and tenant.rate <= 0 and (not tenant.alone or tenant.held == 0):
            end_stint(s, t)  # another one is at its place
        else:
            i += 1


@inner
def end_rests(s: Handle) -> None:
    """As a decision begins: machines may be reserved for those who owe nothing any more."""
    w = s.header[0]
    if w.rested:
        w.rested = 0
        stir(s)
        w.look_at = w.now
        w.relook = 1


@inner
def next_rested(s: Handle) -> int:
    """When the first of them will owe nothing any more, as it is now, or its part is to be found
    again; NEVER."""
    w = s.header[0]
    time = int64(NEVER)
    for i in range(w.stints):
        tenant = s.tenant[s.stints[i]]
        if tenant.owes > 0 and tenant.rate < 0:
            time = min(time, w.now - tenant.owes // tenant.rate)  # rounded up
        if tenant.stale:
            time = min(time, tenant.measured + _step(s))
    return time


@inner
def _could_grow(s: Handle, g: int) -> bool:
    """May a gang that did not fit do so now? It was not asked yet, or a machine has more room. Of
    thousands that wait hardly any has: so room is asked first."""
    could = s.job[g].behind == 1
    for i in range(s.header[0].dirty):
        m = s.dirty[i]
        could = could or (has_room(s, s.demand, g, m) and is_permitted(s, g, m))
    return could


@shared
def next_behind(s: Handle) -> int:
    """Of the gangs of who rests, when nobody else may be placed anywhere, the first that may start
    now; NONE."""
    w = s.header[0]
    best = NONE
    if w.stints == 0:
        return best
    w.last = 1
    g = int64(w.gangs)
    while g >= 0:
        if _could_grow(s, g) and at_once(s, g) > 1 and rests(s, g):
            if (best < 0 or leads(s, g, best)) and may_start(s, g):
                best = g
            elif s.job[g].checked == w.decided:
                s.job[g].behind = 0
        g = int64(s.job[g].gang_next)
    if best >= 0:
        w.heap = -1  # what is left of the job may be placed as others are
    return best
