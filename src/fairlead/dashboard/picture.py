"""What the views draw, made of an allocation: classes, tenants, levels, and who fills what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlead.dashboard.rising import Rising, rising
from fairlead.model.allocation import Allocation
from fairlead.model.eligibility import holds, may_use
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.names import compress
from fairlead.model.report import Tree
from fairlead.model.shares import JobShare, MachineClass, TenantShare
from fairlead.sharing.analysis.stop_names import Ranges, reasons, stop_names, who_froze

SCHEMA = "fairlead.picture/1"

MOST_LEVELS = 40
"""Levels that a slider has room for."""

FEW_LABELS = 3
"""Labels that describe a class."""


def picture(cluster: Cluster, jobs: Sequence[Job], allocation: Allocation) -> Tree:
    """The tree that the views `water`, `bottlenecks` and `tenants` take. It names no job but in
    what stops somebody."""
    machine = {one.name: one for one in cluster.machines}
    groups = {
        group.index: [machine[name] for name in group.machines] for group in allocation.classes
    }
    resources = list(dict.fromkeys(name for one in cluster.machines for name in one.capacity))
    story = rising(allocation, MOST_LEVELS)
    why = reasons(cluster, jobs, allocation)
    own: dict[str, list[JobShare]] = {}
    for job in allocation.jobs:
        own.setdefault(job.tenant, []).append(job)
    return {
        "schema": SCHEMA,
        "policy": allocation.policy,
        "exact": allocation.certificate is not None and allocation.certificate.exact,
        "tasks": allocation.tasks.value,
        "resources": resources,
        "classes": [_class(group, groups[group.index]) for group in allocation.classes],
        "tenants": [_tenant(one, own.get(one.name, []), why) for one in allocation.tenants],
        "levels": _levels(allocation, story),
        "fills": _fills(jobs, allocation, story),
        "eligible": _eligible(jobs, allocation, groups),
        "warnings": list(allocation.sentences()),
    }


def _class(group: MachineClass, machines: Sequence[Machine]) -> Tree:
    """A class: its machines, what they have together, and the labels that all of them have."""
    total: dict[str, float] = {}
    for one in machines:
        for name, amount in one.capacity.items():
            total[name] = total.get(name, 0.0) + float(amount)
    first, *others = machines
    alike = [
        (key, value)
        for key, value in first.labels.items()
        if all(other.labels.get(key) == value for other in others)
    ]
    return {
        "machines": ", ".join(compress(group.machines)),
        "count": len(machines),
        "capacity": total,
        "labels": [f"{key} {value}" for key, value in alike[:FEW_LABELS]],
    }


def _tenant(tenant: TenantShare, own: Sequence[JobShare], why: Mapping[str, str]) -> Tree:
    """A tenant with what stops its own jobs, each reason once."""
    return {
        "name": tenant.name,
        "parent": tenant.parent,
        "weight": tenant.weight,
        "share": tenant.share,
        "jobs": len(own),
        "tasks": sum(job.tasks for job in own),
        "stopped_by": list(dict.fromkeys(filter(None, (why[job.name] for job in own)))),
    }


def _levels(allocation: Allocation, story: Rising) -> list[Tree]:
    """The levels that are shown: who stops there, what stops them, and which vessels are full."""
    ranges = Ranges(allocation.classes)
    tenant_of = {job.name: job.tenant for job in allocation.jobs}
    number = {group.index: place for place, group in enumerate(allocation.classes)}
    found: list[Tree] = []
    for k in story.levels:
        level = allocation.levels[k]
        found.append(
            {
                "share": level.share,
                "stop": who_froze(level, tenant_of),
                "tenants": list(level.frozen),
                "stopped_by": stop_names(level.stopped_by, ranges, set()),
                "full": [
                    {
                        "class": number[stop.machine_class],
                        "resource": stop.resource,
                        "price": stop.price,
                    }
                    for stop in level.stopped_by
                    if stop.machine_class is not None and stop.resource is not None
                ],
            }
        )
    return found


def _fills(jobs: Sequence[Job], allocation: Allocation, story: Rising) -> list[Tree]:
    """For each class and tenant its tasks there, and its amounts at each level that is shown; at
    the end alone where there are no levels."""
    number = {group.index: place for place, group in enumerate(allocation.classes)}
    demand = {job.name: job.demand for job in jobs}
    end = (1.0,)
    tasks: dict[tuple[int, str], float] = {}
    amounts: dict[tuple[int, str], dict[str, list[float]]] = {}
    for job in allocation.jobs:
        part = story.part.get(job.name, end) if story.levels else end
        for place in job.placements or ():
            key = number[place.machine_class], job.tenant
            tasks[key] = tasks.get(key, 0.0) + place.tasks
            there = amounts.setdefault(key, {})
            for resource, need in demand[job.name].items():
                row = there.setdefault(resource, [0.0] * len(part))
                for k, each in enumerate(part):
                    row[k] += each * place.tasks * float(need)
    return [
        {
            "class": place,
            "tenant": tenant,
            "tasks": _short(tasks[place, tenant]),
            "amounts": {
                name: [_short(each) for each in row] for name, row in amounts[place, tenant].items()
            },
        }
        for place, tenant in sorted(tasks)
    ]


def _eligible(
    jobs: Sequence[Job], allocation: Allocation, groups: Mapping[int, Sequence[Machine]]
) -> list[Tree]:
    """The pairs of a tenant and a class on which some job of it can run."""
    tenant_of = {job.name: job.tenant for job in allocation.jobs}
    pairs = {
        (tenant_of[job.name], place)
        for job in jobs
        for place, group in enumerate(allocation.classes)
        if may_use(job, groups[group.index][0]) and holds(job, groups[group.index][0])
    }
    return [{"tenant": tenant, "class": place} for tenant, place in sorted(pairs)]


def _short(number: float) -> float:
    """The number as a picture needs it."""
    return float(f"{number:.9g}")
