"""A forger of proofs: it changes one, then mends it by whatever the check says against it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

from fairlead.model.errors import CertificateError, FairleadError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.proof import Places, Proof, Round, Scarce
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.sharing.allocate import allocate

Input = tuple[Cluster, tuple[Job, ...]]

PARTS = (Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 3), Fraction(1))
"""The part of its tasks that a job is to lose."""

MENDED = 12
"""Objections that an adversary answers before he gives a forgery up."""


def changed(proof: Proof, given: Input, random: Random) -> Proof:
    """The proof with one thing in its structure changed at random."""
    moves = [_frozen, _order, _scarce, _even, _places, _full]
    if proof.pools:
        moves.append(_pool)
    return random.choice(moves)(proof, given, random)


def wished(
    given: Input, policy: str, right: dict[str, float], random: Random
) -> Iterator[tuple[Proof, str]]:
    """Proofs of exact fillings in which a job has less than its share by a part of `PARTS`, with
    everything that tells of that put otherwise in many ways; and the job."""
    cluster, jobs = given
    for index, job in enumerate(jobs):
        held = Fraction(right.get(job.name, 0.0))
        if not held or job.tenant is not None:
            continue
        resource, need = next((r, need) for r, need in job.demand.items() if need)
        # A tenant for this job alone: a limit may be any fraction, a number of tasks may not.
        most = held * (1 - random.choice(PARTS)) * need
        holder = Tenant(f"of {job.name}", limit={resource: most.limit_denominator(10**40)})
        own = replace(job, tenant=holder.name)
        other = Cluster(cluster.machines, (*cluster.tenants, holder))
        try:
            wish = allocate(other, (*jobs[:index], own, *jobs[index + 1 :]), policy).proof
        except FairleadError:
            continue
        assert wish is not None
        for forged in _told_otherwise(wish, holder.name, given, random):
            yield forged, job.name


def _told_otherwise(wish: Proof, holder: str, given: Input, random: Random) -> Iterator[Proof]:
    """The limit of a tenant that there is not replaced by things that there are."""
    rounds = wish.rounds
    for at, each in enumerate(rounds):
        if not any(scarce.tenant == holder for scarce in each.scarce):
            continue
        before, after = rounds[:at], rounds[at + 1 :]
        for near in range(len(rounds)):
            if near == at:
                continue
            with_it = replace(rounds[near], frozen=(*rounds[near].frozen, *each.frozen))
            joined = (*rounds[:near], with_it, *rounds[near + 1 :])
            yield replace(wish, rounds=joined[:at] + joined[at + 1 :])
            same = replace(each, scarce=rounds[near].scarce, even=rounds[near].even)
            yield replace(wish, rounds=(*before, same, *after))
        things = list(_things(wish, given))
        for scarce in random.sample(things, min(3, len(things))):
            yield replace(wish, rounds=(*before, replace(each, scarce=(scarce,)), *after))
        yield replace(wish, rounds=before + after)


def believed(given: Input, policy: str, random: Random) -> Iterator[Proof]:
    """Proofs of exact fillings of what is not so in one respect: where a job may run, what it
    needs, that it spreads, how many tasks it has, what its tenant is limited to."""
    cluster, jobs = given
    for index, job in enumerate(jobs):
        like = random.choice(jobs).demand
        less = dict(job.demand) | {random.choice(list(job.demand)): 0}
        lies: tuple[dict[str, Any], ...] = (
            {"where": "", "machines": None, "exclude": ()},
            {"tasks": None, "spread": False},
            {"demand": like},
            {"demand": less},
        )
        for lie in lies:
            try:
                other = replace(job, **lie)
            except FairleadError:
                continue  # a job that needs nothing
            wrong = (*jobs[:index], other, *jobs[index + 1 :])
            yield from _proofs((cluster, wrong), policy)
    for index, tenant in enumerate(cluster.tenants):
        if tenant.limit:
            other_tenant = replace(tenant, limit=FrozenMap())
            tenants = (*cluster.tenants[:index], other_tenant, *cluster.tenants[index + 1 :])
            yield from _proofs((Cluster(cluster.machines, tenants), jobs), policy)


def other_weights(
    given: Input,
    proof: Proof,
    scale: dict[str, Fraction],
    weights: dict[str, Fraction],
    random: Random,
) -> Iterator[Proof]:
    """Proofs of exact fillings in which a tenant weighs what its pool gives at some corner, and
    the others what they should, with that corner as what the pool could give it."""
    cluster, jobs = given
    by_name = {job.name: job for job in jobs}
    for at, pool in enumerate(proof.pools):
        tenant = next(each for each in cluster.tenants if each.name == pool.tenant)
        names = sorted({name for places in pool.places for name in places.jobs})
        pairs = [(name, each.index) for name in names for each in pool.classes]
        things = list(_things(replace(proof, classes=pool.classes), given))
        size = random.randint(1, min(3, len(pairs), len(things)))
        places, scarce = random.sample(pairs, size), random.sample(things, size)
        rows = [[_takes(each, by_name[j], c) for j, c in places] for each in scarce]
        count = {
            each.index: sum(name in (tenant.pool or ()) for name in each.machines)
            for each in pool.classes
        }
        example = {each.index: each.machines[0] for each in pool.classes}
        there = [_there_is(each, given, count, example) for each in scarce]
        amounts = _solved(rows, there)
        if amounts is None:
            continue
        weight = sum((x / scale[j] for (j, _), x in zip(places, amounts, strict=True)), Fraction(0))
        if not weight > 0:
            continue
        weighing = weights | {tenant.name: weight}
        # Siblings have all weights, or all pools.
        tenants = tuple(
            Tenant(each.name, weight=weighing[each.name], parent=each.parent, limit=each.limit)
            if each.pool
            else each
            for each in cluster.tenants
        )
        corner = replace(
            pool,
            share=float(weight),
            places=tuple(Places((j,), (c,)) for j, c in places),
            scarce=tuple(scarce),
        )
        for other in _proofs((Cluster(cluster.machines, tenants), jobs), proof.policy):
            yield replace(other, pools=(*proof.pools[:at], corner, *proof.pools[at + 1 :]))


def _proofs(given: Input, policy: str) -> Iterator[Proof]:
    try:
        proof = allocate(*given, policy).proof
    except FairleadError:
        return  # no input: pools beside weights, say, or a scale that does not exist
    assert proof is not None
    yield proof


def _takes(scarce: Scarce, job: Job, number: int) -> Fraction:
    if scarce.job is not None:
        same = scarce.machine_class in (None, number) and scarce.job == job.name
        return Fraction(same)
    if scarce.machine_class in (None, number):
        return Fraction(job.demand.get(scarce.resource or "", 0))
    return Fraction(0)


def _there_is(
    scarce: Scarce, given: Input, count: dict[int, int], example: dict[int, str]
) -> Fraction:
    cluster, jobs = given
    if scarce.tenant is not None:
        limit = next(each.limit for each in cluster.tenants if each.name == scarce.tenant)
        return Fraction(limit[scarce.resource or ""])
    if scarce.machine_class is None:
        job = next(job for job in jobs if job.name == scarce.job)
        return Fraction(job.tasks or 0)
    if scarce.job is not None:
        return Fraction(count[scarce.machine_class])
    like = example[scarce.machine_class]
    machine = next(each for each in cluster.machines if each.name == like)
    return machine.capacity.get(scarce.resource or "", Fraction(0)) * count[scarce.machine_class]


def _solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """The solution of a small square system; None where there is not just one."""
    lines = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for column in range(len(lines)):
        at = next((i for i in range(column, len(lines)) if lines[i][column]), None)
        if at is None:
            return None
        lines[column], lines[at] = lines[at], lines[column]
        pivot = lines[column] = [x / lines[column][column] for x in lines[column]]
        for i, line in enumerate(lines):
            if i != column:
                lines[i] = [x - line[column] * y for x, y in zip(line, pivot, strict=True)]
    return [line[-1] for line in lines]


def mended(forged: Proof, check: Callable[[Proof], object]) -> Proof | None:
    """The answer that the check accepts in the end, of a proof that is changed as its objections
    ask for; None where it is never content."""
    for _ in range(MENDED):
        try:
            check(forged)
        except CertificateError as objection:
            better = _answered(forged, str(objection))
            if better is None or better == forged:
                return None
            forged = better
        else:
            return forged
    return None


def _answered(proof: Proof, objection: str) -> Proof | None:
    """The proof with what the objection asks for."""
    if match := re.fullmatch(r"round (\d+): its share is .*, and its prices say (.*)", objection):
        level = float(match[2])
        return _round(proof, int(match[1]), lambda r: replace(r, share=level))
    if match := re.fullmatch(r"the pool of (\S+): its share is .*, .* say (.*)", objection):
        tenant, share = match[1], float(match[2])
        pools = (replace(p, share=share) if p.tenant == tenant else p for p in proof.pools)
        return replace(proof, pools=tuple(pools))
    if match := re.fullmatch(r"round (\d+): job (\S+) freezes, but .*", objection):
        name = match[2]
        return _round(
            proof,
            int(match[1]),
            lambda r: replace(r, frozen=tuple(n for n in r.frozen if n != name)),
        )
    if match := re.fullmatch(r"round (\d+): job (\S+) has a price and does not .*", objection):
        name = match[2]
        return _round(proof, int(match[1]), lambda r: replace(r, frozen=(*r.frozen, name)))
    if match := re.fullmatch(r"job (\S+) is said to run .* tasks, .* give it (.*)", objection):
        tasks = dict(proof.tasks) | {match[1]: float(match[2])}
        return replace(proof, tasks=tuple((n, x) for n, x in tasks.items() if x))
    if match := re.fullmatch(r"job (\S+) has tasks, and no place", objection):
        place = Places((match[1],), (proof.classes[0].index,))
        return replace(proof, places=(*proof.places, place))
    if match := re.fullmatch(r"round (\d+): nobody who rises has a price", objection):
        at = int(match[1]) - 1
        return replace(proof, rounds=proof.rounds[:at] + proof.rounds[at + 1 :])
    if match := re.fullmatch(r"round (\d+): its level is below that of .*", objection):
        at = int(match[1]) - 1
        rounds = list(proof.rounds)
        rounds[at - 1 : at + 1] = [rounds[at], rounds[at - 1]]
        return replace(proof, rounds=tuple(rounds))
    return None


def _round(proof: Proof, number: int, change: Callable[[Round], Round]) -> Proof:
    at = number - 1
    return replace(
        proof, rounds=(*proof.rounds[:at], change(proof.rounds[at]), *proof.rounds[at + 1 :])
    )


def _things(proof: Proof, given: Input) -> Iterator[Scarce]:
    """Everything that may be scarce, and some that may not."""
    cluster, jobs = given
    resources = sorted({r for job in jobs for r, need in job.demand.items() if need})
    for each in proof.classes:
        for resource in resources:
            yield Scarce(machine_class=each.index, resource=resource)
        for job in jobs:
            if job.spread:
                yield Scarce(machine_class=each.index, job=job.name)
    for tenant in cluster.tenants:
        for resource in tenant.limit:
            yield Scarce(tenant=tenant.name, resource=resource)
    for job in jobs:
        if job.tasks is not None or job.spread:
            yield Scarce(job=job.name)


def _thing(proof: Proof, given: Input, random: Random) -> Scarce:
    return random.choice(list(_things(proof, given)))


def _frozen(proof: Proof, _: Input, random: Random) -> Proof:
    """A job freezes in another round, or in one of its own."""
    source = random.randrange(len(proof.rounds))
    job = random.choice(proof.rounds[source].frozen)
    left = tuple(name for name in proof.rounds[source].frozen if name != job)
    rounds = [replace(r, frozen=left) if i == source else r for i, r in enumerate(proof.rounds)]
    to = random.randrange(len(rounds))
    if random.random() < 0.5:
        rounds[to] = replace(rounds[to], frozen=(*rounds[to].frozen, job))
    else:
        rounds.insert(to, replace(rounds[source], frozen=(job,), scarce=rounds[to].scarce))
    return replace(proof, rounds=tuple(r for r in rounds if r.frozen))


def _order(proof: Proof, _: Input, random: Random) -> Proof:
    """Rounds in another order, one of them twice, or two of them as one."""
    rounds = list(proof.rounds)
    kind = random.randrange(3)
    first, second = random.randrange(len(rounds)), random.randrange(len(rounds))
    if kind == 0:
        rounds[first], rounds[second] = rounds[second], rounds[first]
    elif kind == 1:
        rounds.insert(second, rounds[first])
    elif first != second:
        one, other = rounds[first], rounds[second]
        rounds[first] = replace(
            one,
            frozen=(*one.frozen, *other.frozen),
            scarce=_once(one.scarce + other.scarce),
            even=one.even + other.even,
        )
        del rounds[second]
    return replace(proof, rounds=tuple(rounds))


def _once(things: Sequence[Scarce]) -> tuple[Scarce, ...]:
    return tuple(dict.fromkeys(things))


def _scarce(proof: Proof, given: Input, random: Random) -> Proof:
    number = random.randrange(len(proof.rounds)) + 1
    return _round(proof, number, lambda r: replace(r, scarce=_rows(r.scarce, proof, given, random)))


def _rows(
    rows: tuple[Scarce, ...], proof: Proof, given: Input, random: Random
) -> tuple[Scarce, ...]:
    """With one more, without one of them, or with another in its place."""
    kind = random.randrange(3)
    if kind and rows:
        gone = random.randrange(len(rows))
        rows = rows[:gone] + rows[gone + 1 :]
    return rows if kind == 1 else _once((*rows, _thing(proof, given, random)))


def _even(proof: Proof, given: Input, random: Random) -> Proof:
    number = random.randrange(len(proof.rounds)) + 1
    numbers = [each.index for each in proof.classes]

    def change(each: Round) -> Round:
        even = list(each.even)
        if even and random.random() < 0.5:
            del even[random.randrange(len(even))]
        if len(numbers) > 1 and random.random() < 0.7:
            two = random.sample(numbers, random.randint(2, len(numbers)))
            even.append(Places((random.choice(given[1]).name,), tuple(two)))
        return replace(each, even=tuple(even))

    return _round(proof, number, change)


def _places(proof: Proof, _: Input, random: Random) -> Proof:
    """A job elsewhere, without those that were beside it, or with others."""
    if not proof.places:
        return proof
    at = random.randrange(len(proof.places))
    entry, others = proof.places[at], [*proof.places[:at], *proof.places[at + 1 :]]
    numbers = [each.index for each in proof.classes]
    kind = random.randrange(3)
    if kind == 0 and others:
        other = others.pop(random.randrange(len(others)))
        classes = random.choice([entry.classes, other.classes])
        new = [Places(entry.jobs + other.jobs, classes)]
    elif kind == 1 and len(entry.jobs) > 1:
        new = [Places(entry.jobs[:1], entry.classes), Places(entry.jobs[1:], entry.classes)]
    else:
        some = tuple(random.sample(numbers, random.randint(1, len(numbers))))
        new = [replace(entry, classes=some)]
    return replace(proof, places=(*new, *others))


def _full(proof: Proof, given: Input, random: Random) -> Proof:
    return replace(proof, full=_rows(proof.full, proof, given, random))


def _pool(proof: Proof, given: Input, random: Random) -> Proof:
    """Another weight: what the pool would give at another corner, or is said to give."""
    at = random.randrange(len(proof.pools))
    pool = proof.pools[at]
    names = sorted({name for places in pool.places for name in places.jobs})
    numbers = [each.index for each in pool.classes]
    kind = random.randrange(4)
    if kind == 0:
        pool = replace(pool, share=pool.share * random.choice([0.5, 1 - 1e-12, 1 + 1e-12, 2]))
    elif kind == 1:
        pool = replace(pool, scarce=_rows(pool.scarce, proof, given, random))
    elif names and numbers:
        pairs = [(name, number) for name in names for number in numbers]
        size = random.randint(1, min(3, len(pairs)))
        things = list(_things(replace(proof, classes=pool.classes), given))
        pool = replace(
            pool,
            places=tuple(Places((j,), (c,)) for j, c in random.sample(pairs, size)),
            scarce=tuple(random.sample(things, min(size, len(things)))),
        )
    pools = (*proof.pools[:at], pool, *proof.pools[at + 1 :])
    return replace(proof, pools=pools)
