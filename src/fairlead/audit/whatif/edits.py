"""Changes that people ask about, and the input with them made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from fairlead.audit.change import apply
from fairlead.audit.finding import Input, Removed
from fairlead.model.check import with_implied_tenants
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.analysis.input_changes import with_demand, with_limit, with_machines, without

_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>[0-9]{1,18})")


@dataclass(frozen=True)
class Add:
    """More machines like `model`. Where `like` names one of the input, they are on every job's
    list of names that it is on; they are in nobody's pool."""

    count: int
    model: Machine
    like: str | None = None


@dataclass(frozen=True)
class Remove:
    """Machines go, also from pools and lists of names."""

    machines: tuple[str, ...]


@dataclass(frozen=True)
class Weight:
    """A tenant's weight becomes this one."""

    tenant: str
    weight: Fraction


@dataclass(frozen=True)
class Drop:
    """A job without a part of its constraint: `machines`, `exclude`, `spread`, or a requirement
    as written. None: without its whole constraint (`spread` stays)."""

    job: str
    part: str | None = None


@dataclass(frozen=True)
class Demand:
    """A task of the job needs this much of the resource."""

    job: str
    resource: str
    amount: Fraction


@dataclass(frozen=True)
class Limit:
    """A tenant's limit of a resource becomes this one."""

    tenant: str
    resource: str
    amount: Fraction


Edit = Add | Remove | Weight | Drop | Demand | Limit


@dataclass(frozen=True)
class Edited:
    """The input with the changes made, and what came and went with them. `stranded` are jobs whose
    list of machines has none left: they are out of the input, since they could run nowhere."""

    input: Input
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    stranded: tuple[str, ...] = ()


def apply_edits(given: Input, edits: Iterable[Edit]) -> Edited:
    """The input with all these changes made as one. Every name is one of the input as given, so
    their order does not matter. Raises InputError where one cannot be made."""
    edits = tuple(edits)
    cluster = with_implied_tenants(given.cluster, given.jobs)
    now = Input(cluster, given.jobs)
    for edit in edits:
        match edit:
            case Weight():
                now = _with_weight(now, edit)
            case Limit():
                more = with_limit(now.cluster, edit.tenant, edit.resource, edit.amount)
                now = replace(now, cluster=more)
            case Drop():
                now = _with_job(now, without(_job(now, edit.job), edit.part))
            case Demand():
                job = with_demand(_job(now, edit.job), edit.resource, edit.amount)
                now = _with_job(now, job)
            case _:
                continue
    now, added = _add_machines(now, [edit for edit in edits if isinstance(edit, Add)])
    gone = tuple(
        dict.fromkeys(name for edit in edits if isinstance(edit, Remove) for name in edit.machines)
    )
    before = [job.name for job in now.jobs]
    if gone:
        now = apply(Removed(gone), now)
    left = {job.name for job in now.jobs}
    stranded = tuple(name for name in before if name not in left)
    return Edited(now, added, gone, stranded)


def _add_machines(given: Input, adds: Iterable[Add]) -> tuple[Input, tuple[str, ...]]:
    """The input with the new machines, and their names."""
    taken = {machine.name for machine in given.cluster.machines}
    more: list[tuple[Machine, str | None]] = []
    for edit in adds:
        names = new_names(edit, taken)
        more += [(replace(edit.model, name=name), edit.like) for name in names]
        taken.update(names)
    cluster, jobs = with_machines(given.cluster, given.jobs, more)
    return Input(cluster, jobs), tuple(machine.name for machine, _ in more)


def new_names(edit: Add, taken: Iterable[str]) -> tuple[str, ...]:
    """Names for the new machines that nothing has: the next numbers where the model is one of a
    numbered series of the input, else the model's name with a number after it."""
    known = set(taken)
    stem, width, at = f"{edit.model.name}-", 1, 1
    own = _NUMBERED.fullmatch(edit.model.name)
    if edit.like is not None:
        at = 2
        series = [
            int(match["number"])
            for name in known
            if own is not None
            and (match := _NUMBERED.fullmatch(name)) is not None
            and match["stem"] == own["stem"]
        ]
        if own is not None and len(series) > 1:
            stem, width, at = own["stem"], len(own["number"]), max(series) + 1
    names: list[str] = []
    while len(names) < edit.count:
        name = f"{stem}{str(at).zfill(width)}"
        if name not in known:
            names.append(name)
        at += 1
    return tuple(names)


def _job(given: Input, name: str) -> Job:
    return next(job for job in given.jobs if job.name == name)


def _with_job(given: Input, changed: Job) -> Input:
    jobs = tuple(changed if job.name == changed.name else job for job in given.jobs)
    return replace(given, jobs=jobs)


def _with_weight(given: Input, edit: Weight) -> Input:
    tenants = given.cluster.tenants
    if any(tenant.name == edit.tenant for tenant in tenants):
        changed = tuple(_heavier(t, edit) if t.name == edit.tenant else t for t in tenants)
        return replace(given, cluster=replace(given.cluster, tenants=changed))
    # A job without a tenant is its own; to have a weight it needs one that is declared.
    jobs = tuple(
        replace(job, tenant=edit.tenant) if job.name == edit.tenant and job.tenant is None else job
        for job in given.jobs
    )
    declared = (*tenants, Tenant(edit.tenant, weight=edit.weight))
    return Input(replace(given.cluster, tenants=declared), jobs)


def _heavier(tenant: Tenant, edit: Weight) -> Tenant:
    if tenant.pool is not None:
        raise InputError(
            f"{tenant.name} has a pool, which says its weight",
            "give an input with another pool, with --to",
        )
    return replace(tenant, weight=edit.weight)
