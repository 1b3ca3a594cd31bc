"""Leases: what is reserved or kept for a job ends, and whose it was in vain has to rest.

A lease is twice as long as tasks took here lately at the longest, and at least `reserve_for`: what
is waited for ends in that time, unless it never does. It begins anew whenever a task ends there
that was launched before it, and where a reservation is made anew. What is held is held in vain
until the job starts as many tasks together as it was for, wherever. For RESTS times as long as that
was when it ends nothing is reserved or kept for any job of the tenant, who may submit it again. A
core of an older version gave no leases (see docs/decisions/0317-reservations-end.md).
"""

from __future__ import annotations

from fairlead.compiling import inner, shared, small
from fairlead.scheduling.kernels.change.claims import are_twins
from fairlead.scheduling.kernels.change.clocks import stir
from fairlead.scheduling.kernels.change.grown import mark_room_grew, search_anew
from fairlead.scheduling.kernels.change.limits import end_aside, exceeds, is_below, set_aside
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE, UNLIMITED
from fairlead.scheduling.kernels.room.permission import at_once, within_caps
from fairlead.scheduling.kernels.search.levels import turn_of

RESTS = 9
"""So a job holds in vain for a tenth of the time."""
LONGER = 2
"""So many times as long as the longest run a lease is: a gang of all machines waits for the last of
many tasks, and that one takes longer than the longest of the last thousand now and then."""
REMEMBERS = 8
"""The longest run is forgotten by half after so many times as long without another one: short
tasks end by the thousand while a long one runs."""


@inner
def remember_run(s: Handle, run: int) -> None:
    """A task ran for so long until it ended by itself."""
    w = s.header[0]
    if w.reserve_for == NEVER:
        return
    if w.now - w.longest_at > REMEMBERS * w.longest:
        w.longest //= 2
        w.longest_at = w.now
    if run >= w.longest:
        w.longest = run
        w.longest_at = w.now


@small
def term(s: Handle) -> int:
    """How long a lease is that begins now; NEVER where none ends."""
    w = s.header[0]
    return NEVER if w.reserve_for == NEVER else max(w.reserve_for, LONGER * w.longest)


@small
def is_resting(s: Handle, j: int) -> bool:
    """Is nothing to be reserved or kept for the job, as its tenant held something in vain?"""
    return s.tenant[s.job[j].tenant].rests > s.header[0].now


@inner
def lease(s: Handle, j: int, tasks: int, anew: bool) -> None:
    """Machines are reserved or kept for the job, for so many tasks that start together. `anew`:
    another lease begins, also where it has one."""
    w, job = s.header[0], s.job[j]
    if w.reserve_for == NEVER or (job.lapses > 0 and not anew):
        return
    if job.lapses == 0:
        job.leased = w.now
    job.leased_from = w.now
    job.lapses = w.now + term(s)
    job.leased_tasks = tasks
    _find_lapse(s)


@inner
def extend_leases(s: Handle, j: int, m: int, launched: int) -> None:
    """A task of the job that was launched then leaves machine m: what waits there comes nearer, and
    what waits below a limit of its tenants. Only those that were there before are waited for:
    others are let in again and again."""
    machine = s.machine[m]
    if machine.reserved >= 0 and not machine.pledged:
        _extend_lease(s, int64(machine.reserved), launched)
    up = int64(s.job[j].tenant)
    while up >= 0:
        if exceeds(s, up):
            for i in range(s.header[0].asides):
                if is_below(s, s.asides[i], up):
                    _extend_lease(s, int64(s.tenant[s.asides[i]].aside), launched)
        up = int64(s.tenant[up].parent)


@inner
def _extend_lease(s: Handle, j: int, launched: int) -> None:
    """The lease of a job that waits for a task which was launched then begins anew."""
    w, job = s.header[0], s.job[j]
    if job.lapses > 0 and launched < job.leased_from and w.now + term(s) > job.lapses:
        first = job.lapses == w.lapse
        job.lapses = w.now + term(s)
        if first:
            _find_lapse(s)


@inner
def _heir(s: Handle, j: int) -> int:
    """The twin of a job without a gang that is last to start, for which nothing is reserved."""
    best = NONE
    for k in range(s.header[0].jobs):
        other = s.job[k]
        if (
            other.used
            and other.active
            and other.reserved == 0
            and at_once(s, k) == 1
            and other.spread == s.job[j].spread
            and are_twins(s, j, k)
            and not other.likes
            and (best < 0 or turn_of(s, k) > turn_of(s, best))
        ):
            best = k
    return best


@inner
def pass_on(s: Handle, j: int) -> None:
    """What is reserved for a job whose last task starts elsewhere is for a twin from now on: its
    tenant waits as before."""
    w, job = s.header[0], s.job[j]
    held = job.lapses > 0 and job.reserved > job.kept
    if job.waiting > 0 or not held or job.leased_tasks > 1 or job.likes:
        return
    heir = _heir(s, j)
    if heir < 0 or not within_caps(s, heir, 1):
        return
    for m in range(w.machines):
        if s.machine[m].reserved == j and not s.machine[m].pledged:
            s.machine[m].reserved = heir
    other = s.job[heir]
    other.reserved, other.lapses = job.reserved, job.lapses
    other.leased, other.leased_from, other.leased_tasks = job.leased, job.leased_from, 1
    job.reserved = 0
    job.lapses = 0
    w.heap = -1
    w.choice = NONE
    set_aside(s, heir, 1)


@inner
def _holds(s: Handle, j: int) -> bool:
    """Does a job that has a lease hold anything? Machines; or, below a limit of its tenants, room
    that is left there already: others there could have it also where its own limit has none."""
    job = s.job[j]
    holds = job.reserved > 0 or job.aside == 0
    t = int64(job.tenant)
    while t >= 0:
        for r in range(s.demand.shape[1]):
            limit, need = s.limit[t, r], s.demand[j, r]
            if limit != UNLIMITED and need > 0:
                holds |= s.used[t, r] - need * job.aside < limit
        t = int64(s.tenant[t].parent)
    return holds


@inner
def end_lease(s: Handle, j: int, in_vain: bool) -> None:
    """The job has no lease any more. Of what it held in vain the longest rest counts."""
    w, job = s.header[0], s.job[j]
    if job.lapses == 0:
        return
    in_vain = in_vain and _holds(s, j)
    tenant = s.tenant[job.tenant]
    rests = w.now + RESTS * (w.now - job.leased)
    if in_vain and rests > w.now:
        w.look_at = w.now  # for others
    if in_vain and rests > max(tenant.rests, w.now):
        tenant.rests = rests
        tenant.vain_from = job.leased
        tenant.vain_to = w.now
        tenant.vain_machines = job.reserved
        find_rest(s)
    job.lapses = 0
    _find_lapse(s)


@inner
def _find_lapse(s: Handle) -> None:
    """When the first lease ends."""
    w = s.header[0]
    w.lapse = NEVER
    for j in range(w.jobs):
        if s.job[j].used and s.job[j].lapses > 0:
            w.lapse = min(w.lapse, s.job[j].lapses)


@inner
def find_rest(s: Handle) -> None:
    """When the first tenant has rested."""
    w = s.header[0]
    w.rest = NEVER
    for t in range(w.tenants):
        if s.tenant[t].used and s.tenant[t].rests > 0:
            w.rest = min(w.rest, s.tenant[t].rests)


@shared
def unreserve(s: Handle, j: int) -> None:
    """Nothing is reserved for the job any more, or set aside; others may have the room. Pledges
    stay: who made them ends them."""
    w, job = s.header[0], s.job[j]
    end_aside(s, j)
    for m in range(w.machines):
        if job.reserved == 0:
            break
        machine = s.machine[m]
        if machine.reserved == j and not machine.pledged:
            machine.reserved = NONE
            machine.wanted = 0
            machine.kept = 0
            job.reserved -= 1
            w.reservations -= 1
            mark_room_grew(s, m)
    job.reserved = 0
    s.tenant[job.tenant].kept -= job.kept
    job.kept = 0
    stir(s)
    w.relook = 1
    search_anew(s)


@inner
def lapse(s: Handle) -> None:
    """Leases that are over end, and so do rests."""
    w = s.header[0]
    if w.lapse <= w.now:
        for j in range(w.jobs):
            job = s.job[j]
            if job.used and 0 < job.lapses <= w.now:
                end_lease(s, j, True)
                job.due = 0
                if job.reserved > 0 or job.aside > 0:
                    unreserve(s, j)
    if w.rest <= w.now:
        for t in range(w.tenants):
            if s.tenant[t].rests <= w.now:
                s.tenant[t].rests = 0
        find_rest(s)
        stir(s)
        w.look_at = w.now
        w.relook = 1


@inner
def next_lapse(s: Handle) -> int:
    """When a lease or, where somebody waits, a rest is over next; NEVER."""
    w = s.header[0]
    time = w.lapse if w.lapse > w.now else int64(NEVER)
    if w.rest > w.now and w.active > 0:
        time = min(time, w.rest)
    return time
