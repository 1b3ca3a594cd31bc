"""Tenants that no purchase helps: they have all their tasks, or limits stop them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairlead.audit.outcome import Outcome, solve
from fairlead.audit.whatif.edits import Limit, apply_edits
from fairlead.model.job import Job
from fairlead.model.unrounded import compared
from fairlead.sharing.analysis.explanation import chain, has_all, stops_of
from fairlead.sharing.analysis.yardstick import amounts_held, shares_by

Reached = tuple[str, str]
"""A tenant and a resource of which it may hold no more."""


@dataclass(frozen=True)
class Beyond:
    """A tenant that no machine can help: it has all its tasks, or these limits stop the others.
    `without` is its share where they do not."""

    tenant: str
    share: Fraction
    limits: tuple[Reached, ...]
    without: Fraction | None


def jobs_of(outcome: Outcome, tenant: str) -> list[Job]:
    """The jobs of the tenant and of those below it."""
    tenants = {each.name: each for each in outcome.allocation.tenants}
    own = {j.name for j in outcome.allocation.jobs if tenant in chain(tenants, j.tenant)}
    return [job for job in outcome.input.jobs if job.name in own]


def limits_that_stop(outcome: Outcome, tenant: str) -> tuple[Reached, ...] | None:
    """The limits that stop all jobs of the tenant that have not all their tasks: none where each
    has; None where something else stops one of them.

    A limit of the tenant's own that is reached stops all that need the resource: with other
    machines one of its jobs gains what another loses. One of a tenant above stops those that it
    froze: others freed from machines could still take from their sisters.
    """
    waiting = [job for job in jobs_of(outcome, tenant) if not has_all(outcome.allocation, job)]
    if not waiting:
        return ()
    if not any(one.limit for one in outcome.input.cluster.tenants):
        return None
    full = _full(outcome, tenant)
    stops = stops_of(outcome.input.cluster, outcome.input.jobs, outcome.allocation)
    found: dict[Reached, None] = {}
    for job in waiting:
        own = [(tenant, resource) for resource in full if job.demand.get(resource)]
        own += [
            (stop.tenant, stop.resource)
            for stop in stops[job.name]
            if stop.tenant is not None and stop.resource is not None
        ]
        if not own:
            return None
        found[own[0]] = None
    return tuple(found)


def _full(outcome: Outcome, tenant: str) -> list[str]:
    """The resources of which the tenant holds as much as it may."""
    limit = next((t.limit for t in outcome.input.cluster.tenants if t.name == tenant), None)
    if not limit:
        return []
    held = amounts_held(jobs_of(outcome, tenant), outcome.allocation)
    within = outcome.allocation.unrounded.within
    return [
        resource
        for resource in limit
        if resource in held and compared(held[resource], limit[resource], within) <= 0
    ]


def beyond(
    outcome: Outcome,
    unit: Mapping[str, Fraction],
    tenant: str,
    limits: tuple[Reached, ...],
    *,
    explained: bool,
) -> Beyond:
    """The tenant with its share, and if `explained` with what that is where these limits allow all
    that there is."""
    allocation = outcome.allocation
    share = shares_by(unit, allocation, allocation)[tenant]
    if not limits or not explained:
        return Beyond(tenant, share, limits, None)
    total = {
        resource: sum(
            (m.capacity.get(resource, Fraction(0)) for m in outcome.input.cluster.machines),
            start=Fraction(0),
        )
        for _, resource in limits
    }
    of = {each.name: each.limit for each in outcome.input.cluster.tenants}
    edits = [
        Limit(name, resource, max(total[resource], of[name][resource])) for name, resource in limits
    ]
    then = solve(apply_edits(outcome.input, edits).input, outcome.rule).allocation
    return Beyond(tenant, share, limits, shares_by(unit, allocation, then)[tenant])
