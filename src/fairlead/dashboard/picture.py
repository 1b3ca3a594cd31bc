"""The views' picture of an allocation: classes, tenants, levels, and who fills what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from fairlead.dashboard.kinds import Kinds
from fairlead.dashboard.rising import Rising, rising
from fairlead.model.allocation import Allocation
from fairlead.model.eligibility import holds, may_use
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.names import compress
from fairlead.model.report import Tree
from fairlead.model.shares import JobShare, Level, MachineClass, Placement, TenantShare
from fairlead.model.words import escaped
from fairlead.sharing.analysis.explanation import chain, has_all
from fairlead.sharing.analysis.stop_names import ALL, reasons, stop_names

SCHEMA = "fairlead.picture/1"

MOST_LEVELS = 40
"""Levels that a slider has room for."""

FEW_LABELS = 3
"""Labels that describe a class."""

MOST_TENANTS = 24
"""Tenants that have a colour of their own: those that hold most. The others are drawn as one."""

LONGEST = 120
"""Letters of a reason that a picture has room for."""

NAMED = 2
"""Jobs that a reason names; more are counted."""

NAMES = 4000
"""Letters of the names of a class's machines, for who asks for them."""

OTHERS = None
"""The name of those others."""


def picture(cluster: Cluster, jobs: Sequence[Job], allocation: Allocation) -> Tree:
    """The tree that the views of fair shares, water and bottlenecks take. It names no job but in
    what stops somebody."""
    machine = {one.name: one for one in cluster.machines}
    groups = {
        group.index: [machine[name] for name in group.machines] for group in allocation.classes
    }
    resources = list(dict.fromkeys(name for one in cluster.machines for name in one.capacity))
    story = rising(allocation, MOST_LEVELS)
    kinds = Kinds(allocation.classes, groups)
    why = reasons(cluster, jobs, allocation, kinds)
    own: dict[str, list[JobShare]] = {}
    tree: dict[str, list[JobShare]] = {}
    tenants = {tenant.name: tenant for tenant in allocation.tenants}
    for job in allocation.jobs:
        own.setdefault(job.tenant, []).append(job)
        for name in chain(tenants, job.tenant):
            tree.setdefault(name, []).append(job)
    shown = _choose_tenants(cluster, jobs, own)
    unmet = {job.name for job in jobs if not has_all(allocation, job)}
    return {
        "schema": SCHEMA,
        "policy": allocation.policy,
        "exact": allocation.certificate is not None and allocation.certificate.exact,
        "tasks": allocation.tasks.value,
        "resources": resources,
        "classes": [_class(kinds, group, groups[group.index]) for group in allocation.classes],
        "tenants": [_tenant(one, tree.get(one.name, []), why, unmet) for one in allocation.tenants],
        "drawn": list(shown),
        "levels": _levels(allocation, story, kinds),
        "fills": _fills(jobs, allocation, story, shown),
        "eligible": _eligible(jobs, allocation, groups, shown, unmet),
        "warnings": list(allocation.sentences()),
    }


def _class(kinds: Kinds, group: MachineClass, machines: Sequence[Machine]) -> Tree:
    """A class: its machines, what they have together, and the labels that all of them have."""
    first, *others = machines
    alike = [
        (key, value)
        for key, value in first.labels.items()
        if all(other.labels.get(key) == value for other in others)
    ]
    return {
        "machines": kinds.name(group.index),
        "names": _cut(", ".join(compress(group.machines)), NAMES),
        "like": group.machines[0],
        "count": len(machines),
        "capacity": _total(machines),
        "labels": [f"{key} {value}" for key, value in alike[:FEW_LABELS]],
    }


def _tenant(
    tenant: TenantShare, jobs: Sequence[JobShare], why: Mapping[str, str], unmet: Container[str]
) -> Tree:
    """A tenant with what stops the jobs of it and of those below it, each reason once and that of
    most of them first, and whether any wants more."""
    reasons = Counter(filter(None, (why[job.name] for job in jobs)))
    if len(reasons) > 1:
        del reasons[ALL]  # of the others there is something to say
    return {
        "name": tenant.name,
        "parent": tenant.parent,
        "weight": tenant.weight,
        "share": tenant.share,
        "jobs": len(jobs),
        "tasks": sum(job.tasks for job in jobs),
        "wants": any(job.name in unmet for job in jobs),
        "stopped_by": [_cut(each) for each, _ in reasons.most_common()],
    }


def _choose_tenants(
    cluster: Cluster, jobs: Sequence[Job], own: Mapping[str, Sequence[JobShare]]
) -> dict[str, None]:
    """The tenants that are drawn by themselves: with the greatest parts of what there is. By their
    names, as the page of a service has them: so a tenant has the same colour in both."""
    total = _total(cluster.machines)
    part = {
        job.name: max(
            (float(d) / total[r] for r, d in job.demand.items() if total.get(r)), default=0
        )
        for job in jobs
    }
    held = {name: sum(job.tasks * part[job.name] for job in each) for name, each in own.items()}
    most = sorted(held, key=lambda name: -held[name])[:MOST_TENANTS]
    return dict.fromkeys(sorted(most))


def _levels(allocation: Allocation, story: Rising, kinds: Kinds) -> list[Tree]:
    """The levels that are shown: who stops there, what stops them, and which vessels are full."""
    tenant_of = {job.name: job.tenant for job in allocation.jobs}
    number = {group.index: place for place, group in enumerate(allocation.classes)}
    found: list[Tree] = []
    for k in story.levels:
        level = allocation.levels[k]
        found.append(
            {
                "share": level.share,
                "stop": _who_stops(level, tenant_of),
                "tenants": list(level.frozen),
                "stopped_by": _cut(_what_stops(level, kinds)),
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


def _who_stops(level: Level, tenant_of: Mapping[str, str]) -> list[str]:
    """The tenants that stop at the level, and of those that go on with others the jobs: one by its
    name, several counted."""
    jobs: dict[str, list[str]] = {}
    for job in level.jobs:
        if (tenant := tenant_of[job]) not in level.frozen:
            jobs.setdefault(tenant, []).append(job)
    return [escaped(tenant) for tenant in level.frozen] + [
        f"job {escaped(some[0])}" if len(some) == 1 else f"{len(some)} jobs of {escaped(tenant)}"
        for tenant, some in jobs.items()
    ]


def _what_stops(level: Level, kinds: Kinds) -> str:
    """What stops them in words: what is gone, and of which jobs all tasks run."""
    stops = level.stopped_by
    done = [one.job for one in stops if one.job is not None and one.machine_class is None]
    rest = [one for one in stops if one.job is None or one.machine_class is not None]
    whose = f"{len(done)} jobs" if len(done) > NAMED else " and ".join(map(escaped, done))
    parts = [stop_names(rest, kinds, set()), f"all tasks of {whose} run" if done else ""]
    return "; ".join(filter(None, parts))


def _fills(
    jobs: Sequence[Job], allocation: Allocation, story: Rising, shown: Container[str]
) -> list[Tree]:
    """For each class and tenant its tasks there, and its amounts at each level that is shown; at
    the end alone where there are no levels."""
    number = {group.index: place for place, group in enumerate(allocation.classes)}
    demand = {job.name: job.demand for job in jobs}
    end = (1.0,) * max(len(story.levels), 1)  # of who has no level
    tasks: dict[tuple[int, str | None], float] = {}
    amounts: dict[tuple[int, str | None], dict[str, list[float]]] = {}
    for job in allocation.jobs:
        part = story.part.get(job.name, end)
        for place in _places(job, allocation):
            key = number[place.machine_class], job.tenant if job.tenant in shown else OTHERS
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
        for place, tenant in sorted(tasks, key=_first)
    ]


def _places(job: JobShare, allocation: Allocation) -> Sequence[Placement]:
    """The places of a job; all of it is in the one class of a policy that looks at one machine."""
    if job.placements is None and len(allocation.classes) == 1:
        return (Placement(allocation.classes[0].index, job.tasks),)
    return job.placements or ()


def _eligible(
    jobs: Sequence[Job],
    allocation: Allocation,
    groups: Mapping[int, Sequence[Machine]],
    shown: Container[str],
    unmet: Container[str],
) -> list[Tree]:
    """The pairs of a tenant and a class on which some job of it can run, as the policy sees it, and
    whether one of these jobs wants more."""
    tenant_of = {job.name: job.tenant if job.tenant in shown else OTHERS for job in allocation.jobs}
    anywhere = {job.name for job in allocation.jobs if job.placements is None}
    wants: dict[tuple[int, str | None], bool] = {}
    for job in jobs:
        for place, group in enumerate(allocation.classes):
            one = groups[group.index][0]
            if job.name in anywhere or (may_use(job, one) and holds(job, one)):
                pair = place, tenant_of[job.name]
                wants[pair] = wants.get(pair, False) or job.name in unmet
    return [
        {"tenant": tenant, "class": place, "wants": wants[place, tenant]}
        for place, tenant in sorted(wants, key=_first)
    ]


def _first(pair: tuple[int, str | None]) -> tuple[int, bool, str]:
    """Sorts by class, then by tenant; the others come last."""
    return pair[0], pair[1] is OTHERS, pair[1] or ""


def _total(machines: Iterable[Machine]) -> dict[str, float]:
    total: dict[str, float] = {}
    for one in machines:
        for name, amount in one.capacity.items():
            total[name] = total.get(name, 0.0) + float(amount)
    return total


def _cut(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _short(number: float) -> float:
    return float(f"{number:.9g}")
