"""Shares, their history and the audit, as the API tells them."""

from __future__ import annotations

import math

import numpy as np

from fairlead.model.words import counted, number, timespan
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.lookup import is_fifo
from fairlead.service.fairness.below_fair import Below, find_below
from fairlead.service.fairness.causes import DisplayName
from fairlead.service.fairness.history import Point
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.fairness.never import find_never
from fairlead.service.fairness.shortfalls import Audit, Measured, Short, measure
from fairlead.wire import fairness as wire

JUST_NOW = "unexplained"
"""The cause of a shortfall beyond those that are looked into."""


_COMPUTED = "exact shares are being computed"

MINUTES = 120
"""Seconds from which minutes are told; seconds never: a sentence that counts them is another one
each second, for every page that shows it."""


def measure_shares(core: Core, watch: FairnessMonitor | None) -> Measured:
    """Measures what everybody has, beside the exact allocation where somebody computes it."""
    return measure(core, None) if watch is None else watch.measure(core)


def shares(
    time: int,
    core: Core,
    watch: FairnessMonitor | None,
    found: Measured,
    *,
    jobs: bool = False,
    own: bool = False,
    display_name: DisplayName = str,
) -> wire.Shares:
    """Everybody's share now and by the exact allocation; of each job too where `jobs`, of those
    without a tenant where `own`, by its `display_name`. `found`: what was
    measured."""
    exact = found.exact
    never, more = find_never(core, found, display_name)
    return wire.Shares(
        time=time,
        policy=core.book.scaler.spec,
        exact=None if exact is None else exact.answer.time,
        behind=None if watch is None else _behind(found),
        tenants=[_tenant(found, t, _has_scale(core, found)) for t in range(len(found.tenants))],
        jobs=_jobs(core, found, display_name, own=not jobs) if jobs or own else [],
        never=never,
        never_more=more,
    )


def _behind(found: Measured) -> str | None:
    """The sentence that says who is not judged by the exact allocation yet; None: all are."""
    count = found.unknown
    if found.exact is None:
        return f"{_COMPUTED}: nobody is judged yet"
    if found.outdated:
        since = f"{found.outdated} since the newest ones, and nobody is judged by them yet"
        return f"{_COMPUTED}: {since}"
    if not count:
        return None
    verbs = "waits is" if count == 1 else "wait are"
    return f"{_COMPUTED}: {counted(count, 'job')} that {verbs} not judged yet"


def _has_scale(core: Core, found: Measured) -> bool:
    """fifo has none of its own until the exact allocation brings one."""
    return found.exact is not None or not is_fifo(core)


def _tenant(found: Measured, t: int, scaled: bool) -> wire.TenantShare:
    fair = float(found.fair[t])
    known = not math.isnan(fair)
    return wire.TenantShare(
        name=found.tenants[t],
        parent=found.tenants[found.parent[t]] if found.parent[t] >= 0 else None,
        weight=float(found.weight[t]),
        running=int(found.tenant_running[t]),
        waiting=int(found.tenant_waiting[t]),
        share=float(found.share[t]) if scaled else None,
        fair=fair if known else None,
        guaranteed=float(found.owed[t]) if known else None,
        asked=float(found.asked[t]) if scaled else None,
        shortfall=float(found.shortfall[t]) if known else None,
    )


def _jobs(
    core: Core, found: Measured, display_name: DisplayName, *, own: bool
) -> list[wire.JobShareNow]:
    exact = None if found.judge is None else found.judge.answer.jobs
    scaled = _has_scale(core, found)
    rows = []
    chosen = np.flatnonzero(found.owner < 0) if own else np.arange(len(found.slot))
    for row, slot in zip(chosen.tolist(), found.slot[chosen].tolist(), strict=True):
        name, owner, scale = core.book.name_of(slot), found.owner[row], float(found.scale[row])
        running, waiting = int(found.running[row]), int(found.waiting[row])
        fair = None if exact is None else exact.of(name)
        called = display_name(name)
        rows.append(
            wire.JobShareNow(
                name=called,
                tenant=found.tenants[owner] if owner >= 0 else called,
                running=running,
                waiting=min(waiting, 2**53 - 1),
                share=running / scale if scaled and scale > 0 else None,
                asked=(running + (0 if found.never[row] else waiting)) / scale
                if scaled and scale > 0
                else None,
                fair=None if fair is None else fair.share,
                fair_tasks=None if fair is None else fair.tasks,
                guaranteed=None if fair is None else fair.whole,
            )
        )
    return rows


def history(
    time: int,
    watch: FairnessMonitor | None,
    *,
    since: int | None = None,
    until: int | None = None,
    points: int = 1000,
    tenant: str | None = None,
) -> wire.SharesHistory:
    """Shares over time, of one tenant or of all that there are now."""
    kept = None if watch is None else watch.history
    names = () if kept is None else (kept.tenants() if tenant is None else (tenant,))
    begin = (None if kept is None else kept.since) if since is None else since
    return wire.SharesHistory(
        since=time if begin is None else begin,
        until=time if until is None else until,
        step=0 if watch is None else watch.settings.sample,
        tenants=[
            wire.TenantHistory(
                name=name,
                points=[_point(point) for point in kept.of(name, since, until, points)],
            )
            for name in names
            if kept is not None
        ],
    )


def _point(point: Point) -> wire.SharePoint:
    return wire.SharePoint(
        time=point.time,
        share=None if math.isnan(point.share) else point.share,
        fair=None if math.isnan(point.fair) else point.fair,
        running=point.running,
        waiting=point.waiting,
    )


def live_audit(
    time: int,
    core: Core,
    watch: FairnessMonitor | None,
    now: Measured,
    quarantined: frozenset[str] = frozenset(),
    display_name: DisplayName = str,
) -> wire.LiveAudit:
    """Audits who has less than it is guaranteed by what was measured `now`, since when and why;
    jobs are called by their `display_name`."""
    if watch is None:
        return wire.LiveAudit(
            time=time, policy=core.book.scaler.spec, tenants=0, shortfalls=[],
            behind="no exact shares are computed here: nobody is judged",
            problem="nobody computes the exact allocation here",
        )  # fmt: skip
    found = watch.audit(time, core, now, quarantined, display_name)
    below, more_below = find_below(core, now, quarantined, display_name)
    never, more_never = find_never(core, now, display_name)
    return wire.LiveAudit(
        time=time,
        exact=found.exact,
        behind=_behind(now),
        policy=found.policy,
        tenants=found.looked_at,
        gap=now.gap,
        shortfalls=[_short(short, found) for short in found.short],
        more=found.more,
        below_fair=[_below(each) for each in below],
        below_fair_more=more_below,
        never=never,
        never_more=more_never,
        problem=watch.problem or None,
    )


def _below(below: Below) -> wire.BelowFair:
    has, gap, fair = (number(each, 4) for each in (below.has, below.gap, below.fair))
    return wire.BelowFair(
        tenant=below.tenant,
        fair=below.fair,
        has=below.has,
        gap=below.gap,
        fair_tasks=below.tasks,
        guaranteed=below.whole,
        job=below.job,
        cause=below.cause.kind.value,
        counts=dict(below.cause.counts),
        lacking=dict(below.cause.lacking),
        able=below.cause.able,
        machines=below.cause.machines,
        sentence=(
            f"{below.tenant} has a share of {has}, {gap} below its fair share of {fair}, and all"
            f" that is guaranteed: the fair share is of {counted(below.tasks, 'task')} in parts, of"
            f" which {below.whole} can be whole; no more of {below.job} start now:"
            f" {below.cause.sentence}"
        ),
    )


def _lasting(seconds: float) -> str:
    return timespan(seconds) if seconds >= MINUTES else "less than two minutes"


def _short(short: Short, audit: Audit) -> wire.Shortfall:
    cause = short.cause
    since = short.since
    lasts = "" if since is None else f" for {_lasting((audit.time - since) / 1e6)}"
    why = "" if cause is None else f": {cause.sentence}"
    tasks = "1 task" if short.tasks == 1 else f"{short.tasks} tasks"
    whose = f"of {short.job}" if short.jobs == 1 else f"of {short.jobs} jobs, most of {short.job}"
    return wire.Shortfall(
        tenant=short.tenant,
        guaranteed=short.owed,
        has=short.has,
        shortfall=short.shortfall,
        tasks=short.tasks,
        job=short.job,
        since=since,
        cause=JUST_NOW if cause is None else cause.kind.value,
        counts={} if cause is None else dict(cause.counts),
        lacking={} if cause is None else dict(cause.lacking),
        able=0 if cause is None else cause.able,
        machines="" if cause is None else cause.machines,
        sentence=f"{short.tenant} lacks {tasks} {whose}{lasts}{why}",
    )
