"""Levels: shares, split by weights down the tree of tenants.

The idle holdings of a tenant (of its jobs and children that are not active) are `held - moving`,
in integers. All levels are computed from them anew, never accumulated.

Rounding must not multiply: a tenant whose many jobs hold a task each may be entitled to a few of
them. So a tenant has a floor, `floor`: what inactive jobs below it hold, and of each active one the
tasks that start together first. A job that is below it counts as the floor, less a thousandth of
what it is below it, so that the order of such jobs stays. A core that goes on with a journal of a
version without floors has none (docs/decisions/0306-many-jobs-of-one-tenant.md).

A level is a rational, rounded to a double once, at the end: so equal ones tie. The tries hold
something quicker that is never above it: what a tenant is among its siblings, by doubles that are
rounded at each step and made less by more than that (`tenants`). Who comes next is told by the
levels of jobs (see docs/decisions/0184-ties-are-exact.md). Most jobs that wait hold nothing: their
level, one for each tenant, is kept until some level changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import inner, kernel, small
from fairlead.scheduling.kernels.memory.state import Floats, Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NONE, SHARE
from fairlead.scheduling.kernels.numbers.twice import add, divide, multiply

UNDER = 1 - 2.0**-32
"""What doubles say is off by a few roundings for each tenant above and each child that is added
up: by less than this for up to a million of both, multiplied."""

NEARER = 2.0**-10
"""So much of the way to its tenant's floor is left of a job that is below it."""


@kernel
def level(s: Handle, j: int) -> float:
    """The level of an active job: the least comes first."""
    job = s.job[j]
    if s.tenant[job.tenant].single or s.header[0].fifo:
        return job.mu
    high, low = divide(np.float64(job.held), 0.0, job.scale, 0.0)
    return _rounded_once(s, int64(job.tenant), high, low)


@inner
def level_with(s: Handle, j: int, more: int) -> float:
    """The level of an active job, did it hold so many tasks more."""
    job = s.job[j]
    if s.header[0].fifo:
        return job.mu
    high, low = divide(np.float64(job.held + more), 0.0, job.scale, 0.0)
    return _rounded_once(s, NONE if s.tenant[job.tenant].single else int64(job.tenant), high, low)


@inner
def _rounded_once(s: Handle, t: int, high: float, low: float) -> float:
    """The level of a job of a tenant, from its share up: times the weights beside it, and what is
    idle, near the floor at least, divided by the tenant's own weight, and so on. Only the last
    double is rounded."""
    while t >= 0:
        high, low = rise_exactly(s.tenant[t], high, low)
        t = int64(s.tenant[t].parent)
    return high


@inner
def rise_exactly(at: Any, high: float, low: float) -> tuple[float, float]:
    """From what is least among all below a tenant to what the tenant is among its siblings."""
    beside, beside_low = add(at.weights, at.weights_low, np.float64(at.jobs), 0.0)
    high, low = multiply(high, low, beside, beside_low)
    idle = at.held - at.moving
    if idle > 0:
        more, more_low = _shares(idle)
        high, low = add(high, low, more, more_low)
    floor, floor_low = _shares(at.floor)
    if high < floor or (high == floor and low < floor_low):
        floor, floor_low = multiply(floor, floor_low, 1.0 - NEARER, 0.0)
        high, low = add(floor, floor_low, high * NEARER, low * NEARER)
    return divide(high, low, at.weight, at.weight_low)


@inner
def _shares(units: int) -> tuple[float, float]:
    """So many units of 1 / SHARE, exactly."""
    rounded = np.float64(units)
    return rounded / SHARE, np.float64(units - np.int64(rounded)) / SHARE


@kernel
def levels_of(s: Handle, jobs: Ints) -> Floats:
    found = np.empty(len(jobs), np.float64)
    for i in range(len(jobs)):
        found[i] = level(s, jobs[i])
    return found


@small
def rise(at: Any, x: float) -> float:
    """As `rise_exactly`, by doubles."""
    x = x * at.beside + at.idle
    if x < at.least:
        x = at.least - (at.least - x) * NEARER
    risen: float = x / at.weight
    return risen


@inner
def at_least(s: Handle, t: int, x: float) -> float:
    """A bound that the level of a job below tenant t is not less than, whose share, or what a child
    of t is among its siblings, is not less than x. It is close, and the level itself of a job that
    holds nothing, and of one that has no tenant."""
    w = s.header[0]
    if t < 0 or w.fifo or s.tenant[t].single:
        return x
    if x == 0.0:
        at = s.tenant[t]
        if at.leveled != w.leveled:
            at.nothing = _rounded_once(s, t, 0.0, 0.0)
            at.leveled = w.leveled
        return float(at.nothing)
    while t >= 0:
        x = rise(s.tenant[t], x)
        t = int64(s.tenant[t].parent)
    return x * UNDER


@small
def turn_of(s: Handle, j: int) -> int:
    """Of active jobs of equal levels the one of the least is first: who was submitted, or had a
    task launched, longest ago. So who is entitled to a part of a task has it now and then. Under
    fifo, and without floors, it is who was submitted first."""
    job, w = s.job[j], s.header[0]
    return int64(job.seq if w.fifo or not w.floors else job.turn)


@inner
def leads(s: Handle, j: int, other: int) -> bool:
    """Does an active job come before another one?"""
    one, two = s.job[j], s.job[other]
    mine = at_least(s, int64(one.tenant), one.mu)
    if mine * UNDER > at_least(s, int64(two.tenant), two.mu) / UNDER:
        return False  # mostly doubles tell
    mine, its = level(s, j), level(s, other)
    return mine < its or (mine == its and turn_of(s, j) < turn_of(s, other))
