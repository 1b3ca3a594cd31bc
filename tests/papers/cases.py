"""The papers' examples in a line each: machines, jobs, the tasks that come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import fairlead
from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.quantity import Amount
from fairlead.model.tenant import Tenant


def machines(*capacities: Sequence[Amount], names: Sequence[str] = "abc") -> tuple[Machine, ...]:
    """Machines m1, m2, ... with capacities of resources a, b, c."""
    return tuple(
        Machine(f"m{i}", dict(zip(names, capacity, strict=False)))
        for i, capacity in enumerate(capacities, start=1)
    )


def job(
    name: str, *demand: Amount, on: Iterable[int] | None = None, tasks: int | None = None
) -> Job:
    """A job with demands of resources a, b, c; `on`: the numbers of the machines it may use."""
    allowed = None if on is None else [f"m{i}" for i in on]
    return Job(name, dict(zip("abc", demand, strict=False)), machines=allowed, tasks=tasks)


def share(
    where: Iterable[Machine], jobs: Sequence[Job], policy: str, tenants: Iterable[Tenant] = ()
) -> Allocation:
    """The checked allocation."""
    return fairlead.allocate(Cluster(where, tenants), jobs, policy=policy)


def tasks(
    where: Iterable[Machine], jobs: Sequence[Job], policy: str, tenants: Iterable[Tenant] = ()
) -> list[float]:
    """The tasks of each job, in order."""
    return [found.tasks for found in share(where, jobs, policy, tenants).jobs]


def weighted(**weights: Amount) -> tuple[Tenant, ...]:
    """Tenants with these weights."""
    return tuple(Tenant(name, weight=weight) for name, weight in weights.items())


def on_machines(allocation: Allocation, name: str) -> Mapping[str, float]:
    """The tasks of a job on each machine that has any, where every class is one machine."""
    members = {found.index: found.machines for found in allocation.classes}
    found = next(j for j in allocation.jobs if j.name == name)
    assert found.placements is not None
    placed = {}
    for placement in found.placements:
        (machine,) = members[placement.machine_class]
        placed[machine] = placement.tasks
    return placed
