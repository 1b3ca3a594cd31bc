"""Whether what an answer shows is what its proof proves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from fairlead.model.allocation import Allocation
from fairlead.model.errors import CertificateError
from fairlead.model.proof import Proof, Round
from fairlead.model.shares import (
    JobShare,
    Level,
    Placement,
    Stop,
    TenantShare,
)
from fairlead.sharing.certificate.given import Input, Proved
from fairlead.sharing.certificate.prices import Scarce
from fairlead.sharing.certificate.scales import Looks
from fairlead.sharing.certificate.seen import Bools, Floats
from fairlead.sharing.certificate.tolerances import SHOWN
from fairlead.sharing.certificate.weights import tenant_weights

Key = tuple[int | None, str | None, str | None, str | None]


def check_answer(given: Input, answer: Allocation, proof: Proof, proved: Proved) -> None:
    """Raises CertificateError where the answer shows something else than the proof proves."""
    if answer.policy != proof.policy:
        raise CertificateError(f"the answer is for {answer.policy}, its proof for {proof.policy}")
    if answer.classes != proof.classes:
        raise CertificateError("the answer and its proof have different classes of machines")
    scale = given.alone if proved.scale is None else proved.scale
    _jobs(given, answer, proved.tasks, scale, stated=proved.scale is not None)
    _tenants(given, answer, proved.weight, proved.tasks, scale)
    placements = dict(proof.placements)
    for job in answer.jobs:
        if proved.looks is Looks.POOLED:
            if job.placements is not None:
                raise CertificateError(f"job {job.name} is placed, which {answer.policy} cannot")
        else:
            _same_placements(job, placements.get(job.name, ()))
    if proved.looks is Looks.EACH_MACHINE:
        shares: list[JobShare | TenantShare] = [*answer.jobs, *answer.tenants]
        if any(each.level is not None for each in shares):
            raise CertificateError("a level is stated where every machine has its own")
        seen = {level.machine_class for level in answer.levels}
        if not seen <= proved.active.keys():
            raise CertificateError("a level of a class that does not exist")
    for number, active in proved.active.items():
        levels = [level for level in answer.levels if level.machine_class == number]
        if number is None and len(levels) != len(answer.levels):
            raise CertificateError("a level is about one class of machines")
        rounds = [each for each in proof.rounds if each.machine_class == number]
        _levels(given, levels, rounds, active)
    if proved.looks is not Looks.EACH_MACHINE:
        _indices("job", answer.jobs, [level.jobs for level in answer.levels])
        _indices("tenant", answer.tenants, [level.frozen for level in answer.levels])


def check_possible(given: Input, answer: Allocation) -> float:
    """The largest relative violation of an answer that has no proof. Raises CertificateError where
    it cannot be, or where its numbers contradict each other."""
    given.seen.partition(answer.classes)
    scarce = Scarce(given.seen, given.seen.classes(answer.classes), given.tree, given.seen.tasks)
    tasks = scarce.placed((job.name, job.placements or ()) for job in answer.jobs)
    _jobs(given, answer, tasks, given.alone, stated=False)
    jobs = [job.name for job in answer.jobs]
    weight = np.array([each.weight for each in answer.tenants])
    if not any(tenant.pool for tenant in given.cluster.tenants):
        weight, _ = tenant_weights(given.cluster, given.seen, given.tree, given.alone, ())
    elif tuple(each.name for each in answer.tenants) != given.tree.names:
        weight = _by_name(given, answer)
    _tenants(given, answer, weight, tasks, given.alone)
    if answer.levels or len(set(jobs)) != len(jobs):
        raise CertificateError(f"{answer.policy} has no levels")
    return scarce.violation(tasks)


def _by_name(given: Input, answer: Allocation) -> Floats:
    weight = {each.name: each.weight for each in answer.tenants}
    return np.array([weight.get(name, np.nan) for name in given.tree.names])


def _jobs(given: Input, answer: Allocation, tasks: Floats, scale: Floats, *, stated: bool) -> None:
    _complete("job", [job.name for job in answer.jobs], given.seen.names)
    each = tasks.sum(axis=1)
    for job in answer.jobs:
        index = given.seen.job[job.name]
        holder = given.tree.names[given.tree.of_job[index]]
        if job.tenant != holder:
            raise CertificateError(f"job {job.name} is of {holder}, not of {job.tenant}")
        _same(f"the tasks of job {job.name}", job.tasks, each[index])
        _same(f"the tasks alone of job {job.name}", job.alone, given.alone[index])
        if (job.scale is not None) != stated:
            raise CertificateError(f"job {job.name} has {'no' if stated else 'a'} scale")
        if job.scale is not None:
            _same(f"the scale of job {job.name}", job.scale, scale[index])
        share = each[index] / scale[index] if scale[index] > 0 else 0.0
        _same(f"the share of job {job.name}", job.share, share)


def _tenants(
    given: Input, answer: Allocation, weight: Floats, tasks: Floats, scale: Floats
) -> None:
    _complete("tenant", [tenant.name for tenant in answer.tenants], given.tree.names)
    each = tasks.sum(axis=1)
    share = np.divide(each, scale, out=np.zeros_like(each), where=scale > 0)
    for tenant in answer.tenants:
        node = given.tree.node[tenant.name]
        above = int(given.tree.parent[node])
        if tenant.parent != (given.tree.names[above] if above >= 0 else None):
            raise CertificateError(f"the parent of tenant {tenant.name} is not {tenant.parent}")
        _same(f"the weight of tenant {tenant.name}", tenant.weight, weight[node])
        together = float(share[given.tree.below[tenant.name]].sum())
        _same(f"the share of tenant {tenant.name}", tenant.share, together / weight[node])


def _levels(given: Input, levels: Sequence[Level], rounds: Sequence[Round], active: Bools) -> None:
    """The levels are the rounds, those of one share together."""
    at = {name: index for index, level in enumerate(levels) for name in level.jobs}
    names = [name for level in levels for name in level.jobs]
    if len(set(names)) != len(names):
        raise CertificateError("a job freezes at two levels")
    if {given.seen.names[j] for j in np.flatnonzero(active)} != set(names):
        raise CertificateError("the levels do not name exactly the jobs that can run")
    if any(after.share < level.share for level, after in pairwise(levels)):
        raise CertificateError("a level is below the one before")
    found: list[dict[Key, Stop]] = [{} for _ in levels]
    for each in rounds:
        for index in {at[name] for name in each.frozen}:
            _same(f"the level of {', '.join(each.frozen[:5])}", levels[index].share, each.share)
            for stop in each.stops:
                if stop.price:
                    found[index].setdefault(_key(stop), stop)
    for level, stops in zip(levels, found, strict=True):
        stated = {_key(stop): stop for stop in level.stopped_by}
        if stated.keys() != stops.keys() or len(stated) != len(level.stopped_by):
            raise CertificateError(f"what stops the level {level.share:.12g} is not what is proved")
        for key, stop in stops.items():
            _same(f"a price at the level {level.share:.12g}", stated[key].price, stop.price)
    _frozen_tenants(given, levels, at)


def _key(stop: Stop) -> Key:
    return stop.machine_class, stop.resource, stop.tenant, stop.job


def _frozen_tenants(given: Input, levels: Sequence[Level], at: Mapping[str, int]) -> None:
    """A tenant freezes with the last of its jobs."""
    expected: list[set[str]] = [set() for _ in levels]
    for tenant, jobs in given.tree.below.items():
        last = max((at.get(given.seen.names[job], -1) for job in jobs), default=-1)
        if last >= 0:
            expected[last].add(tenant)
    for level, tenants in zip(levels, expected, strict=True):
        if sorted(level.frozen) != sorted(tenants):
            raise CertificateError(
                f"the tenants that freeze at the level {level.share:.12g} are not those stated"
            )


def _indices(
    kind: str, shares: Iterable[JobShare | TenantShare], levels: Sequence[Sequence[str]]
) -> None:
    at = {name: index for index, names in enumerate(levels) for name in names}
    for each in shares:
        if each.level != at.get(each.name):
            raise CertificateError(f"the level of {kind} {each.name} is not {each.level}")


def _same_placements(job: JobShare, proved: Sequence[Placement]) -> None:
    stated = {place.machine_class: place.tasks for place in job.placements or ()}
    shown = {place.machine_class: place.tasks for place in proved}
    if stated.keys() != shown.keys() or len(stated) != len(job.placements or ()):
        raise CertificateError(f"job {job.name} is not placed where its proof has it")
    for number, tasks in shown.items():
        _same(f"the tasks of job {job.name} on class {number}", stated[number], tasks)


def _complete(kind: str, stated: Sequence[str], names: Sequence[str]) -> None:
    if len(set(stated)) != len(stated) or set(stated) != set(names):
        raise CertificateError(f"the answer does not name every {kind} once")


def _same(what: str, stated: float, proved: float) -> None:
    if not abs(stated - proved) <= SHOWN * abs(proved):
        raise CertificateError(f"{what}: the answer says {stated:.15g}, the proof {proved:.15g}")
