"""Where a task goes: the machine of least (score, seq) where it may be placed.

The candidates of one job stay in a heap while it launches task after task: only the machine that
it used is scored again. A rule's score therefore depends on nothing that a decision changes but
the job and the machine.
"""

from __future__ import annotations

from typing import Any

from fairlead.scheduling.kernels.compiling import inner, kernel
from fairlead.scheduling.kernels.permission import first_permitted, next_permitted, permitted
from fairlead.scheduling.kernels.state import Handle
from fairlead.scheduling.kernels.tables import NONE


@inner
def _before(s: Handle, a: int, b: int) -> bool:
    return s.score[a] < s.score[b] or (s.score[a] == s.score[b] and s.fits[a] < s.fits[b])


@inner
def _swap(s: Handle, a: int, b: int) -> None:
    s.fits[a], s.fits[b] = s.fits[b], s.fits[a]
    s.score[a], s.score[b] = s.score[b], s.score[a]


@inner
def _sink(s: Handle, at: int, size: int) -> None:
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _before(s, child, least):
                least = child
        if least == at:
            return
        _swap(s, at, least)
        at = least


@kernel
def choose(s: Handle, rule: Any, j: int) -> int:
    """The best machine for a task of an active job; NONE if there is none."""
    w = s.whole[0]
    if w.picky == 0:
        return first_permitted(s, j)
    if w.choice != j:
        size = 0
        m = first_permitted(s, j)
        while m >= 0:
            s.fits[size] = m
            s.score[size] = rule.score(s, j, m)
            if size > 0 and _before(s, size, 0):
                _swap(s, size, 0)
            if size > 1 and _before(s, size, 1):
                _swap(s, size, 1)
            size += 1
            m = next_permitted(s, j, m + 1)
        w.choice = j
        w.choices = size
        w.sorted = 0
    elif w.choices > 0:
        # It has just used the first.
        fits = permitted(s, j, s.fits[0])
        if fits:
            s.score[0] = rule.score(s, j, s.fits[0])
        else:
            w.choices -= 1
            _swap(s, 0, w.choices)
        if w.sorted:
            _sink(s, 0, w.choices)
        elif not fits or (w.choices > 1 and _before(s, 1, 0)):
            # Most jobs launch once, or stay on one machine: only now is a heap worth it.
            w.sorted = 1
            for at in range(w.choices // 2 - 1, -1, -1):
                _sink(s, at, w.choices)
    return s.fits[0] if w.choices > 0 else NONE
