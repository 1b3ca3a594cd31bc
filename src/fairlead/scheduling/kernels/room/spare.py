"""What others may have of a machine that is reserved: what is free, or becomes free in any case,
beyond the tasks that the reservation counts on there.

Each resource by itself: of one of which these tasks find too little yet nobody else gets any, and
of what they do not want anybody may have what is free. A task beside which they would not fit, were
there nothing else, must end before they start: what it holds is counted as theirs already (see
docs/decisions/0334-what-must-end-anyway.md). So it is asked of one of them, of two, and of all: a
gang takes what fits beside a task that stays (0337). Of devices whole ones are left for a job
that takes whole ones, and while too few are whole nobody else gets a part of one; of those of which
it takes parts nobody else gets any.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, small
from fairlead.scheduling.kernels.memory.briefs import BITS, BRIEF, brief_of, part_of
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NEVER


@inner
def devices(s: Handle, m: int, r: int) -> int:
    """How many pieces of a resource a machine has."""
    return s.capacity[m, r] // s.unit[r]


@small
def is_owned(s: Handle, m: int) -> bool:
    """Is the machine reserved, and is nobody let in for a while, as nobody knows how long?"""
    machine = s.machine[m]
    return machine.reserved >= 0 and (machine.pledged == 1 or machine.until == NEVER)


@small
def is_open(s: Handle, m: int) -> bool:
    """May others have what the reservation of a machine does not count on? A core of an older
    version let them have nothing."""
    return s.machine[m].pledged == 0 and s.header[0].reserve_for != NEVER


@inner
def _beside(s: Handle, m: int, k: int) -> int:
    """How many of the tasks that are counted on fit beside a task of job k there, were there
    nothing else. Before more of them start that one must end."""
    machine = s.machine[m]
    fit = int64(machine.wanted)
    for r in range(s.demand.shape[1]):
        need = s.demand[machine.reserved, r]
        if need > 0 and s.unit[r] == 0:
            fit = min(fit, (s.capacity[m, r] - s.demand[k, r]) // need)
    return max(fit, int64(0))


@inner
def left_beside(s: Handle, m: int, r: int) -> int:
    """How much of a resource, which does not come in pieces, others may have of a machine that is
    reserved, where what is counted on wants some: so much that no number of these tasks finds less
    once all has ended that must before so many start. 0 or less where there is none."""
    machine, free = s.machine[m], s.free[m, r]
    wanted, need = int64(machine.wanted), s.demand[machine.reserved, r]
    if free <= 0 or wanted == 0:
        return free
    most = s.capacity[m, r] - wanted * need  # once all of others has ended
    if most <= 0:
        return most
    ends = np.zeros(wanted, np.int64)
    t = int64(machine.first)
    while t >= 0:
        k = int64(s.task[t].job)
        if s.demand[k, r] > 0:
            fit = _beside(s, m, k)
            if fit < wanted:
                ends[fit] += s.demand[k, r]
        t = int64(s.task[t].machine_next)
    left, there = free, free
    for tasks in range(wanted):
        there += ends[tasks] - need
        left = min(left, there)
    return left


@inner
def spare(s: Handle, m: int, r: int) -> int:
    """The largest demand of a resource that others may have of a machine that is reserved, as
    `room` says it of one that is not."""
    machine = s.machine[m]
    need, unit = s.demand[machine.reserved, r], s.unit[r]
    if need == 0:
        return s.room[m, r]
    if unit == 0:
        return max(left_beside(s, m, r), int64(0))
    if need < unit:
        return int64(0)
    whole, most = int64(0), int64(0)
    for p in range(s.column[r], s.column[r] + devices(s, m, r)):
        if s.piece[m, p] == unit:
            whole += 1
        else:
            most = max(most, s.piece[m, p])
    whole -= machine.wanted * (need // unit)
    if whole < 0:
        return int64(0)  # what is in parts has to become whole
    return whole * unit if whole > 0 else most


@inner
def has_spare(s: Handle, j: int, m: int) -> bool:
    """May a task of the job have its room on a machine that is reserved for another one?"""
    fits = True
    for r in range(s.demand.shape[1]):
        fits &= s.demand[j, r] <= spare(s, m, r)
    return fits


@inner
def any_spare(s: Handle, m: int) -> bool:
    """Is there anything that others may have on a machine that is reserved?"""
    if not is_open(s, m):
        return False
    most = int64(0)
    for r in range(s.demand.shape[1]):
        most = max(most, spare(s, m, r))
    return most > 0


@inner
def brief_for_others(s: Handle, m: int) -> np.uint64:
    """The brief of what anybody may have on a machine but the job that owns it."""
    if not is_owned(s, m):
        return brief_of(s.room, m)
    word = np.uint64(0)
    for r in range(min(s.room.shape[1], BRIEF) if is_open(s, m) else 0):
        word |= part_of(spare(s, m, r)) << (BITS * np.uint64(r))
    return word
