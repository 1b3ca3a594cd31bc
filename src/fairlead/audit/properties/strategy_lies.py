"""Lies that a tenant could tell: about its demand, its constraint, both, its pool, and about being
one. Those that the prices point at come first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from math import ceil

import numpy as np

from fairlead.audit.finding import Input, Lie, Split
from fairlead.audit.outcome import Outcome
from fairlead.audit.properties.strategy_value import own_job, worth_of
from fairlead.model.constraint import Operator, Requirement, Selector
from fairlead.model.eligibility import holds, may_use
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.sharing.certificate.arrays import Classes, Floats, Seen, see

FACTORS = tuple(map(Fraction, ("2", "1/2", "3/2", "9/10", "11/10", "2/3", "4/3", "3", "1/3")))
"""A lie multiplies a component of a demand, or all of it, by one of these: small steps and large
ones."""

NONE = Fraction(0)

MOST_BESIDE, MOST_STEPS = 8, 12
"""So many tasks beside each other are thought of, and so many claims of each resource made."""

MOST_KINDS = 6
"""So many kinds of machines are claimed or hidden one at a time: the dearest ones."""


@dataclass(frozen=True)
class Liar:
    """A tenant that may lie: its only job, and for each kind of machines what a task of it would
    cost there by the prices (0 where there are none)."""

    tenant: str
    job: Job
    price: Floats  # (K, R) by kind of machines and resource
    cost: Floats  # (K,)
    own: Tenant | None  # as the input says it


Claimed = tuple[Lie, tuple[Liar, Job] | None]
"""A lie; and the liar with what it claims, where it is a claim of one alone."""


@dataclass(frozen=True)
class Scene:
    """The input as lies are made from it."""

    given: Input
    seen: Seen
    kinds: Classes
    members: tuple[tuple[str, ...], ...]  # the machines of each kind
    liars: tuple[Liar, ...]
    whole: bool = False  # are tasks whole?


def scene_of(outcome: Outcome) -> Scene:
    """The input with those who may lie: the tenants with one job that can run and does not
    spread."""
    given = outcome.input
    seen = see(given.cluster, given.jobs)
    kinds = seen.all_kinds
    price = _prices(outcome, seen)
    tenants = {tenant.name: tenant for tenant in given.cluster.tenants}
    members: list[list[str]] = [[] for _ in seen.kinds]
    for machine, kind in zip(seen.machines, seen.kind, strict=True):
        members[kind].append(machine.name)
    liars = [
        Liar(name, job, price, price @ seen.demand[seen.job[job.name]], tenants.get(name))
        for name, job in _may_lie(given, seen, kinds)
    ]
    return Scene(given, seen, kinds, tuple(map(tuple, members)), tuple(liars), outcome.whole)


def _may_lie(given: Input, seen: Seen, kinds: Classes) -> Iterator[tuple[str, Job]]:
    """The tenants who may lie, with their jobs."""
    for name in dict.fromkeys(job.tenant or job.name for job in given.jobs):
        job = own_job(given, name)
        if job is not None and not job.spread and kinds.runs[seen.job[job.name]]:
            yield name, job


def _prices(outcome: Outcome, seen: Seen) -> Floats:
    """(K, R) what one unit costs on each kind of machines, over all levels (or by the market)."""
    price = np.zeros((len(seen.kinds), len(seen.resources)))
    classes = {each.index: each.machines for each in outcome.allocation.classes}
    levels = outcome.allocation.levels
    for stop in (*(s for level in levels for s in level.stopped_by), *outcome.allocation.prices):
        if stop.machine_class in classes and stop.resource in seen.resource:
            for kind in np.unique(
                [seen.kind[seen.machine[m]] for m in classes[stop.machine_class]]
            ):
                price[kind, seen.resource[stop.resource]] += stop.price
    return price


def directed(scene: Scene, liar: Liar) -> list[Job]:
    """The lies about constraints, then those about the demand, then of both the first few."""
    constraints = list(dict.fromkeys(_constraints(scene, liar)))
    demands = list(dict.fromkeys(_demands(scene, liar)))
    if scene.whole:
        demands = [lie for lie in demands if not too_small(lie, liar.job)]
        pairs = zip_longest(demands, (lie for lie in _steps(scene, liar) if lie not in demands))
        demands = [lie for pair in pairs for lie in pair if lie is not None]
    both = [_both(where, need) for where in constraints[:2] for need in demands[:6]]
    # One kind of lie after the other, so that the first ones are of every kind.
    mixed: list[Job] = []
    for row in range(max(len(constraints), len(demands), len(both))):
        mixed += [lies[row] for lies in (constraints, demands, both) if row < len(lies)]
    return [lie for lie in dict.fromkeys(mixed) if lie != liar.job]


def _both(where: Job, need: Job) -> Job:
    return replace(need, where=where.where, machines=where.machines, exclude=where.exclude)


# Here and below: lies are the same jobs under each policy that is asked about an input, and only
# their order is another; few are told, and to make one takes longer than all else about it.
@lru_cache(maxsize=4096)
def _open(job: Job, machines: tuple[str, ...] | None) -> Job:
    """The job with these machines and no other constraint."""
    return replace(job, where=Selector(), machines=machines, exclude=())


def _constraints(scene: Scene, liar: Liar) -> Iterator[Job]:
    """Everything claimed; each kind of machines claimed, or hidden, or alone; one machine of a
    kind; each part of the constraint left out; each label asked for."""
    job = liar.job
    at = scene.seen.job[job.name]
    allowed = scene.seen.allowed[at]
    by_cost = [int(k) for k in np.argsort(-liar.cost, kind="stable")]
    closed = [k for k in by_cost if not allowed[k]]
    open_ = [k for k in by_cost if allowed[k]]

    def machines(kinds: list[int]) -> tuple[str, ...]:
        wanted = {name for k in kinds for name in scene.members[k]}
        return tuple(m.name for m in scene.seen.machines if m.name in wanted)

    if closed:
        yield _open(job, None)
    for row in range(MOST_KINDS):
        if row < len(closed):
            yield _open(job, machines([*open_, closed[row]]))
        if row < len(open_) and len(open_) > 1:
            hidden = open_[row]
            yield _open(job, machines([k for k in open_ if k != hidden]))
            yield _open(job, machines([hidden]))
    for k in open_[:MOST_KINDS]:
        if len(scene.members[k]) > 1:
            yield replace(job, exclude=(*job.exclude, scene.members[k][0]))
    yield from with_other_terms(scene, job, MOST_KINDS)


def with_other_terms(scene: Scene, job: Job, most: int | None = None) -> Iterator[Job]:
    """The job with each part of its constraint left out, and with each label asked for: of these
    `most`."""
    parts = job.where.requirements
    for part in parts:
        yield replace(job, where=Selector(other for other in parts if other is not part))
    if job.machines is not None:
        yield replace(job, machines=None)
    if job.exclude:
        yield replace(job, exclude=())
    examples = [scene.seen.machines[first] for first in scene.seen.kinds]
    labels = {(key, str(value)) for machine in examples for key, value in machine.labels.items()}
    for key, value in sorted(labels)[:most]:
        yield replace(job, where=Selector([*parts, Requirement(key, Operator.EQUAL, [value])]))


def _demands(scene: Scene, liar: Liar) -> Iterator[Job]:
    """The scarce components up and down, all of it together (splitting and merging tasks), what is
    not needed, and what makes a component the dominant one."""
    job = liar.job
    total = scene.kinds.total.sum(axis=0)
    weight = liar.price.sum(axis=0) * total
    order = [scene.seen.resources[int(r)] for r in np.argsort(-weight, kind="stable")]
    part = {
        r: job.demand.get(r, Fraction(0)) / Fraction(float(total[scene.seen.resource[r]]))
        for r in order
        if total[scene.seen.resource[r]] > 0
    }
    most = max(part.values())
    for factor in FACTORS[:2]:
        yield scale_tasks(job, factor)
    for r, own in part.items():
        amount = most * Fraction(float(total[scene.seen.resource[r]]))
        amount = amount.limit_denominator(1000) or Fraction(1, 1000)
        if own < most:
            yield with_amounts(job, {r: amount})
            yield with_amounts(job, {r: (job.demand.get(r, Fraction(0)) + amount) / 2})
    for factor in FACTORS:
        for r in part:
            if job.demand.get(r):
                yield with_amounts(job, {r: job.demand[r] * factor})
    for factor in FACTORS[2:]:
        yield scale_tasks(job, factor)


def too_small(claim: Job, true: Job) -> bool:
    """Is the claimed task so small that no true one fits into its container? Then it is of no use
    to ask for it where tasks are whole (CDRF, section 2.1)."""
    return worth_of(claim, true, whole=True) < 1


def _steps(scene: Scene, liar: Liar) -> Iterator[Job]:
    """Claims by which a whole number of tasks just fits beside whole tasks of another: where whole
    tasks are counted, that is where something changes (the lie of CDRF's Theorem 2.2 is one)."""
    job = liar.job
    rows: list[list[Job]] = []
    for r, own in job.demand.items():
        if not own:
            continue
        found: set[Fraction] = set()
        others = {other.demand.get(r, Fraction(0)) for other in scene.given.jobs if other != job}
        for first in scene.seen.kinds:
            has = scene.seen.machines[first].capacity.get(r, Fraction(0))
            for need in others | {Fraction(0)}:
                beside = min(MOST_BESIDE, int(has / need)) if need else 0
                for number in range(beside + 1):
                    left = has - number * need
                    found |= {left / k for k in range(1, int(left / own) + 1)[:MOST_BESIDE]}
                    found |= {left / k for k in range(1, int(left / own) + 1)[-MOST_BESIDE:]}
        rows.append([with_amounts(job, {r: it}) for it in sorted(found - {own})[:MOST_STEPS]])
    # One of each resource after the other, so that the first ones are of every resource.
    for step in range(MOST_STEPS):
        yield from (row[step] for row in rows if step < len(row))


def with_amounts(job: Job, amounts: dict[str, Fraction]) -> Job:
    """The job with these components of its demand instead."""
    return _demanding(job, FrozenMap({**job.demand, **amounts}))


@lru_cache(maxsize=4096)
def _demanding(job: Job, demand: FrozenMap[Fraction]) -> Job:
    return replace(job, demand=demand)


@lru_cache(maxsize=4096)
def scale_tasks(job: Job, factor: Fraction) -> Job:
    """As much work in tasks of another size: below 1 each task is split, above 1 tasks merge."""
    tasks = None if job.tasks is None else Fraction(ceil(job.tasks / factor))
    demand = FrozenMap({r: need * factor for r, need in job.demand.items()})
    return replace(job, demand=demand, tasks=tasks)


def in_small_tasks(job: Job, machines: Sequence[Machine]) -> Job:
    """As much work in tasks of which a whole one fits on some machine, where parts of one do: who
    asks for larger ones can never run, and shares do not depend on the size of tasks."""
    most = max((holds(job, m) for m in machines if may_use(job, m)), default=NONE)
    return scale_tasks(job, Fraction(1, ceil(1 / most))) if 0 < most < 1 else job


def draw_lie(scene: Scene, liar: Liar, draw: np.random.Generator) -> Job:
    """A lie at random about several things at once."""
    job = liar.job
    if draw.random() < 0.6:
        amounts = dict(job.demand)
        for r in scene.seen.resources:
            if draw.random() < 0.5:
                now = amounts.get(r) or Fraction(int(draw.integers(1, 5)), 4)
                amounts[r] = now * FACTORS[int(draw.integers(len(FACTORS)))]
        job = with_amounts(job, amounts)
    if draw.random() < 0.3:
        job = scale_tasks(job, FACTORS[int(draw.integers(len(FACTORS)))])
    if draw.random() < 0.5 or job == liar.job:
        kept = [k for k in range(len(scene.members)) if draw.random() < 0.5]
        kept = kept or [int(draw.integers(len(scene.members)))]
        names = {name for k in kept for name in scene.members[k]}
        if names != {m.name for m in scene.seen.machines if may_use(liar.job, m)}:
            job = _open(job, tuple(m.name for m in scene.seen.machines if m.name in names))
    if job.tasks is not None and draw.random() < 0.2:
        job = replace(job, tasks=None if draw.random() < 0.5 else job.tasks * 2)
    return job


def lie_of(*claims: tuple[Liar, Job], tenants: tuple[Tenant, ...] = ()) -> Lie:
    return Lie(
        tuple(liar.tenant for liar, _ in claims), tuple(claim for _, claim in claims), tenants
    )


def smaller_pools(liar: Liar) -> Iterator[Lie]:
    """The tenant says that it brought one machine less: its weight changes."""
    own = liar.own
    if own is not None and own.pool is not None and len(own.pool) > 1:
        for name in own.pool[:MOST_KINDS]:
            rest = tuple(other for other in own.pool if other != name)
            yield lie_of((liar, liar.job), tenants=(replace(own, pool=rest),))


def larger_pools(scene: Scene, liar: Liar) -> Iterator[Lie]:
    """The tenant says that it brought a machine that is nobody's: the dearest first."""
    own = liar.own
    if own is None or own.pool is None:
        return
    owned = {name for tenant in scene.given.cluster.tenants for name in tenant.pool or ()}
    free = [
        name
        for k in np.argsort(-liar.cost, kind="stable")
        for name in scene.members[int(k)]
        if name not in owned
    ]
    for name in free[:2]:
        yield lie_of((liar, liar.job), tenants=(replace(own, pool=(*own.pool, name)),))


def unusable_pools(given: Input) -> list[str]:
    """Who may lie and brought a machine on which its job cannot run: TSF's Theorem 3, strategy
    proofness with weights from pools, does not cover them."""
    seen = see(given.cluster, given.jobs)
    kinds = seen.all_kinds
    pools = {tenant.name: tenant.pool or () for tenant in given.cluster.tenants}
    found = []
    for name, job in _may_lie(given, seen, kinds):
        at = [int(seen.kind[seen.machine[each]]) for each in pools.get(name, ())]
        if not kinds.usable[seen.job[job.name], at].all():
            found.append(name)
    return found


def splits(scene: Scene, liar: Liar) -> Iterator[Split]:
    """The tenant comes as two with half its weight each: alike, or each with a part of its
    machines, the dearest apart. A tenant that brought a pool or has a limit is left out."""
    own = liar.own
    if own is not None and (own.pool is not None or own.limit):
        return
    if any(tenant.parent == liar.tenant for tenant in scene.given.cluster.tenants):
        return
    allowed = scene.seen.allowed[scene.seen.job[liar.job.name]]
    kinds = [int(k) for k in np.argsort(-liar.cost, kind="stable") if allowed[k]]
    names = {job.tenant or job.name for job in scene.given.jobs}
    names |= {job.name for job in scene.given.jobs}
    names |= {tenant.name for tenant in scene.given.cluster.tenants}
    fresh = [f"part{i}" for i in range(len(names) + 2) if f"part{i}" not in names][:2]
    weight = Fraction(1) if own is None or own.weight is None else own.weight
    tenants = tuple(
        Tenant(name, weight=weight / 2, parent=None if own is None else own.parent)
        for name in fresh
    )
    divided: list[tuple[Job, Job]] = [(liar.job, liar.job)]
    for k in kinds[:MOST_KINDS] if len(kinds) > 1 else ():
        rest = tuple(name for other in kinds if other != k for name in scene.members[other])
        divided.append((_open(liar.job, scene.members[k]), _open(liar.job, rest)))
    for pair in divided:
        jobs = tuple(
            replace(job, name=name, tenant=name) for job, name in zip(pair, fresh, strict=True)
        )
        yield Split(liar.tenant, jobs, tenants)
