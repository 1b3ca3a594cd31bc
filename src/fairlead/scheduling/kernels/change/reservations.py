"""First in line for long: machines are reserved for a job that could starve otherwise.

The job of least (level, turn) that waits and for which nothing is reserved is first in line. When
the same job has been that for `reserve_after` without holding more than before, machines are
reserved for it: those on which room for a task is expected first, then those where no task runs for
longer already than they will be reserved, then those where the fewest of its own tasks are (it
would only take its own place again), then those where least is missing. Until it launches on one
of them, or its lease ends (`leases`), others have there what is free beyond the tasks that are
counted on (`spare`), and tasks that end before it can start are placed there, too.

Only what has more and is smaller keeps it out: where a task is of a job of no higher level, what
ends is that one's to start again, and where its end makes room alone, that goes to whoever has the
least level. Where no machine is left for it, the next in line is asked, and where none is for
anybody, all are asked again after as long. A core of an older version did none of this (see
docs/decisions/0311-reservations-are-for-who-has-less.md and 0313-room-for-gangs.md).
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner
from fairlead.scheduling.kernels.change.awaited import expected_room, makes_room, missing, would_fit
from fairlead.scheduling.kernels.change.grown import mark_room_grew
from fairlead.scheduling.kernels.change.leases import end_lease, is_resting, lease, term, unreserve
from fairlead.scheduling.kernels.memory.state import Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.room.permission import at_once, has_terms, within_caps
from fairlead.scheduling.kernels.room.places import UP, ask_able, next_within
from fairlead.scheduling.kernels.room.rooms import when_empty
from fairlead.scheduling.kernels.search.levels import leads, level, levels_of, turn_of
from fairlead.scheduling.kernels.search.search import first_job

KINDS = 16
"""So many kinds of jobs are asked, one after the other, until machines can be reserved for one."""


@inner
def can_reserve(s: Handle, j: int, m: int) -> bool:
    """Tells whether the machine could be reserved for the job, were it reserved for nobody else."""
    return s.machine[m].state == UP and has_terms(s, s.needs, j, m) and when_empty(s, j, m) > 0


@inner
def _starts_again(s: Handle, k: int, m: int, j: int) -> bool:
    """Is it job k that what ends of it on machine m makes room for, and not job j? It has no more
    (or, where all levels are equal, was submitted before), and misses the room: were there some for
    another task already, a limit would hold it back."""
    if not s.job[k].active or would_fit(s, k, m, s.free[m], s.piece[m]):
        return False
    return not leads(s, j, k) or (not s.header[0].fifo and level(s, j) == level(s, k))


@inner
def _is_left_out(s: Handle, j: int, m: int, wanted: int, own: int) -> bool:
    """Has nobody of a higher level a task on the machine that is too small to make room alone,
    where so many are the job's own? Of a single task these make room for the next; a gang's do
    only together."""
    machine = s.machine[m]
    only = wanted == 1 and own == machine.tasks
    if only or not s.header[0].filling:
        return only
    t = int64(machine.first)
    while t >= 0:
        k = int64(s.task[t].job)
        again = wanted == 1 if k == j else _starts_again(s, k, m, j)
        if not again and (wanted > 1 or not makes_room(s, j, m, k)):
            return False
        t = int64(s.task[t].machine_next)
    return bool(machine.tasks > 0)


@inner
def _has_old(s: Handle, m: int) -> bool:
    """Is there a task on the machine that runs for longer than a lease is, and so for ever as far
    as anybody can tell?"""
    before = s.header[0].now - term(s)
    t = int64(s.machine[m].first)
    while t >= 0 and s.task[t].launched >= before:
        t = int64(s.task[t].machine_next)
    return t >= 0


@inner
def reserve(s: Handle, j: int) -> bool:
    """Reserves machines for the job that together hold, when empty, the tasks that it starts
    together; tells whether there were enough."""
    job, w = s.job[j], s.header[0]
    wanted = at_once(s, j)
    machines = w.machines
    when = np.full(machines, NEVER, np.int64)
    own = np.zeros(machines, np.int64)
    old = np.zeros(machines, np.bool_)
    lack = np.full(machines, np.inf)
    able = np.zeros(machines, np.int64)
    t = int64(job.first_task)
    while t >= 0:
        own[s.task[t].machine] += 1
        t = int64(s.task[t].job_next)
    there = 0
    latest = int64(NEVER)
    ask_able(s, j)
    m = next_within(s, 0)
    while m >= 0:
        if s.machine[m].reserved < 0 and not _is_left_out(s, j, m, wanted, own[m]):
            able[m] = when_empty(s, j, m)
            if able[m] > 0:
                there += able[m]
                when[m] = expected_room(s, j, m, latest)
                if wanted == 1:
                    latest = min(latest, when[m])
                old[m] = _has_old(s, m)
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
            elif old[m] != old[best]:
                sooner = old[best]
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
    return True


@inner
def _are_alike(s: Handle, j: int, other: int) -> bool:
    """Do both jobs ask machines for the same?"""
    one, two = s.job[j], s.job[other]
    alike = at_once(s, j) == at_once(s, other) and one.spread == two.spread
    for r in range(s.demand.shape[1]):
        alike &= s.demand[j, r] == s.demand[other, r]
    for i in range(s.needs.shape[1]):
        alike &= s.needs[j, i] == s.needs[other, i]
    return alike


@inner
def _line(s: Handle) -> Ints:
    """The active jobs for which nothing is reserved, by (level, turn)."""
    w = s.header[0]
    line, turns = np.empty(w.active, np.int64), np.empty(w.active, np.int64)
    count = 0
    for j in range(w.jobs):
        job = s.job[j]
        if job.used and job.active and job.reserved == job.kept:
            line[count] = j
            turns[count] = turn_of(s, j)
            count += 1
    line = line[:count][np.argsort(turns[:count])]
    return line[np.argsort(levels_of(s, line), kind="mergesort")]


@inner
def _reserve_behind(s: Handle, first: int) -> bool:
    """Reserves machines for the first of those in line behind job `first` for whom there are some;
    tells whether there is one. Of jobs that are alike only one is asked, and few in all: each is
    asked about all machines."""
    asked = np.empty(KINDS, np.int64)
    asked[0] = first
    kinds = 0 if is_resting(s, first) else 1
    for j in _line(s):
        known = is_resting(s, j)
        for i in range(kinds):
            known |= _are_alike(s, j, asked[i])
        if known or not within_caps(s, j, at_once(s, j)):
            continue
        if reserve(s, j):
            return True
        if kinds == KINDS:
            return False
        asked[kinds] = j
        kinds += 1
    return False


@inner
def retry_after_launch(s: Handle, j: int, m: int) -> None:
    """Asks again after a launch of job j on machine m, where nothing could be reserved for the
    first in line: machine m can be now that not only its own tasks run there."""
    w = s.header[0]
    if w.filling:
        w.hopeless = 0  # when it is time to
    elif (
        w.hopeless
        and w.first_slot != j
        and s.machine[m].reserved < 0
        and can_reserve(s, w.first_slot, m)
    ):
        w.hopeless = 0


@inner
def reserve_for_first(s: Handle) -> None:
    """Finds the first in line after a decision, and reserves for it where it is time to."""
    w = s.header[0]
    if w.reserve_after == NEVER:
        return
    if w.due > 0:
        _reserve_again(s)
    while True:
        if w.relook:
            # It stays the one while no other level comes below its own.
            w.relook = 0
            j = first_job(s)
            if j < 0:
                w.first = NONE
                return
        elif w.first == NONE:
            return
        else:
            j = w.first_slot
        job = s.job[j]
        # A task that ends and starts again in its own place is no step forward.
        if w.first != job.seq or job.held > w.first_held:
            w.first = job.seq
            w.first_slot = j
            w.first_held = job.held
            w.first_since = w.now
            w.hopeless = 0
        if w.now - w.first_since < w.reserve_after or (w.hopeless and not w.filling):
            return
        if is_resting(s, j) or not reserve(s, j):
            if not w.filling or not _reserve_behind(s, j):
                w.hopeless = 1
                if w.filling:
                    w.first_since = w.now
                return
            w.first = NONE  # begins anew
        w.relook = 1


@inner
def _reserve_again(s: Handle) -> None:
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
        made = job.active and reserve(s, next_one)
        if not made and job.reserved == 0:  # no room is kept for it either
            end_lease(s, next_one, False)
        job.due = 0


@inner
def check_reservation(s: Handle, m: int) -> None:
    """Takes back a reservation that a machine no longer serves because it changed, drains or left;
    it is made again after the next decision."""
    j = int64(s.machine[m].reserved)
    s.header[0].hopeless = 0
    if j >= 0 and not s.machine[m].pledged and not can_reserve(s, j, m):
        whole = s.job[j].reserved > s.job[j].kept
        unreserve(s, j)
        if whole and s.job[j].active:
            s.job[j].due = 1
            s.header[0].due += 1
        else:
            end_lease(s, j, False)
