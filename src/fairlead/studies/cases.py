"""The papers' examples in a line each: machines, jobs, the tasks that come out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.quantity import Amount
from fairlead.model.shares import Tasks as Kind
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate

TWO = ("cpu", "memory")
"""Resources of most examples."""


def machines(*capacities: Sequence[Amount], resources: Sequence[str] = TWO) -> tuple[Machine, ...]:
    """Machines m1, m2, ... with these capacities."""
    return tuple(
        Machine(f"m{i}", dict(zip(resources, capacity, strict=False)))
        for i, capacity in enumerate(capacities, start=1)
    )


def job(
    name: str,
    *demand: Amount,
    on: Iterable[int] | None = None,
    tasks: int | None = None,
    resources: Sequence[str] = TWO,
    tenant: str | None = None,
) -> Job:
    """A job with this demand; `on`: the numbers of the machines it may use."""
    allowed = None if on is None else [f"m{i}" for i in on]
    needs = dict(zip(resources, demand, strict=False))
    return Job(name, needs, machines=allowed, tasks=tasks, tenant=tenant)


def share(
    where: Iterable[Machine],
    jobs: Sequence[Job],
    policy: str,
    tenants: Iterable[Tenant] = (),
    *,
    whole: bool = False,
) -> Allocation:
    """The checked allocation, in whole tasks if so."""
    kind = Kind.WHOLE if whole else Kind.DIVISIBLE
    return allocate(Cluster(where, tenants), jobs, policy, kind)


def tasks(found: Allocation) -> list[float]:
    return [job.tasks for job in found.jobs]


def shares(found: Allocation) -> list[float]:
    """The share of each tenant, in order."""
    return [tenant.share for tenant in found.tenants]


def alone(found: Allocation) -> list[float]:
    """The tasks that each job could run alone, in order."""
    return [float(job.alone or 0.0) for job in found.jobs]


def parts_of(
    found: Allocation, where: Iterable[Machine], jobs: Sequence[Job], resource: str
) -> dict[str, dict[str, float]]:
    """For each machine the part of the resource that each job has there, for a picture."""
    mine = placed(found)
    parts = {}
    for machine in where:
        room = float(machine.capacity.get(resource, 0))
        parts[machine.name] = {
            job.name: mine[job.name].get(machine.name, 0.0)
            * float(job.demand.get(resource, 0))
            / room
            if room
            else 0.0
            for job in jobs
        }
    return parts


def placed(found: Allocation) -> dict[str, dict[str, float]]:
    """The tasks of each job on each machine. Machines that no job can tell apart have the same
    part of what their class has."""
    members = {group.index: group.machines for group in found.classes}
    tasks: dict[str, dict[str, float]] = {}
    for job in found.jobs:
        mine = tasks[job.name] = {}
        for place in job.placements or ():
            for machine in members[place.machine_class]:
                mine[machine] = place.tasks / len(members[place.machine_class])
    return tasks
