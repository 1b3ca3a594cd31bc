"""The papers' scales in fractions, each written from its definition: tasks per unit of share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from fractions import Fraction
from math import prod

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine

Scale = Callable[[Sequence[Machine], Job], Fraction]
ZERO = Fraction(0)


def may_use(job: Job, machine: Machine) -> bool:
    """Whether the job's hard constraint allows the machine."""
    if job.machines is not None and machine.name not in job.machines:
        return False
    return machine.name not in job.exclude and job.where.matches(machine.labels)


def holds(job: Job, machine: Machine) -> Fraction:
    """The tasks that one empty machine holds, constraints ignored."""
    most = min(machine.capacity.get(r, ZERO) / need for r, need in job.demand.items() if need)
    return min(most, Fraction(1)) if job.spread else most


def whole(job: Job, machine: Machine, devices: Set[str]) -> int:
    """The whole tasks that one empty machine holds, constraints ignored."""
    most = [1] if job.spread else []
    for resource, need in job.demand.items():
        if need:
            has = machine.capacity.get(resource, ZERO)
            part = resource in devices and need < 1
            most.append(int(has) * int(1 / need) if part else int(has / need))
    return min(most)


def can_never_run(cluster: Cluster, job: Job) -> bool:
    """Whether the tasks that start together fit on no empty machines, or under no limit."""
    above = {tenant.name: tenant for tenant in cluster.tenants}
    at = above.get(job.tenant or "")
    while at is not None:
        if any(job.gang * job.demand.get(r, ZERO) > most for r, most in at.limit.items()):
            return True
        at = above.get(at.parent or "")
    room = sum(whole(job, m, cluster.devices) for m in cluster.machines if may_use(job, m))
    return room < job.gang


def total(machines: Sequence[Machine], resource: str) -> Fraction:
    """The sum of all machines."""
    return sum((machine.capacity.get(resource, ZERO) for machine in machines), ZERO)


def shares(machines: Sequence[Machine], job: Job) -> dict[str, Fraction] | None:
    """The part of the whole cluster that one task takes; None where there is none of a resource."""
    wants = {r: need for r, need in job.demand.items() if need}
    if any(total(machines, r) == 0 for r in wants):
        return None
    return {r: need / total(machines, r) for r, need in wants.items()}


def tsf(machines: Sequence[Machine], job: Job) -> Fraction:
    """All tasks alone in the cluster, constraints ignored."""
    return sum((holds(job, machine) for machine in machines), ZERO)


def cdrf(machines: Sequence[Machine], job: Job) -> Fraction:
    """All tasks alone on the machines that the job may use."""
    return sum((holds(job, m) for m in machines if may_use(job, m)), ZERO)


def drfh(machines: Sequence[Machine], job: Job) -> Fraction:
    """One over the dominant share."""
    parts = shares(machines, job)
    return ZERO if parts is None else 1 / max(parts.values())


def asset(machines: Sequence[Machine], job: Job) -> Fraction:
    """One over the sum of the shares."""
    parts = shares(machines, job)
    return ZERO if parts is None else 1 / sum(parts.values(), ZERO)


def cmmf(resource: str) -> Scale:
    """The total of one resource over the demand of it."""

    def scale(machines: Sequence[Machine], job: Job) -> Fraction:
        return total(machines, resource) / job.demand[resource]

    return scale


def kdf(k: int, weights: Mapping[str, Fraction] | None = None) -> Scale:
    """One over the product of the k largest shares, each times its resource's weight."""
    weight = weights or {}

    def scale(machines: Sequence[Machine], job: Job) -> Fraction:
        parts = shares(machines, job)
        if parts is None:
            return ZERO
        pairs = sorted((share, weight.get(r, Fraction(1))) for r, share in parts.items())
        return 1 / prod((share * factor for share, factor in pairs[-k:]), start=Fraction(1))

    return scale
