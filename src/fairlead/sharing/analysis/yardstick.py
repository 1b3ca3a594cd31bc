"""Exact sums over an allocation: shares by one yardstick, and what is held.

A share is a part of something that a change may change: under `tsf` of what the job could run
alone in the cluster, and with more machines that is more. So that shares can be compared, what
everybody runs after a change is divided by the scales from before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from flint import fmpq

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.sharing.analysis.explanation import chain
from fairlead.sharing.numbers.amounts import fraction, rational
from fairlead.sharing.numbers.sums import total


def shares_by(
    unit: Mapping[str, Fraction], first: Allocation, now: Allocation
) -> dict[str, Fraction]:
    """The weighted share of each tenant of `first` that it has in `now`, with the weights of
    `first` and so many tasks of each job to one unit of share. A job whose unit is 0 adds none."""
    tenants = {tenant.name: tenant for tenant in first.tenants}
    tasks, weight = now.unrounded.tasks, first.unrounded.weight
    parts: dict[str, list[fmpq]] = {name: [] for name in tenants}
    for job in first.jobs:
        runs = tasks.get(job.name)
        if runs and unit[job.name]:
            share = rational(runs) / rational(unit[job.name])
            for name in chain(tenants, job.tenant):
                parts[name].append(share)
    return {name: fraction(total(some) / rational(weight[name])) for name, some in parts.items()}


def amounts_held(jobs: Iterable[Job], allocation: Allocation) -> dict[str, Fraction]:
    """The amounts that all tasks hold together of each resource that some job needs."""
    parts: dict[str, list[fmpq]] = {}
    for job in jobs:
        runs = rational(allocation.unrounded.tasks[job.name])
        for resource, need in job.demand.items():
            parts.setdefault(resource, []).append(runs * rational(need))
    return {resource: fraction(total(some)) for resource, some in parts.items()}
