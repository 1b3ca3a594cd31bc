"""Who is next, best first: fresh jobs on all machines, the others on those whose room grew.

A decision goes once through the tries of waiting jobs for all these machines together: a heap
holds the nodes that are still to be looked at, the least (level, seq) first. A node goes where no
fresh job is below it and no machine has the room and the terms for all that is. Room shrinks and
levels rise while all is decided, so that what was left out stays out, and what a node says stays a
lower bound. Where a level fell, a trie got another shape, or other machines' room grew, it begins
anew.

These machines are a set like those of `places`. One that is reserved so that nobody but its owner
may be placed there is not in it: the owner is asked apart. See docs/decisions/0152-best-first.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.compiling import inner, kernel
from fairlead.scheduling.kernels.permission import (
    cap_room,
    demand_fits,
    gang_fits,
    permitted,
    spent,
    takes,
    welcome,
    within_caps,
)
from fairlead.scheduling.kernels.places import NOTHING, ONE, UP, ask, ask_for, lowest, within
from fairlead.scheduling.kernels.search import owned
from fairlead.scheduling.kernels.state import Handle, int64
from fairlead.scheduling.kernels.tables import NEAR, NONE, WORD


@inner
def forget_near(s: Handle) -> None:
    """The set of machines whose room grew is empty."""
    w = s.whole[0]
    for i in range(w.near):
        s.sets[s.places[i] >> 3, NEAR, s.places[i] & 7] = NOTHING
    w.near = 0
    w.growing = 0


@inner
def _gather(s: Handle) -> None:
    """The set of machines whose room grew, anew."""
    w = s.whole[0]
    forget_near(s)
    kept = 0
    for i in range(w.dirty):
        if s.machine[s.dirty[i]].dirty:
            s.dirty[kept] = s.dirty[i]
            kept += 1
    w.dirty = kept
    w.owned = 0
    for i in range(kept):
        m = s.dirty[i]
        if s.machine[m].state != UP:
            continue
        if owned(s, m):
            w.owned += 1
            continue
        if spent(s, m):
            continue
        block, word = m >> 9, (m >> 6) & 7
        if s.sets[block, NEAR, word] == NOTHING:
            s.places[w.near] = m // WORD
            w.near += 1
        s.sets[block, NEAR, word] |= ONE << np.uint64(m % WORD)
        w.growing += 1
    if w.near > 1:
        s.places[: w.near].sort()


@inner
def _holds(s: Handle, n: int) -> bool:
    """May a fresh job be below a node, or any of the machines have the least room and all the
    terms that it needs? Where not, it is certain."""
    if s.node[n].fresh:
        return True
    if s.whole[0].growing == 0:
        return False
    ask(s, NEAR, s.need, s.terms, n)
    near, k = s.whole[0].near, 0
    while k < near and within(s, s.places[k]) == NOTHING:
        k += 1
    return k < near


@inner
def _taken(s: Handle, j: int) -> bool:
    """May a task of the job be placed on any of the machines that are nobody's alone?"""
    ask_for(s, NEAR, j)
    for k in range(s.whole[0].near):
        bits = within(s, s.places[k])
        while bits:
            if takes(s, j, WORD * s.places[k] + lowest(bits)):
                return True
            bits &= bits - ONE
    return False


@inner
def _own_place(s: Handle, j: int, start: int) -> int:
    """The first machine in the list, from there on, that is the job's alone and takes a task of
    it; as many as there are if there is none."""
    w = s.whole[0]
    if s.job[j].owner != w.begun:
        return w.dirty
    for i in range(start, w.dirty):
        m = s.dirty[i]
        if s.machine[m].reserved == j and owned(s, m) and permitted(s, j, m):
            return i
    return w.dirty


@inner
def _may_be_placed(s: Handle, j: int) -> bool:
    """May a task of the job be placed on any of the machines? A fresh job may, as far as its
    tenant's limits say, and so may one that is no gang until `choose_near` found none."""
    w, job = s.whole[0], s.job[j]
    if job.fresh:
        return job.gang <= 1 or job.waiting < job.gang or within_caps(s, j, job.gang)
    if job.tried == w.decided:
        return False
    if job.gang <= 1 or job.waiting < job.gang:
        return True
    if gang_fits(s, j) and (_taken(s, j) or _own_place(s, j, 0) < w.dirty):
        return True
    job.tried = w.decided
    return False


@inner
def choose_near(s: Handle, rule: Any, j: int) -> int:
    """The best of the machines whose room grew; NONE if there is none."""
    w = s.whole[0]
    if w.heap < 0:
        return s.dirty[0]  # `next_job` found the job for the only one
    best, least = NONE, 0.0
    ask_for(s, NEAR, j)
    for k in range(w.near):
        bits = within(s, s.places[k])
        while bits:
            m = WORD * s.places[k] + lowest(bits)
            bits &= bits - ONE
            if not demand_fits(s, j, m):
                continue
            score = rule.score(s, j, m) if w.picky else 0.0
            if (best < 0 or score < least) and welcome(s, j, m):
                best, least = m, score
        if best >= 0 and not w.picky:
            break
    i = _own_place(s, j, 0)
    while i < w.dirty:
        m = s.dirty[i]
        score = rule.score(s, j, m) if w.picky else 0.0
        if best < 0 or score < least or (score == least and m < best):
            best, least = m, score
        i = _own_place(s, j, i + 1)
    return best


@inner
def _level_of(s: Handle, n: int, t: int) -> float:
    """The least level below a node: of the tenants' trie, or of tenant t's."""
    if t < 0:
        return s.node[n].key
    return s.tenant[t].offset + s.node[n].key / s.tenant[t].rate


@inner
def _before(s: Handle, a: int, b: int) -> bool:
    x, y = s.front[a], s.front[b]
    return x.key < y.key or (x.key == y.key and x.seq < y.seq)


@inner
def _swap(s: Handle, a: int, b: int) -> None:
    x, y = s.front[a], s.front[b]
    key, seq, node, tenant = x.key, x.seq, x.node, x.tenant
    x.key, x.seq, x.node, x.tenant = y.key, y.seq, y.node, y.tenant
    y.key, y.seq, y.node, y.tenant = key, seq, node, tenant


@inner
def _sink(s: Handle) -> None:
    """The first in the heap is as it is: it goes to where it belongs."""
    size = s.whole[0].heap
    at = 0
    while 2 * at + 1 < size:
        least = 2 * at + 1
        if least + 1 < size and _before(s, least + 1, least):
            least += 1
        if not _before(s, least, at):
            return
        _swap(s, at, least)
        at = least


@inner
def _push(s: Handle, n: int, t: int) -> None:
    w = s.whole[0]
    at = w.heap
    w.heap += 1
    entry = s.front[at]
    entry.key = _level_of(s, n, t)
    entry.seq = s.node[n].seq
    entry.node = n
    entry.tenant = t
    while at > 0 and _before(s, at, (at - 1) // 2):
        _swap(s, at, (at - 1) // 2)
        at = (at - 1) // 2


@inner
def _pop(s: Handle) -> None:
    w = s.whole[0]
    w.heap -= 1
    if w.heap > 0:
        _swap(s, 0, w.heap)
        _sink(s)


@inner
def _begin(s: Handle) -> None:
    """The heap, anew: all who wait, and the owners of machines that are nobody else's."""
    w = s.whole[0]
    if w.heap < 0:
        _gather(s)
    w.fell = 0
    w.reshaped = 0
    w.heap = 0
    w.begun += 1
    if w.root >= 0 and _holds(s, w.root):
        _push(s, w.root, NONE)
    if w.owned > 0:
        for i in range(w.dirty):
            m = s.dirty[i]
            if s.machine[m].state == UP and owned(s, m):
                j = int64(s.machine[m].reserved)
                job = s.job[j]
                if job.active and job.owner != w.begun:
                    job.owner = w.begun
                    _push(s, int64(job.leaf), int64(job.tenant))


@inner
def _capped(s: Handle, n: int, t: int) -> bool:
    """Do the limits of a tenant keep all below a node from being placed?"""
    for r in range(s.need.shape[1]):
        if s.need[n, r] > 0 and s.need[n, r] > cap_room(s, t, r):
            return True
    return False


@inner
def _part(s: Handle, n: int, t: int) -> None:
    """The first in the heap gives way to the two below it."""
    node, top = s.node, s.front[0]
    left, right = int64(node[n].left), int64(node[n].right)
    a, b = node[left], node[right]
    if b.key < a.key or (b.key == a.key and b.seq < a.seq):
        left, right = right, left
    other = _holds(s, right)
    if _holds(s, left):
        top.node = left  # the lesser one: as little as what it stands for
        if other:
            _push(s, right, t)
    elif other:
        top.node = right
        top.key = _level_of(s, right, t)
        top.seq = node[right].seq
        _sink(s)
    else:
        _pop(s)


@kernel
def next_near(s: Handle) -> int:
    """The active job of least (level, seq) that is fresh, or may be placed on a machine whose room
    grew; NONE if there is none."""
    w, node = s.whole[0], s.node
    if w.heap < 0 or w.fell or w.reshaped:
        _begin(s)
    while w.heap > 0:
        if w.growing == 0 and w.owned == 0 and not node[w.root].fresh:
            return NONE
        top = s.front[0]
        n, t = int64(top.node), int64(top.tenant)
        here = node[n]
        key = _level_of(s, n, t)
        if key != top.key or here.seq != top.seq:
            top.key = key  # it rose
            top.seq = here.seq
            _sink(s)
        elif t >= 0 and s.tenant[t].capped and _capped(s, n, t):
            s.tenant[t].cut = 1
            _pop(s)
        elif here.left >= 0:
            _part(s, n, t)
        elif t < 0:
            top.tenant = here.owner
            top.node = s.tenant[here.owner].root
        elif _may_be_placed(s, int64(here.owner)):
            return int64(here.owner)
        else:
            _pop(s)
    return NONE
