"""Why a job gets what it gets: where it can run, what stopped it, and who holds that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from fairlead.model.allocation import Allocation
from fairlead.model.eligibility import excluded, may_use
from fairlead.model.errors import InputError, Mistake
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Freeze, JobShare, Nowhere, Stop, TenantShare
from fairlead.model.unrounded import compared


@dataclass(frozen=True)
class Holder:
    """A job that holds part of something scarce: with so many tasks, so much of it."""

    job: str
    tenant: str
    tasks: float
    amount: float


@dataclass(frozen=True)
class Scarce:
    """Something that stopped a job. `price` is in share of those it stopped, per unit of it.

    `own`: the job itself uses it; otherwise others use it, and with more of it they would make
    room where the job runs. `total` is what there is, `holders` who has it, most first. Where each
    class of machines is filled by itself, what stopped the job on several of them is here once,
    with the greatest price.
    """

    stop: Stop
    price: float
    own: bool
    total: float
    holders: tuple[Holder, ...]

    @property
    def held(self) -> float:
        return sum(holder.amount for holder in self.holders)


@dataclass(frozen=True)
class Explanation:
    """All that there is to say about one job.

    `usable_machines` are those that it can run on; `excluded` counts what keeps it from the other
    machines; `rate` is its effective weight when it froze, None where there are no levels.
    """

    job: Job
    share: JobShare
    tenant: TenantShare
    allocation: Allocation
    usable_machines: tuple[str, ...]
    machines: int
    excluded: Nowhere
    rate: float | None
    scarce: tuple[Scarce, ...]
    worth: Mapping[tuple[int, str], float] = field(repr=False)
    """The price of every resource on every class, in share of those whom the stops hold back."""

    @property
    def satisfied(self) -> bool:
        """The job runs all the tasks that it has."""
        return has_all(self.allocation, self.job)


def has_all(allocation: Allocation, job: Job) -> bool:
    """Whether the job runs all the tasks that it has."""
    numbers = allocation.unrounded
    return (
        job.tasks is not None and compared(job.tasks, numbers.tasks[job.name], numbers.within) >= 0
    )


def explain(
    cluster: Cluster, jobs: Sequence[Job], allocation: Allocation, name: str
) -> Explanation:
    """The explanation for one job of an allocation of this input."""
    by_name = {job.name: job for job in jobs}
    if name not in by_name:
        raise InputError(_unknown(name, by_name, allocation))
    job = by_name[name]
    share = next(share for share in allocation.jobs if share.name == name)
    tenant = next(tenant for tenant in allocation.tenants if tenant.name == share.tenant)
    machine = {machine.name: machine for machine in cluster.machines}
    first = {group.index: machine[group.machines[0]] for group in allocation.classes}
    usable = tuple(m.name for m in cluster.machines if can_run(job, m))
    parts = rounds_of(allocation, share)
    prices = [
        scaled for part in parts for scaled in component(allocation, by_name, first, part, name)
    ]
    tenants = {tenant.name: tenant for tenant in allocation.tenants}
    own = {
        about(stop) for stop in _Concerned([s for s, _ in prices], first, tenants).by(job, share)
    }
    scarce = tuple(
        _scarce(cluster, by_name, allocation, stop, price, about(stop) in own)
        for stop, price in _once(prices)
    )
    return Explanation(
        job=job,
        share=share,
        tenant=tenant,
        allocation=allocation,
        usable_machines=usable,
        machines=len(cluster.machines),
        excluded=excluded(cluster, job),
        rate=None if share.level is None or not parts else rates(allocation, parts[0])[name],
        scarce=tuple(sorted(scarce, key=lambda s: (not s.own, -s.price * s.total))),
        worth={
            (stop.machine_class, stop.resource): price
            for stop, price in prices
            if stop.machine_class is not None and stop.resource is not None
        },
    )


def can_run(job: Job, machine: Machine) -> bool:
    """Whether the job may use the machine, and part of a task would fit on it."""
    return may_use(job, machine) and fits(job, machine)


def fits(job: Job, machine: Machine) -> bool:
    """Whether the machine has something of everything that a task needs."""
    return all(machine.capacity.get(name, 0) > 0 for name, need in job.demand.items() if need)


def about(stop: Stop) -> Stop:
    """The stop without its price: two with the same subject are equal."""
    return replace(stop, price=0.0)


def _once(prices: Iterable[tuple[Stop, float]]) -> list[tuple[Stop, float]]:
    """Every stop once, with the greatest of its prices: where each class of machines is filled by
    itself, one limit stops a job on several of them."""
    found: dict[Stop, tuple[Stop, float]] = {}
    for stop, price in prices:
        known = found.get(about(stop))
        if known is None or price > known[1]:
            found[about(stop)] = stop, price
    return list(found.values())


Stops = Mapping[str, tuple[Stop, ...]]


def stops_of(cluster: Cluster, jobs: Sequence[Job], allocation: Allocation) -> Stops:
    """For every job what stopped it in the rounds that froze it, of what it uses itself, once."""
    machine = {machine.name: machine for machine in cluster.machines}
    first = {group.index: machine[group.machines[0]] for group in allocation.classes}
    tenants = {tenant.name: tenant for tenant in allocation.tenants}
    shares = {share.name: share for share in allocation.jobs}
    by_name = {job.name: job for job in jobs}
    found: dict[str, tuple[Stop, ...]] = {job.name: () for job in jobs}
    for part in allocation.freezes:
        concerned = _Concerned(part.stops, first, tenants)
        for name in part.frozen:
            stops = concerned.by(by_name[name], shares[name])
            if found[name]:  # another class of machines, filled by itself
                known = {about(stop) for stop in found[name]}
                stops = tuple(stop for stop in stops if about(stop) not in known)
            found[name] += stops
    return found


def rounds_of(allocation: Allocation, share: JobShare) -> tuple[Freeze, ...]:
    """The rounds of filling that froze the job: one, or one for each class that is filled by
    itself, or none where no filling took place."""
    if share.nowhere is not None:
        return ()
    return tuple(part for part in allocation.freezes if share.name in part.frozen)


def component(
    allocation: Allocation,
    jobs: Mapping[str, Job],
    first: Mapping[int, Machine],
    part: Freeze,
    name: str,
) -> list[tuple[Stop, float]]:
    """The stops of a round that hold this job back, itself or through others, with prices in
    share of those whom they hold back together.

    A round may stop several groups of jobs that have nothing to do with each other, and then
    its prices are divided among them; here they are those of the job's own group.
    """
    price = dict(part.job_prices)
    if price.get(name, 0.0) <= 0:
        return []
    tenants = {tenant.name: tenant for tenant in allocation.tenants}
    shares = {share.name: share for share in allocation.jobs}
    concerned = _Concerned(part.stops, first, tenants)
    touched = {other: concerned.by(jobs[other], shares[other]) for other in price}
    touching: dict[Stop, list[str]] = {}
    for other, stops in touched.items():
        for stop in stops:
            touching.setdefault(stop, []).append(other)
    group, waiting = {name}, [name]
    found: dict[Stop, None] = {}
    while waiting:
        for stop in touched[waiting.pop()]:
            if stop not in found:
                found[stop] = None
                new = [other for other in touching[stop] if other not in group]
                group.update(new)
                waiting += new
    rate = rates(allocation, part)
    together = sum(price[other] * rate[other] for other in group if other in rate)
    return [(stop, stop.price / together) for stop in part.stops if stop in found]


class _Concerned:
    """The stops that concern a job: one more task of it would take some of what they are about.

    It remembers what it found: with thousands of jobs, most are like some other one.
    """

    def __init__(
        self,
        stops: Sequence[Stop],
        first: Mapping[int, Machine],
        tenants: Mapping[str, TenantShare],
    ) -> None:
        self._stops, self._first, self._tenants = stops, first, tenants
        self._own = {stop.job for stop in stops if stop.job is not None}
        self._known: dict[object, tuple[Stop, ...]] = {}

    def by(self, job: Job, share: JobShare) -> tuple[Stop, ...]:
        """The stops that concern the job."""
        own = job.name if job.name in self._own else None
        needs = tuple(resource for resource, need in job.demand.items() if need)
        key = (own, needs, job.where, job.machines, job.exclude, share.tenant)
        if key not in self._known:
            above = set(chain(self._tenants, share.tenant))
            runs = {index: can_run(job, machine) for index, machine in self._first.items()}
            self._known[key] = tuple(s for s in self._stops if _concerns(job, s, runs, above))
        return self._known[key]


def _concerns(job: Job, stop: Stop, runs: Mapping[int, bool], above: Set[str]) -> bool:
    if stop.job is not None:
        return stop.job == job.name
    if not job.demand.get(stop.resource or "", 0):
        return False
    if stop.tenant is not None:
        return stop.tenant in above
    return stop.machine_class is None or runs[stop.machine_class]


def chain(tenants: Mapping[str, TenantShare], name: str) -> list[str]:
    """The tenant and all above it."""
    found = []
    at: str | None = name
    while at is not None:
        found.append(at)
        at = tenants[at].parent
    return found


def rates(allocation: Allocation, part: Freeze) -> dict[str, float]:
    """The effective weight of every job that was still rising in the round: its part of the
    weights above it.

    A tenant at the top rises at its weight; what is below it splits that in proportion to the
    weights of those that were still active, jobs counting 1.
    """
    same = [r for r in allocation.freezes if r.machine_class == part.machine_class]
    left = {name for r in same[same.index(part) :] for name in r.frozen}
    active = [share for share in allocation.jobs if share.name in left]
    # What a tenant's rate is divided by: its active jobs and the weights of its active children.
    divisor: dict[str, float] = {}
    for share in active:
        divisor[share.tenant] = divisor.get(share.tenant, 0.0) + 1.0
    for tenant in reversed(allocation.tenants):  # a parent comes before its children
        if tenant.name in divisor and tenant.parent is not None:
            divisor[tenant.parent] = divisor.get(tenant.parent, 0.0) + tenant.weight
    rate: dict[str, float] = {}
    for tenant in allocation.tenants:
        if tenant.name in divisor:
            above = tenant.parent
            of = 1.0 if above is None else rate[above] / divisor[above]
            rate[tenant.name] = of * tenant.weight
    return {share.name: rate[share.tenant] / divisor[share.tenant] for share in active}


def _scarce(
    cluster: Cluster,
    jobs: Mapping[str, Job],
    allocation: Allocation,
    stop: Stop,
    price: float,
    own: bool,
) -> Scarce:
    tenants = {tenant.name: tenant for tenant in allocation.tenants}
    if stop.job is not None and stop.machine_class is None:
        job = jobs[stop.job]
        # A job that spreads has a task for each machine where all machines are one.
        most = [float(job.tasks)] if job.tasks is not None else []
        most += [float(len(cluster.machines))] if job.spread else []
        return Scarce(stop, price, own, min(most), ())
    if stop.job is not None:
        count = next(len(g.machines) for g in allocation.classes if g.index == stop.machine_class)
        return Scarce(stop, price, own, float(count), ())
    resource = stop.resource or ""
    if stop.tenant is not None:
        limit = next(t.limit for t in cluster.tenants if t.name == stop.tenant)
        below = [s for s in allocation.jobs if stop.tenant in chain(tenants, s.tenant)]
        holders = _holders(jobs, ((s, s.tasks) for s in below), resource)
        return Scarce(stop, price, own, float(limit[resource]), holders)
    group = next(g for g in allocation.classes if g.index == stop.machine_class)
    machine = {m.name: m for m in cluster.machines}
    total = float(sum(machine[n].capacity.get(resource, 0) for n in group.machines))
    if any(share.placements is None for share in allocation.jobs):
        holding = [(share, share.tasks) for share in allocation.jobs]
    else:
        holding = [
            (share, place.tasks)
            for share in allocation.jobs
            for place in share.placements or ()
            if place.machine_class == group.index
        ]
    return Scarce(stop, price, own, total, _holders(jobs, holding, resource))


def _holders(
    jobs: Mapping[str, Job], holding: Iterable[tuple[JobShare, float]], resource: str
) -> tuple[Holder, ...]:
    found = (
        Holder(share.name, share.tenant, tasks, tasks * float(jobs[share.name].demand[resource]))
        for share, tasks in holding
        if tasks > 0 and jobs[share.name].demand.get(resource)
    )
    return tuple(sorted(found, key=lambda holder: -holder.amount))


def _unknown(name: str, jobs: Mapping[str, Job], allocation: Allocation) -> Mistake:
    import difflib

    of_tenant = [job.name for job in allocation.jobs if job.tenant == name]
    if of_tenant:
        return Mistake(
            f"`{name}` is a tenant, not a job", f"its jobs are {', '.join(of_tenant[:5])}"
        )
    close = difflib.get_close_matches(name, list(jobs), n=3)
    if close:
        return Mistake(f"there is no job `{name}`", f"did you mean `{'`, `'.join(close)}`?")
    if not jobs:
        return Mistake(f"there is no job `{name}`, nor any other", "write some under jobs:")
    some = ", ".join(list(jobs)[:5]) + (", ..." if len(jobs) > 5 else "")
    return Mistake(f"there is no job `{name}`", f"the jobs are {some}")
