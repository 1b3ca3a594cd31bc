"""Whether what an answer shows is what its proof proves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby

from flint import fmpq

from fairlead.model.allocation import Allocation
from fairlead.model.errors import CertificateError
from fairlead.model.proof import Proof, Scarce
from fairlead.model.shares import JobShare, Level, Stop, TenantShare
from fairlead.model.unrounded import EXACT, IN_DOUBLES
from fairlead.sharing.certificate.arithmetic import NONE, nearest, rational
from fairlead.sharing.certificate.input import Filled, Input, Proved
from fairlead.sharing.certificate.possible import placed_tasks, violation
from fairlead.sharing.certificate.scales import Looks
from fairlead.sharing.certificate.weights import tenant_weights
from fairlead.sharing.numbers.sums import total

SHOWN = 2e-11
"""An answer shows 12 digits, made from doubles: so close, relative, is each to what is proved."""

Key = tuple[int | None, str | None, str | None, str | None]


def check_answer(given: Input, answer: Allocation, proof: Proof, proved: Proved) -> None:
    """Raises CertificateError where the answer shows something else than the proof proves."""
    if answer.policy != proof.policy:
        raise CertificateError(f"the answer is for {answer.policy}, its proof for {proof.policy}")
    if answer.classes != proof.classes:
        raise CertificateError("the answer and its proof have different classes of machines")
    scale = given.alone if proved.scale is None else proved.scale
    _jobs(given, answer, proved.tasks, scale, stated=proved.scale is not None)
    tenant_share = _tenant_shares(given, proved.weight, proved.tasks, scale)
    _tenants(given, answer, proved.weight, tenant_share)
    _unrounded(given, answer, proved.weight, proved.tasks, scale, tenant_share, EXACT)
    for job in answer.jobs:
        if proved.looks is Looks.POOLED:
            if job.placements is not None:
                raise CertificateError(f"job {job.name} is placed, which {answer.policy} cannot")
        else:
            _same_placements(job, proved.placed.get(job.name, {}))
    if proved.looks is Looks.EACH_MACHINE:
        shares: list[JobShare | TenantShare] = [*answer.jobs, *answer.tenants]
        if any(each.level is not None for each in shares):
            raise CertificateError("a level is stated where every machine has its own")
        seen = {level.machine_class for level in answer.levels}
        if not seen <= proved.filled.keys():
            raise CertificateError("a level of a class that does not exist")
    for number, filled in proved.filled.items():
        levels = [level for level in answer.levels if level.machine_class == number]
        if number is None and len(levels) != len(answer.levels):
            raise CertificateError("a level is about one class of machines")
        _levels(given, levels, filled)
    if proved.looks is not Looks.EACH_MACHINE:
        _indices("job", answer.jobs, [level.jobs for level in answer.levels])
        _indices("tenant", answer.tenants, [level.frozen for level in answer.levels])


def check_possible(given: Input, answer: Allocation) -> float:
    """The largest relative violation of an answer that has no proof. Raises CertificateError where
    it cannot be, or where its numbers contradict each other."""
    given.seen.partition(answer.classes)
    classes = given.seen.classes(answer.classes)
    placed = placed_tasks(given, classes, answer)
    each = placed.sum(axis=1)
    tasks = [rational(Fraction(number)) for number in each.tolist()]
    _jobs(given, answer, tasks, given.alone, stated=False)
    jobs = [job.name for job in answer.jobs]
    weight = [rational(Fraction(each.weight)) for each in answer.tenants]
    if not any(tenant.pool for tenant in given.cluster.tenants):
        weight = tenant_weights(given.cluster, given.seen, given.tree, given.alone, ())
    elif tuple(each.name for each in answer.tenants) != given.tree.names:
        weight = _by_name(given, answer)
    tenant_share = _tenant_shares(given, weight, tasks, given.alone)
    _tenants(given, answer, weight, tenant_share)
    _unrounded(given, answer, weight, tasks, given.alone, tenant_share, IN_DOUBLES)
    if answer.levels or len(set(jobs)) != len(jobs):
        raise CertificateError(f"{answer.policy} has no levels")
    return violation(given, classes, placed)


def _by_name(given: Input, answer: Allocation) -> list[fmpq]:
    weight = {each.name: rational(Fraction(each.weight)) for each in answer.tenants}
    return [weight.get(name, NONE) for name in given.tree.names]


def _jobs(
    given: Input,
    answer: Allocation,
    tasks: Sequence[fmpq],
    scale: Sequence[fmpq],
    *,
    stated: bool,
) -> None:
    _complete("job", [job.name for job in answer.jobs], given.seen.names)
    for job in answer.jobs:
        index = given.seen.job[job.name]
        holder = given.tree.names[given.tree.of_job[index]]
        if job.tenant != holder:
            raise CertificateError(f"job {job.name} is of {holder}, not of {job.tenant}")
        _same(f"the tasks of job {job.name}", job.tasks, nearest(tasks[index]))
        _same(f"the tasks alone of job {job.name}", job.alone, nearest(given.alone[index]))
        if (job.scale is not None) != stated:
            raise CertificateError(f"job {job.name} has {'no' if stated else 'a'} scale")
        unit = scale[index]
        if job.scale is not None:
            _same(f"the scale of job {job.name}", job.scale, nearest(unit))
        share = tasks[index] / unit if unit > 0 else NONE
        _same(f"the share of job {job.name}", job.share, nearest(share))


def _tenants(
    given: Input,
    answer: Allocation,
    weight: Sequence[fmpq],
    shares: Sequence[fmpq],
) -> None:
    _complete("tenant", [tenant.name for tenant in answer.tenants], given.tree.names)
    for tenant in answer.tenants:
        node = given.tree.node[tenant.name]
        above = int(given.tree.parent[node])
        if tenant.parent != (given.tree.names[above] if above >= 0 else None):
            raise CertificateError(f"the parent of tenant {tenant.name} is not {tenant.parent}")
        _same(f"the weight of tenant {tenant.name}", tenant.weight, nearest(weight[node]))
        share = nearest(shares[node])
        _same(f"the share of tenant {tenant.name}", tenant.share, share)


def _tenant_shares(
    given: Input, weight: Sequence[fmpq], tasks: Sequence[fmpq], scale: Sequence[fmpq]
) -> list[fmpq]:
    """(T,) what the jobs below each tenant have, for its weight."""
    tree = given.tree
    parts: list[list[fmpq]] = [[] for _ in tree.names]
    for own, runs, unit in zip(tree.of_job.tolist(), tasks, scale, strict=True):
        if unit > 0:
            parts[own].append(runs / unit)
    found = [NONE] * len(parts)
    for top, below in tree.nodes.items():
        for node in (*reversed(below), top):
            together = total(parts[node])
            if node != top:
                parts[int(tree.parent[node])].append(together)
            if weight[node] > 0:
                found[node] = together / weight[node]
    return found


def _unrounded(
    given: Input,
    answer: Allocation,
    weight: Sequence[fmpq],
    tasks: Sequence[fmpq],
    scale: Sequence[fmpq],
    tenant_share: Sequence[fmpq],
    within: Fraction,
) -> None:
    """The numbers before they were rounded are exactly what is proved, or where nothing is what
    doubles make of it."""
    stated, jobs, tenants = answer.unrounded, given.seen.names, given.tree.names
    if stated.within != within:
        raise CertificateError(f"the answer is said to be within {stated.within}, not {within}")
    share = [a / b if b > 0 else NONE for a, b in zip(tasks, scale, strict=True)]
    for what, names, numbers, right in (
        ("tasks", jobs, stated.tasks, tasks),
        ("unit", jobs, stated.unit, scale),
        ("share", jobs, stated.share, share),
        ("weight", tenants, stated.weight, weight),
        ("share", tenants, stated.tenant_share, tenant_share),
    ):
        if numbers.keys() != set(names):
            raise CertificateError(f"the answer does not have the {what} of each by name")
        for name, each in zip(names, right, strict=True):
            number = numbers[name]
            if within:
                _same(f"the {what} of {name}, unrounded", float(number), nearest(each))
            elif (number.numerator, number.denominator) != (int(each.p), int(each.q)):
                raise CertificateError(f"the {what} of {name}, unrounded, is not what is proved")


def _levels(given: Input, levels: Sequence[Level], filled: Filled) -> None:
    """The levels are the rounds, those of one share together."""
    names = [name for level in levels for name in level.jobs]
    if len(set(names)) != len(names):
        raise CertificateError("a job freezes at two levels")
    groups = groupby(zip(filled.levels, filled.rounds, strict=True), key=lambda each: each[0])
    right = [(level, [each for _, each in rounds]) for level, rounds in groups]
    if len(right) != len(levels):
        raise CertificateError(f"there are {len(right)} levels, not {len(levels)}")
    for shown, (exact, rounds) in zip(levels, right, strict=True):
        _same(f"the level of {', '.join(shown.jobs[:5])}", shown.share, nearest(exact))
        if set(shown.jobs) != {name for each in rounds for name in each.frozen}:
            raise CertificateError(
                f"those who freeze at the level {shown.share:.12g} are not those who are proved to"
            )
        stated = {_key(stop) for stop in shown.stopped_by}
        if len(stated) < len(shown.stopped_by):
            raise CertificateError(f"something stops the level {shown.share:.12g} twice")
        if not {_key(scarce) for each in rounds for scarce in each.scarce} <= stated:
            raise CertificateError(f"what stops the level {shown.share:.12g} is not all named")
    at = {name: index for index, level in enumerate(levels) for name in level.jobs}
    _frozen_tenants(given, levels, at)


def _key(stop: Stop | Scarce) -> Key:
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


def _same_placements(job: JobShare, proved: Mapping[int, float]) -> None:
    stated = {place.machine_class: place.tasks for place in job.placements or ()}
    if stated.keys() != proved.keys() or len(stated) != len(job.placements or ()):
        raise CertificateError(f"job {job.name} is not placed where its proof has it")
    for number, tasks in proved.items():
        _same(f"the tasks of job {job.name} on class {number}", stated[number], tasks)


def _complete(kind: str, stated: Sequence[str], names: Sequence[str]) -> None:
    if len(set(stated)) != len(stated) or set(stated) != set(names):
        raise CertificateError(f"the answer does not name every {kind} once")


def _same(what: str, stated: float, proved: float) -> None:
    if not abs(stated - proved) <= SHOWN * abs(proved):
        raise CertificateError(f"{what}: the answer says {stated:.15g}, the proof {proved:.15g}")
