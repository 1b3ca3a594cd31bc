"""In line: for whom machines are reserved, and when.

Whoever has waited for `reserve_after` by the clock of the tenant (`clocks`) is in line, by (level,
turn). Machines are reserved for the first for whom there are some, and the clock of the tenant
begins anew; so it does where there are none for any of its jobs. There is one reservation in
`reserve_after` at most: what is drained for one tenant would be in the way of another. Where nobody
is left to be asked, time alone changes nothing: no alarm rings until something is launched or given
up, a job comes or a machine changes.

A core of an older version had one clock, of the job that was first of all of them:
`reserve_for_first`.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner
from fairlead.scheduling.kernels.change.clocks import restart_clock, stir
from fairlead.scheduling.kernels.change.leases import end_lease, lease, unreserve
from fairlead.scheduling.kernels.change.limits import (
    can_set_aside,
    find_promised,
    promise,
    set_aside,
)
from fairlead.scheduling.kernels.change.reservations import can_reserve, reserve, reserve_again
from fairlead.scheduling.kernels.change.takers import are_alike, find_takers
from fairlead.scheduling.kernels.memory.state import Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.room.permission import at_once, rests, within_caps
from fairlead.scheduling.kernels.search.levels import levels_of, turn_of
from fairlead.scheduling.kernels.search.search import first_job

KINDS = 16
"""So many kinds of jobs are asked at a time, until machines can be reserved for one."""
LOOKS = 4
"""It is looked so often at most in `reserve_after`: each look goes through all who wait."""


@inner
def _is_ripe(s: Handle, t: int) -> bool:
    """Has the tenant waited for long enough, and does not rest?"""
    w, tenant = s.header[0], s.tenant[t]
    return tenant.since + w.reserve_after <= w.now and tenant.rests <= w.now


@inner
def _line(s: Handle, ripe: bool) -> Ints:
    """The active jobs for which nothing is reserved, by (level, turn); `ripe`: of tenants who have
    waited for long, and where not all can be asked those first who wait for longest."""
    w = s.header[0]
    line, turns = np.empty(w.active, np.int64), np.empty(w.active, np.int64)
    count = 0
    for j in range(w.jobs):
        job = s.job[j]
        if not job.used or not job.active or job.reserved > job.kept:
            continue
        if not ripe or (_is_ripe(s, int64(job.tenant)) and not rests(s, j)):
            line[count] = j
            turns[count] = turn_of(s, j)
            count += 1
    # Each kind of sorting is compiled for itself: of two kinds one would do.
    line = line[:count][np.argsort(turns[:count], kind="mergesort")]
    line = line[np.argsort(levels_of(s, line), kind="mergesort")]
    if ripe and w.crowded:
        since = np.empty(len(line), np.int64)
        for i in range(len(line)):
            since[i] = s.tenant[s.job[line[i]].tenant].since
        line = line[np.argsort(since, kind="mergesort")]
    return line


@inner
def _reserve_behind(s: Handle, first: int) -> bool:
    """Reserves machines for the first of those in line behind job `first` for whom there are some;
    tells whether there is one. Of jobs that are alike only one is asked, and few in all: each is
    asked about all machines."""
    asked = np.empty(KINDS, np.int64)
    asked[0] = first
    kinds = 1
    takers = find_takers(s)
    for j in _line(s, False):
        known = False
        for i in range(kinds):
            known |= are_alike(s, j, asked[i])
        if known or not within_caps(s, j, at_once(s, j)):
            continue
        if reserve(s, takers, j):
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
        stir(s)
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
        reserve_again(s)
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
        if not reserve(s, find_takers(s), j):
            if not w.filling or not _reserve_behind(s, j):
                w.hopeless = 1
                if w.filling:
                    w.first_since = w.now
                return
            w.first = NONE  # begins anew
        w.relook = 1


@inner
def _drop_held_back(s: Handle) -> None:
    """What is reserved for jobs that a limit holds back by now is given up."""
    for j in range(s.header[0].jobs):
        job = s.job[j]
        holds = job.used and job.active and job.reserved > job.kept
        if holds and not within_caps(s, j, at_once(s, j)):
            end_lease(s, j, True)
            unreserve(s, j)
            restart_clock(s, int64(job.tenant))


@inner
def _next_ripe(s: Handle) -> int:
    """When the next tenant will have waited for long enough of those who were not asked since
    something changed; NEVER where all were."""
    w = s.header[0]
    time = int64(NEVER)
    for t in range(w.tenants):
        tenant = s.tenant[t]
        if tenant.used and tenant.jobs > 0 and tenant.failed != w.stirs and tenant.rests <= w.now:
            time = min(time, tenant.since + w.reserve_after)
    return time


@inner
def _reserve_in_line(s: Handle) -> bool:
    """Reserves machines for the first in line for whom there are some; tells whether there is one.
    Of jobs that are alike only one is asked, and few in all: each is asked about all machines. For
    the first one of a tenant's that a limit holds back room below the limit is set aside."""
    w = s.header[0]
    asked = np.empty(KINDS, np.int64)
    kinds, full = 0, False
    whose = np.zeros(w.tenants, np.bool_)
    line = _line(s, True)
    takers = find_takers(s) if len(line) > 0 else line
    held_back = np.zeros(w.tenants, np.bool_)
    promised = np.zeros(0, np.bool_)
    for j in line:
        t = int64(s.job[j].tenant)
        if not within_caps(s, j, at_once(s, j)):
            first = not held_back[t] and s.tenant[t].aside < 0
            if first and len(promised) == 0:
                promised = find_promised(s)
            if (
                first
                and can_set_aside(s, promised, j, at_once(s, j))
                and set_aside(s, j, at_once(s, j))
            ):
                promise(s, promised, j)
                lease(s, j, at_once(s, j), False)
                restart_clock(s, t)
                s.tenant[t].failed = NONE
            held_back[t] = True
            continue
        known = False
        for i in range(kinds):
            known |= are_alike(s, j, asked[i])
        if not known:
            if kinds == KINDS:
                full = True  # who was asked waits anew, so that others are asked next
                break
            whose[s.job[j].tenant] = True
            if reserve(s, takers, j):
                restart_clock(s, int64(s.job[j].tenant))
                s.tenant[s.job[j].tenant].failed = NONE
                return True
            asked[kinds] = j
            kinds += 1
    w.crowded = 1 if full else 0
    for t in range(w.tenants):
        tenant = s.tenant[t]
        if tenant.used and tenant.jobs > 0 and _is_ripe(s, t) and (whose[t] or not full):
            restart_clock(s, t)
            if not full:
                tenant.failed = w.stirs
    return False


@inner
def look(s: Handle) -> None:
    """After a decision: reserves machines where it is time to, and finds when to look again."""
    w = s.header[0]
    if w.due > 0:
        reserve_again(s)
    if w.active == 0:
        w.look_at = NEVER
    if w.now < w.look_at:
        return
    if w.reservations > 0:
        _drop_held_back(s)
    w.hopeless = 0
    w.look_at = w.now + w.reserve_after
    if not _reserve_in_line(s):
        time = _next_ripe(s)
        if time == NEVER:
            w.hopeless = 1
        else:
            w.look_at = max(time, w.now + max(w.reserve_after // LOOKS, 1))
