"""Population monotonicity: when a tenant leaves, nobody else has less (DRF, section 3)."""

from __future__ import annotations

from fairlead.audit.finding import Finding, Left
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.properties.base import Property, holds, not_applicable, not_found, violated
from fairlead.audit.properties.tenant_shares import falls, standing
from fairlead.audit.properties.try_changes import sample, try_changes

NAME = "population-monotonicity"


def check(outcome: Outcome, options: Options) -> Finding:
    """Whether anybody falls when a tenant leaves, with its jobs; its pool stays in the cluster.

    One allocation for each tenant that leaves. Where all have been tried, the verdict is exact;
    else it is about a sample drawn with the seed.
    """
    tenants = list(standing(outcome).tasks)
    if len(tenants) < 2:
        return not_applicable(NAME, outcome, "there is nobody else")
    leaving = sample(tenants, options.trials, options.seed)
    done = try_changes(outcome, [Left(tenant) for tenant in leaving], _when, options.go_on)
    whole = done.trials == len(tenants)
    counts = (("tenants", len(tenants)), ("left", done.trials), ("violations", len(done.found)))
    seed = None if whole else options.seed
    if done.found:
        return violated(NAME, outcome, done.found, trials=done.trials, seed=seed, counts=counts)
    if whole:
        return holds(NAME, outcome, counts=counts)
    note = f"{done.trials} of {len(tenants)} tenants left, one at a time"
    return not_found(NAME, outcome, done.trials, seed=seed, counts=counts, note=note)


def measure(outcome: Outcome, changed: Outcome | None, who: tuple[str, ...]) -> Shown | None:
    """The tenant's tasks or share before the other left, and after."""
    return None if changed is None else _when(outcome, changed, who[0])


def _when(before: Outcome, after: Outcome, tenant: str) -> Shown | None:
    there = standing(after).tasks
    if tenant not in there:
        return None
    gone = [name for name in standing(before).tasks if name not in there]
    return falls(before, after, tenant, f"when {' and '.join(gone)} leaves")


PROPERTY = Property(NAME, "when a tenant leaves, nobody else has less", check, measure)
