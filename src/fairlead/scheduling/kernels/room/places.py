"""Sets of machines: of those with so much room, of those that satisfy a term.

A set is a row of words, a bit a machine in the order of their slots, so that the machines with
room for a demand and all terms of a constraint are the words of a few rows, and-ed. Eight words
with 512 machines lie together (a block), and all rows of a block beside each other: a machine's
change stays near.

Of each resource there is a set for each of the amounts 1, 1.25, 1.5, 1.75, 2, 2.5 and so on (a
grade), with the machines that take tasks and whose room has at least that grade. So a set says
nearly what fits: the room itself is compared where a machine is in all sets.
See docs/decisions/0169-sets-of-machines.md.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from fairlead.compiling import inner, small
from fairlead.scheduling.kernels.memory.briefs import NO_ROOM, SIGNS
from fairlead.scheduling.kernels.memory.state import Handle, Words, int64
from fairlead.scheduling.kernels.memory.tables import GRADES, NONE, RESOURCES, UPS, WORD
from fairlead.scheduling.kernels.room.spare import brief_for_others
from fairlead.scheduling.transitions import MachineState

NOTHING = np.uint64(0)
ALL = ~NOTHING
ONE = np.uint64(1)
UP = int(MachineState.UP)


@small
def grade(amount: int) -> int:
    """0 for nothing; else the place of the amount among those with two binary digits after the
    first, from 1 on. More is never of a lower grade."""
    if amount <= 0:
        return int64(0)
    return int64((np.float64(amount).view(np.int64) >> 50) - 4091)


@small
def least_of(grade: int) -> float:
    """The least amount of a grade, which is above 0."""
    return np.int64((grade + 4091) << 50).view(np.float64)


@small
def lowest(bits: np.uint64) -> int:
    """The place of the lowest bit that is set."""
    return trailing_zeros(bits)


@small
def _put(s: Handle, row: int, m: int, there: bool) -> None:
    """A machine is in the set of a row, or is not."""
    bit = ONE << np.uint64(m & 63)
    block, word = m >> 9, (m >> 6) & 7
    if there:
        s.sets[block, row, word] |= bit
    else:
        s.sets[block, row, word] &= ~bit


@inner
def mark_stale(s: Handle, m: int) -> None:
    """After the room of machine m changed: the sets say so before they are asked. Mostly a task
    ends and another one takes its place before anybody asks."""
    machine, w = s.machine[m], s.header[0]
    if machine.near > 0:
        s.near_room[machine.near - 1] = np.int64(brief_for_others(s, m) | SIGNS)
    if not machine.unset:
        machine.unset = 1
        s.unset[w.unset] = m
        w.unset += 1


@inner
def _refresh_sets(s: Handle) -> None:
    """Brings the sets up to all machines whose room changed."""
    w = s.header[0]
    for i in range(w.unset):
        _index_machine(s, s.unset[i])
        s.machine[s.unset[i]].unset = 0
    w.unset = 0


@inner
def _index_machine(s: Handle, m: int) -> None:
    """Brings the sets up to machine m, after its room changed."""
    up = s.machine[m].state == UP
    for r in range(s.room.shape[1]):
        new = grade(s.room[m, r]) if up else int64(0)
        old = s.grades[m, r]
        if new == old:
            continue
        s.grades[m, r] = new
        first = RESOURCES + r * GRADES
        for row in range(first + old, first + new):
            _put(s, row, m, True)
        for row in range(first + new, first + old):
            _put(s, row, m, False)


@inner
def drop_clean(s: Handle) -> None:
    """Drops those from `dirty` that are marked so no more."""
    w = s.header[0]
    kept = 0
    for i in range(w.dirty):
        if s.machine[s.dirty[i]].dirty:
            s.dirty[kept] = s.dirty[i]
            kept += 1
    w.dirty = kept


@inner
def drop_near(s: Handle, m: int) -> None:
    """Nobody can be placed on machine m because its room grew, not any more."""
    machine = s.machine[m]
    if machine.near > 0:
        s.near_room[machine.near - 1] = np.int64(NO_ROOM)
        machine.near = 0
        s.header[0].growing -= 1


@inner
def replant(s: Handle, m: int) -> None:
    """Brings the sets up to machine m, after anything of it changed."""
    _put(s, UPS, m, s.machine[m].state == UP)
    _index_machine(s, m)
    row = RESOURCES + s.room.shape[1] * GRADES
    for i in range(s.satisfies.shape[1]):
        bits = s.satisfies[m, i]
        for _ in range(WORD):
            _put(s, row, m, bits & ONE != NOTHING)
            bits >>= ONE
            row += 1


@inner
def _ask_terms(s: Handle, terms: Words, row: int) -> None:
    """Asks for the sets of all these terms too."""
    w = s.header[0]
    first = RESOURCES + s.room.shape[1] * GRADES
    for i in range(terms.shape[1]):
        bits = terms[row, i]
        while bits:
            s.asked[w.asked] = first + lowest(bits)
            w.asked += 1
            bits &= bits - ONE
        first += WORD


@inner
def ask_able(s: Handle, j: int) -> None:
    """Asks for the machines that take tasks and satisfy what the job needs, whatever is free."""
    w = s.header[0]
    if w.unset > 0:
        _refresh_sets(s)
    s.asked[0] = UPS
    w.asked = 1
    _ask_terms(s, s.needs, j)


@inner
def ask_for(s: Handle, j: int) -> None:
    """Asks for the machines with room for a task of the job that satisfy what it needs."""
    ask_able(s, j)
    w = s.header[0]
    for r in range(s.demand.shape[1]):
        if s.demand[j, r] > 0:
            s.asked[w.asked] = RESOURCES + r * GRADES + grade(s.demand[j, r]) - 1
            w.asked += 1
    if s.job[j].patient:
        _ask_terms(s, s.prefers, j)


@small
def within(s: Handle, place: int) -> np.uint64:
    """The machines among the 64 of a place that are in all the sets that were asked for."""
    block, word = place >> 3, place & 7
    sets, asked = s.sets, s.asked
    bits = sets[block, asked[0], word]
    for i in range(1, s.header[0].asked):
        bits &= sets[block, asked[i], word]
    return bits


@inner
def next_within(s: Handle, start: int) -> int:
    """The first machine from `start` on that is in all the sets that were asked for; NONE."""
    places = (s.header[0].machines + WORD - 1) // WORD
    place = start // WORD
    left = ALL << np.uint64(start % WORD)
    while place < places:
        bits = within(s, place) & left
        if bits:
            return WORD * place + lowest(bits)
        left = ALL
        place += 1
    return NONE
