"""What tenants hold and who of them is active, and their leaves in the tries of tenants.

What is idle follows from integers, and is made anew, never accumulated.
What changes at a tenant moves its own leaf and those of the tenants above, whoever is below.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, shared, small
from fairlead.scheduling.kernels.memory.briefs import abridge
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE, SHARE
from fairlead.scheduling.kernels.numbers.twice import add
from fairlead.scheduling.kernels.search.filling import stake_job
from fairlead.scheduling.kernels.search.levels import (
    UNDER,
    forget_levels,
    level_now,
    rise,
    rise_exactly,
    top_of,
)
from fairlead.scheduling.kernels.search.trie import (
    LOW,
    free_node,
    insert,
    lift,
    lift_key,
    new_node,
    remove,
)


@small
def _least_below(s: Handle, t: int) -> int:
    """Of the roots of a tenant's two tries the one of the least (key, turn)."""
    jobs, teams = int64(s.tenant[t].root), int64(s.tenant[t].teams)
    if jobs < 0 or teams < 0:
        return jobs if teams < 0 else teams
    one, other = s.node[jobs], s.node[teams]
    less = one.key < other.key or (one.key == other.key and one.turn < other.turn)
    return jobs if less else teams


@inner
def _copy_key(s: Handle, t: int) -> None:
    """Brings the place in line of a tenant's leaf up to what is below."""
    tenant, w = s.tenant[t], s.header[0]
    leaf, least = s.node[tenant.leaf], s.node[_least_below(s, t)]
    if w.fifo or tenant.single:
        leaf.key = least.key
    elif least.key == 0.0:
        # Mostly somebody holds nothing: exactly, so that turns part tenants that tie.
        leaf.key = rise_exactly(s, t, 0.0, 0.0)[0]
    else:
        leaf.key = rise(s, t, least.key) * UNDER
    leaf.turn = least.turn
    leaf.fresh = least.fresh
    if tenant.root >= 0 and tenant.teams >= 0:
        leaf.fresh = s.node[tenant.root].fresh | s.node[tenant.teams].fresh


@inner
def lift_levels(s: Handle, t: int) -> None:
    """After keys below a tenant changed, or its numbers and those above, and nothing else: its
    leaf, and those of all above it."""
    while t >= 0:
        if s.tenant[t].leaf >= 0:
            _copy_key(s, t)
            lift_key(s, int64(s.tenant[t].leaf))
        t = int64(s.tenant[t].parent)


@inner
def _copy_below(s: Handle, t: int) -> bool:
    """Brings a tenant's leaf up to what is below; whether more than its key changed."""
    tenant, need, terms = s.tenant[t], s.need, s.terms
    _copy_key(s, t)
    leaf, one = int64(tenant.leaf), _least_below(s, t)
    other = one
    if tenant.root >= 0 and tenant.teams >= 0:
        other = int64(tenant.teams if one == tenant.root else tenant.root)
    changed = False
    for r in range(need.shape[1]):
        least = min(need[one, r], need[other, r])
        if need[leaf, r] != least:
            need[leaf, r] = least
            changed = True
    for i in range(terms.shape[1]):
        both = terms[one, i] & terms[other, i]
        if terms[leaf, i] != both:
            terms[leaf, i] = both
            changed = True
    if changed:
        abridge(s, leaf)
    return changed


@shared
def lift_tenant(s: Handle, t: int) -> None:
    """After a trie of a tenant changed: its leaf among its siblings, which goes with the last
    below and comes with the first, and those of all above it."""
    while t >= 0:
        _lift_one(s, t)
        t = int64(s.tenant[t].parent)


@inner
def _lift_one(s: Handle, t: int) -> None:
    """As `lift_tenant`, of one tenant alone."""
    tenant = s.tenant[t]
    if tenant.root < 0 and tenant.teams < 0:
        if tenant.leaf >= 0:
            _set_trie(s, t, remove(s, _trie_of(s, t), int64(tenant.leaf)))
            free_node(s, int64(tenant.leaf))
            tenant.leaf = NONE
    elif tenant.leaf < 0:
        tenant.leaf = new_node(s)
        leaf = s.node[tenant.leaf]
        leaf.owner = t
        leaf.team = 1
        # Alike jobs' tenants are close; the low bits tell tenants apart as they do jobs.
        least = _least_below(s, t)
        leaf.signature = (s.node[least].signature & ~LOW) | np.uint64(t)
        _copy_below(s, t)
        abridge(s, int64(tenant.leaf))
        _set_trie(s, t, insert(s, _trie_of(s, t), int64(tenant.leaf)))
    elif _copy_below(s, t):
        lift(s, int64(tenant.leaf))
    else:
        lift_key(s, int64(tenant.leaf))


@small
def _trie_of(s: Handle, t: int) -> int:
    """The root of the trie in which a tenant stands."""
    parent = int64(s.tenant[t].parent)
    return int64(s.header[0].root) if parent < 0 else int64(s.tenant[parent].teams)


@small
def _set_trie(s: Handle, t: int, root: int) -> None:
    """The trie in which a tenant stands has this root."""
    parent = int64(s.tenant[t].parent)
    if parent < 0:
        s.header[0].root = root
    else:
        s.tenant[parent].teams = root


@inner
def settle(s: Handle, t: int) -> None:
    """After a tenant's integers changed, or the weights beside its jobs: the doubles from them."""
    at = s.tenant[t]
    beside = at.weights + at.jobs
    idle = (at.held - at.moving) / SHARE
    if beside < at.beside or idle < at.idle:
        s.header[0].fell = 1
    at.beside = beside
    at.idle = idle


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
    job, tenant, w = s.job[j], s.tenant, s.header[0]
    units = held * unit - job.held * job.unit
    if unit != job.unit:
        w.relook = 1  # its scale changed, too
    job.held = held
    job.unit = unit
    t = int64(job.tenant)
    moving = job.active == 1
    changed = False
    while t >= 0:
        at = tenant[t]
        at.held += units
        if moving:
            at.moving += units
        else:
            settle(s, t)
        # One active child alone is as high as it was said to be: nobody else's level changed.
        if not moving:
            w.relook = 1
            changed = True
        elif w.filling and at.jobs + at.children > 1:
            changed = True
        moving = at.jobs + at.children > 0
        t = int64(at.parent)
    stake_job(s, j)
    if changed and not tenant[job.tenant].single:
        forget_levels(s, int64(job.tenant))
        lift_levels(s, int64(job.tenant))
        if not w.relook:
            _line_up_all(s, int64(job.tenant), units < 0)


@inner
def _line_up_all(s: Handle, t: int, fell: bool) -> None:
    """After levels of a tenant's jobs, and of others in its tree, rose or fell: may another be
    first in line now?"""
    w, top = s.header[0], top_of(s, t)
    first = int64(w.first_slot)
    if w.first == NONE or top_of(s, int64(s.job[first].tenant)) == top:
        w.relook = 1
        return
    leaf = int64(s.tenant[top].leaf)
    if fell and leaf >= 0 and s.node[leaf].key <= level_now(s, first):
        w.relook = 1


@inner
def set_active(s: Handle, j: int, active: bool) -> None:
    """A job begins or ends to be active, and with it perhaps the tenants above it. Its node is
    the caller's."""
    tenant, w = s.tenant, s.header[0]
    job = s.job[j]
    step = 1 if active else -1
    job.active = 1 if active else 0
    w.active += step
    w.relook = 1
    t = int64(job.tenant)
    forget_levels(s, t)
    tenant[t].jobs += step
    tenant[t].moving += step * job.held * job.unit
    # Whether this tenant itself changed with its job:
    while tenant[t].jobs + tenant[t].children == (1 if active else 0):
        parent = int64(tenant[t].parent)
        if parent < 0:
            break
        tenant[parent].children += step
        tenant[parent].moving += step * tenant[t].held
        reweigh(s, parent)
        t = parent
    t = int64(job.tenant)
    while t >= 0:
        settle(s, t)
        if tenant[t].jobs == 0 and tenant[t].children == 1:
            w.fell = 1  # who is alone is no higher than it is
        t = int64(tenant[t].parent)
    stake_job(s, j)
    lift_tenant(s, int64(job.tenant))
