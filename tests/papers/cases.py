"""The papers' examples in a line each, as the studies write them, with the resources a, b and c."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.quantity import Amount
from fairlead.model.tenant import Tenant
from fairlead.studies import cases
from fairlead.studies.cases import share

__all__ = ["job", "machines", "on_machines", "share", "tasks", "weighted"]

machines = partial(cases.machines, resources="abc")
job = partial(cases.job, resources="abc")


def tasks(
    where: Iterable[Machine], jobs: Sequence[Job], policy: str, tenants: Iterable[Tenant] = ()
) -> list[float]:
    """The tasks of each job, in order."""
    return cases.tasks(share(where, jobs, policy, tenants))


def weighted(**weights: Amount) -> tuple[Tenant, ...]:
    """Tenants with these weights."""
    return tuple(Tenant(name, weight=weight) for name, weight in weights.items())


def on_machines(allocation: Allocation, name: str) -> Mapping[str, float]:
    """The tasks of a job on each machine that has any."""
    return cases.placed(allocation)[name]
