"""A workload as an input for exact shares: all its jobs at once, those that are alike as one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster, Machine
    from fairlead.scheduling.state.terms import Term
    from fairlead.simulation.workload import Workload


def as_input(workload: Workload) -> tuple[Cluster, tuple[Job, ...], tuple[str, ...]]:
    """The machines of the beginning, the backlog of all jobs of the workload, and sentences on what
    was done to them.

    Jobs of one tenant that are alike in demand and constraint become one with all their tasks; so
    do all such jobs that have no tenant, each of which is then its own tenant. They are named by
    their tenant and a number, in the order in which they first come. Tasks that need nothing at
    all are left out: they are in nobody's way. Raises InputError.
    """
    from fairlead.model.constraint import Requirement, Selector
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster
    from fairlead.scheduling.state.terms import Listed, NotListed

    terms = list(workload.terms)
    groups: dict[tuple[int, bytes, bytes, bool], int] = {}
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
    import numpy as np

    units = {resource.name: resource.unit for resource in workload.resources}
    jobs = []
    counted: dict[int, int] = {}
    for (tenant, demand, needs, spread), tasks in groups.items():
        amounts = np.frombuffer(demand, dtype=np.int64).tolist()
        mine = _terms(terms, needs)
        number = counted[tenant] = counted.get(tenant, 0) + 1
        owner = None if tenant < 0 else workload.tenants[tenant].name
        only = [term.machines for term in mine if isinstance(term, Listed)]
        never = [term.machines for term in mine if isinstance(term, NotListed)]
        jobs.append(
            Job(
                f"{owner or 'job'}-{number}",
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
    owners = {job.tenant for job in jobs}
    tenants = [tenant for tenant in workload.tenants if tenant.name in owners]
    devices = [resource.name for resource in workload.resources if resource.device]
    notes = [f"{before} jobs are {len(jobs)} that differ in tenant, demand or constraint"]
    if nothing:
        notes.append(f"{nothing} tasks that need nothing at all are left out")
    return Cluster(_machines(workload), tenants, devices), tuple(jobs), tuple(notes)


def _terms(terms: list[Term], needs: bytes) -> list[Term]:
    bits = int.from_bytes(needs, "little")
    return [term for number, term in enumerate(terms) if bits >> number & 1]


def _machines(workload: Workload) -> list[Machine]:
    """The machines that are there when nothing has happened yet."""
    from fairlead.model.machine import Machine
    from fairlead.model.values import FrozenMap
    from fairlead.simulation.workload import MachineEvent

    table = workload.machines
    begin = int(table.time.min()) if len(table.time) else 0
    now: dict[int, tuple[int, ...] | None] = {}
    for i in range(len(table.time)):
        if table.time[i] > begin:
            break
        there = table.kind[i] != MachineEvent.REMOVE
        now[int(table.machine[i])] = tuple(table.capacity[i].tolist()) if there else None
    known: dict[tuple[int, ...], FrozenMap[Fraction]] = {}
    found = []
    for index, amounts in now.items():
        if amounts is None:
            continue
        if amounts not in known:
            known[amounts] = FrozenMap(
                {
                    resource.name: amount * resource.unit
                    for resource, amount in zip(workload.resources, amounts, strict=True)
                }
            )
        found.append(Machine(table.names[index], known[amounts], table.labels[index]))
    return found
