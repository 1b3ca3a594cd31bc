"""Levels, and which jobs are active: shares, split by weights down the tree of tenants.

The idle holdings of a tenant (of its jobs and children that are not active) are `held - moving`,
in integers. All levels are computed from them anew, never accumulated.

A level is a rational, rounded to a double once, at the end: so equal ones tie. The tries hold
something quicker that is never above it: `offset` and `rate` are rounded at each step, and what
they give is made less by more than that. Who comes next is told by the levels of leaves (see
docs/decisions/0184-ties-are-exact.md).
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


@kernel
def level(s: Handle, j: int) -> float:
    """The level of an active job: the least comes first."""
    job = s.job[j]
    if s.tenant[job.tenant].single or s.header[0].fifo:
        return job.mu
    return _rounded_once(s, j)


@inner
def _rounded_once(s: Handle, j: int) -> float:
    """The level of a job of a tenant, from the job up: times the weights beside it, and what is
    idle, divided by the tenant's own weight, and so on. Only the last double is rounded."""
    job, tenant = s.job[j], s.tenant
    high, low = divide(np.float64(job.held), 0.0, job.scale, 0.0)
    t = int64(job.tenant)
    while t >= 0:
        at = tenant[t]
        beside, beside_low = add(at.weights, at.weights_low, np.float64(at.jobs), 0.0)
        high, low = multiply(high, low, beside, beside_low)
        idle = at.held - at.moving
        if idle > 0:
            rounded = np.float64(idle)
            left = np.float64(idle - np.int64(rounded))
            high, low = add(high, low, rounded / SHARE, left / SHARE)
        high, low = divide(high, low, at.weight, at.weight_low)
        t = int64(at.parent)
    return high


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
    least: float = (tenant.offset + mu / tenant.rate) * (1.0 if tenant.single else UNDER)
    return least


@inner
def leads(s: Handle, j: int, other: int, seq: int) -> bool:
    """Does an active job come before another one, of this seq?"""
    one, two = s.job[j], s.job[other]
    least = at_least(s.tenant[one.tenant], one.mu)
    if least * UNDER > at_least(s.tenant[two.tenant], two.mu) / UNDER:
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
    if tenant.root >= 0:
        lift_tenant(s, t)


@inner
def relevel(s: Handle, top: int) -> None:
    """After a tenant's idle holdings, weight or active children changed: all active ones below."""
    tenant = s.tenant
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
def hold(s: Handle, j: int, units: int) -> None:
    """A job holds so much more, in units of 1 / SHARE; levels follow. Its mu is the caller's."""
    tenant = s.tenant
    t = int64(s.job[j].tenant)
    moving = s.job[j].active == 1
    top = NONE
    while t >= 0:
        at = tenant[t]
        at.held += units
        if moving:
            at.moving += units
        else:
            top = t
        moving = at.jobs + at.children > 0
        t = int64(at.parent)
    if top >= 0:
        relevel(s, top)


@inner
def set_active(s: Handle, j: int, active: bool) -> None:
    """A job begins or ends to be active, and with it perhaps the tenants above it. Its node is
    the caller's."""
    tenant = s.tenant
    job = s.job[j]
    step = 1 if active else -1
    job.active = 1 if active else 0
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
    relevel(s, top)
