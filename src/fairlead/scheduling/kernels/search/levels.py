"""Levels: shares, split by weights down the tree of tenants.

The idle holdings of a tenant (of its jobs and children that are not active) are `held - moving`,
in integers. All levels are computed from them anew, never accumulated.

A tenant is filled: at the height of one of its children (what it is, by its weight) each other
active one counts as it does there, but no more than it holds, for it may be unable to rise; and
no less than its first tasks, for a part of a task cannot be held (`filling`). A core that goes on
with a journal of a version before counts them as if all stood where the child is
(docs/decisions/0312-levels-by-filling.md).

A level is a rational, rounded to a double once, at the end: so equal ones tie. The tries hold
something quicker that is never above it: what a tenant is among its siblings, by doubles that are
rounded at each step and made less by more than that (`tenants`). Who comes next is told by the
levels of jobs (see docs/decisions/0184-ties-are-exact.md). Jobs of a tenant that hold alike tie,
and most hold nothing: the level of these, and what was asked last, are kept until some level
below the same top changes.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, kernel, small
from fairlead.scheduling.kernels.memory.state import Floats, Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.numbers.twice import add, divide, multiply
from fairlead.scheduling.kernels.search.filling import (
    counted,
    filled,
    first_of,
    height_of,
    holds,
    idle,
    nearly_filled,
)

UNDER = 1 - 2.0**-32
"""What doubles say is off by a few roundings for each tenant above and each child that is added
up: by less than this for up to a million of both, multiplied."""
OVER = 1 + 2.0**-32
"""As `UNDER`, the other way."""
NEARLY = 1 - 2.0**-20
"""What is less than this part of a bound is not the bound itself."""


@small
def top_of(s: Handle, t: int) -> int:
    """The tenant above all of tenant t's: levels below it depend on what is there alone."""
    while s.tenant[t].parent >= 0:
        t = int64(s.tenant[t].parent)
    return t


@small
def forget_levels(s: Handle, t: int) -> None:
    """Levels of the jobs of tenant t, and of others below its top, changed."""
    w = s.header[0]
    w.leveled += 1
    s.tenant[top_of(s, t)].levels = w.leveled


@kernel
def level(s: Handle, j: int) -> float:
    """The level of an active job: the least comes first."""
    job = s.job[j]
    if s.tenant[job.tenant].single or s.header[0].fifo:
        return job.mu
    high, low = divide(np.float64(job.held), 0.0, job.scale, 0.0)
    return _rounded_once(s, int64(job.tenant), high, low)


@inner
def level_now(s: Handle, j: int) -> float:
    """As `level`, within a decision: kept for the next one who holds alike."""
    job = s.job[j]
    at, w = s.tenant[job.tenant], s.header[0]
    if at.single or w.fifo:
        return float(job.mu)
    kept = at.known >= s.tenant[top_of(s, int64(job.tenant))].levels
    if not kept or at.of_held != job.held or at.of_scale != job.scale:
        at.level = level(s, j)
        at.of_held, at.of_scale, at.known = job.held, job.scale, w.leveled
    return float(at.level)


@inner
def level_with(s: Handle, j: int, more: int, below: int) -> float:
    """The level of an active job, did it hold so many tasks more, where tenants are filled: its own
    stake, and those of the tenants above it, are larger by that than they stand. `below` a tenant
    above the job: the height that its child is at there; NONE: the level."""
    job = s.job[j]
    if s.header[0].fifo:
        return float(job.mu)
    held = divide(np.float64(job.held), 0.0, job.scale, 0.0)
    first = divide(np.float64(min(job.held, job.gang)), 0.0, job.scale, 0.0)
    tasks = int64(job.held + more)
    kept = divide(np.float64(more), 0.0, job.scale, 0.0)
    then = divide(np.float64(tasks), 0.0, job.scale, 0.0)
    first_then = divide(np.float64(min(tasks, job.gang)), 0.0, job.scale, 0.0)
    high, low = then
    weight = (1.0, 0.0)
    t = NONE if s.tenant[job.tenant].single else int64(job.tenant)
    while t >= 0 and t != below:
        at = s.tenant[t]
        part = multiply(high, low, weight[0], weight[1])
        apart = (0.0, 0.0)
        if at.jobs + at.children > 1:
            so, now = counted(then, first_then, part), counted(held, first, part)
            apart = add(so[0], so[1], -now[0], -now[1])
        high, low = rise_exactly(s, t, high, low)
        weight = (float(at.weight), float(at.weight_low))
        apart = divide(apart[0], apart[1], weight[0], weight[1])
        high, low = add(high, low, apart[0], apart[1])
        held, first = holds(s, t), first_of(s, t, 0.0, 0.0)
        then = add(held[0], held[1], kept[0], kept[1])
        first_then = first_of(s, t, first_then[0], first_then[1])
        t = int64(at.parent)
    return float(high)


@inner
def height(s: Handle, j: int, below: int) -> float:
    """How high the child of a tenant is that an active job is below, or is itself."""
    job = s.job[j]
    high, low = divide(np.float64(job.held), 0.0, job.scale, 0.0)
    t = int64(job.tenant)
    while t != below:
        high, low = rise_exactly(s, t, high, low)
        t = int64(s.tenant[t].parent)
    return float(high)


@inner
def common(s: Handle, j: int, other: int) -> int:
    """The lowest tenant above both jobs; NONE."""
    t = int64(s.job[j].tenant)
    while t >= 0:
        u = int64(s.job[other].tenant)
        while u >= 0 and u != t:
            u = int64(s.tenant[u].parent)
        if u == t:
            return t
        t = int64(s.tenant[t].parent)
    return int64(NONE)


@inner
def _rounded_once(s: Handle, t: int, high: float, low: float) -> float:
    """The level of a job of a tenant, from its share up. Only the last double is rounded."""
    while t >= 0:
        high, low = rise_exactly(s, t, high, low)
        t = int64(s.tenant[t].parent)
    return high


@inner
def rise_exactly(s: Handle, t: int, high: float, low: float) -> tuple[float, float]:
    """From the height of a child of a tenant to that of the tenant among its siblings: all active
    children together, and what is idle, divided by its weight."""
    at = s.tenant[t]
    if s.header[0].filling and at.jobs + at.children > 1:
        high, low = filled(s, t, high, low)
    else:
        beside, beside_low = add(at.weights, at.weights_low, np.float64(at.jobs), 0.0)
        high, low = multiply(high, low, beside, beside_low)
    more, more_low = idle(at)
    high, low = add(high, low, more, more_low)
    return divide(high, low, at.weight, at.weight_low)


@kernel
def levels_of(s: Handle, jobs: Ints) -> Floats:
    """The levels of these jobs, which are active."""
    found = np.empty(len(jobs), np.float64)
    for i in range(len(jobs)):
        found[i] = level(s, jobs[i])
    return found


@inner
def rise(s: Handle, t: int, x: float) -> float:
    """As `rise_exactly`, by doubles."""
    at = s.tenant[t]
    if s.header[0].filling and at.jobs + at.children > 1:
        x = nearly_filled(s, t, x)
    else:
        x *= at.beside
    risen: float = (x + at.idle) / at.weight
    return risen


@inner
def at_least(s: Handle, t: int, x: float) -> float:
    """A bound that the level of a job below tenant t is not less than, whose share, or what a child
    of t is among its siblings, is not less than x. It is close, and the level itself of a job that
    holds nothing, and of one that has no tenant."""
    w = s.header[0]
    if t < 0 or w.fifo or s.tenant[t].single:
        return x
    at, since = s.tenant[t], s.tenant[top_of(s, t)].levels
    if x == 0.0:
        if at.leveled < since:
            at.nothing = _rounded_once(s, t, 0.0, 0.0)
            at.leveled = w.leveled
        return float(at.nothing)
    if at.bounded < since or at.asked != x:
        at.asked, at.bound, at.bounded = x, _risen(s, t, x), w.leveled
    return float(at.bound)


@inner
def _risen(s: Handle, t: int, x: float) -> float:
    """From the height of what is below a tenant to the level, by doubles, and less than it."""
    while t >= 0:
        x = rise(s, t, x)
        t = int64(s.tenant[t].parent)
    return x * UNDER


@inner
def limit(s: Handle, t: int, most: float) -> float:
    """The height of what is below tenant t above which each level is certainly more than `most`,
    the bound of a walk: so nodes that come behind it are told by their keys."""
    tenant, w = s.tenant, s.header[0]
    while tenant[t].limited != w.limits:
        one, above = t, int64(tenant[t].parent)
        while above >= 0 and tenant[above].limited != w.limits:
            one, above = above, int64(tenant[above].parent)
        _limit(s, one, most if above < 0 else float(tenant[above].limit))
    return float(tenant[t].limit)


@inner
def _limit(s: Handle, t: int, most: float) -> None:
    """Of a tenant that is among its siblings at most so high: how high what is below it is."""
    at, w = s.tenant[t], s.header[0]
    total, nothing = most * at.weight, float(at.idle)
    if w.filling and at.jobs + at.children > 1:
        at.limit = height_of(s, t, total * OVER - at.idle)
        nothing += at.firsts
    else:
        at.limit = (total * OVER - at.idle) / at.beside
    at.tied = 1 if nothing >= total * NEARLY else 0
    at.limited = w.limits


@small
def turn_of(s: Handle, j: int) -> int:
    """Of active jobs of equal levels the one of the least is first: who was submitted, or had a
    task launched, longest ago. So who is entitled to a part of a task has it now and then. Under
    fifo, and by older rules, it is who was submitted first."""
    job, w = s.job[j], s.header[0]
    return int64(job.seq if w.fifo or not w.filling else job.turn)


@inner
def leads(s: Handle, j: int, other: int) -> bool:
    """Does an active job come before another one?"""
    one, two = s.job[j], s.job[other]
    mine = at_least(s, int64(one.tenant), one.mu)
    if mine * UNDER > at_least(s, int64(two.tenant), two.mu) / UNDER:
        return False  # mostly doubles tell
    mine, its = level_now(s, j), level_now(s, other)
    return mine < its or (mine == its and turn_of(s, j) < turn_of(s, other))
