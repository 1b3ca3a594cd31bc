"""The next job on one machine, and the first in line, by branch and bound.

The next job is the one of least (level, turn). A walk goes down the trie of tenants and into the
tries of their jobs, the lesser child first, and leaves out whatever cannot come before the best one
found: by its level, by the least demand below a node, by the terms that all below need. Where a
tenant's nodes come behind is asked once (`levels.limit`), and again when a better job was found; a
leaf's job has its exact level. `best_first` does the same for several machines at once.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, kernel, shared, small
from fairlead.scheduling.kernels.memory.briefs import SIGNS, may_hold, too_wide
from fairlead.scheduling.kernels.memory.state import Handle, Records, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.room.permission import (
    at_once,
    cap_room,
    has_room,
    has_terms,
    is_permitted,
    may_start,
    not_blocked,
    within_caps,
)
from fairlead.scheduling.kernels.room.places import ALL, NOTHING, UP
from fairlead.scheduling.kernels.room.spare import any_spare, brief_for_others, is_owned
from fairlead.scheduling.kernels.search.levels import at_least, level_now, limit, turn_of


@small
def _open(
    s: Handle,
    front: Records,
    top: int,
    n: int,
    t: int,
    room: np.uint64,
    lacking: np.uint64,
    most: float,
) -> int:
    """Puts a node's children on the stack, the lesser one last, but for those whose keys are more
    than `most` and those below which nobody can be placed. Returns how many nodes are there then.

    Both are written and the end moves by as many as stay: the processor cannot foresee which do,
    and a wrong guess takes as long as all of this."""
    node = s.node
    a, b = int64(node[n].left), int64(node[n].right)
    left, right = node[np.uint64(a)], node[np.uint64(b)]
    one, other = left.key, right.key
    ahead = one < other or (one == other and left.turn < right.turn)
    keep = np.uint64(may_hold(left.brief, left.word, room, lacking) & (one <= most))
    keep_other = np.uint64(may_hold(right.brief, right.word, room, lacking) & (other <= most))
    at = np.uint64(top)
    first = front[at]
    first.node = b if ahead else a
    first.key = other if ahead else one
    first.tenant = t
    first.witness = 1
    at += keep_other if ahead else keep
    last = front[at]
    last.node = a if ahead else b
    last.key = one if ahead else other
    last.tenant = t
    last.witness = 0
    at += keep if ahead else keep_other
    return int64(at)


@small
def _enter(s: Handle, front: Records, top: int, t: int) -> int:
    """Puts the roots of a tenant's tries on the stack, the lesser one last. Returns how many nodes
    are there then."""
    node, tenant = s.node, s.tenant[t]
    one, other = int64(tenant.root), int64(tenant.teams)
    if one >= 0 and other >= 0 and node[one].key < node[other].key:
        one, other = other, one
    if one >= 0:
        front[top].node = one
        front[top].tenant = t
        front[top].key = node[one].key
        front[top].witness = 1 if other >= 0 else 0
        top += 1
    if other >= 0:
        front[top].node = other
        front[top].tenant = t
        front[top].key = node[other].key
        front[top].witness = 0
        top += 1
    return top


@small
def _begin(s: Handle) -> int:
    """Puts the root of the tenants' trie on the stack; returns how many nodes that are. The heap of
    `best_first` is overwritten: whoever calls this has said so by `heap`."""
    if s.header[0].root < 0:
        return 0
    first = s.front[0]
    first.node = s.header[0].root
    first.key = s.node[first.node].key
    first.tenant = NONE
    first.witness = 0
    return 1


@inner
def holds(s: Handle, n: int, m: int) -> bool:
    """Has the machine the room and the terms for the least that is below a node?"""
    return has_room(s, s.need, n, m) and has_terms(s, s.terms, n, m)


@inner
def is_held_back(s: Handle, n: int, t: int) -> bool:
    """Do the limits of a tenant keep all below a node from being placed? Room that is set aside for
    a job of the tenant is there for that one alone, which may be below the node."""
    k = int64(s.tenant[t].aside)
    if k >= 0:
        inside = s.node[n].left >= 0
        k = k if within_caps(s, k, at_once(s, k)) and (inside or s.node[n].owner == k) else NONE
    for r in range(s.need.shape[1]):
        own = s.demand[k, r] * s.job[k].aside if k >= 0 else int64(0)
        if s.need[n, r] > 0 and s.need[n, r] > cap_room(s, t, r, own):
            return True
    return False


@shared
def _least(s: Handle, m: int, owner: int) -> int:
    """The active job of least (level, turn): of those that may be placed on machine m, and of
    these `owner` is one that owns it, or NONE; or where m is NONE of those for which nothing is
    reserved, and that their tenants' limits do not hold back. NONE if there is none."""
    node, front, w = s.node, s.front, s.header[0]
    somewhere = m >= 0
    wide, reserved = False, False
    room, lacking = ALL, NOTHING
    if somewhere:
        wide, reserved = too_wide(s), s.machine[m].reserved >= 0
        room, lacking = brief_for_others(s, m) | SIGNS, ~s.satisfies[m, 0]
    best = owner
    bound, bound_turn = np.inf, int64(NEVER)
    if owner >= 0:
        bound, bound_turn = level_now(s, owner), turn_of(s, owner)
        w.limits += 1
    top = _begin(s)
    while top > 0:
        top -= 1
        here = front[np.uint64(top)]
        n, t, its = int64(here.node), int64(here.tenant), here.key
        most, most_turn = bound, bound_turn
        if best >= 0 and t >= 0 and not w.fifo and not s.tenant[t].single:
            if here.witness:
                most, most_turn = limit(s, t, bound), int64(NEVER)
            elif s.tenant[t].limited == w.limits:
                most, most_turn = float(s.tenant[t].limit), int64(NEVER)
            else:
                most = np.inf
            if here.witness and its == 0.0 and s.tenant[t].tied:
                # Of many that hold nothing it is the level itself that tells those that tie.
                nothing = at_least(s, t, 0.0)
                if nothing > bound or (nothing == bound and node[n].turn >= bound_turn):
                    continue
        if its > most or (its == most and node[n].turn >= most_turn):
            continue
        inside = node[np.uint64(n)].left >= 0
        team = node[np.uint64(n)].team
        capped = not team and s.tenant[t].capped
        if somewhere and (wide or capped or not inside) and not holds(s, n, m):
            continue
        if capped and is_held_back(s, n, t):
            s.tenant[t].cut = 1
        elif inside:
            top = _open(s, front, top, n, t, room, lacking, most)
        elif not team:
            leaf = node[n]
            j = int64(leaf.owner)
            if not s.tenant[t].single:
                its = level_now(s, j)
            if its > bound or (its == bound and leaf.turn >= bound_turn):
                continue
            if not somewhere:
                may = s.job[j].reserved == s.job[j].kept and within_caps(s, j, at_once(s, j))
            elif leaf.plain and not reserved:
                may = True  # the walk asked for its terms, its room and its limits
            else:
                may = not_blocked(s, j, m) and may_start(s, j)
            if may:
                best = j
                bound, bound_turn = its, leaf.turn
                w.limits += 1
        else:
            top = _enter(s, front, top, int64(node[n].owner))
    return best


@kernel
def next_job(s: Handle, m: int) -> int:
    """The active job of least (level, turn) that may be placed on machine m; NONE if there is
    none."""
    if s.machine[m].state != UP:
        return NONE
    if is_owned(s, m):
        owner = int64(s.machine[m].reserved)
        may = s.job[owner].active == 1 and is_permitted(s, owner, m) and may_start(s, owner)
        owner = owner if may else int64(NONE)
        return _least(s, m, owner) if any_spare(s, m) else owner
    return _least(s, m, NONE)


@shared
def first_job(s: Handle) -> int:
    """The active job of least (level, turn) for which nothing is reserved, and that its tenant's
    limits do not hold back. NONE if there is none."""
    return _least(s, NONE, NONE)
