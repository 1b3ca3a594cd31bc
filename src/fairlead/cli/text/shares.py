"""Shares, now and over time, as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.cli.common.remote import ago, at, count
from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.model.words import counted, escaped, number, sentence
from fairlead.wire.fairness import LiveAudit, Shares, SharesHistory, TenantShare

CLOSE = 1e-9
"""Shares that differ by less, relative, are equal: they are doubles."""


def over_lines(found: SharesHistory, screen: Screen) -> Iterator[str]:
    """A line for each tenant: how much it had at least, on the average and at most, what would have
    been fair on the average, and how its share went."""
    kept = [tenant for tenant in found.tenants if tenant.points]
    if not kept:
        whose = f" of {escaped(found.tenants[0].name)}" if len(found.tenants) == 1 else ""
        yield (
            f"no shares{whose} are known of that time; they are noted when something changes, and"
            " of tenants alone, not of jobs without one"
        )
        return
    begin = min(tenant.points[0].time for tenant in kept)
    yield screen.dim(f"from {at(begin)} to {at(found.until)}")
    yield ""
    shares = {each.name: [p.share for p in each.points if p.share is not None] for each in kept}
    most = max([1e-9, *(value for values in shares.values() for value in values)])
    rows = []
    for tenant in kept:
        mean = _mean([(point.time, point.share) for point in tenant.points], found.until)
        fair = _mean([(point.time, point.fair) for point in tenant.points], found.until)
        values = shares[tenant.name]
        least, largest = min(values, default=None), max(values, default=None)
        cells = [number(value, 4) for value in (least, mean, largest, fair)]
        row = [escaped(tenant.name), str(len(tenant.points)), *cells]
        went = screen.line([p.share for p in tenant.points], most, 24)
        rows.append([*row, went] if screen.blocks else row)
    header = ["tenant", "points", "least", "mean", "most", "mean fair"]
    header += ["share"] if screen.blocks else []
    yield from table(header, rows, "<>>>>>" + "<" * screen.blocks, screen)


def _mean(points: Sequence[tuple[int, float | None]], until: int) -> float | None:
    """The mean over time: each value stands until the next point, the last one until the end."""
    from itertools import pairwise

    known = [(time, value) for time, value in points if value is not None]
    ends = [*known, (until, None)]
    spans = [
        (later - time, value) for (time, value), (later, _) in pairwise(ends) if value is not None
    ]
    total = sum(span for span, _ in spans)
    if not total:
        return known[-1][1] if known else None
    return sum(span * value for span, value in spans) / total


def lines(shares: Shares, screen: Screen, jobs: bool) -> Iterator[str]:
    """A line for each tenant, those below another indented, then, if wanted, one for each job."""
    exact = (
        "not computed yet"
        if shares.exact is None
        else f"{ago(shares.exact, shares.time / 1e6)} ago"
    )
    yield screen.dim(f"policy {shares.policy}; exact shares: {exact}")
    if shares.behind:
        yield from wrap(sentence(shares.behind), screen)
    yield ""
    tenants = everybody(shares)
    most = max([1e-9, *(max(each.share or 0, each.fair or 0) for each in tenants)])
    rows = []
    for tenant, depth in tree(tenants):
        row = [
            "  " * depth + escaped(tenant.name),
            number(tenant.weight, 4),
            count(tenant.running),
            count(tenant.waiting),
            number(tenant.share, 4),
            number(tenant.fair, 4),
            _gap(tenant),
            number(tenant.shortfall, 4) if tenant.shortfall else "-",
        ]
        rows.append([*row, screen.bar(tenant.share or 0, most, 20)] if screen.blocks else row)
    header = ["tenant", "weight", "running", "waiting", "share", "fair", "below fair", "short of"]
    header += [""] if screen.blocks else []
    right = "<>>>>>>>" + ("<" if screen.blocks else "")
    yield from table(header, rows, right, screen) if rows else ["no tenant"]
    if jobs and shares.jobs:
        yield ""
        rows = [
            [
                escaped(job.name),
                escaped(job.tenant),
                count(job.running),
                count(job.waiting),
                number(job.fair_tasks, 4),
                "-" if job.guaranteed is None else str(job.guaranteed),
                number(job.share, 4),
                number(job.fair, 4),
            ]
            for job in shares.jobs
        ]
        header = ["job", "tenant", "running", "waiting", "fair tasks", "whole", "share", "fair"]
        yield from table(header, rows, "<<>>>>>>", screen)
    yield from never_lines(shares, screen)


def never_lines(found: Shares | LiveAudit, screen: Screen) -> Iterator[str]:
    """A sentence for each job that can never run."""
    if found.never:
        yield ""
    for each in found.never:
        yield from wrap(f"warning: {escaped(sentence(each.sentence))}", screen)
    if found.never_more:
        yield f"{counted(found.never_more, 'more job')} can never run"


def _gap(tenant: TenantShare) -> str:
    """How far the share is below the fair one, beyond what doubles are wrong by."""
    share, fair = tenant.share, tenant.fair
    if share is None or fair is None or fair - share <= CLOSE * (fair + share):
        return "-"
    return number(fair - share, 4)


def everybody(shares: Shares) -> list[TenantShare]:
    """The tenants, and the jobs that are their own."""
    names = {tenant.name for tenant in shares.tenants}
    alone = [
        TenantShare(
            name=job.name,
            weight=1.0,
            running=job.running,
            waiting=job.waiting,
            share=job.share,
            fair=job.fair,
        )
        for job in shares.jobs
        if job.tenant not in names
    ]
    return [*shares.tenants, *alone]


def tree(tenants: Sequence[TenantShare]) -> Iterator[tuple[TenantShare, int]]:
    """The tenants, those below another after it, each with how deep it is."""
    names = {tenant.name for tenant in tenants}
    below: dict[str | None, list[TenantShare]] = {}
    for tenant in tenants:
        above = tenant.parent if tenant.parent in names else None
        below.setdefault(above, []).append(tenant)
    waiting = [(tenant, 0) for tenant in reversed(below.get(None, []))]
    while waiting:
        tenant, depth = waiting.pop()
        yield tenant, depth
        waiting += [(each, depth + 1) for each in reversed(below.get(tenant.name, []))]
