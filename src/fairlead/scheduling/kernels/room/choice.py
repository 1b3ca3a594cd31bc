"""The choice of a machine: the one of least (score, seq) where the task may be placed.

The candidates of one job stay in a heap while it launches task after task: only the machine that
it used is scored again. A rule's score therefore depends on nothing that a decision changes but
the job and the machine. By a tight rule, where many machines fit, they are looked at from the one
with the least room on, and no further than one of them may be the best.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import inner, kernel
from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.memory.tables import GRADES, NONE, RESOURCES, WORD
from fairlead.scheduling.kernels.room.fits import scarcity_part
from fairlead.scheduling.kernels.room.permission import (
    first_permitted,
    has_room,
    is_permitted,
    next_permitted,
    not_blocked,
)
from fairlead.scheduling.kernels.room.places import NOTHING, ONE, grade, least_of, lowest, within
from fairlead.scheduling.kernels.room.rules import better, slack

FEW = 64
"""So many machines are scored before it is asked which have the least room."""
TRIFLE = 1 - 1e-9
"""Times this a number is certainly less, however it was rounded."""
ALONE = 2
"""Of `sorted`: only the best was looked for. (`tables.ALONE` is of `usable`.)"""


@inner
def _before(s: Handle, rule: Any, j: int, a: int, b: int) -> bool:
    """Does the candidate in one place come before that in another one?"""
    score, other = s.score[a], s.score[b]
    return better(s, rule, j, s.fits[a], score, s.fits[b], other, slack(s, rule, other))


@inner
def _swap(s: Handle, a: int, b: int) -> None:
    """Two candidates change places."""
    s.fits[a], s.fits[b] = s.fits[b], s.fits[a]
    s.score[a], s.score[b] = s.score[b], s.score[a]


@inner
def _sink(s: Handle, rule: Any, j: int, at: int, size: int) -> None:
    """A candidate goes down the heap to where it belongs."""
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _before(s, rule, j, child, least):
                least = child
        if least == at:
            return
        _swap(s, at, least)
        at = least


@inner
def _score_all(s: Handle, rule: Any, j: int) -> None:
    """The candidates are all machines where a task of the job may be placed, the two best first."""
    size = 0
    m = first_permitted(s, j)
    while m >= 0:
        s.fits[size] = m
        s.score[size] = rule.score(s, j, m)
        # Mostly it is not better than the second.
        if size > 1 and _before(s, rule, j, size, 1):
            _swap(s, size, 1)
        if size > 0 and (size == 1 or s.fits[1] == m) and _before(s, rule, j, 1, 0):
            _swap(s, 1, 0)
        size += 1
        m = next_permitted(s, j, m + 1)
    s.header[0].choices = size
    s.header[0].sorted = 0


@inner
def _tightest(s: Handle, rule: Any, j: int) -> None:
    """The only candidate is the best machine, by a tight rule."""
    r = 0
    while r < s.demand.shape[1] and s.demand[j, r] == 0:
        r += 1
    most = FEW if r < s.demand.shape[1] else len(s.machine)
    best, least, off, scored = NONE, np.inf, 0.0, 0
    m = first_permitted(s, j)
    while m >= 0 and scored < most:
        score = rule.score(s, j, m)
        if best < 0 or better(s, rule, j, m, score, best, least, off):
            best, least, off = m, score, slack(s, rule, score)
        scored += 1
        m = next_permitted(s, j, m + 1)
    if m >= 0:
        best = _by_grade(s, rule, j, r, m // WORD, best, least)
    w = s.header[0]
    w.choices = 1 if best >= 0 else 0
    w.sorted = ALONE
    s.fits[0] = best


@inner
def _by_grade(s: Handle, rule: Any, j: int, r: int, start: int, best: int, least: float) -> int:
    """The best of a machine of this score and of those of the places from `start` on, for which
    was asked: in the order of the grades of their room of resource r, as long as one may be it."""
    need, off = s.demand[j, r], slack(s, rule, least)
    places = (s.header[0].machines + WORD - 1) // WORD
    sets = s.sets
    for g in range(grade(need), GRADES):
        # Less by a trifle: rounding must not leave one out.
        if (least_of(g) - need) / s.largest[r] * TRIFLE > least:
            break
        row = RESOURCES + r * GRADES + g - 1
        more = NOTHING
        for place in range(start, places):
            block, word = place >> 3, place & 7
            above = sets[block, row + 1, word]
            bits = sets[block, row, word] & ~above
            more |= above
            if bits:
                bits &= within(s, place)
            while bits:
                m = WORD * place + lowest(bits)
                bits &= bits - ONE
                if rule.scarce and scarcity_part(s, m) > least + off:
                    continue
                if not has_room(s, s.demand, j, m):
                    continue
                score = rule.score(s, j, m)
                if better(s, rule, j, m, score, best, least, off) and not_blocked(s, j, m):
                    best, least, off = m, score, slack(s, rule, score)
        if more == NOTHING:
            break
    return best


@kernel
def choose(s: Handle, rule: Any, j: int) -> int:
    """The best machine for a task of an active job; NONE if there is none."""
    w = s.header[0]
    if w.picky == 0:
        return first_permitted(s, j)
    if w.choice != j:
        w.choice = j
        if w.tight and w.changed == 0:
            _tightest(s, rule, j)
        else:
            _score_all(s, rule, j)
    elif w.choices > 0 and w.sorted == ALONE:
        # It has just used that one, which is no worse now: the others count where it is full.
        if not is_permitted(s, j, s.fits[0]):
            _score_all(s, rule, j)
    elif w.choices > 0:
        # It has just used the first.
        fits = is_permitted(s, j, s.fits[0])
        if fits:
            s.score[0] = rule.score(s, j, s.fits[0])
        else:
            w.choices -= 1
            _swap(s, 0, w.choices)
        if w.sorted:
            _sink(s, rule, j, 0, w.choices)
        elif not fits or (w.choices > 1 and _before(s, rule, j, 1, 0)):
            # Most jobs launch once, or stay on one machine: only now is a heap worth it.
            w.sorted = 1
            for at in range(w.choices // 2 - 1, -1, -1):
                _sink(s, rule, j, at, w.choices)
    return s.fits[0] if w.choices > 0 else NONE
