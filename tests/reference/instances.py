"""Small adversarial clusters: ties, zeros, copies, odd units, jobs that can run nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from hypothesis import strategies as st

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from tests.reference.scales import can_never_run, holds, may_use

RESOURCES = ("cpu", "memory", "gpu")
UNITS = [Fraction(1)] * 6 + [Fraction(2**40), Fraction(1, 10**6), Fraction(1, 3)]
WEIGHTS = [Fraction(1), Fraction(1), Fraction(2), Fraction(3), Fraction(1, 2), Fraction(7, 3)]


@dataclass(frozen=True)
class Kind:
    """The things that an instance may hold."""

    finite: bool = True
    spread: bool = True
    tenants: bool = True  # weights and trees of tenants with several jobs
    pools: bool = True
    limits: bool = True
    zeros: bool = True  # demands of 0
    nowhere: bool = True  # jobs that can run nowhere
    machines: int = 4
    jobs: int = 5


EVERYTHING = Kind()
PLAIN = Kind(finite=False, spread=False, tenants=False, pools=False, limits=False)

Instance = tuple[Cluster, tuple[Job, ...]]


def instance(random: Random, kind: Kind = EVERYTHING) -> Instance:
    """A random cluster with jobs. The same for the same state of `random`."""
    resources = RESOURCES[: random.randint(1, 3)]
    unit = {resource: random.choice(UNITS) for resource in resources}
    machines = _machines(random, kind, resources, unit)
    jobs = _jobs(random, kind, machines, resources, unit)
    tenants: Sequence[Tenant] = ()
    if kind.pools and random.random() < 0.25:
        tenants, jobs = _pools(random, kind, machines, jobs, unit)
    elif kind.tenants and random.random() < 0.5:
        tenants, jobs = _tree(random, kind, jobs, unit)
    return Cluster(machines, tenants), tuple(jobs)


def instances(kind: Kind = EVERYTHING) -> st.SearchStrategy[Instance]:
    """The same as a strategy, which can shrink what it finds."""
    return st.builds(lambda random: instance(random, kind), st.randoms(use_true_random=False))


def _machines(
    random: Random, kind: Kind, resources: Sequence[str], unit: dict[str, Fraction]
) -> list[Machine]:
    machines: list[Machine] = []
    for index in range(random.randint(1, kind.machines)):
        if machines and random.random() < 0.3:
            like = random.choice(machines)
            capacity, labels = dict(like.capacity), dict(like.labels)
        else:
            capacity = {r: random.choice([0, 1, 2, 2, 3, 4, 6]) * unit[r] for r in resources}
            labels = {"zone": random.choice("ab")}
        machines.append(Machine(f"m{index}", capacity, labels))
    return machines


def _jobs(
    random: Random,
    kind: Kind,
    machines: Sequence[Machine],
    resources: Sequence[str],
    unit: dict[str, Fraction],
) -> list[Job]:
    amounts = [Fraction(1, 2), Fraction(1), Fraction(1), Fraction(2), Fraction(3)]
    jobs: list[Job] = []
    for index in range(random.randint(1, kind.jobs)):
        if jobs and random.random() < 0.2:
            demand = dict(random.choice(jobs).demand)
        else:
            demand = {r: random.choice(amounts) * unit[r] for r in resources}
            for r in resources[1:]:
                if kind.zeros and random.random() < 0.3:
                    demand[r] = Fraction(0)
            if kind.zeros and len(resources) > 1 and demand[resources[1]] and random.random() < 0.2:
                demand[resources[0]] = Fraction(0)
        names = [machine.name for machine in machines]
        some = random.sample(names, random.randint(1, len(names)))
        odds = random.random()
        job = Job(
            f"j{index}",
            demand,
            tasks=random.randint(1, 5) if kind.finite and random.random() < 0.25 else None,
            spread=kind.spread and random.random() < 0.15,
            machines=some if 0.4 < odds < 0.75 else None,
            exclude=some if odds > 0.85 else (),
            where="zone = a" if 0.75 < odds < 0.85 else "",
        )
        if kind.nowhere or not can_never_run(Cluster(machines), job):
            jobs.append(job)
    return jobs


def _limit(random: Random, kind: Kind, unit: dict[str, Fraction]) -> dict[str, Fraction]:
    if not kind.limits or random.random() < 0.6:
        return {}
    resource = random.choice(sorted(unit))
    return {resource: random.choice([Fraction(1), Fraction(2), Fraction(3)]) * unit[resource]}


def _tree(
    random: Random, kind: Kind, jobs: Sequence[Job], unit: dict[str, Fraction]
) -> tuple[list[Tenant], list[Job]]:
    """Tenants with weights; some below others, some with no job."""
    tenants: list[Tenant] = []
    for index in range(random.randint(1, 4)):
        parent = random.choice([None, *(tenant.name for tenant in tenants)])
        tenants.append(
            Tenant(
                f"t{index}",
                weight=random.choice([None, *WEIGHTS]),
                parent=parent,
                limit=_limit(random, kind, unit),
            )
        )
    owner = [random.choice([None, *(tenant.name for tenant in tenants)]) for _ in jobs]
    owned = [
        job if name is None else replace(job, tenant=name)
        for job, name in zip(jobs, owner, strict=True)
    ]
    return tenants, owned


def _pools(
    random: Random,
    kind: Kind,
    machines: Sequence[Machine],
    jobs: Sequence[Job],
    unit: dict[str, Fraction],
) -> tuple[list[Tenant], list[Job]]:
    """Tenants with disjoint pools, in each of which each of its jobs that can run anywhere runs."""
    pools: dict[str, list[Machine]] = {}
    for machine in machines:
        pools.setdefault(f"t{random.randint(0, 2)}", []).append(machine)
    owned: list[Job] = []
    used: set[str] = set()
    for job in jobs:
        fits = [
            name
            for name, pool in pools.items()
            if any(may_use(job, m) and holds(job, m) > 0 for m in pool)
            and (kind.tenants or name not in used)
        ]
        if fits:
            name = random.choice(sorted(fits))
            used.add(name)
            owned.append(replace(job, tenant=name))
    tenants = [
        Tenant(name, pool=[m.name for m in pool], limit=_limit(random, kind, unit))
        for name, pool in sorted(pools.items())
        if name in used
    ]
    return tenants, owned
