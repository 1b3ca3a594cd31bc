"""Levels, and which jobs are active: shares, split by weights down the tree of tenants.

The idle holdings of a tenant (of its jobs and children that are not active) are `held - moving`,
in integers. All levels are computed from them anew, never accumulated.

Rounding must not multiply: a tenant whose many jobs hold a task each may be entitled to a few of
them. So a tenant has a floor, `floor`: what inactive jobs below it hold, and of each active one the
tasks that start together first. A job that is below it counts as the floor, less a thousandth of
what it is below it, so that the order of such jobs stays. A core that goes on with a journal of a
version without floors has none (docs/decisions/0306-many-jobs-of-one-tenant.md).

A level is a rational, rounded to a double once, at the end: so equal ones tie. The tries hold
something quicker that is never above it: `offset`, `rate` and `floor_level` are rounded at each
step, and what they give is made less by more than that; floors further up are left out. Who comes
next is told by the levels of leaves (see docs/decisions/0184-ties-are-exact.md). Most jobs that
wait hold nothing: their level, one for each tenant, is kept until some level changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.memory.briefs import abridge
from fairlead.scheduling.kernels.memory.compiling import inner, kernel, small
from fairlead.scheduling.kernels.memory.state import Floats, Handle, Ints, int64
from fairlead.scheduling.kernels.memory.tables import NONE, SHARE
from fairlead.scheduling.kernels.numbers.twice import add, divide, multiply
from fairlead.scheduling.kernels.search.trie import (
    LOW,
    free_node,
    insert,
    lift,
    lift_key,
    new_node,
    remove,
)

UNDER = 1 - 2.0**-32
"""Offsets and rates are off by a few roundings for each tenant above and each child that is added
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
def _rounded_once(s: Handle, t: int, high: float, low: float) -> float:
    """The level of a job of a tenant, from its share up: times the weights beside it, and what is
    idle, near the floor at least, divided by the tenant's own weight, and so on. Only the last
    double is rounded."""
    while t >= 0:
        at = s.tenant[t]
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
        high, low = divide(high, low, at.weight, at.weight_low)
        t = int64(at.parent)
    return high


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
def at_least(tenant: Any, mu: float) -> float:
    """A bound that the level of a job of so large a share is not less than: the level itself where
    the job has no tenant."""
    own: float = tenant.offset + mu / tenant.rate
    if tenant.single:
        return own
    floor: float = tenant.floor_level
    return (own if own >= floor else floor - (floor - own) * NEARER) * UNDER


@inner
def level_of_share(s: Handle, t: int, mu: float) -> float:
    """A bound as `at_least` that knows the floors further up, too, and so is close: the level
    itself of a job that holds nothing."""
    at, w = s.tenant[t], s.header[0]
    if at.single or w.fifo:
        return at_least(at, mu)
    if mu == 0.0:
        if at.leveled != w.leveled:
            at.nothing = _rounded_once(s, t, 0.0, 0.0)
            at.leveled = w.leveled
        return float(at.nothing)
    if at.parent < 0:
        return at_least(at, mu)
    x = mu
    while t >= 0:
        at = s.tenant[t]
        x = x * (at.weights + at.jobs) + (at.held - at.moving) / SHARE
        floor = at.floor / SHARE
        if x < floor:
            x = floor - (floor - x) * NEARER
        x /= at.weight
        t = int64(at.parent)
    return x * UNDER


@inner
def leads(s: Handle, j: int, other: int, seq: int) -> bool:
    """Does an active job come before another one, of this seq?"""
    one, two = s.job[j], s.job[other]
    mine = level_of_share(s, int64(one.tenant), one.mu)
    if mine * UNDER > level_of_share(s, int64(two.tenant), two.mu) / UNDER:
        return False  # mostly doubles tell
    mine, its = level(s, j), level(s, other)
    return mine < its or (mine == its and one.seq < seq)


@inner
def _copy_key(s: Handle, t: int) -> None:
    """Brings the place in line of a tenant's leaf up to its jobs."""
    tenant = s.tenant[t]
    leaf, root = s.node[tenant.leaf], s.node[tenant.root]
    leaf.key = at_least(tenant, root.key)
    leaf.seq = root.seq
    leaf.fresh = root.fresh


@inner
def lift_level(s: Handle, t: int) -> None:
    """After keys in the trie of a tenant's jobs changed, and nothing else: its leaf."""
    _copy_key(s, t)
    lift_key(s, s.tenant[t].leaf)


@inner
def _copy_root(s: Handle, t: int) -> bool:
    """Brings a tenant's leaf up to its jobs; whether more than its key changed."""
    tenant = s.tenant[t]
    need, terms = s.need, s.terms
    _copy_key(s, t)
    changed = False
    for r in range(need.shape[1]):
        if need[tenant.leaf, r] != need[tenant.root, r]:
            need[tenant.leaf, r] = need[tenant.root, r]
            changed = True
    for i in range(terms.shape[1]):
        if terms[tenant.leaf, i] != terms[tenant.root, i]:
            terms[tenant.leaf, i] = terms[tenant.root, i]
            changed = True
    if changed:
        abridge(s, int64(tenant.leaf))
    return changed


@inner
def lift_tenant(s: Handle, t: int) -> None:
    """After the trie of a tenant's jobs changed: its leaf among the tenants, which goes with the
    last of them and comes with the first."""
    tenant, w = s.tenant[t], s.header[0]
    if tenant.root < 0:
        if tenant.leaf >= 0:
            w.root = remove(s, w.root, tenant.leaf)
            free_node(s, tenant.leaf)
            tenant.leaf = NONE
    elif tenant.leaf < 0:
        tenant.leaf = new_node(s)
        leaf = s.node[tenant.leaf]
        leaf.owner = t
        # Alike jobs' tenants are close; the low bits tell tenants apart as they do jobs.
        leaf.signature = (s.node[tenant.root].signature & ~LOW) | np.uint64(t)
        _copy_root(s, t)
        w.root = insert(s, w.root, tenant.leaf)
    elif _copy_root(s, t):
        lift(s, tenant.leaf)
    else:
        lift_key(s, tenant.leaf)


@inner
def _set_floor(s: Handle, t: int) -> None:
    """The level of a tenant's floor, after it or the tenant's other numbers changed."""
    tenant, w = s.tenant[t], s.header[0]
    if not w.fifo:
        # What is idle is in the offset already.
        more = (tenant.floor - (tenant.held - tenant.moving)) / SHARE / tenant.effective
        if tenant.offset + more < tenant.floor_level:
            w.fell = 1
        tenant.floor_level = tenant.offset + more
    else:
        tenant.floor_level = 0.0


@inner
def _raise(s: Handle, t: int) -> None:
    """After the floors of a tenant and of those above it changed. That of one active child alone
    is below its level: nobody's level changed."""
    tenant = s.tenant
    if tenant[t].single:
        return
    s.header[0].leveled += 1
    while t >= 0:
        beside = tenant[t].jobs + tenant[t].children
        if beside > 0:
            _set_floor(s, t)
        if beside > 1:
            s.header[0].relook = 1
            if tenant[t].root >= 0:
                lift_level(s, t)
        t = int64(tenant[t].parent)


@small
def _first(s: Handle, job: Any, held: int, unit: int) -> int:
    """What a job that holds so many tasks of so many units counts in its tenants' floors. Of an
    active one a unit less for each: rounded up, it would be more than the job's own share."""
    if not s.header[0].floors:
        return 0
    if not job.active:
        return held * unit
    return min(held, job.gang) * max(unit - 1, 0)


@inner
def _relevel_one(s: Handle, t: int) -> None:
    tenant, w = s.tenant[t], s.header[0]
    w.relook = 1
    if tenant.parent < 0:
        effective = tenant.weight
        above = 0.0
    else:
        parent = s.tenant[tenant.parent]
        effective = parent.effective * tenant.weight / (parent.weights + parent.jobs)
        above = parent.offset
    tenant.effective = effective
    if w.fifo:
        tenant.rate = 1.0
        tenant.offset = 0.0
    else:
        offset = above + (tenant.held - tenant.moving) / SHARE / effective
        rate = effective / (tenant.weights + tenant.jobs)
        if offset < tenant.offset or rate > tenant.rate:
            w.fell = 1
        tenant.offset = offset
        tenant.rate = rate
    _set_floor(s, t)
    if tenant.root >= 0:
        lift_tenant(s, t)


@inner
def relevel(s: Handle, top: int) -> None:
    """After a tenant's idle holdings, weight or active children changed: all active ones below."""
    tenant = s.tenant
    s.header[0].leveled += 1
    t = top
    while True:
        active = tenant[t].jobs + tenant[t].children > 0
        if active:
            _relevel_one(s, t)
        if active and tenant[t].child >= 0:
            t = tenant[t].child
            continue
        while t != top and tenant[t].sibling < 0:
            t = tenant[t].parent
        if t == top:
            return
        t = tenant[t].sibling


@inner
def reweigh(s: Handle, t: int) -> None:
    """The weights of a tenant's active children together, added up in their order."""
    tenant = s.tenant
    total, low = 0.0, 0.0
    child = tenant[t].child
    while child >= 0:
        at = tenant[child]
        if at.jobs + at.children > 0:
            total, low = add(total, low, at.weight, at.weight_low)
        child = at.sibling
    tenant[t].weights = total
    tenant[t].weights_low = low


@inner
def hold(s: Handle, j: int, held: int, unit: int) -> None:
    """A job holds so many tasks, each of so many units of 1 / SHARE; levels follow. Its mu is the
    caller's."""
    job, tenant = s.job[j], s.tenant
    units = held * unit - job.held * job.unit
    more = _first(s, job, held, unit) - _first(s, job, job.held, job.unit)
    job.held = held
    job.unit = unit
    t = int64(job.tenant)
    moving = job.active == 1
    top = NONE
    while t >= 0:
        at = tenant[t]
        at.held += units
        at.floor += more
        if moving:
            at.moving += units
        else:
            top = t
        moving = at.jobs + at.children > 0
        t = int64(at.parent)
    if top >= 0:
        relevel(s, top)
    if more != 0:
        _raise(s, int64(job.tenant))


@inner
def set_active(s: Handle, j: int, active: bool) -> None:
    """A job begins or ends to be active, and with it perhaps the tenants above it. Its node is
    the caller's."""
    tenant = s.tenant
    job = s.job[j]
    step = 1 if active else -1
    more = -_first(s, job, job.held, job.unit)
    job.active = 1 if active else 0
    more += _first(s, job, job.held, job.unit)
    s.header[0].active += step
    t = int64(job.tenant)
    tenant[t].jobs += step
    tenant[t].moving += step * job.held * job.unit
    top = t
    # Whether this tenant itself changed with its job:
    while tenant[t].jobs + tenant[t].children == (1 if active else 0):
        parent = int64(tenant[t].parent)
        if parent < 0:
            break
        tenant[parent].children += step
        tenant[parent].moving += step * tenant[t].held
        reweigh(s, parent)
        t = parent
        top = t
    t = int64(job.tenant)
    while t >= 0:
        tenant[t].floor += more
        t = int64(tenant[t].parent)
    relevel(s, top)
    if more != 0:
        _raise(s, int64(job.tenant))


@kernel
def find_floors(s: Handle) -> None:
    """All floors, from the jobs, after it was changed whether there are any. Levels are the
    caller's."""
    w, tenant = s.header[0], s.tenant
    for t in range(w.tenants):
        tenant[t].floor = 0
    for j in range(w.jobs):
        job = s.job[j]
        t = int64(job.tenant) if job.used else NONE
        while t >= 0:
            tenant[t].floor += _first(s, job, job.held, job.unit)
            t = int64(tenant[t].parent)
