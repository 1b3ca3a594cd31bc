"""Bottleneck fairness: where all want most of the same resource, that one is shared max-min fairly.

Ghodsi et al., Dominant Resource Fairness (NSDI 2011), section 3: if there is one resource that is
percent-wise demanded most of by every user, then the solution should reduce to max-min fairness
for that resource.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from fairlead.audit.outcome import Outcome
from fairlead.audit.properties.reduces import reduction
from fairlead.model.job import Job
from fairlead.model.machine import Machine

NAME = "bottleneck-fairness"


def simpler(outcome: Outcome) -> tuple[str | None, str]:
    """CMMF on the bottleneck, where there is one. A job that ties wants all of those most."""
    given = outcome.input
    total = _totals(given.cluster.machines)
    runs = {job.name for job in outcome.allocation.jobs if job.nowhere is None}
    wanted: set[str] | None = None
    for job in given.jobs:
        if job.name in runs:
            most = _most_wanted(job, total)
            wanted = most if wanted is None else wanted & most
    if not wanted:
        return None, "the jobs do not all want most of the same resource"
    resource = min(wanted)
    return f"cmmf({resource})", f"all jobs want most of {resource}"


def _totals(machines: Iterable[Machine]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for machine in machines:
        for name, amount in machine.capacity.items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total


def _most_wanted(job: Job, total: dict[str, Fraction]) -> set[str]:
    """The resources of which a task takes the largest part of the whole cluster's."""
    parts = {name: need / total[name] for name, need in job.demand.items() if need}
    most = max(parts.values())
    return {name for name, part in parts.items() if part == most}


PROPERTY = reduction(
    NAME, "where all want most of the same resource, it is shared max-min fairly", simpler
)
