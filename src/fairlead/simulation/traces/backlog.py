"""A workload as an input for exact shares: all its jobs at once, those that are alike as one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster, Machine
    from fairlead.scheduling.state.terms import Term
    from fairlead.simulation.workload import Workload

Alike = tuple[int, bytes, bytes, bool]
"""The features that jobs have in common that are alike: the tenant's index (NOBODY: none; below it:
that of one job, by `lone`), the demand, the bits of the terms, and whether each task needs a
machine of its own."""

NOBODY = -1


def lone(job: int) -> int:
    """The index of the tenant that the job of this number is by itself."""
    return NOBODY - 1 - job


def as_input(workload: Workload) -> tuple[Cluster, tuple[Job, ...], tuple[str, ...]]:
    """The machines of the beginning, the backlog of all jobs of the workload, and sentences on what
    was done to them.

    Jobs of one tenant that are alike in demand and constraint become one with all their tasks; so
    do all such jobs that have no tenant, each of which is then its own tenant. They are named by
    their tenant (_ for /) and a number, in the order in which they first come. Tasks that need
    nothing at all are left out: they are in nobody's way. Raises InputError.
    """
    terms = list(workload.terms)
    groups: dict[Alike, int] = {}
    before = nothing = 0
    for batch in workload.batches():
        terms += batch.terms
        for i in range(len(batch)):
            before += 1
            if not batch.demand[i].any():
                nothing += int(batch.tasks[i])
                continue
            # The words of the terms grow from batch to batch: zeros at the end say nothing.
            needs = batch.needs[i].tobytes().rstrip(b"\0")
            key = (int(batch.tenant[i]), batch.demand[i].tobytes(), needs, bool(batch.spread[i]))
            groups[key] = groups.get(key, 0) + int(batch.tasks[i])
    cluster, jobs = input_of(workload, terms, groups, _machines(workload))
    notes = [f"{before} jobs are {len(jobs)} that differ in tenant, demand or constraint"]
    if nothing:
        notes.append(f"{nothing} tasks that need nothing at all are left out")
    return cluster, jobs, tuple(notes)


def input_of(
    workload: Workload, terms: list[Term], groups: Mapping[Alike, int], machines: list[Machine]
) -> tuple[Cluster, tuple[Job, ...]]:
    """These machines, and a job of so many tasks for each group of the workload's jobs."""
    import numpy as np

    from fairlead.model.constraint import Requirement, Selector
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster
    from fairlead.scheduling.state.terms import Listed, NotListed

    units = {resource.name: resource.unit for resource in workload.resources}
    jobs = []
    counted: dict[str, int] = {}
    for (tenant, demand, needs, spread), tasks in groups.items():
        amounts = np.frombuffer(demand, dtype=np.int64).tolist()
        mine = _terms(terms, needs)
        owner = None if tenant < 0 else workload.tenants[tenant].name
        called = (owner or "job").replace("/", "_")  # a service takes no job with a / in its name
        number = counted[called] = counted.get(called, 0) + 1
        only = [term.machines for term in mine if isinstance(term, Listed)]
        never = [term.machines for term in mine if isinstance(term, NotListed)]
        jobs.append(
            Job(
                f"{called}-{number if tenant >= NOBODY else lone(tenant)}",
                {
                    name: amount * unit
                    for (name, unit), amount in zip(units.items(), amounts, strict=True)
                    if amount
                },
                tenant=owner,
                tasks=tasks,
                where=Selector(term for term in mine if isinstance(term, Requirement)),
                machines=sorted(frozenset.intersection(*only)) if only else None,
                exclude=sorted(frozenset[str]().union(*never)),
                spread=spread,
            )
        )
    parent = {tenant.name: tenant.parent for tenant in workload.tenants}
    owners = {job.tenant for job in jobs if job.tenant is not None}
    waiting = list(owners)
    while waiting:
        above = parent[waiting.pop()]
        if above is not None and above not in owners:
            owners.add(above)
            waiting.append(above)
    tenants = [tenant for tenant in workload.tenants if tenant.name in owners]
    devices = [resource.name for resource in workload.resources if resource.device]
    return Cluster(machines, tenants, devices), tuple(jobs)


def _terms(terms: list[Term], needs: bytes) -> list[Term]:
    bits = int.from_bytes(needs, "little")
    return [term for number, term in enumerate(terms) if bits >> number & 1]


def _machines(workload: Workload) -> list[Machine]:
    """The machines that are there when nothing has happened yet."""
    from fairlead.simulation.workload import MachineEvent

    table = workload.machines
    begin = int(table.time.min()) if len(table.time) else 0
    now: dict[int, tuple[int, ...] | None] = {}
    for i in range(len(table.time)):
        if table.time[i] > begin:
            break
        there = table.kind[i] != MachineEvent.REMOVE
        now[int(table.machine[i])] = tuple(table.capacity[i].tolist()) if there else None
    there = {index: amounts for index, amounts in now.items() if amounts is not None}
    return machines_with(workload, there)


def machines_with(workload: Workload, there: Mapping[int, tuple[int, ...]]) -> list[Machine]:
    """The workload's machines of these indices, with so many units of each resource."""
    from fairlead.model.machine import Machine
    from fairlead.model.values import FrozenMap

    table = workload.machines
    known: dict[tuple[int, ...], FrozenMap[Fraction]] = {}
    found = []
    for index, amounts in there.items():
        if amounts not in known:
            known[amounts] = FrozenMap(
                {
                    resource.name: amount * resource.unit
                    for resource, amount in zip(workload.resources, amounts, strict=True)
                }
            )
        found.append(Machine(table.names[index], known[amounts], table.labels[index]))
    return found
