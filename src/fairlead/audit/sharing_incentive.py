"""Sharing incentive: does everybody run at least what it could in its own pool, or its own part?"""

from __future__ import annotations

import numpy as np

from fairlead.audit.bundle import (
    Bundles,
    better_share,
    could_run,
    machine_bundle,
    may_hold,
    satisfied,
)
from fairlead.audit.finding import Finding
from fairlead.audit.held import Held, Party, hold
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.property import Property, holds, not_applicable, violated
from fairlead.audit.tolerance import TOLERANCE, shortfall
from fairlead.model.words import counted, number, percent

NAME = "sharing-incentive"
POOLS = "against the pools that the tenants brought (TSF, Definition 1)"
SPLIT = "against a part of each machine by the weights, an equal one where they are equal"


def check(outcome: Outcome, options: Options) -> Finding:  # noqa: ARG001  exact: nothing to search
    """Whether anybody runs less than it could alone with what is its own (TSF, Definition 1).

    Where tenants brought pools, that is its pool; Choosy's constrained sharing incentive (section
    3.1) is the case of one resource and pools that their owners can use. Where nobody did, it is a
    part of each machine in proportion to the weights: with equal weights the equal split of DRF
    (section 3). A tenant with several jobs is worse off where, with what is its own, it could run
    at least as much of every job and reach a larger share.
    """
    held = hold(outcome)
    if not held.parties:
        return not_applicable(NAME, outcome, "nobody can run anything")
    found = []
    pooled = has_pools(held)
    parties = own_parts(held)
    for party, bundle in parties:
        shown = compare(held, party, bundle)
        if shown.slack > TOLERANCE:
            found.append(((party.name,), None, shown))
    counts = (("tenants", len(parties)), ("below", len(found)))
    note = POOLS if pooled else SPLIT
    if found:
        return violated(NAME, outcome, found, note=note, counts=counts)
    return holds(NAME, outcome, note=note, counts=counts)


def measure(
    outcome: Outcome,
    changed: Outcome | None,  # noqa: ARG001  the property is about no change
    who: tuple[str, ...],
) -> Shown | None:
    """What the tenant could run with what is its own, and what it runs."""
    held = hold(outcome)
    for party, bundle in own_parts(held):
        if (party.name,) == who:
            return compare(held, party, bundle)
    return None


def has_pools(held: Held) -> bool:
    """Did any tenant bring machines?"""
    return any(tenant.pool is not None for tenant in held.tenants)


def own_parts(held: Held) -> list[tuple[Party, Bundles]]:
    """Everybody who is compared, with what is its own."""
    if not has_pools(held):
        count = held.classes.count
        return [
            (party, machine_bundle(held, float(part), count))
            for party, part in zip(held.parties, held.weight, strict=True)
        ]
    found = []
    for tenant in held.tenants:
        party = held.below(tenant.name)
        if tenant.pool is not None and len(party.jobs):
            mine = held.column[[held.seen.machine[name] for name in tenant.pool]]
            count = np.bincount(mine, minlength=len(held.classes.count)).astype(float)
            found.append((party, machine_bundle(held, 1.0, count)))
    return found


def compare(held: Held, party: Party, bundle: Bundles) -> Shown:
    """What the party could run with what is its own, and what it runs."""
    if len(party.jobs) == 1:
        job = int(party.jobs[0])
        alone = min(float(could_run(held, job, bundle)[0]), held.ceiling(job))
        runs = float(held.total[job])
        unit = "tasks"
    else:
        runs = alone = held.share(party.jobs, held.total[party.jobs])
        unit = "share"
        if not satisfied(held, party) and may_hold(held, party, bundle)[0]:
            alone = better_share(held, party, bundle) or runs
    own = "its pool" if has_pools(held) else f"its {_part(held, party)} of each machine"
    what = counted(runs, "task") if unit == "tasks" else f"the share {number(runs)}"
    could = counted(alone, "task") if unit == "tasks" else f"the share {number(alone)}"
    return Shown(
        before=alone,
        after=runs,
        slack=shortfall(alone, runs),
        sentence=f"{party.name} gets {what}; in {own} it could have {could}.",
        unit=unit,
    )


def _part(held: Held, party: Party) -> str:
    names = [each.name for each in held.parties]
    return percent(float(held.weight[names.index(party.name)]), 1.0)


PROPERTY = Property(
    NAME, "everybody runs at least what it could in its own pool, or its own part", check, measure
)
