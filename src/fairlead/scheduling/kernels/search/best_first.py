"""The next job, best first: fresh ones on all machines, the others on those whose room grew.

A decision goes once through the tries of waiting jobs for all these machines together: a heap
holds what is still to be looked at, the least (level, turn) first: nodes of the tries of tenants,
and for each tenant whose leaf was come to the line of its jobs (`lines`). A node goes where no
fresh job is below it and no machine has the room and the terms for all that is. Room shrinks and
levels rise while all is decided, so that what was left out stays out, and what a node says stays a
lower bound. Where a level fell, a trie got another shape, or other machines' room grew, it begins
anew.

A node remembers a machine that held it, its witness: mostly that one holds what is below
it too (`near`). See docs/decisions/0152-best-first.md.
"""

from __future__ import annotations

from fairlead.compiling import inner, kernel, small
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.room.places import UP
from fairlead.scheduling.kernels.room.spare import is_owned
from fairlead.scheduling.kernels.search.levels import at_least, level_now
from fairlead.scheduling.kernels.search.lines import begin_line, first_of, give_way, join, leave
from fairlead.scheduling.kernels.search.near import gather, holder, may_be_placed
from fairlead.scheduling.kernels.search.search import is_held_back


@small
def _before(s: Handle, at: int, key: float, turn: int) -> bool:
    """Does an entry of the heap come before these?"""
    return s.front[at].key < key or (s.front[at].key == key and s.front[at].turn < turn)


@small
def _put(s: Handle, at: int, key: float, turn: int, node: int, tenant: int, witness: int) -> None:
    """An entry of the heap."""
    entry = s.front[at]
    entry.key = key
    entry.turn = turn
    entry.node = node
    entry.tenant = tenant
    entry.witness = witness


@inner
def _sink(s: Handle, key: float, turn: int, node: int, tenant: int, witness: int) -> None:
    """Puts this in the place of the first in the heap, and then to where it belongs."""
    front, size = s.front, s.header[0].heap
    at, child = 0, 1
    while child < size:
        if child + 1 < size and _before(s, child + 1, front[child].key, front[child].turn):
            child += 1
        if not _before(s, child, key, turn):
            break
        front[at] = front[child]
        at, child = child, 2 * child + 1
    _put(s, at, key, turn, node, tenant, witness)


@inner
def _bound(s: Handle, n: int, t: int) -> float:
    """A bound that no level below a node is less than, of tenant t's trie of tenants."""
    return at_least(s, t, s.node[n].key)


@inner
def _push(s: Handle, n: int, t: int, witness: int) -> None:
    """Puts a node of tenant t's trie of tenants into the heap, or of that of all without a
    parent."""
    _put_in(s, _bound(s, n, t), n, t, witness)


@inner
def _put_in(s: Handle, key: float, n: int, t: int, witness: int) -> None:
    """Puts this into the heap."""
    w, front = s.header[0], s.front
    turn = s.node[n].turn
    at = w.heap
    w.heap += 1
    while at > 0:
        above = (at - 1) // 2
        if _before(s, above, key, turn):
            break
        front[at] = front[above]
        at = above
    _put(s, at, key, turn, n, t, witness)


@inner
def _pop(s: Handle) -> None:
    """The first in the heap goes."""
    w = s.header[0]
    w.heap -= 1
    last = s.front[w.heap]
    if w.heap > 0:
        _sink(s, last.key, last.turn, int64(last.node), int64(last.tenant), int64(last.witness))


@inner
def _begin(s: Handle) -> None:
    """The heap, anew: all who wait, and the owners of machines that are nobody else's."""
    w = s.header[0]
    if w.heap < 0:
        gather(s)
    w.fell = 0
    w.reshaped = 0
    w.heap = 0
    w.begun += 1
    if w.root >= 0:
        witness = holder(s, w.root, 0)
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
                    bound = at_least(s, int64(job.tenant), job.mu)
                    _put_in(s, bound, leaf, int64(job.tenant), 0)


@inner
def _part(s: Handle, n: int, t: int) -> None:
    """The first in the heap, a node of a trie of tenants, gives way to the two below it."""
    node, top = s.node, s.front[0]
    left, right = _in_order(s, n)
    witness = int64(top.witness)
    one, other = holder(s, left, witness), holder(s, right, witness)
    if one >= 0:
        top.node = left  # the lesser one: as little as what it stands for
        top.witness = one
        if other >= 0:
            _push(s, right, t, other)
    elif other >= 0:
        _sink(s, _bound(s, right, t), node[right].turn, right, t, other)
    else:
        _pop(s)


@inner
def _part_in_line(s: Handle, leaf: int, n: int) -> None:
    """The first in a tenant's line gives way to the two below it."""
    left, right = _in_order(s, n)
    witness = int64(s.line[n].witness)
    one, other = holder(s, left, witness), holder(s, right, witness)
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
    if b.key < a.key or (b.key == a.key and b.turn < a.turn):
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
    if here.key != line[n].key or here.turn != line[n].turn:
        witness = int64(line[n].witness)
        leave(s, leaf)
        join(s, leaf, n, witness)  # its share rose
        return NONE
    key = at_least(s, t, here.key)
    if here.left < 0 and key <= top.key and not tenant.single:
        key = level_now(s, int64(here.owner))  # a job, which may be the next
    if key != top.key or here.turn != top.turn:
        _sink(s, key, here.turn, leaf, t, 0)  # it rose
    elif tenant.capped and is_held_back(s, n, t):
        tenant.cut = 1
        leave(s, leaf)
    elif here.left >= 0:
        _part_in_line(s, leaf, n)
    elif may_be_placed(s, int64(here.owner)):
        return int64(here.owner)
    else:
        leave(s, leaf)
    return NONE


@inner
def _open(s: Handle, n: int, t: int) -> None:
    """The first in the heap, the leaf of a tenant, gives way to the tenant's line of jobs and to
    its trie of tenants."""
    top, tenant = s.front[0], s.tenant[t]
    witness = int64(top.witness)
    top.tenant = t
    if tenant.root < 0:
        top.node = tenant.teams
        return
    begin_line(s, n)
    join(s, n, int64(tenant.root), witness)
    if tenant.teams >= 0:
        other = holder(s, int64(tenant.teams), witness)
        if other >= 0:
            _push(s, int64(tenant.teams), t, other)


@kernel
def next_near(s: Handle) -> int:
    """The active job of least (level, turn) that is fresh, or may be placed on a machine whose room
    grew; NONE if there is none."""
    w, node = s.header[0], s.node
    if w.heap < 0 or w.fell or w.reshaped:
        _begin(s)
    while w.heap > 0:
        if w.growing == 0 and w.owned == 0 and not node[w.root].fresh:
            return NONE
        top = s.front[0]
        n, t = int64(top.node), int64(top.tenant)
        if t >= 0 and s.tenant[t].leaf == n:
            j = _next_in_line(s, t, n)
            if j >= 0:
                return j
            continue
        here = node[n]
        key = _bound(s, n, t)
        if key != top.key or here.turn != top.turn:
            _sink(s, key, here.turn, n, t, int64(top.witness))  # it rose
        elif here.left >= 0:
            _part(s, n, t)
        else:
            _open(s, n, int64(here.owner))
    return NONE
