"""The machines whose room grew, as a decision asks about them all at once.

They are a list, with the brief of each one's room and the terms that it lacks beside each other
(`s.near_room`, `s.near_lacking`), so that 64 of them are compared with a node of a trie at once.
Of one that is reserved there is in the list what others may have, if anything: the owner is asked
apart. See docs/decisions/0178-a-list-of-what-grew.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import inner, small
from fairlead.scheduling.kernels.memory.briefs import NO_ROOM, SIGNS, brief_of, may_hold, too_wide
from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.memory.tables import NONE, WORD
from fairlead.scheduling.kernels.room.choice import TRIFLE
from fairlead.scheduling.kernels.room.permission import (
    at_once,
    is_permitted,
    known_useless,
    may_start,
    not_blocked,
    satisfies,
    within_caps,
)
from fairlead.scheduling.kernels.room.places import NOTHING, ONE, UP, drop_clean, lowest
from fairlead.scheduling.kernels.room.rules import better, slack
from fairlead.scheduling.kernels.room.spare import any_spare, brief_for_others, is_owned
from fairlead.scheduling.kernels.search.search import holds


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
def gather(s: Handle) -> None:
    """Lists anew the machines whose room grew, but for those that are somebody's alone."""
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
            if not any_spare(s, m):
                continue
        if not known_useless(s, m):
            s.near[w.near] = m
            w.near += 1
    if w.near > 1:
        s.near[: w.near].sort()
    w.growing = w.near
    for i in range(w.near):
        m = s.near[i]
        s.machine[m].near = i + 1
        s.near_room[i] = np.int64(brief_for_others(s, m) | SIGNS)
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
def holder(s: Handle, n: int, witness: int) -> int:
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
def may_be_placed(s: Handle, j: int) -> bool:
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
