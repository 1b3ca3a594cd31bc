"""A change is made to an input here."""

from __future__ import annotations

from dataclasses import replace

from fairlead.audit.finding import Added, Change, Grown, Input, Left, Lie, Removed, Split
from fairlead.model.check import with_implied_tenants
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.sharing.analysis.input_changes import with_machines


def apply(change: Change, given: Input) -> Input:
    """The input with the change made. Raises InputError where it cannot be: what the change names
    is not there, or nothing is left."""
    match change:
        case Lie():
            return _lie(change, given)
        case Split():
            return _split(change, given)
        case Left():
            return _without_tenant(change, given)
        case Added():
            return _added(change, given)
        case Grown():
            old = _machine(given, change.machine.name)
            rest = tuple(machine for machine in given.cluster.machines if machine is not old)
            cluster = replace(given.cluster, machines=(*rest, change.machine))
            return replace(given, cluster=cluster)
        case Removed():
            return _removed(change, given)


def _machine(given: Input, name: str) -> Machine:
    for machine in given.cluster.machines:
        if machine.name == name:
            return machine
    raise _missing("machine", name)


def _missing(kind: str, name: str) -> InputError:
    return InputError(f"there is no {kind} {name}", f"name a {kind} of the input")


def _lie(change: Lie, given: Input) -> Input:
    claimed = {job.name: job for job in change.claimed}
    tenants = {tenant.name: tenant for tenant in change.tenants}
    for kind, names, known in (
        ("job", claimed, {job.name for job in given.jobs}),
        ("tenant", tenants, {tenant.name for tenant in given.cluster.tenants}),
    ):
        for name in names:
            if name not in known:
                raise _missing(kind, name)
    changed = tuple(tenants.get(tenant.name, tenant) for tenant in given.cluster.tenants)
    return Input(
        replace(given.cluster, tenants=changed),
        tuple(claimed.get(job.name, job) for job in given.jobs),
    )


def _split(change: Split, given: Input) -> Input:
    cluster = given.cluster
    if change.tenants:
        cluster = with_implied_tenants(cluster, given.jobs)
    mine = {job.name for job in given.jobs if (job.tenant or job.name) == change.tenant}
    if not mine:
        raise _missing("tenant", change.tenant)
    tenants = [tenant for tenant in cluster.tenants if tenant.name != change.tenant]
    jobs = [job for job in given.jobs if job.name not in mine]
    return Input(replace(cluster, tenants=(*tenants, *change.tenants)), (*jobs, *change.jobs))


def _without_tenant(change: Left, given: Input) -> Input:
    gone = {change.tenant}
    tenants = given.cluster.tenants
    while below := [t.name for t in tenants if t.parent in gone and t.name not in gone]:
        gone.update(below)
    jobs = tuple(job for job in given.jobs if (job.tenant or job.name) not in gone)
    if len(jobs) == len(given.jobs):
        raise _missing("tenant with jobs", change.tenant)
    if not jobs:
        raise InputError(f"nobody is left when {change.tenant} leaves")
    left = tuple(tenant for tenant in tenants if tenant.name not in gone)
    return Input(replace(given.cluster, tenants=left), jobs)


def _added(change: Added, given: Input) -> Input:
    new, like = change.machine.name, change.like
    if any(machine.name == new for machine in given.cluster.machines):
        raise InputError(f"there is a machine {new} already", "give it another name")
    if like is not None:
        _machine(given, like)

    cluster, jobs = with_machines(given.cluster, given.jobs, [(change.machine, like)])
    if change.closed:
        jobs = tuple(replace(job, exclude=(*job.exclude, new)) for job in jobs)
    return Input(cluster, jobs)


def _removed(change: Removed, given: Input) -> Input:
    gone = frozenset(change.machines)
    for name in change.machines:
        _machine(given, name)
    machines = tuple(machine for machine in given.cluster.machines if machine.name not in gone)
    if not machines:
        raise InputError("no machine is left", "leave at least one")

    def names_left(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in gone)

    tenants = []
    for tenant in given.cluster.tenants:
        if tenant.pool is not None and gone & set(tenant.pool):
            # An empty pool is refused here, with its sentence.
            tenant = replace(tenant, pool=names_left(tenant.pool))
        tenants.append(tenant)
    jobs: list[Job] = []
    for job in given.jobs:
        named = job.machines
        if named is not None and gone & set(named):
            named = names_left(named)
            if not named:  # it could run there or nowhere
                continue
        exclude = names_left(job.exclude) if job.exclude else job.exclude
        if named != job.machines or exclude != job.exclude:
            job = replace(job, machines=named, exclude=exclude)
        jobs.append(job)
    if not jobs:
        raise InputError("no job is left")
    cluster = replace(given.cluster, machines=machines, tenants=tuple(tenants))
    return Input(cluster, tuple(jobs))
