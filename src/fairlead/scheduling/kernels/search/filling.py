"""How a tenant is filled: what its active children count together, where one of them is so high.

A child of weight w that holds H counts min(H, F + w y) at height y. So who is higher counts no more
than it does there, which is its part of what the tenant may have; and who cannot rise (machines are
full, it is at a limit) counts what it has, so that the others share the rest. F are first tasks:
of a job those that start together (one, or a gang), of a tenant what is idle, and the most of any
one child. Nobody can hold a part of a task, so each may be above its part by so much, and of many
together this is most of what they hold.

A thousandth of all is counted without F, so that of two children the higher one always counts
more, and the order among them is that of heights. One active child alone is as high as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import inner, shared, small
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE, SHARE
from fairlead.scheduling.kernels.numbers.twice import add, divide, multiply
from fairlead.scheduling.kernels.search.stakes import (
    free_stake,
    insert_stake,
    line_at,
    line_of,
    new_stake,
    rank_of,
    remove_stake,
    stood,
)

STRICT = 2.0**-10
"""The part that is counted without first tasks."""
MOSTLY = 1.0 - STRICT
TRIFLE = 2.0**-80
"""What is less of a sum is what rounding left of nothing."""


@inner
def idle(at: Any) -> tuple[float, float]:
    """The share of what a tenant's inactive jobs and children hold, exactly."""
    units = at.held - at.moving
    rounded = np.float64(units)
    return rounded / SHARE, np.float64(units - np.int64(rounded)) / SHARE


@inner
def filled(s: Handle, t: int, y: float, y_low: float) -> tuple[float, float]:
    """What the active children of a tenant count together at height y, what is idle aside."""
    root = int64(s.tenant[t].stakes)
    if root < 0:
        return 0.0, 0.0
    top = s.stake[root]
    first, first_low = multiply(top.firsts, top.firsts_low, MOSTLY, 0.0)
    if y == 0.0:
        return first, first_low
    more, more_low = stood(s, root, y, y_low)
    return add(first, first_low, more, more_low)


@inner
def nearly_filled(s: Handle, t: int, y: float) -> float:
    """As `filled`, by doubles."""
    at = s.tenant[t]
    if not at.low < y <= at.high:
        _keep_line(s, t, line_at(s, int64(at.stakes), y))
    return float(at.firsts + (at.amount + at.steep * y))


@inner
def height_of(s: Handle, t: int, total: float) -> float:
    """The height above which `nearly_filled` is more than this: infinite where it never is, less
    than 0 where it always is."""
    at = s.tenant[t]
    if not at.below <= total - at.firsts < at.above:
        firsts = 0.0
        if at.stakes >= 0:
            firsts = s.stake[at.stakes].firsts * MOSTLY
        if total < firsts:
            return -1.0
        _keep_line(s, t, line_of(s, int64(at.stakes), total - firsts))
    if at.steep == 0.0:
        return np.inf
    # Not below where it was not more: lines are nearly flat there, and a rounding is far.
    return float(max(at.low, (total - at.firsts - at.amount) / at.steep))


@inner
def _keep_line(s: Handle, t: int, line: tuple[float, float, float, float]) -> None:
    """The line of a tenant that is asked of now."""
    at = s.tenant[t]
    at.low, at.high, at.amount, at.steep = line
    at.below = at.amount + at.steep * max(at.low, 0.0)
    at.above = at.amount + at.steep * at.high if at.steep > 0.0 else np.inf
    at.firsts = s.stake[at.stakes].firsts * MOSTLY if at.stakes >= 0 else 0.0


@small
def _forget_line(s: Handle, t: int) -> None:
    """What a tenant's children count changed."""
    s.tenant[t].high = 0.0
    s.tenant[t].low = 0.0
    s.tenant[t].above = 0.0


@inner
def counted(
    held: tuple[float, float],
    first: tuple[float, float],
    part: tuple[float, float],
) -> tuple[float, float]:
    """What an active child counts that holds so much, of this so much first, where its part is
    that."""
    without = _lesser(held, part)
    within = _lesser(held, add(first[0], first[1], part[0], part[1]))
    one, one_low = multiply(without[0], without[1], STRICT, 0.0)
    most, most_low = multiply(within[0], within[1], MOSTLY, 0.0)
    return add(one, one_low, most, most_low)


@inner
def _lesser(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """The lesser of two long numbers."""
    return a if a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]) else b


@inner
def _put(
    s: Handle,
    t: int,
    n: int,
    rank: np.uint64,
    held: tuple[float, float],
    weight: tuple[float, float],
    part: float,
    first: tuple[float, float],
) -> int:
    """Of what an active child of tenant t holds this part is counted up to its height. `n` is where
    it stood with that, or NONE; returns where it stands now, NONE where it is nothing."""
    tenant = s.tenant[t]
    _forget_line(s, t)
    if n >= 0:
        tenant.stakes = remove_stake(s, int64(tenant.stakes), n)
    if held[0] <= 0.0:
        if n >= 0:
            free_stake(s, n)
        return int64(NONE)
    if n < 0:
        n = new_stake(s)
    entry = s.stake[n]
    entry.rank = rank
    entry.key, entry.key_low = divide(held[0], held[1], weight[0], weight[1])
    entry.amount, entry.amount_low = multiply(held[0], held[1], part, 0.0)
    entry.weight, entry.weight_low = multiply(weight[0], weight[1], part, 0.0)
    entry.first, entry.first_low = first
    tenant.stakes = insert_stake(s, int64(tenant.stakes), n)
    return n


@small
def _filled_at_all(s: Handle) -> bool:
    """Are tenants filled here? By fifo, and by an older version, none is."""
    w = s.header[0]
    return bool(w.filling and not w.fifo)


@inner
def stake_job(s: Handle, j: int) -> None:
    """After a job holds more or less, or is active or no more: what it counts at its tenant, and so
    on up the tree."""
    job = s.job[j]
    t = int64(job.tenant)
    if s.tenant[t].single or not _filled_at_all(s):
        return
    held = int64(job.held) if job.active else int64(0)
    first = min(held, int64(job.gang))
    one, none = (1.0, 0.0), (0.0, 0.0)
    whole = divide(np.float64(held), 0.0, job.scale, 0.0) if held > 0 else none
    least = divide(np.float64(first), 0.0, job.scale, 0.0) if held > 0 else none
    more = divide(np.float64(held - first), 0.0, job.scale, 0.0) if held > first else none
    job.whole = _put(s, t, int64(job.whole), rank_of(4 * j), whole, one, STRICT, least)
    job.beyond = _put(s, t, int64(job.beyond), rank_of(4 * j + 1), more, one, MOSTLY, none)
    stake_tenant(s, t)


@inner
def holds(s: Handle, t: int) -> tuple[float, float]:
    """What an active tenant holds, with all below it."""
    at = s.tenant[t]
    whole, low = idle(at)
    if at.stakes >= 0:
        top = s.stake[at.stakes]
        sums, sums_low = multiply(top.firsts, top.firsts_low, MOSTLY, 0.0)
        whole, low = add(whole, low, sums, sums_low)
        whole, low = add(whole, low, top.amounts, top.amounts_low)
    return whole, low


@inner
def first_of(s: Handle, t: int, least: float, low: float) -> tuple[float, float]:
    """The first tasks of an active tenant: what is idle, and the most of a child, so much at
    least."""
    at = s.tenant[t]
    if at.stakes >= 0:
        top = s.stake[at.stakes]
        if top.most > least or (top.most == least and top.most_low > low):
            least, low = top.most, top.most_low
    first, first_low = idle(at)
    return add(first, first_low, least, low)


@shared
def stake_tenant(s: Handle, t: int) -> None:
    """After what a tenant has changed, or its weight: what it counts at its parent, and so on."""
    if not _filled_at_all(s):
        return
    while s.tenant[t].parent >= 0:
        at = s.tenant[t]
        weight, none = (float(at.weight), float(at.weight_low)), (0.0, 0.0)
        whole, first = none, none
        if at.jobs + at.children > 0:
            whole, first = holds(s, t), first_of(s, t, 0.0, 0.0)
        more = add(whole[0], whole[1], -first[0], -first[1])
        if more[0] < TRIFLE * whole[0]:
            more = none
        parent = int64(at.parent)
        at.whole = _put(
            s, parent, int64(at.whole), rank_of(4 * t + 2), whole, weight, STRICT, first
        )
        at.beyond = _put(
            s, parent, int64(at.beyond), rank_of(4 * t + 3), more, weight, MOSTLY, none
        )
        t = parent


@inner
def stake_all(s: Handle) -> None:
    """All stakes, anew."""
    w = s.header[0]
    w.stakes = 0
    w.free_stake = NONE
    for t in range(w.tenants):
        at = s.tenant[t]
        at.stakes = NONE
        at.whole = NONE
        at.beyond = NONE
        _forget_line(s, t)
    for j in range(w.jobs):
        s.job[j].whole = NONE
        s.job[j].beyond = NONE
    for j in range(w.jobs):
        if s.job[j].used and s.job[j].active:
            stake_job(s, j)
    for t in range(w.tenants):
        if s.tenant[t].used and s.tenant[t].jobs + s.tenant[t].children > 0:
            stake_tenant(s, t)
