"""One yardstick for before and after: shares counted in the units of the input as it stands.

A share is a part of something that a change may change: under `tsf` of what the job could run
alone in the cluster, and with more machines that is more. So that shares can be compared, what
everybody runs after a change is divided by the scales from before it.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.model.allocation import Allocation
from fairlead.sharing.explanation import chain


def units(allocation: Allocation) -> dict[str, float]:
    """The tasks of each job that make one unit of share: its scale, or what it could run alone
    where it has none (it can run nowhere, or a mechanism has no scales); 0 where that is none."""
    return {job.name: job.alone if job.scale is None else job.scale for job in allocation.jobs}


def shares_by(unit: Mapping[str, float], first: Allocation, now: Allocation) -> dict[str, float]:
    """The weighted share of each tenant of `first` that it has in `now`, with the units and the
    weights of `first`. A tenant none of whose jobs has a unit is left out."""
    tenants = {tenant.name: tenant for tenant in first.tenants}
    tasks = {job.name: job.tasks for job in now.jobs}
    found: dict[str, float] = {}
    for job in first.jobs:
        if unit[job.name] > 0:
            for name in chain(tenants, job.tenant):
                share = tasks.get(job.name, 0.0) / unit[job.name] / tenants[name].weight
                found[name] = found.get(name, 0.0) + share
    return found
