"""The worth of an offer by the prices of an allocation, and what one would buy without them.

Both only say where to look: what is bought is decided by solving again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairlead.audit.outcome import Outcome
from fairlead.audit.whatif.catalogue import Offer
from fairlead.model.eligibility import holds, may_use
from fairlead.model.shares import JobShare
from fairlead.model.unrounded import compared
from fairlead.sharing.analysis.explanation import explain, has_all
from fairlead.sharing.analysis.yardstick import amounts_held


def values(outcome: Outcome, tenant: str, offers: Sequence[Offer]) -> dict[str, float]:
    """The worth of one machine of each offer by the prices of what stops the tenant: the tasks of
    a job that may use it and that it holds, times what a task of that job costs today by these
    prices; of several jobs the one that makes most of it. 0 where the prices say nothing."""
    jobs = {job.name: job for job in outcome.input.jobs}
    worth: dict[tuple[int, str], float] = {}
    for share in outcome.allocation.jobs:
        if share.tenant == tenant and not has_all(outcome.allocation, jobs[share.name]):
            why = explain(outcome.input.cluster, outcome.input.jobs, outcome.allocation, share.name)
            for key, price in why.worth.items():
                worth[key] = max(price, worth.get(key, 0.0))
    cost = {share.name: _cost(share, jobs[share.name].demand, worth) for share in _running(outcome)}
    return {
        offer.name: max(
            (
                cost[name] * float(holds(jobs[name], offer.machine))
                for name in cost
                if may_use(jobs[name], offer.machine)
            ),
            default=0.0,
        )
        for offer in offers
    }


def _running(outcome: Outcome) -> list[JobShare]:
    return [share for share in outcome.allocation.jobs if share.tasks > 0]


def _cost(
    share: JobShare, demand: Mapping[str, Fraction], worth: Mapping[tuple[int, str], float]
) -> float:
    """The cost of a task of the job where it runs cheapest."""
    if share.placements is None:
        classes = sorted({index for index, _ in worth})
    else:
        classes = [place.machine_class for place in share.placements if place.tasks > 0]
    return min(
        (sum(worth.get((c, r), 0.0) * float(need) for r, need in demand.items()) for c in classes),
        default=0.0,
    )


def scarcest(outcome: Outcome) -> str | None:
    """The resource of which the smallest part is free in the whole cluster; the first by name of
    several. None where nothing runs."""
    total: dict[str, Fraction] = {}
    for machine in outcome.input.cluster.machines:
        for resource, amount in machine.capacity.items():
            total[resource] = total.get(resource, Fraction(0)) + amount
    held = amounts_held(outcome.input.jobs, outcome.allocation)
    used = {name: held[name] / total[name] for name in sorted(total) if held.get(name)}
    most = max(used.values(), default=Fraction(0))
    within = outcome.allocation.unrounded.within
    return next((name for name in used if compared(used[name], most, within) == 0), None)


def cheapest_first(resource: str | None, offers: Sequence[Offer]) -> list[Offer]:
    """The offers that have the resource, the cheapest per unit of it first."""
    having = [
        (offer.price / offer.machine.capacity[resource], index, offer)
        for index, offer in enumerate(offers)
        if resource is not None and offer.machine.capacity.get(resource) and offer.price is not None
    ]
    return [offer for _, _, offer in sorted(having, key=lambda each: each[:2])]
