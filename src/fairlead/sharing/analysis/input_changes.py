"""Inputs in which one thing is otherwise: what explanations, what-ifs and audits try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from fairlead.model.constraint import Selector
from fairlead.model.eligibility import EXCLUDE, MACHINES
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.quantity import quantities

SPREAD = "spread"
"""The name of `spread` among the parts of a constraint."""


def with_machines(
    cluster: Cluster, jobs: Iterable[Job], more: Sequence[tuple[Machine, str | None]]
) -> tuple[Cluster, tuple[Job, ...]]:
    """The input with more machines, in nobody's pool. Each comes with the machine that it is like,
    if there is one, and is on every job's list of names that the other is on."""
    beside: dict[str, list[str]] = {}
    for machine, like in more:
        if like is not None:
            beside.setdefault(like, []).append(machine.name)

    def wider(names: tuple[str, ...]) -> tuple[str, ...]:
        return (*names, *(new for name in names for new in beside.get(name, ())))

    changed = tuple(
        replace(
            job,
            machines=None if job.machines is None else wider(job.machines),
            exclude=wider(job.exclude),
        )
        if beside and (job.machines is not None or job.exclude)
        else job
        for job in jobs
    )
    machines = (*cluster.machines, *(machine for machine, _ in more))
    return replace(cluster, machines=machines), changed


def with_limit(cluster: Cluster, tenant: str, resource: str, amount: Fraction) -> Cluster:
    """The cluster in which a tenant may hold so much of the resource."""
    tenants = tuple(
        replace(each, limit=quantities({**each.limit, resource: amount}))
        if each.name == tenant
        else each
        for each in cluster.tenants
    )
    return replace(cluster, tenants=tenants)


def with_demand(job: Job, resource: str, amount: Fraction) -> Job:
    """The job of which a task needs so much of the resource."""
    return replace(job, demand=quantities({**job.demand, resource: amount}))


def parts(job: Job) -> tuple[str, ...]:
    """The parts of the job's constraint: requirements as written, `machines`, `exclude`; and
    `spread` where it spreads."""
    found = list(dict.fromkeys(str(part) for part in job.where.requirements))
    found += [MACHINES] * (job.machines is not None) + [EXCLUDE] * bool(job.exclude)
    return (*found, *[SPREAD] * job.spread)


def without(job: Job, part: str | None) -> Job:
    """The job without one part of its constraint, or without all of it (`spread` stays)."""
    if part is None:
        return replace(job, where=Selector(), machines=None, exclude=())
    if part == MACHINES:
        return replace(job, machines=None)
    if part == EXCLUDE:
        return replace(job, exclude=())
    if part == SPREAD:
        return replace(job, spread=False)
    left = tuple(one for one in job.where.requirements if str(one) != part)
    return replace(job, where=Selector(left))
