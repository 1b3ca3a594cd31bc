"""Limits: what counts against them, and room below them that is set aside for one job.

Whoever asks for little fits below a limit as soon as anything ends, and whoever asks for much never
does. So where a tenant has waited for long and a limit holds the first of its jobs in line back,
room below all its limits is set aside for what that one starts together: it counts as held, but for
the job itself. So it does while machines are reserved for a job. A tenant has room set aside for
one job at a time. Below a limit that is exceeded so room is set aside for one job, and nothing is
reserved for another: they would wait for one another (see
docs/decisions/0331-room-below-a-limit.md). What tasks hold that must end before that one starts
counts as set aside already: others have so much more (see
docs/decisions/0334-what-must-end-anyway.md).
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, kernel, shared
from fairlead.scheduling.kernels.change.grown import search_anew
from fairlead.scheduling.kernels.memory.state import Bools, Handle, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE, UNLIMITED
from fairlead.scheduling.kernels.search.levels import common, height, level_with
from fairlead.scheduling.kernels.search.tenants import lift_tenant


@inner
def use(s: Handle, j: int, tasks: int) -> None:
    """So many tasks more of the job are held, or fewer: they count against its tenants' limits."""
    _count(s, j, tasks)
    t = int64(s.job[j].tenant)
    while t >= 0 and s.tenant[t].capped:
        if _must_end(s, t, j):
            _end(s, t, j, tasks)
        t = int64(s.tenant[t].parent)


@inner
def _count(s: Handle, j: int, tasks: int) -> None:
    """So many tasks more of the job, or fewer, are held or set aside for."""
    t = int64(s.job[j].tenant)
    if not s.tenant[t].capped:
        return
    s.header[0].relook = 1
    while t >= 0:
        for r in range(s.demand.shape[1]):
            s.used[t, r] += tasks * s.demand[j, r]
        t = int64(s.tenant[t].parent)
    if tasks < 0:
        _uncut(s, int64(s.job[j].tenant))


@shared
def _uncut(s: Handle, t: int) -> None:
    """Room below a tenant's limits, or those above: the jobs that these held back are fresh."""
    top = t
    while t >= 0:
        for r in range(s.limit.shape[1]):
            if s.limit[t, r] != UNLIMITED:
                top = t
        t = int64(s.tenant[t].parent)
    tenant = s.tenant
    t = top
    while True:
        if tenant[t].cut:
            tenant[t].cut = 0
            if tenant[t].root >= 0:
                _freshen_all(s, t)
        if tenant[t].child >= 0:
            t = int64(tenant[t].child)
            continue
        while t != top and tenant[t].sibling < 0:
            t = int64(tenant[t].parent)
        if t == top:
            return
        t = int64(tenant[t].sibling)


@inner
def _freshen_all(s: Handle, t: int) -> None:
    """All active jobs of a tenant are fresh."""
    node = s.node
    root = int64(s.tenant[t].root)
    n = root
    while True:
        node[n].fresh = 1
        if node[n].left >= 0:
            n = int64(node[n].left)
            continue
        s.job[node[n].owner].fresh = 1
        while n != root and node[node[n].parent].right == n:
            n = int64(node[n].parent)
        if n == root:
            break
        n = int64(node[node[n].parent].right)
    lift_tenant(s, t)


@inner
def is_below(s: Handle, t: int, up: int) -> bool:
    """Is a tenant this one, or below it?"""
    while t >= 0 and t != up:
        t = int64(s.tenant[t].parent)
    return t == up


@inner
def exceeds(s: Handle, t: int) -> bool:
    """Does what is held, and set aside, below a tenant exceed its limits?"""
    above = False
    for r in range(s.limit.shape[1]):
        above |= s.limit[t, r] != UNLIMITED and s.used[t, r] > s.limit[t, r]
    return above


@inner
def _must_end(s: Handle, t: int, j: int) -> bool:
    """Must a task of the job end before all can start for which room is set aside below a tenant?
    Below its limit it would not fit beside that, were there nothing else."""
    too_large = False
    for r in range(s.owed.shape[1]):
        limit, owed = s.limit[t, r], s.owed[t, r]
        if limit != UNLIMITED and owed > 0:
            too_large |= s.demand[j, r] > limit - owed
    return too_large


@inner
def _end(s: Handle, t: int, j: int, tasks: int) -> None:
    """So many tasks of the job, which is below a tenant, are among those that must end, or leave
    them."""
    for r in range(s.ending.shape[1]):
        s.ending[t, r] += tasks * s.demand[j, r]


@inner
def _owe(s: Handle, j: int, tasks: int) -> None:
    """Room for so many tasks more of the job, or fewer, is set aside below the tenants above it."""
    t = int64(s.job[j].tenant)
    while t >= 0:
        for r in range(s.owed.shape[1]):
            s.owed[t, r] += tasks * s.demand[j, r]
        t = int64(s.tenant[t].parent)


@inner
def _find_ending(s: Handle, t: int) -> None:
    """Finds anew what must end below a tenant, after another amount was set aside there."""
    owes = False
    for r in range(s.owed.shape[1]):
        s.ending[t, r] = 0
        owes |= s.limit[t, r] != UNLIMITED and s.owed[t, r] > 0
    for j in range(s.header[0].jobs if owes else 0):
        job = s.job[j]
        if job.used and job.held > 0 and _must_end(s, t, j) and is_below(s, job.tenant, t):
            _end(s, t, j, job.held)


@inner
def _ease_above(s: Handle, j: int) -> None:
    """The same of all tenants above a job."""
    t = int64(s.job[j].tenant)
    while t >= 0:
        _find_ending(s, t)
        t = int64(s.tenant[t].parent)


@kernel
def ease_all(s: Handle) -> None:
    """Finds anew for whom room is set aside, how much below each tenant, and what must end."""
    w = s.header[0]
    w.asides = 0
    for t in range(w.tenants):
        for r in range(s.owed.shape[1]):
            s.owed[t, r] = 0
            s.ending[t, r] = 0
    for t in range(w.tenants):
        j = int64(s.tenant[t].aside)
        if s.tenant[t].used and j >= 0:
            s.asides[w.asides] = t
            w.asides += 1
            _owe(s, j, int64(s.job[j].aside))
    for j in range(w.jobs if w.asides > 0 else 0):
        up = int64(s.job[j].tenant if s.job[j].used and s.job[j].held > 0 else NONE)
        while up >= 0:
            if _must_end(s, up, j):
                _end(s, up, j, s.job[j].held)
            up = int64(s.tenant[up].parent)


@inner
def find_promised(s: Handle) -> Bools:
    """Of each tenant: is anything reserved or set aside for a job of it, or below it?"""
    promised = np.zeros(s.header[0].tenants, np.bool_)
    for j in range(s.header[0].jobs):
        job = s.job[j]
        if job.used and (job.reserved > job.kept or job.aside > 0):
            promise(s, promised, j)
    return promised


@inner
def promise(s: Handle, promised: Bools, j: int) -> None:
    """Something is reserved or set aside for the job."""
    t = int64(s.job[j].tenant)
    while t >= 0:
        promised[t] = True
        t = int64(s.tenant[t].parent)


@inner
def can_set_aside(s: Handle, promised: Bools, j: int, tasks: int) -> bool:
    """Can room be set aside for so many tasks of the job, which a limit holds back? Below that
    limit nothing may be promised to others: they would wait for one another. Nor may anybody there
    wait who would then have less; those behind in line are not asked any more then."""
    t = int64(s.job[j].tenant)
    while t >= 0:
        for r in range(s.limit.shape[1]):
            limit, need = s.limit[t, r], tasks * s.demand[j, r]
            if limit == UNLIMITED or need == 0 or s.used[t, r] + need <= limit:
                continue
            promised[t] = promised[t] or _would_have_less(s, j, tasks, t)
            if promised[t]:
                return False
        t = int64(s.tenant[t].parent)
    return True


@inner
def _would_have_less(s: Handle, j: int, tasks: int, below: int) -> bool:
    """Would any other tenant's job that waits below this tenant have less than job j with so many
    tasks more? Who holds less than what starts together is not asked."""
    w, job = s.header[0], s.job[j]
    if w.fifo or s.tenant[job.tenant].held < tasks * job.unit:
        return False
    for k in range(w.jobs):
        other = s.job[k]
        if not other.used or not other.active or other.tenant == job.tenant:
            continue
        above = common(s, j, k)
        there = above >= 0 and is_below(s, above, below)
        if there and height(s, k, above) < level_with(s, j, tasks, above):
            return True
    return False


@inner
def set_aside(s: Handle, j: int, tasks: int) -> bool:
    """Sets room below its tenants' limits aside for so many tasks of the job, unless some is for
    another one of its tenant; tells whether."""
    tenant = s.tenant[s.job[j].tenant]
    if s.header[0].reserve_for == NEVER or not tenant.capped or tenant.aside >= 0:
        return False
    w = s.header[0]
    s.job[j].aside = tasks
    tenant.aside = j
    s.asides[w.asides] = s.job[j].tenant
    w.asides += 1
    _count(s, j, tasks)
    _owe(s, j, tasks)
    _ease_above(s, j)
    return True


@inner
def end_aside(s: Handle, j: int) -> None:
    """Nothing is set aside for the job any more."""
    tasks = int64(s.job[j].aside)
    if tasks == 0:
        return
    w, t = s.header[0], int64(s.job[j].tenant)
    s.job[j].aside = 0
    s.tenant[t].aside = NONE
    w.asides -= 1
    for i in range(w.asides):
        if s.asides[i] == t:
            s.asides[i] = s.asides[w.asides]
    _count(s, j, -tasks)
    _owe(s, j, -tasks)
    _ease_above(s, j)
    search_anew(s)
