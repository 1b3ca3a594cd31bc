"""Machines are reserved for a job that could starve otherwise; for whom and when says `in_line`.

They are those on which room for a task is expected first, then those where the oldest task of
others runs for the least number of doublings, then those where the fewest of its own tasks are (it
would only take its own place again), then those where least is missing. Until it launches on one
of them, or its lease ends (`leases`), others have there what is free beyond the tasks that are
counted on (`spare`), and tasks that end before it can start are placed there, too.

A machine is reserved only where the job would be kept out without (`claims.is_left_out`): where a
task of somebody runs who has more, and its end alone makes too little room. For where a task ends
whose place somebody of no higher level takes, it is that one's to start again, and where its end
makes room alone, that goes to whoever has the least level. A core of an older version did none of
this (see docs/decisions/0311-reservations-are-for-who-has-less.md and 0313-room-for-gangs.md).
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner
from fairlead.scheduling.kernels.change.awaited import expected_room, missing
from fairlead.scheduling.kernels.change.claims import are_twins, is_left_out, own_tasks
from fairlead.scheduling.kernels.change.clocks import stir
from fairlead.scheduling.kernels.change.grown import mark_room_grew
from fairlead.scheduling.kernels.change.leases import end_lease, lease, unreserve
from fairlead.scheduling.kernels.change.limits import set_aside
from fairlead.scheduling.kernels.change.takers import find_takers
from fairlead.scheduling.kernels.memory.state import Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.room.permission import at_once, has_terms
from fairlead.scheduling.kernels.room.places import UP, ask_able, next_within
from fairlead.scheduling.kernels.room.rooms import when_empty
from fairlead.scheduling.kernels.search.levels import level_with


@inner
def can_reserve(s: Handle, j: int, m: int) -> bool:
    """Tells whether the machine could be reserved for the job, were it reserved for nobody else.
    Asked before a decision, too, where alarms of this moment have not rung yet."""
    w, machine, job = s.header[0], s.machine[m], s.job[j]
    if machine.state != UP or not has_terms(s, s.needs, j, m) or when_empty(s, j, m) == 0:
        return False
    # What it declines as long as it waits for what it prefers would be idle for as long.
    declines = w.reserve_for != NEVER and job.patient and job.since + job.patience > w.now
    return not declines or has_terms(s, s.prefers, j, m)


@inner
def _age_class(s: Handle, j: int, m: int) -> int:
    """For how long the oldest task of others has run on the machine, in doublings: most of what
    runs for long already will do so for as long again."""
    w = s.header[0]
    oldest = w.now
    t = int64(s.machine[m].first)
    while t >= 0:
        if not are_twins(s, j, int64(s.task[t].job)):
            oldest = min(oldest, s.task[t].launched)
        t = int64(s.task[t].machine_next)
    doublings, age = int64(0), (w.now - oldest) // w.reserve_after
    while age > 0:
        doublings += 1
        age //= 2
    return doublings


@inner
def _reserved_for(s: Handle, of: int) -> int:
    """What a tenant will hold more once all starts that machines are reserved for."""
    amount = int64(0)
    for m in range(s.header[0].machines):
        machine = s.machine[m]
        if machine.reserved >= 0 and not machine.pledged and not machine.kept:
            job = s.job[machine.reserved]
            if job.tenant == of:
                amount += machine.wanted * job.unit
    return amount


@inner
def reserve(s: Handle, takers: Ints, j: int) -> bool:
    """Reserves machines for the job that together hold, when empty, the tasks that it starts
    together; tells whether there were enough. `takers`: those of now."""
    job, w = s.job[j], s.header[0]
    wanted = at_once(s, j)
    machines = w.machines
    when = np.full(machines, NEVER, np.int64)
    own = np.zeros(machines, np.int64)
    ages = np.zeros(machines, np.int64)
    lack = np.full(machines, np.inf)
    able = np.zeros(machines, np.int64)
    leased = w.reserve_for != NEVER
    there = 0
    latest = int64(NEVER)
    # A tenant that holds less than what starts together is not asked what it would hold.
    soon = _reserved_for(s, int64(job.tenant)) if leased else int64(0)
    asked = leased and not w.fifo and s.tenant[job.tenant].held + soon >= wanted * job.unit
    more = int64(wanted + soon // max(job.unit, 1))
    then = level_with(s, j, more, NONE) if asked else -1.0
    ask_able(s, j)
    m = next_within(s, 0)
    while m >= 0:
        if (
            s.machine[m].reserved < 0
            and can_reserve(s, j, m)
            and not is_left_out(s, takers, j, m, wanted, more, then)
        ):
            able[m] = when_empty(s, j, m)
            if able[m] > 0:
                there += able[m]
                when[m] = expected_room(s, j, m, latest)
                if wanted == 1:
                    latest = min(latest, when[m])
                own[m] = own_tasks(s, j, m)
                ages[m] = _age_class(s, j, m) if leased else 0
                lack[m] = missing(s, j, m)
        m = next_within(s, m + 1)
    room = 0
    until = int64(0)
    if job.kept > 0:
        for m in range(machines):
            if s.machine[m].kept and s.machine[m].reserved == j:
                room += when_empty(s, j, m)
                until = max(until, expected_room(s, j, m, int64(NEVER)))
    if there + room < wanted:
        return False
    for m in range(machines if job.kept > 0 else 0):
        if s.machine[m].reserved == j:
            s.machine[m].kept = 0  # it belongs to what is reserved now
            mark_room_grew(s, m)  # others may pass where that is to start later
    s.tenant[job.tenant].kept -= job.kept
    job.kept = 0
    while room < wanted:
        best = NONE
        for m in range(machines):
            if able[m] <= 0:
                continue
            if best < 0 or when[m] != when[best]:
                sooner = best < 0 or when[m] < when[best]
            elif ages[m] != ages[best]:
                sooner = ages[m] < ages[best]
            elif own[m] != own[best]:
                sooner = own[m] < own[best]
            else:
                sooner = lack[m] < lack[best]
            if sooner:
                best = m
        s.machine[best].wanted = min(able[best], wanted - room)
        room += able[best]
        able[best] = 0
        until = max(until, when[best])
        s.machine[best].reserved = j
        job.reserved += 1
        w.reservations += 1
    for m in range(machines):
        if s.machine[m].reserved == j and not s.machine[m].pledged:
            s.machine[m].until = until
    lease(s, j, wanted, not job.due)
    set_aside(s, j, wanted)
    return True


@inner
def reserve_again(s: Handle) -> None:
    """Reserves again for the jobs whose reservation lost a machine."""
    w = s.header[0]
    w.due = 0
    while True:
        # In the order of their submission; slots are used again in any order.
        next_one = NONE
        for j in range(w.jobs):
            job = s.job[j]
            if job.used and job.due and (next_one < 0 or job.seq < s.job[next_one].seq):
                next_one = j
        if next_one < 0:
            return
        job = s.job[next_one]
        made = job.active and reserve(s, find_takers(s), next_one)
        if not made and job.reserved == 0:  # no room is kept for it either
            end_lease(s, next_one, False)
        job.due = 0


@inner
def check_reservation(s: Handle, m: int) -> None:
    """Takes back a reservation that a machine no longer serves because it changed, drains or left;
    it is made again after the next decision."""
    j = int64(s.machine[m].reserved)
    stir(s)
    if j >= 0 and not s.machine[m].pledged and not can_reserve(s, j, m):
        whole = s.job[j].reserved > s.job[j].kept
        unreserve(s, j)
        if whole and s.job[j].active:
            s.job[j].due = 1
            s.header[0].due += 1
        else:
            end_lease(s, j, False)
