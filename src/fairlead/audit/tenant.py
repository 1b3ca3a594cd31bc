"""Why a tenant has what it has: what its jobs run, what would be its own, what would raise it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, Shown, solve
from fairlead.audit.properties import sharing_incentive
from fairlead.audit.whatif.edits import Weight, apply_edits
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.shares import JobShare, TenantShare
from fairlead.model.unrounded import compared
from fairlead.sharing.analysis.explanation import Explanation, chain, explain, has_all
from fairlead.sharing.analysis.improvements import (
    Change,
    Kind,
    apply,
    candidates,
    limits_met,
    smaller,
)
from fairlead.sharing.analysis.yardstick import shares_by

JOBS = 6
"""So many of a tenant's jobs are asked for changes that would raise them: those that wait, with the
least of what they could run alone first."""

NONE = Fraction(0)

OF_ALL = (Kind.RESOURCE, Kind.MACHINE, Kind.LIMIT)
"""Changes that are about no job: several jobs of a tenant may point to the same one."""


@dataclass(frozen=True)
class Try:
    """A change with the tenant's share after it, on the scale and with the weight of before, and
    the jobs of the tenant that run more or fewer tasks. `moves`: 1 where the share is more than
    before, however little, -1 where it is less. `change` is None where it is a weight: `weight`
    has it.

    Where it was not tried, `share` is None."""

    change: Change | None
    why: Explanation | None  # of the job that points to the change
    weight: Fraction | None
    share: float | None = None
    moves: int = 0
    jobs: tuple[tuple[str, float], ...] = ()  # tasks more


@dataclass(frozen=True)
class TenantExplanation:
    """A tenant with the jobs of it and of those below it; what its pool or its part of each machine
    would let it have (`own`, None where the policy sees no machines, or nothing of it can run);
    and the changes that were tried, best first."""

    outcome: Outcome
    tenant: TenantShare
    jobs: tuple[JobShare, ...]
    waiting: tuple[str, ...]  # jobs that could run more tasks than they do
    own: Shown | None
    pooled: bool
    tries: tuple[Try, ...]
    tried: bool


def tenants_of(outcome: Outcome) -> tuple[str, ...]:
    """The tenants that are more than a job that is its own tenant."""
    own = {job.name for job in outcome.allocation.jobs if job.tenant == job.name}
    declared = {tenant.name for tenant in outcome.input.cluster.tenants}
    several = {job.tenant for job in outcome.allocation.jobs if job.name != job.tenant}
    named = [tenant.name for tenant in outcome.allocation.tenants]
    return tuple(name for name in named if name not in own or name in declared | several)


def explain_tenant(outcome: Outcome, name: str, *, tried: bool) -> TenantExplanation:
    """The explanation of a tenant of the outcome. With `tried` the input is solved again with each
    change; otherwise the changes are those that prices point to."""
    allocation, given = outcome.allocation, outcome.input
    tenants = {tenant.name: tenant for tenant in allocation.tenants}
    jobs = tuple(job for job in allocation.jobs if name in chain(tenants, job.tenant))
    mine = {job.name for job in jobs}
    waiting = [job for job in given.jobs if job.name in mine and not has_all(allocation, job)]
    own = None
    if all(job.placements is not None or job.nowhere is not None for job in allocation.jobs):
        own = sharing_incentive.measure(outcome, None, (name,))
    found = _with_changes(outcome, tenants[name], waiting)
    if tried:
        found = [each for one in found for each in _tries(outcome, name, mine, one)]
        found = [one for one in found if one.share is not None]
        found.sort(key=lambda one: -(one.share or 0.0))
    return TenantExplanation(
        outcome,
        tenants[name],
        jobs,
        tuple(job.name for job in waiting),
        own,
        any(tenant.pool is not None for tenant in given.cluster.tenants),
        tuple(found),
        tried,
    )


def _with_changes(outcome: Outcome, tenant: TenantShare, waiting: list[Job]) -> list[Try]:
    """The changes that may raise the tenant, each once: a higher weight, and what its jobs point
    to."""
    if not waiting:
        return []
    given, allocation = outcome.input, outcome.allocation
    tasks = {job.name: job.tasks / job.alone if job.alone else 0.0 for job in allocation.jobs}
    found: dict[object, Try] = {}
    for job in sorted(waiting, key=lambda one: tasks[one.name])[:JOBS]:
        why = explain(given.cluster, given.jobs, allocation, job.name)
        for change in candidates(given.cluster, why, every=True):
            on = None if change.machines is None else change.machines.machines
            about = None if change.kind in OF_ALL else job.name
            key = (change.kind, on, change.resource, change.amount, change.subject, about)
            found.setdefault(key, Try(change, why, None))
    return [*_weights(outcome, tenant), *found.values()]


def _weights(outcome: Outcome, tenant: TenantShare) -> Iterator[Try]:
    """A weight that is higher by 1, where the tenant has siblings and no pool says the weights."""
    siblings = [one for one in outcome.allocation.tenants if one.parent == tenant.parent]
    pools = {one.name for one in outcome.input.cluster.tenants if one.pool is not None}
    if len(siblings) > 1 and not any(one.name in pools for one in siblings):
        yield Try(None, None, outcome.allocation.unrounded.weight[tenant.name] + 1)


def _tries(outcome: Outcome, name: str, mine: set[str], one: Try) -> Iterator[Try]:
    """The try, and where it raises nothing one with less of the same resource that does."""
    tried = _try(outcome, name, mine, one)
    yield tried
    if one.change is not None and tried.moves <= 0:
        little = smaller(outcome.input.cluster, one.change)
        if little is not None:
            less = _try(outcome, name, mine, replace(one, change=little))
            if less.moves > 0:
                yield less


def _try(outcome: Outcome, name: str, mine: set[str], one: Try) -> Try:
    """The try with what comes of it; no share where the policy refuses the input after it."""
    given = outcome.input
    if one.change is None:
        assert one.weight is not None
        changed = apply_edits(given, [Weight(name, one.weight)]).input
    else:
        assert one.why is not None
        cluster, jobs = apply(given.cluster, given.jobs, one.why.job, one.change)
        changed = Input(cluster, tuple(jobs))
    try:
        after = solve(changed, outcome.rule).allocation
    except InputError:
        # A job that can never run needs no scale, and may have none where the change lets it
        # run: that is no mistake of who wrote the input, who did not ask for this.
        return one
    before = outcome.allocation
    old, new = before.unrounded, after.unrounded
    within = max(old.within, new.within)
    # A job that can never run has no scale until the change lets it run.
    unit = {job: each or new.unit.get(job, NONE) for job, each in old.unit.items()}
    has, had = (shares_by(unit, before, now)[name] for now in (after, before))
    rises = [
        (job, float(new.tasks[job] - old.tasks[job]))
        for job in old.tasks
        if job in mine and compared(old.tasks[job], new.tasks[job], within)
    ]
    moves = compared(had, has, within)
    change = one.change
    if change is not None and one.why is not None:
        meets = limits_met(one.why, change, changed.cluster, changed.jobs, after)
        change = replace(change, meets=meets)
    return Try(change, one.why, one.weight, float(has), moves, tuple(rises))
