"""The next job, best first: fresh ones on all machines, the others on those whose room grew.

A decision goes once through the tries of waiting jobs for all these machines together: a heap
holds what is still to be looked at, the least (level, seq) first: nodes of the tenants' trie, and
for each tenant whose leaf was come to the line of its jobs (`lines`). A node goes where no
fresh job is below it and no machine has the room and the terms for all that is. Room shrinks and
levels rise while all is decided, so that what was left out stays out, and what a node says stays a
lower bound. Where a level fell, a trie got another shape, or other machines' room grew, it begins
anew.

These machines are a list, with the brief of each one's room and the terms that it lacks beside each
other (`s.near_room`, `s.near_lacking`), so that 64 of them are compared with a node at once. A
node in the heap remembers a machine that held it, its witness: mostly that one holds what is below
it too. One that is reserved so that nobody but its owner may be placed there is not in the list:
the owner is asked apart. See docs/decisions/0152-best-first.md and 0178-a-list-of-what-grew.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.memory.briefs import NO_ROOM, SIGNS, brief_of, may_hold, too_wide
from fairlead.scheduling.kernels.memory.compiling import inner, kernel, small
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE, WORD
from fairlead.scheduling.kernels.room.choice import TRIFLE
from fairlead.scheduling.kernels.room.permission import (
    at_once,
    is_owned,
    is_permitted,
    known_useless,
    may_start,
    not_blocked,
    satisfies,
    within_caps,
)
from fairlead.scheduling.kernels.room.places import NOTHING, ONE, UP, drop_clean, lowest
from fairlead.scheduling.kernels.room.rules import better, slack
from fairlead.scheduling.kernels.search.levels import level, level_of_share
from fairlead.scheduling.kernels.search.lines import begin_line, first_of, give_way, join, leave
from fairlead.scheduling.kernels.search.search import holds, is_held_back


@inner
def forget_near(s: Handle) -> None:
    """Empties the list of machines whose room grew."""
    w = s.header[0]
    for i in range(w.near):
        s.machine[s.near[i]].near = 0
    # Where nobody is in the list, its first place is a witness all the same.
    s.near_room[0] = np.int64(NO_ROOM)
    w.near = 0
    w.growing = 0


@inner
def _gather(s: Handle) -> None:
    """Lists anew the machines whose room grew and that are nobody's alone."""
    w = s.header[0]
    forget_near(s)
    drop_clean(s)
    w.owned = 0
    for i in range(w.dirty):
        m = s.dirty[i]
        if s.machine[m].state != UP:
            continue
        if is_owned(s, m):
            w.owned += 1
        elif not known_useless(s, m):
            s.near[w.near] = m
            w.near += 1
    if w.near > 1:
        s.near[: w.near].sort()
    w.growing = w.near
    for i in range(w.near):
        m = s.near[i]
        s.machine[m].near = i + 1
        s.near_room[i] = np.int64(brief_of(s.room, m) | SIGNS)
        s.near_lacking[i] = np.int64(~s.satisfies[m, 0])


@small
def _may_hold(s: Handle, i: np.uint64, need: np.uint64, word: np.uint64) -> bool:
    """Has a machine in the list, in brief, so much room, and these terms?"""
    return may_hold(need, word, np.uint64(s.near_room[i]), np.uint64(s.near_lacking[i]))


@inner
def _holders(s: Handle, first: int, need: np.uint64, word: np.uint64) -> np.uint64:
    """Which of 64 machines in the list from `first` on may do, in brief: a bit each."""
    bits = NOTHING
    start = np.uint64(first)
    for i in range(np.uint64(min(WORD, s.header[0].near - first))):
        # Without a question between them: a processor does several at once.
        bits |= np.uint64(_may_hold(s, start + i, need, word)) << i
    return bits


@small
def _holder(s: Handle, n: int, witness: int) -> int:
    """A machine in the list that may have the least room and all the terms that are needed below a
    node: `witness`, if that one may, and where a fresh job is below. NONE where there is certainly
    none."""
    node = s.node[n]
    if node.fresh:
        return witness
    if _may_hold(s, np.uint64(witness), node.brief, node.word) and (
        not too_wide(s) or holds(s, n, s.near[witness])
    ):
        return witness
    return _another(s, n)


@inner
def _another(s: Handle, n: int) -> int:
    """A machine in the list that may have what is needed below a node; NONE where there is
    certainly none."""
    w, node = s.header[0], s.node[n]
    if w.growing == 0:
        return NONE
    for first in range(0, w.near, WORD):
        bits = _holders(s, first, node.brief, node.word)
        while bits:
            i = first + lowest(bits)
            if not too_wide(s) or holds(s, n, s.near[i]):
                return i
            bits &= bits - ONE
    return NONE


@inner
def _wants(s: Handle, j: int) -> np.uint64:
    """The first 64 terms that a job wants of a machine."""
    return s.needs[j, 0] | s.prefers[j, 0] if s.job[j].patient else s.needs[j, 0]


@inner
def _any_takes(s: Handle, j: int) -> bool:
    """May a task of the job be placed on any of the machines that are nobody's alone?"""
    need, word = brief_of(s.demand, j), _wants(s, j)
    for first in range(0, s.header[0].near, WORD):
        bits = _holders(s, first, need, word)
        while bits:
            if is_permitted(s, j, s.near[first + lowest(bits)]):
                return True
            bits &= bits - ONE
    return False


@inner
def _own_place(s: Handle, j: int, start: int) -> int:
    """The first machine in the list, from there on, that is the job's alone and takes a task of
    it; as many as there are if there is none."""
    w = s.header[0]
    if s.job[j].owner != w.begun:
        return w.dirty
    for i in range(start, w.dirty):
        m = s.dirty[i]
        if s.machine[m].reserved == j and is_owned(s, m) and is_permitted(s, j, m):
            return i
    return w.dirty


@inner
def _may_be_placed(s: Handle, j: int) -> bool:
    """May a task of the job be placed on any of the machines? A fresh job may, as far as its
    tenant's limits say, and so may one that is no gang until `choose_near` found none."""
    w, job = s.header[0], s.job[j]
    if job.fresh:
        return within_caps(s, j, at_once(s, j))
    if job.tried == w.decided:
        return False
    if at_once(s, j) == 1:
        return True
    if may_start(s, j) and (_any_takes(s, j) or _own_place(s, j, 0) < w.dirty):
        return True
    job.tried = w.decided
    return False


@small
def _fits(demand: Any, room: Any, capacity: Any, most: float) -> bool:
    """Is there room for the demand, and is no more left then of any resource that is demanded than
    so many parts of the machine? Less by a trifle: rounding must not leave one out."""
    for r in range(len(demand)):
        left = room[r] - demand[r]
        if demand[r] > 0 and (left < 0 or left * TRIFLE > most * capacity[r]):
            return False
    return True


@inner
def choose_near(s: Handle, rule: Any, j: int) -> int:
    """The best of the machines whose room grew; NONE if there is none."""
    w = s.header[0]
    if w.heap < 0:
        return s.dirty[0]  # `next_job` found the job for the only one
    best, least, off = NONE, np.inf, 0.0
    most = np.inf  # by a tight rule the best score so far: more of a resource left is a worse one
    wide = s.needs.shape[1] > 1
    demand, room, capacity = s.demand, s.room, s.capacity
    need, word = brief_of(s.demand, j), _wants(s, j)
    for first in range(0, w.near, WORD):
        bits = _holders(s, first, need, word)
        while bits:
            m = s.near[first + lowest(bits)]
            bits &= bits - ONE
            if not _fits(demand[j], room[m], capacity[m], most) or (
                wide and not satisfies(s, j, m)
            ):
                continue
            score = rule.score(s, j, m) if w.picky else 0.0
            if (best < 0 or better(s, rule, j, m, score, best, least, off)) and not_blocked(
                s, j, m
            ):
                best, least, off = m, score, slack(s, rule, score)
                if w.tight and w.changed == 0:
                    most = least
        if best >= 0 and not w.picky:
            break
    i = _own_place(s, j, 0)
    while i < w.dirty:
        m = s.dirty[i]
        score = rule.score(s, j, m) if w.picky else 0.0
        if best < 0 or better(s, rule, j, m, score, best, least, off):
            best, least, off = m, score, slack(s, rule, score)
        i = _own_place(s, j, i + 1)
    return best


@small
def _before(s: Handle, at: int, key: float, seq: int) -> bool:
    """Does an entry of the heap come before these?"""
    return s.front[at].key < key or (s.front[at].key == key and s.front[at].seq < seq)


@small
def _put(s: Handle, at: int, key: float, seq: int, node: int, tenant: int, witness: int) -> None:
    """An entry of the heap."""
    entry = s.front[at]
    entry.key = key
    entry.seq = seq
    entry.node = node
    entry.tenant = tenant
    entry.witness = witness


@inner
def _sink(s: Handle, key: float, seq: int, node: int, tenant: int, witness: int) -> None:
    """Puts this in the place of the first in the heap, and then to where it belongs."""
    front, size = s.front, s.header[0].heap
    at, child = 0, 1
    while child < size:
        if child + 1 < size and _before(s, child + 1, front[child].key, front[child].seq):
            child += 1
        if not _before(s, child, key, seq):
            break
        front[at] = front[child]
        at, child = child, 2 * child + 1
    _put(s, at, key, seq, node, tenant, witness)


@inner
def _push(s: Handle, n: int, t: int, witness: int) -> None:
    """Puts a node of the tenants' trie into the heap, for itself or for the line of tenant t."""
    w, front = s.header[0], s.front
    key, seq = s.node[n].key, s.node[n].seq
    at = w.heap
    w.heap += 1
    while at > 0:
        above = (at - 1) // 2
        if _before(s, above, key, seq):
            break
        front[at] = front[above]
        at = above
    _put(s, at, key, seq, n, t, witness)


@inner
def _pop(s: Handle) -> None:
    w = s.header[0]
    w.heap -= 1
    last = s.front[w.heap]
    if w.heap > 0:
        _sink(s, last.key, last.seq, int64(last.node), int64(last.tenant), int64(last.witness))


@inner
def _begin(s: Handle) -> None:
    """The heap, anew: all who wait, and the owners of machines that are nobody else's."""
    w = s.header[0]
    if w.heap < 0:
        _gather(s)
    w.fell = 0
    w.reshaped = 0
    w.heap = 0
    w.begun += 1
    if w.root >= 0:
        witness = _holder(s, w.root, 0)
        if witness >= 0:
            _push(s, w.root, NONE, witness)
    if w.owned > 0:
        for i in range(w.dirty):
            m = s.dirty[i]
            if s.machine[m].state == UP and is_owned(s, m):
                j = int64(s.machine[m].reserved)
                job = s.job[j]
                if job.active and job.owner != w.begun:
                    job.owner = w.begun
                    leaf = int64(s.tenant[job.tenant].leaf)
                    begin_line(s, leaf)
                    join(s, leaf, int64(job.leaf), 0)
                    _push(s, leaf, int64(job.tenant), 0)


@inner
def _part(s: Handle, n: int) -> None:
    """The first in the heap, a node of the tenants' trie, gives way to the two below it."""
    node, top = s.node, s.front[0]
    left, right = _in_order(s, n)
    witness = int64(top.witness)
    one, other = _holder(s, left, witness), _holder(s, right, witness)
    if one >= 0:
        top.node = left  # the lesser one: as little as what it stands for
        top.witness = one
        if other >= 0:
            _push(s, right, NONE, other)
    elif other >= 0:
        _sink(s, node[right].key, node[right].seq, right, NONE, other)
    else:
        _pop(s)


@inner
def _part_in_line(s: Handle, leaf: int, n: int) -> None:
    """The first in a tenant's line gives way to the two below it."""
    left, right = _in_order(s, n)
    witness = int64(s.line[n].witness)
    one, other = _holder(s, left, witness), _holder(s, right, witness)
    if one >= 0:
        give_way(s, leaf, left, one)
    else:
        leave(s, leaf)
    if other >= 0:
        join(s, leaf, right, other)


@small
def _in_order(s: Handle, n: int) -> tuple[int, int]:
    """The two below a node, the lesser one first."""
    left, right = int64(s.node[n].left), int64(s.node[n].right)
    a, b = s.node[left], s.node[right]
    if b.key < a.key or (b.key == a.key and b.seq < a.seq):
        return right, left
    return left, right


@inner
def _next_in_line(s: Handle, t: int, leaf: int) -> int:
    """The next job of a tenant, if its level is that of the first in the heap, which stands for its
    line. NONE if it is not known yet, or comes later: then the heap and the line say what is."""
    top, tenant, line = s.front[0], s.tenant[t], s.line
    n = first_of(s, leaf)
    if n < 0:
        _pop(s)
        return NONE
    here = s.node[n]
    if here.key != line[n].key or here.seq != line[n].seq:
        witness = int64(line[n].witness)
        leave(s, leaf)
        join(s, leaf, n, witness)  # its share rose
        return NONE
    key = level_of_share(s, t, here.key)
    if here.left < 0 and key <= top.key and not tenant.single:
        key = level(s, int64(here.owner))  # a job, which may be the next
    if key != top.key or here.seq != top.seq:
        _sink(s, key, here.seq, leaf, t, 0)  # it rose
    elif tenant.capped and is_held_back(s, n, t):
        tenant.cut = 1
        leave(s, leaf)
    elif here.left >= 0:
        _part_in_line(s, leaf, n)
    elif _may_be_placed(s, int64(here.owner)):
        return int64(here.owner)
    else:
        leave(s, leaf)
    return NONE


@kernel
def next_near(s: Handle) -> int:
    """The active job of least (level, seq) that is fresh, or may be placed on a machine whose room
    grew; NONE if there is none."""
    w, node = s.header[0], s.node
    if w.heap < 0 or w.fell or w.reshaped:
        _begin(s)
    while w.heap > 0:
        if w.growing == 0 and w.owned == 0 and not node[w.root].fresh:
            return NONE
        top = s.front[0]
        n, t = int64(top.node), int64(top.tenant)
        here = node[n]
        if t >= 0:
            j = _next_in_line(s, t, n)
            if j >= 0:
                return j
        elif here.key != top.key or here.seq != top.seq:
            _sink(s, here.key, here.seq, n, NONE, int64(top.witness))  # it rose
        elif here.left >= 0:
            _part(s, n)
        else:
            top.tenant = here.owner
            begin_line(s, n)
            join(s, n, int64(s.tenant[here.owner].root), int64(top.witness))
    return NONE
