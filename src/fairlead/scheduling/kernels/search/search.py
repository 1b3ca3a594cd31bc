"""Who is next on one machine, and who is first in line, by branch and bound.

The least is that of (level, seq). A walk goes down the trie of tenants and into the tries of their
jobs, the lesser child first, and leaves out whatever cannot come before the best one found: by its
level, by the least demand below a node, by the terms that all below need. A trie tells levels from
below, a leaf's job exactly. `near` does the same for several machines at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.memory.ahead import fetch
from fairlead.scheduling.kernels.memory.briefs import BRIEF, SIGNS, beneath, brief
from fairlead.scheduling.kernels.memory.compiling import inner, kernel, small
from fairlead.scheduling.kernels.memory.state import Handle, Records, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.room.permission import (
    cap_room,
    gang_fits,
    let_in,
    on_machine,
    permitted,
    within_caps,
)
from fairlead.scheduling.kernels.room.places import ALL, NOTHING, ONE, UP
from fairlead.scheduling.kernels.search.levels import at_least, level


@small
def _may_hold(face: Any, room: np.uint64, lacking: np.uint64) -> bool:
    """Does a face not say that nobody below can be placed in so much room (a brief with signs)
    where these terms are lacking?"""
    return beneath(face.brief, room) & ((face.word & lacking) == NOTHING)


@small
def _open(
    s: Handle,
    faces: Records,
    front: Records,
    top: int,
    n: int,
    t: int,
    room: np.uint64,
    lacking: np.uint64,
    bound: float,
) -> int:
    """Puts the children of a node before us, the lesser one last, but for those that come behind
    the bound and those below which nobody can be placed. Returns how many nodes are there then.

    It branches as little as it can: the processor cannot tell which way it would be."""
    place = np.uint64(2 * n)
    left, right = faces[place], faces[place + ONE]
    a, b = int64(left.node), int64(right.node)
    fetch(faces, 2 * a)
    fetch(faces, 2 * b)
    one, other = left.key, right.key
    # By their keys: different ones may be one level, and a node's seq is that of its least key.
    ahead = one < other
    tie = one == other and s.node[a].seq < s.node[b].seq
    if t >= 0:
        one, other = at_least(s.tenant[t], one), at_least(s.tenant[t], other)
    keep = np.uint64(_may_hold(left, room, lacking) & (one <= bound))
    keep_other = np.uint64(_may_hold(right, room, lacking) & (other <= bound))
    at = np.uint64(top)
    first = front[at]
    first.node = b if ahead else a
    first.key = other if ahead else one
    first.tenant = t
    at += keep_other if ahead else keep
    last = front[at]
    last.node = a if ahead else b
    last.key = one if ahead else other
    last.tenant = t
    at += keep if ahead else keep_other
    if tie and keep & keep_other:
        first.node, last.node = last.node, first.node
    return int64(at)


@small
def _begin(s: Handle) -> int:
    """The tenants' trie is before us; returns how many nodes that are. The heap of `near` is lost:
    who calls this has said so by `heap`."""
    if s.header[0].root < 0:
        return 0
    first = s.front[0]
    first.node = s.header[0].root
    first.key = -np.inf
    first.tenant = NONE
    return 1


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


@inner
def held_back(s: Handle, n: int, t: int) -> bool:
    """Do the limits of a tenant keep all below a node from being placed?"""
    for r in range(s.need.shape[1]):
        if s.need[n, r] > 0 and s.need[n, r] > cap_room(s, t, r):
            return True
    return False


@kernel
def next_job(s: Handle, m: int) -> int:
    """The active job of least (level, seq) that may be placed on machine m; NONE if there is
    none."""
    node, faces, front = s.node, s.face, s.front
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
    wide = s.need.shape[1] > BRIEF or s.terms.shape[1] > 1
    room, lacking = brief(s.room, m) | SIGNS, ~s.satisfies[m, 0]
    reserved = s.machine[m].reserved >= 0
    best = NONE
    bound, bound_seq = np.inf, int64(NEVER)
    top = _begin(s)
    while top > 0:
        top -= 1
        here = front[np.uint64(top)]
        n, t, its = int64(here.node), int64(here.tenant), here.key
        if its > bound or (its == bound and node[n].seq >= bound_seq):
            continue
        inside = faces[np.uint64(2 * n)].node >= 0
        capped = t >= 0 and s.tenant[t].capped
        if (wide or capped or not inside) and not holds(s, n, m):
            continue
        if capped and held_back(s, n, t):
            s.tenant[t].cut = 1
        elif inside:
            top = _open(s, faces, front, top, n, t, room, lacking, bound)
        elif t >= 0:
            leaf = node[n]
            if not s.tenant[t].single:
                its = level(s, int64(leaf.owner))
            if its > bound or (its == bound and leaf.seq >= bound_seq):
                continue
            if (leaf.plain and not reserved) or _allowed(s, int64(leaf.owner), m):
                best = int64(leaf.owner)
                bound, bound_seq = its, leaf.seq
        else:
            # A tenant: its jobs, at the same level.
            here.tenant = node[n].owner
            here.node = s.tenant[here.tenant].root
            here.key = node[n].key
            top += 1
    return best


@inner
def first_job(s: Handle) -> int:
    """The active job of least (level, seq) for which nothing is reserved, and that its tenant's
    limits do not hold back. NONE if there is none."""
    node, faces, front = s.node, s.face, s.front
    best = NONE
    bound, bound_seq = np.inf, int64(NEVER)
    top = _begin(s)
    while top > 0:
        top -= 1
        here = front[np.uint64(top)]
        n, t, its = int64(here.node), int64(here.tenant), here.key
        if its > bound or (its == bound and node[n].seq >= bound_seq):
            continue
        if t >= 0 and s.tenant[t].capped and held_back(s, n, t):
            s.tenant[t].cut = 1
        elif faces[np.uint64(2 * n)].node >= 0:
            top = _open(s, faces, front, top, n, t, ALL, NOTHING, bound)
        elif t < 0:
            here.tenant = node[n].owner
            here.node = s.tenant[here.tenant].root
            here.key = node[n].key
            top += 1
        else:
            j = int64(node[n].owner)
            job = s.job[j]
            gang = job.gang if job.waiting >= job.gang else int64(1)
            if job.reserved > 0 or (gang > 1 and not within_caps(s, j, gang)):
                continue
            its = level(s, j)
            if its > bound or (its == bound and node[n].seq >= bound_seq):
                continue
            best = j
            bound, bound_seq = its, node[n].seq
    return best
