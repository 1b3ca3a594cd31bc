"""A witness made smaller: as little as still shows the violation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from fairlead.audit.change import apply
from fairlead.audit.finding import Added, Change, Grown, Input, Removed, Witness
from fairlead.audit.lottery import measure_at
from fairlead.audit.outcome import Shown, solve
from fairlead.audit.properties.base import witness_of
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.model.constraint import Selector
from fairlead.model.errors import InputError, SolverError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap

KEPT = 0.01
"""A smaller witness shows the violation by at least this, or by as much as the first one did: what
is left must be seen with the naked eye."""

T = TypeVar("T")
Candidate = tuple[Input, Change | None]


@dataclass
class _Tries:
    left: int


def shrink(witness: Witness, tries: int = 200) -> Witness:
    """A witness of the same property and policy, and of the same kind of change, with fewer jobs,
    machines, resources and parts of constraints and with simpler numbers, after at most so many
    tries. Greedy and deterministic: the same witness gives the same one."""
    budget = _Tries(tries)
    enough = min(witness.slack, KEPT)
    while budget.left > 0:
        smaller = _pass(witness, enough, budget)
        if smaller is witness:
            break
        witness = smaller
    return witness


def _pass(witness: Witness, enough: float, budget: _Tries) -> Witness:
    """Every kind of step once, each from where the one before has come to."""
    for steps in (_fewer_jobs, _fewer_machines, _fewer_resources, _freer, _plainer, _rounder):
        going = True
        while going and budget.left > 0:
            going = False
            for candidate in steps(witness):
                if budget.left <= 0:
                    break
                budget.left -= 1
                found = _shows(witness, candidate, enough)
                if found is not None:
                    witness, going = found, True
                    break
    return witness


def _shows(witness: Witness, candidate: Candidate, enough: float) -> Witness | None:
    """The candidate as a witness, if it shows the violation well enough."""
    given, change = candidate
    try:
        first = solve(given, witness.policy, witness.tasks)
        second = None if change is None else solve(apply(change, given), first.rule)
        shown: Shown | None = measure_at(
            PROPERTIES[witness.property], first, second, witness.who, witness.lottery
        )
    except (InputError, SolverError):  # what is left is no input, or too odd a one: not smaller
        return None
    if shown is None or shown.slack < enough:
        return None
    return replace(
        witness_of(witness.property, first, witness.who, change, shown), lottery=witness.lottery
    )


def _chunks(items: Sequence[T]) -> Iterator[list[T]]:
    """The items without a part of them: halves, quarters, and so on down to one."""
    size = (len(items) + 1) // 2
    while size:
        for start in range(0, len(items), size):
            yield [*items[:start], *items[start + size :]]
        size //= 2


def _fewer_jobs(witness: Witness) -> Iterator[Candidate]:
    given = witness.input
    if len(given.jobs) > 1:
        for jobs in _chunks(given.jobs):
            if jobs:
                yield _tidy(Input(given.cluster, tuple(jobs))), witness.change
    for tenant in given.cluster.tenants:
        if tenant.limit:
            yield _with_tenant(given, replace(tenant, limit=FrozenMap(), user=None)), witness.change
        if tenant.weight is not None:
            yield _with_tenant(given, replace(tenant, weight=None, user=None)), witness.change


def _with_tenant(given: Input, new: Tenant) -> Input:
    tenants = tuple(new if old.name == new.name else old for old in given.cluster.tenants)
    return replace(given, cluster=replace(given.cluster, tenants=tenants))


def _tidy(given: Input) -> Input:
    """Without the tenants that have no job any more."""
    parent = {tenant.name: tenant.parent for tenant in given.cluster.tenants}
    needed: dict[str, None] = {}
    for job in given.jobs:
        at = job.tenant
        while at is not None and at in parent:
            needed[at] = None
            at = parent[at]
    tenants = tuple(tenant for tenant in given.cluster.tenants if tenant.name in needed)
    return replace(given, cluster=replace(given.cluster, tenants=tenants))


def _fewer_machines(witness: Witness) -> Iterator[Candidate]:
    given, change = witness.input, witness.change
    kept = set(change.machines) if isinstance(change, Removed) else set()
    if isinstance(change, Grown):
        kept = {change.machine.name}
    elif isinstance(change, Added) and change.like is not None:
        kept = {change.like}
    free = [machine.name for machine in given.cluster.machines if machine.name not in kept]
    for names in _chunks(free):
        gone = tuple(name for name in free if name not in set(names))
        try:
            yield apply(Removed(gone), given), change
        except InputError:  # a pool or the cluster would be empty
            continue
    if isinstance(change, Removed) and len(change.machines) > 1:
        for some in _chunks(change.machines):
            rest = tuple(name for name in change.machines if name not in set(some))
            if some:
                try:
                    yield apply(Removed(rest), given), Removed(tuple(some))
                except InputError:
                    continue


def _fewer_resources(witness: Witness) -> Iterator[Candidate]:
    given = witness.input
    resources = sorted({r for job in given.jobs for r, need in job.demand.items() if need})
    for resource in resources:
        if any(not any(d for r, d in job.demand.items() if r != resource) for job in given.jobs):
            continue  # a task must need something
        jobs = tuple(
            replace(job, demand=FrozenMap({r: d for r, d in job.demand.items() if r != resource}))
            if resource in job.demand
            else job
            for job in given.jobs
        )
        yield replace(given, jobs=jobs), witness.change
    unseen = {r for m in given.cluster.machines for r in m.capacity} - set(resources)
    for resource in sorted(unseen):
        machines = tuple(
            _amounts(m, {**m.capacity, resource: Fraction(0)}) for m in given.cluster.machines
        )
        devices = given.cluster.devices - {resource}
        fewer = replace(given.cluster, machines=machines, devices=devices)
        yield replace(given, cluster=fewer), witness.change


def _amounts(machine: Machine, capacity: dict[str, Fraction]) -> Machine:
    return Machine(machine.name, {r: a for r, a in capacity.items() if a}, machine.labels)


def _freer(witness: Witness) -> Iterator[Candidate]:
    """Jobs without a part of their constraint, their number of tasks, or what shares ignore."""
    given = witness.input
    for job in given.jobs:
        for freer in _free(job):
            jobs = tuple(freer if other is job else other for other in given.jobs)
            yield replace(given, jobs=jobs), witness.change


def _free(job: Job) -> Iterator[Job]:
    if job.prefer:
        yield replace(job, prefer=Selector(), prefer_for=None)
    if job.spread:
        yield replace(job, spread=False)
    if job.tasks is not None:
        yield replace(job, tasks=None)
    if job.machines is not None:
        yield replace(job, machines=None)
    if job.exclude:
        yield replace(job, exclude=())
    parts = job.where.requirements
    for part in parts:
        yield replace(job, where=Selector(other for other in parts if other is not part))


def _plainer(witness: Witness) -> Iterator[Candidate]:
    """Machines without labels that no job asks for."""
    given = witness.input
    keys = {part.key for job in given.jobs for part in job.where.requirements}
    machines = tuple(
        Machine(m.name, m.capacity, {k: v for k, v in m.labels.items() if k in keys})
        for m in given.cluster.machines
    )
    if any(
        old.labels != new.labels for old, new in zip(given.cluster.machines, machines, strict=True)
    ):
        yield replace(given, cluster=replace(given.cluster, machines=machines)), witness.change


def _rounder(witness: Witness) -> Iterator[Candidate]:
    """Amounts with fewer digits: all of one machine, or of one job, at a time."""
    given = witness.input
    for digits in (1, 2):
        for machine in given.cluster.machines:
            rounded = {r: _round(a, digits) for r, a in machine.capacity.items()}
            if rounded != dict(machine.capacity):
                machines = tuple(
                    _amounts(m, rounded) if m is machine else m for m in given.cluster.machines
                )
                plainer = replace(given.cluster, machines=machines)
                yield replace(given, cluster=plainer), witness.change
        for job in given.jobs:
            demand = FrozenMap({r: _round(a, digits) for r, a in job.demand.items()})
            if demand != job.demand:
                jobs = tuple(replace(j, demand=demand) if j is job else j for j in given.jobs)
                yield replace(given, jobs=jobs), witness.change


def _round(amount: Fraction, digits: int) -> Fraction:
    """The amount with so many significant digits."""
    return Fraction(f"{float(amount):.{digits}g}") if amount else amount
