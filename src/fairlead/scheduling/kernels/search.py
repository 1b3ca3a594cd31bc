"""Who is next on one machine, and who is first in line, by branch and bound.

The least is that of (level, seq). A walk goes down the trie of tenants and into the tries of their
jobs, the lesser child first, and leaves out whatever cannot come before the best one found: by its
level, by the least demand below a node, by the terms that all below need. `near` does the same for
several machines at once.
"""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.briefs import BRIEF, at_most, brief
from fairlead.scheduling.kernels.compiling import inner, kernel
from fairlead.scheduling.kernels.permission import (
    cap_room,
    gang_fits,
    let_in,
    on_machine,
    permitted,
    within_caps,
)
from fairlead.scheduling.kernels.places import UP
from fairlead.scheduling.kernels.state import Handle, int64
from fairlead.scheduling.kernels.tables import NEVER, NONE


@inner
def _push(s: Handle, top: int, n: int) -> int:
    """Puts the children of a node on the stack, the lesser one last; returns the new top."""
    node, stack = s.node, s.stack
    left, right = node[n].left, node[n].right
    a, b = node[left], node[right]
    if a.key < b.key or (a.key == b.key and a.seq < b.seq):
        left, right = right, left
    stack[top] = left
    stack[top + 1] = right
    return top + 2


@inner
def _push_those(s: Handle, top: int, n: int, room: np.uint64, lacking: np.uint64) -> int:
    """As `_push`, without children below which, in brief, nobody can be placed in so much room
    where these terms are lacking."""
    node, stack = s.node, s.stack
    left, right = node[n].left, node[n].right
    a, b = node[left], node[right]
    one = at_most(a.brief, room) and not (a.word & lacking)
    other = at_most(b.brief, room) and not (b.word & lacking)
    if one and other:
        return _push(s, top, n)
    if one or other:
        stack[top] = left if one else right
        top += 1
    return top


@inner
def holds(s: Handle, n: int, m: int) -> bool:
    """Has the machine the room and the terms for the least that is below a node?"""
    for r in range(s.need.shape[1]):
        if s.need[n, r] > s.room[m, r]:
            return False
    lacking = np.uint64(0)
    for i in range(s.terms.shape[1]):
        lacking |= s.terms[n, i] & ~s.satisfies[m, i]
    return lacking == np.uint64(0)


@inner
def _allowed(s: Handle, j: int, m: int) -> bool:
    """What the tries do not say: of a job that fits and satisfies all that is needed."""
    job = s.job[j]
    if job.gang > 1 and not gang_fits(s, j):
        return False
    if job.spread and on_machine(s, j, m):
        return False
    return s.machine[m].reserved < 0 or let_in(s, j, m)


@inner
def owned(s: Handle, m: int) -> bool:
    """May nobody but the job that it is reserved for be placed on the machine?"""
    machine = s.machine[m]
    return machine.reserved >= 0 and (machine.pledged == 1 or machine.until == NEVER)


@kernel
def next_job(s: Handle, m: int) -> int:
    """The active job of least (level, seq) that may be placed on machine m; NONE if there is
    none."""
    node, stack, need = s.node, s.stack, s.need
    resources = need.shape[1]
    wide = resources > BRIEF or s.terms.shape[1] > 1
    room, lacking = brief(s.room, m), ~s.satisfies[m, 0]
    reserved = s.machine[m].reserved >= 0
    best = NONE
    bound, bound_seq = np.inf, int64(NEVER)
    if s.machine[m].state != UP:
        return NONE
    if owned(s, m):
        owner = int64(s.machine[m].reserved)
        if (
            s.job[owner].active
            and permitted(s, owner, m)
            and within_caps(s, owner, 1)
            and gang_fits(s, owner)
        ):
            return owner
        return NONE
    top = 0
    if s.whole[0].root >= 0:
        stack[0] = s.whole[0].root
        top = 1
    while top > 0:
        top -= 1
        n = stack[top]
        here = node[n]
        if here.key > bound or (here.key == bound and here.seq >= bound_seq):
            continue
        if (wide or here.left < 0) and not holds(s, n, m):
            continue
        if here.left >= 0:
            top = _push_those(s, top, n, room, lacking)
            continue
        # A tenant: its jobs, on the same stack, above what is left of the tenants.
        t = int64(here.owner)
        tenant = s.tenant[t]
        capped = tenant.capped
        only = node[tenant.root]
        if only.left < 0 and not capped and only.plain and not reserved:
            best = int64(only.owner)
            bound, bound_seq = here.key, here.seq
            continue
        offset, rate = tenant.offset, tenant.rate
        floor = top
        stack[top] = tenant.root
        top += 1
        while top > floor:
            top -= 1
            n = stack[top]
            here = node[n]
            its = offset + here.key / rate
            if its > bound or (its == bound and here.seq >= bound_seq):
                continue
            if (wide or capped or here.left < 0) and not holds(s, n, m):
                continue
            if capped:
                fits = True
                for r in range(resources):
                    if need[n, r] > 0 and need[n, r] > cap_room(s, t, r):
                        fits = False
                if not fits:
                    tenant.cut = 1
                    continue
            if here.left >= 0:
                top = _push_those(s, top, n, room, lacking)
            elif (here.plain and not reserved) or _allowed(s, int64(here.owner), m):
                best = int64(here.owner)
                bound, bound_seq = its, here.seq
    return best


@inner
def first_job(s: Handle) -> int:
    """The active job of least (level, seq) for which nothing is reserved, and that its tenant's
    limits do not hold back. NONE if there is none."""
    node, stack, need = s.node, s.stack, s.need
    best = NONE
    bound, bound_seq = np.inf, int64(NEVER)
    top = 0
    if s.whole[0].root >= 0:
        stack[0] = s.whole[0].root
        top = 1
    while top > 0:
        top -= 1
        n = stack[top]
        here = node[n]
        if here.key > bound or (here.key == bound and here.seq >= bound_seq):
            continue
        if here.left >= 0:
            top = _push(s, top, n)
            continue
        t = int64(here.owner)
        tenant = s.tenant[t]
        floor = top
        stack[top] = tenant.root
        top += 1
        while top > floor:
            top -= 1
            n = stack[top]
            here = node[n]
            its = tenant.offset + here.key / tenant.rate
            if its > bound or (its == bound and here.seq >= bound_seq):
                continue
            if tenant.capped:
                fits = True
                for r in range(need.shape[1]):
                    if need[n, r] > 0 and need[n, r] > cap_room(s, t, r):
                        fits = False
                if not fits:
                    tenant.cut = 1
                    continue
            if here.left >= 0:
                top = _push(s, top, n)
                continue
            j = int64(here.owner)
            job = s.job[j]
            if job.reserved > 0:
                continue
            gang = job.gang if job.waiting >= job.gang else int64(1)
            if gang > 1 and not within_caps(s, j, gang):
                continue
            best = j
            bound, bound_seq = its, here.seq
    return best
