"""Small changes that would raise a job: found by the prices, solved again where that is cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from fairlead.model.allocation import Allocation
from fairlead.model.eligibility import excluded_by, may_use
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.never import NONE, whole_tasks
from fairlead.model.shares import MachineClass
from fairlead.model.unrounded import compared
from fairlead.sharing.analysis.alike import stops_together
from fairlead.sharing.analysis.explanation import Explanation, Scarce, fits, stops_of
from fairlead.sharing.analysis.input_changes import (
    SPREAD,
    parts,
    with_demand,
    with_limit,
    with_machines,
    without,
)

MOST = {"resource": 3, "machine": 3, "limit": 2, "constraint": 6, "spread": 1, "demand": 2}
"""So many changes of each kind are worth a reader's time, and are tried at most."""

LESS = Fraction(9, 10)
"""A demand that is a little smaller is this part of it."""

NEAR = 1e-9
"""Relative: prices are doubles that say where to look, and places whose costs are this close cost
the same. What a change brings is decided by sharing again, in rationals."""


class Kind(Enum):
    """The thing that a change is about."""

    RESOURCE = "resource"  # as much more of a resource on machines as a task takes
    MACHINE = "machine"  # one more machine
    LIMIT = "limit"  # a higher limit of a tenant
    CONSTRAINT = "constraint"  # a constraint without one of its parts, or none at all
    SPREAD = "spread"  # several tasks may run on one machine
    DEMAND = "demand"  # a task needs a little less of a resource


@dataclass(frozen=True)
class Change:
    """One change. `machines` are those that it is about; `own`: the job uses what is changed,
    rather than others who would make room for it.

    `tasks` is what the job would run with it, where that was tried, and `moves` how that compares
    with what it runs: 1 is more, however little, -1 less; `meets` are limits of tenants that stop
    it then, and did not before. `slope` is what it would gain by the prices, None where they do not
    say. That is how it begins, while everybody's scale and the shares of those who froze earlier
    stay, and it is no promise: where several things are scarce at once, the true gain may be less
    or more. Of a demand, `amount` is what a task would need.
    """

    kind: Kind
    machines: MachineClass | None
    resource: str | None
    amount: Fraction | None
    subject: str  # the tenant of a limit; the part of a constraint that is left out ("": all)
    slope: float | None
    own: bool = True
    tasks: float | None = None
    moves: int = 0
    meets: tuple[tuple[str, str], ...] = ()  # tenants and resources


Again = Callable[[Cluster, Sequence[Job]], Allocation]


def counterfactuals(
    cluster: Cluster, jobs: Sequence[Job], why: Explanation, again: Again | None
) -> tuple[Change, ...]:
    """The changes worth a look, the best of each kind first: without `again` those that the prices
    point to; with it also each part of the constraint, `spread` and a smaller demand, and all are
    solved again, also those that turn out to bring nothing. What the policy refuses is left out."""
    found = candidates(cluster, why, every=again is not None)
    if again is None:
        return found
    results: list[Change] = []
    for change in found:
        tried = _try(cluster, jobs, why, change, again)
        little = None if tried.moves > 0 else smaller(cluster, change)
        if little is not None:
            little = _try(cluster, jobs, why, little, again)
        results += [tried] if little is None or little.moves <= 0 else [little, tried]
    return tuple(change for change in results if change.tasks is not None)


def candidates(cluster: Cluster, why: Explanation, *, every: bool) -> tuple[Change, ...]:
    """The changes worth a look, the best of each kind first: those that the prices point to; with
    `every` also those of which prices say nothing, so that they have to be tried."""
    found: list[Change] = []
    for kind, some in (
        (Kind.RESOURCE, _more_of_a_resource(cluster, why)),
        (Kind.MACHINE, _more_machines(cluster, why)),
        (Kind.LIMIT, _higher_limits(why)),
        (Kind.CONSTRAINT, _fewer_constraints(cluster, why, every=every)),
        (Kind.SPREAD, _without_spread(why) if every else ()),
        (Kind.DEMAND, _smaller_demands(cluster, why) if every else ()),
    ):
        # What the job uses itself comes first: that is what its owner would think of.
        best = sorted(some, key=lambda c: (not c.own, -(c.slope or 0.0)))
        found += best[: MOST[kind.value]]
    return tuple(found)


def unit(total: float) -> Fraction:
    """The amount that is worth talking about: one, or for bytes one Gi, Mi or Ki."""
    for size in (2**30, 2**20, 2**10):
        if total >= 64 * size and size * 64 >= 2**20:
            return Fraction(size)
    return Fraction(1)


def smaller(cluster: Cluster, change: Change) -> Change | None:
    """The change with one unit of its resource, which may raise a job where as much as a task takes
    does not: on the way something else ends. None where it is no smaller."""
    if change.amount is None or change.resource is None or change.kind is Kind.DEMAND:
        return None
    among = None if change.machines is None else set(change.machines.machines)
    total = sum(
        machine.capacity.get(change.resource, NONE)
        for machine in cluster.machines
        if among is None or machine.name in among
    )
    one = unit(float(total))
    if one >= change.amount:
        return None
    slope = None if change.slope is None else change.slope * float(one / change.amount)
    return replace(change, amount=one, slope=slope)


def _step(why: Explanation, scarce: Scarce) -> Fraction:
    """As much as a task of the job takes, or of what it does not use itself one unit."""
    return why.job.demand.get(scarce.stop.resource or "") or unit(scarce.total)


def _more_of_a_resource(cluster: Cluster, why: Explanation) -> Iterator[Change]:
    for scarce, machines in stops_together(cluster, why):
        stop = scarce.stop
        if stop.resource is not None and stop.tenant is None:
            by = _step(why, scarce)
            yield Change(
                Kind.RESOURCE,
                machines,
                stop.resource,
                by,
                "",
                _tasks(why, scarce.price * float(by)),
                scarce.own,
            )


def _more_machines(cluster: Cluster, why: Explanation) -> Iterator[Change]:
    if why.share.placements is None:  # every machine is part of one, and none is like it
        return
    machine = {machine.name: machine for machine in cluster.machines}
    own = {scarce.stop.machine_class: False for scarce in why.scarce}
    own |= {scarce.stop.machine_class: True for scarce in why.scarce if scarce.own}
    if why.share.nowhere is not None and why.share.nowhere.gang is not None:
        own |= {
            group.index: True
            for group in why.allocation.classes
            if may_use(why.job, machine[group.machines[0]])
            and whole_tasks(why.job, machine[group.machines[0]].capacity, cluster.devices)
        }
    for group in why.allocation.classes:
        if group.index not in own:
            continue
        one = machine[group.machines[0]]
        rise = sum(
            price * float(one.capacity.get(resource, 0))
            for (index, resource), price in why.worth.items()
            if index == group.index
        )
        rise += sum(
            scarce.price
            for scarce in why.scarce
            if scarce.stop.machine_class == group.index and scarce.stop.job is not None
        )
        yield Change(Kind.MACHINE, group, None, None, "", _tasks(why, rise), own[group.index])


def _higher_limits(why: Explanation) -> Iterator[Change]:
    for scarce in why.scarce:
        if scarce.stop.tenant is not None:
            by = _step(why, scarce)
            yield Change(
                Kind.LIMIT,
                None,
                scarce.stop.resource,
                by,
                scarce.stop.tenant,
                _tasks(why, scarce.price * float(by)),
            )

    if why.share.nowhere is not None:
        for over in why.share.nowhere.limits:
            by = over.needed - over.limit
            yield Change(Kind.LIMIT, None, over.resource, by, over.tenant, None)


def _fewer_constraints(cluster: Cluster, why: Explanation, *, every: bool) -> Iterator[Change]:
    """Parts of the constraint that alone keep the job from machines where it would be cheaper; or
    `every` part, and all of them together, whatever the prices say."""
    if why.satisfied or (not why.scarce and why.share.nowhere is None and not every):
        return
    job = why.job
    machine = {machine.name: machine for machine in cluster.machines}
    usable = set(why.usable_machines)
    here = min(
        (_cost(why, group.index) for group in why.allocation.classes if usable & {*group.machines}),
        default=float("inf"),
    )
    opened: dict[str, list[str]] = {part: [] for part in parts(job) if part != SPREAD and every}
    closed: list[str] = []
    for group in why.allocation.classes:
        one = machine[group.machines[0]]
        keeping = tuple(dict.fromkeys(excluded_by(job, one)))
        if not keeping or not fits(job, one):
            continue
        closed += group.machines
        if len(keeping) == 1 and (every or _cost(why, group.index) < here * (1 - NEAR)):
            opened.setdefault(keeping[0], []).extend(group.machines)
    several = len(opened) > 1 and every
    for part, names in list(opened.items())[: MOST["constraint"] - several]:
        where = MachineClass(-1, tuple(names)) if names else None
        yield Change(Kind.CONSTRAINT, where, None, None, part, None)
    if several and closed:
        yield Change(Kind.CONSTRAINT, MachineClass(-1, tuple(closed)), None, None, "", None)


def _without_spread(why: Explanation) -> Iterator[Change]:
    if why.job.spread and not why.satisfied:
        yield Change(Kind.SPREAD, None, None, None, SPREAD, None)


def _smaller_demands(cluster: Cluster, why: Explanation) -> Iterator[Change]:
    """A little less of each resource that stopped the job and that it uses itself; of what comes
    in pieces a little less means nothing. As much as a machine has, where none has enough."""
    if why.satisfied:
        return
    if why.share.nowhere is not None:
        for name, _ in why.share.nowhere.small:
            most = max(m.capacity.get(name, NONE) for m in cluster.machines if may_use(why.job, m))
            yield Change(Kind.DEMAND, None, name, most, "", None)
    own = (scarce.stop.resource for scarce in why.scarce if scarce.own)
    for resource in dict.fromkeys(own):
        if resource is None or resource in cluster.devices:
            continue
        if why.job.demand.get(resource):
            less = why.job.demand[resource] * LESS
            yield Change(Kind.DEMAND, None, resource, less, "", None)


def _cost(why: Explanation, index: int) -> float:
    """The cost of a task on a class, by the prices of the stops."""
    resources = sum(
        price * float(why.job.demand.get(resource, 0))
        for (at, resource), price in why.worth.items()
        if at == index
    )
    spread = sum(
        scarce.price
        for scarce in why.scarce
        if scarce.stop.job == why.job.name and scarce.stop.machine_class == index
    )
    return resources + spread


def _tasks(why: Explanation, rise: float) -> float | None:
    """Tasks of the job in a rise of the share of its group."""
    if why.rate is None or why.share.scale is None:
        return None
    return rise * why.rate * why.share.scale


def _try(
    cluster: Cluster, jobs: Sequence[Job], why: Explanation, change: Change, again: Again
) -> Change:
    """The change with what the job would run; no tasks where it would be refused."""
    changed, changed_jobs = apply(cluster, jobs, why.job, change)
    try:
        found = again(changed, changed_jobs)
    except InputError:
        # A job that can run nowhere needs no scale. Where the change lets it run, the policy may
        # have none for it: that is no mistake of who wrote the input, who did not ask for this.
        return change
    before, after = why.allocation.unrounded, found.unrounded
    name = why.job.name
    moves = compared(before.tasks[name], after.tasks[name], max(before.within, after.within))
    meets = limits_met(why, change, changed, changed_jobs, found)
    return replace(change, tasks=found.job(name).tasks, moves=moves, meets=meets)


def limits_met(
    why: Explanation, change: Change, cluster: Cluster, jobs: Sequence[Job], after: Allocation
) -> tuple[tuple[str, str], ...]:
    """The limits, as tenants and resources, that stop the job after a change and not before it,
    but for the one that was changed: that it is met says nothing new."""
    before = {(scarce.stop.tenant, scarce.stop.resource) for scarce in why.scarce}
    if change.kind is Kind.LIMIT:
        before.add((change.subject, change.resource))
    return tuple(
        (stop.tenant, stop.resource)
        for stop in stops_of(cluster, jobs, after)[why.job.name]
        if stop.tenant is not None
        and stop.resource is not None
        and (stop.tenant, stop.resource) not in before
    )


def apply(
    cluster: Cluster, jobs: Sequence[Job], job: Job, change: Change
) -> tuple[Cluster, Sequence[Job]]:
    match change.kind:
        case Kind.RESOURCE:
            return _with_more(cluster, change), jobs
        case Kind.MACHINE:
            assert change.machines is not None
            return with_machines(cluster, jobs, [_one_more(cluster, change.machines)])
        case Kind.LIMIT:
            assert change.resource is not None and change.amount is not None
            limits = (t.limit[change.resource] for t in cluster.tenants if t.name == change.subject)
            most = next(limits) + change.amount
            return with_limit(cluster, change.subject, change.resource, most), jobs
        case Kind.DEMAND:
            assert change.resource is not None and change.amount is not None
            changed = with_demand(job, change.resource, change.amount)
        case _:
            changed = without(job, change.subject or None)
    return cluster, [changed if other.name == job.name else other for other in jobs]


def _with_more(cluster: Cluster, change: Change) -> Cluster:
    """The resource spread evenly over the machines of the class, or of the cluster."""
    assert change.resource is not None and change.amount is not None
    chosen = set(
        change.machines.machines if change.machines else [m.name for m in cluster.machines]
    )
    more = change.amount / len(chosen)
    machines = [
        Machine(
            m.name,
            {**m.capacity, change.resource: m.capacity.get(change.resource, Fraction(0)) + more},
            m.labels,
        )
        if m.name in chosen
        else m
        for m in cluster.machines
    ]
    return replace(cluster, machines=tuple(machines))


def _one_more(cluster: Cluster, like: MachineClass) -> tuple[Machine, str]:
    """A machine as those of the class are, with a name of its own, and the first of them."""
    taken = {m.name for m in cluster.machines}
    model = next(m for m in cluster.machines if m.name == like.machines[0])
    name = next(n for i in range(len(taken) + 1) if (n := f"{model.name}-{i + 2}") not in taken)
    return replace(model, name=name), model.name
