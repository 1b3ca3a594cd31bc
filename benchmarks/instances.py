"""Seeded random instances: the same one as arrays for the solvers and as a model for the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.problem.problem import Bools, Floats, Ints, Problem, Tree, tasks_that_fit

NAMED_RESOURCES = ("cpu", "memory", "gpu", "disk")
CLASS_LABEL = "class"
_SPREAD = 1 / 30  # of the jobs of `spread`, which are those of `labels` otherwise


class Kind(Enum):
    """The character of an instance; the docstring of each maker describes it."""

    CONTINUOUS = "continuous"
    DISCRETE = "discrete"
    LOCAL = "local"
    BALANCED = "balanced"
    FEW_CLASSES = "few-classes"
    CHAINS = "chains"
    LABELS = "labels"
    SPREAD = "spread"


@dataclass(frozen=True)
class Spec:
    """Everything that an instance depends on: the same spec is the same instance."""

    kind: Kind
    tenants: int
    classes: int
    resources: int = 4
    machines: int = 1000
    seed: int = 1

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Spec:
        """The spec that `written` (as `as_dict` gives it) describes."""
        return cls(**{**written, "kind": Kind(written["kind"])})

    def as_dict(self) -> dict[str, Any]:
        """The spec in plain values, for JSON and the command line of a fresh process."""
        return {**asdict(self), "kind": self.kind.value}


@dataclass(frozen=True)
class Draw:
    """The numbers of an instance. All are short decimals, so that text, model and arrays agree."""

    demand: Floats  # (J, R)
    weight: Floats  # (J,)
    capacity: Floats  # (C, R) of one machine
    count: Ints  # (C,)
    eligible: Bools  # (J, C)
    tasks: Floats  # (J,)
    spread: Bools  # (J,)


def draw(spec: Spec) -> Draw:
    """The instance's numbers. Every job has a class that it may use and that can hold it."""
    random = np.random.default_rng([spec.seed, spec.tenants, spec.classes, spec.resources])
    demand, capacity, eligible = _MAKERS[spec.kind](spec, random)
    possible = _holds(demand, capacity) > 0
    for job in np.flatnonzero(~(eligible & possible).any(axis=1)):
        choices = np.flatnonzero(possible[job])
        if len(choices) == 0:  # nothing has all that it wants: it then wants only the first thing
            demand[job, 1:] = 0
            choices = np.arange(spec.classes)
        eligible[job, random.choice(choices)] = True
    weight = random.choice([1.0, 2.0, 4.0], size=spec.tenants, p=[0.6, 0.3, 0.1])
    count = _counts(spec, random)
    if spec.kind in (Kind.CONTINUOUS, Kind.BALANCED):
        capacity = _short(capacity * _balancing(demand, weight, capacity, count))
    tasks = np.full(spec.tenants, np.inf)
    if spec.kind in (Kind.LABELS, Kind.SPREAD):
        tasks = random.choice([np.inf, 5.0, 20.0, 100.0], size=spec.tenants)
    spread = np.zeros(spec.tenants, dtype=np.bool_)
    if spec.kind is Kind.SPREAD:
        spread = random.random(spec.tenants) < _SPREAD
    return Draw(demand, weight, capacity, count, eligible, tasks, spread)


def problem(spec: Spec) -> Problem:
    """The instance in arrays, one job a tenant, as the solvers take it."""
    numbers = draw(spec)
    holds = tasks_that_fit(numbers.demand, numbers.capacity, numbers.spread)
    jobs = spec.tenants
    return Problem(
        resources=resource_names(spec.resources),
        job_names=tuple(job_name(job) for job in range(jobs)),
        class_machines=tuple((class_name(c),) for c in range(spec.classes)),
        demand=numbers.demand,
        tasks=numbers.tasks,
        spread=numbers.spread,
        capacity=numbers.capacity,
        count=numbers.count,
        eligible=numbers.eligible,
        holds=holds,
        usable=numbers.eligible & (holds > 0),
        tree=Tree(
            names=tuple(tenant_name(job) for job in range(jobs)),
            parent=np.full(jobs, -1, dtype=np.int64),
            weight=numbers.weight,
            pool_count=np.zeros((jobs, spec.classes), dtype=np.int64),
            job_tenant=np.arange(jobs, dtype=np.int64),
            limits=(),
        ),
    )


def model(spec: Spec) -> tuple[Cluster, list[Job]]:
    """The same instance as people write it: machines with labels, tenants, jobs with selectors."""
    numbers = draw(spec)
    names = resource_names(spec.resources)
    machines = [
        Machine(
            f"{class_name(c)}-{machine:06d}",
            _amounts(names, numbers.capacity[c]),
            {CLASS_LABEL: class_name(c)},
        )
        for c in range(spec.classes)
        for machine in range(numbers.count[c])
    ]
    jobs = [
        Job(
            job_name(job),
            _amounts(names, numbers.demand[job]),
            tenant=tenant_name(job),
            where=_selector(numbers.eligible[job]),
            tasks=None if np.isinf(numbers.tasks[job]) else int(numbers.tasks[job]),
            spread=bool(numbers.spread[job]),
        )
        for job in range(spec.tenants)
    ]
    tenants = [
        Tenant(tenant_name(job), weight=Decimal(repr(float(numbers.weight[job]))))
        for job in range(spec.tenants)
    ]
    return Cluster(machines, tenants), jobs


def resource_names(number: int) -> tuple[str, ...]:
    """Names for so many resources."""
    return tuple(
        NAMED_RESOURCES[index] if index < len(NAMED_RESOURCES) else f"resource{index}"
        for index in range(number)
    )


def job_name(job: int) -> str:
    """The name of the job with this index."""
    return f"job{job:05d}"


def tenant_name(job: int) -> str:
    """The name of the tenant of the job with this index."""
    return f"tenant{job:05d}"


def class_name(machine_class: int) -> str:
    """The name of the class with this index: a label's value, and a prefix of machine names."""
    return f"c{machine_class:03d}"


Maker = Callable[[Spec, np.random.Generator], tuple[Floats, Floats, Bools]]


def _continuous(spec: Spec, random: np.random.Generator) -> tuple[Floats, Floats, Bools]:
    """Real demands that differ in every component; each tenant may use 3% to 50% of the classes;
    what all tenants want of each resource is in proportion to what there is."""
    size = 2.0 ** random.integers(2, 6, size=(spec.classes, 1))
    capacity = size * random.uniform(2, 8, size=(spec.classes, spec.resources))
    demand = random.lognormal(0.0, 0.7, size=(spec.tenants, spec.resources))
    density = np.exp(random.uniform(np.log(0.03), np.log(0.5), size=(spec.tenants, 1)))
    return _short(demand), _short(capacity), random.random((spec.tenants, spec.classes)) < density


def _discrete(spec: Spec, random: np.random.Generator) -> tuple[Floats, Floats, Bools]:
    """Demands as users write them (a few CPU sizes x memory per CPU x GPUs) and ten constraints."""
    cores = random.choice([16.0, 32.0, 64.0, 128.0], size=spec.classes)
    cpu = random.choice([1.0, 2.0, 4.0, 8.0, 16.0], size=spec.tenants)
    capacity = np.empty((spec.classes, spec.resources))
    demand = np.empty((spec.tenants, spec.resources))
    capacity[:, 0], demand[:, 0] = cores, cpu
    for resource in range(1, spec.resources):
        if resource % 3 == 1:  # like memory: so much for each core
            capacity[:, resource] = cores * random.choice([2.0, 4.0, 8.0], size=spec.classes)
            demand[:, resource] = cpu * random.choice([2.0, 4.0, 8.0], size=spec.tenants)
        elif resource % 3 == 2:  # like GPUs: most machines and most jobs have none
            capacity[:, resource] = random.choice([0.0, 0.0, 4.0, 8.0], size=spec.classes)
            demand[:, resource] = random.choice(
                [0.0, 1.0, 2.0, 4.0], size=spec.tenants, p=[0.7, 0.15, 0.1, 0.05]
            )
        else:  # like disk
            capacity[:, resource] = random.choice([500.0, 1000.0, 2000.0], size=spec.classes)
            demand[:, resource] = random.choice([10.0, 50.0], size=spec.tenants)
    density = np.exp(random.uniform(np.log(0.05), np.log(0.8), size=(10, 1)))
    patterns = random.random((10, spec.classes)) < density
    return demand, capacity, patterns[random.integers(0, 10, size=spec.tenants)]


def _local(spec: Spec, random: np.random.Generator) -> tuple[Floats, Floats, Bools]:
    """Real demands; each tenant wants one (some two) of a few small sets of machines, and some sets
    are far more popular than others, so that tenants stop at many levels."""
    demand, capacity, _ = _continuous(spec, random)
    sets = np.zeros((spec.classes, spec.classes), dtype=np.bool_)
    for chosen in sets:
        chosen[random.choice(spec.classes, size=random.integers(1, 4))] = True
    popularity = 1.0 / np.arange(1, len(sets) + 1)
    popularity /= popularity.sum()
    first, second = random.choice(len(sets), size=(2, spec.tenants), p=popularity)
    both = random.random(spec.tenants) < 0.1
    return demand, capacity, sets[first] | (sets[second] & both[:, None])


def _balanced(spec: Spec, random: np.random.Generator) -> tuple[Floats, Floats, Bools]:
    """Loosely constrained (95% of the classes) and no resource in excess: resources are balanced
    as in `continuous`, and classes differ more in their mix, so that several resources of many
    classes are tight."""
    demand = random.lognormal(0.0, 0.7, size=(spec.tenants, spec.resources))
    size = 2.0 ** random.integers(3, 7, size=(spec.classes, 1))
    capacity = size * random.lognormal(0.0, 0.6, size=(spec.classes, spec.resources))
    return _short(demand), _short(capacity), random.random((spec.tenants, spec.classes)) < 0.95


def _few_classes(spec: Spec, random: np.random.Generator) -> tuple[Floats, Floats, Bools]:
    """Each tenant names 1, 2, 3, 5 or 10 classes, popular ones more often; the third resource is
    like GPUs: a third of the classes and of the tenants have it."""
    capacity = random.lognormal(3.0, 0.5, size=(spec.classes, spec.resources))
    demand = random.lognormal(0.0, 1.0, size=(spec.tenants, spec.resources))
    if spec.resources > 2:
        capacity[:, 2] = random.choice([0.0, 0.0, 8.0], size=spec.classes)
        demand[:, 2] = random.choice([0.0, 0.0, 0.0, 0.0, 1.0, 2.0], size=spec.tenants)
    popularity = 1.0 / np.arange(1, spec.classes + 1)
    popularity /= popularity.sum()
    eligible = np.zeros((spec.tenants, spec.classes), dtype=np.bool_)
    for own, number in zip(eligible, random.choice([1, 2, 3, 5, 10], spec.tenants), strict=True):
        own[random.choice(spec.classes, size=number, p=popularity)] = True
    some = np.array([r != 2 for r in range(spec.resources)])
    return (
        np.where(some, _short(demand), demand),
        np.where(some, _short(capacity), capacity),
        eligible,
    )


def _chains(spec: Spec, random: np.random.Generator) -> tuple[Floats, Floats, Bools]:
    """Chains of four classes: each tenant couples two next to each other, and its tasks are 10 to
    1000 times as large as those of the link before, so that levels are far apart."""
    capacity = random.uniform(10, 100, size=(spec.classes, spec.resources))
    ratio = np.exp(random.uniform(np.log(10), np.log(1000), size=spec.classes))
    first = random.integers(0, spec.classes, size=spec.tenants)
    link, chain = first % 4, first // 4
    demand = random.lognormal(0.0, 0.7, size=(spec.tenants, spec.resources))
    demand *= (ratio[chain] ** link)[:, None]
    capacity *= max(1.0, demand.max() / capacity.min())  # a task that fits nowhere is no demand
    eligible = np.zeros((spec.tenants, spec.classes), dtype=np.bool_)
    every = np.arange(spec.tenants)
    eligible[every, first] = eligible[every, np.minimum(first + 1, spec.classes - 1)] = True
    return _short(demand), _short(capacity), eligible


def _labels(spec: Spec, random: np.random.Generator) -> tuple[Floats, Floats, Bools]:
    """Five generations of machines in three zones and ten racks, and demands as users write them: a
    third wants GPUs. Half of all names no machine, the others a zone, two generations, one, or a
    rack: nearly all stop by themselves, and nobody is apart from the others for long."""
    kinds = np.array([[16, 64, 4], [32, 256, 8], [64, 512, 8], [48, 192, 0], [96, 1024, 0]])
    generation, zone, rack = (random.integers(0, n, size=spec.classes) for n in (5, 3, 10))
    capacity = np.full((spec.classes, spec.resources), 1000.0)
    demand = np.full((spec.tenants, spec.resources), 10.0)
    for resource, sizes in enumerate(([1, 2, 4, 8], [1, 2, 4, 8, 16, 32], [1, 2, 4])):
        if resource < spec.resources:
            capacity[:, resource] = kinds[generation, resource]
            demand[:, resource] = random.choice(sizes, size=spec.tenants)
    if spec.resources > 2:
        demand[random.random(spec.tenants) < 2 / 3, 2] = 0.0
    wanted = [random.integers(0, n, size=(spec.tenants, 1)) for n in (3, 5, 5, 10)]
    choice = random.choice(5, size=(spec.tenants, 1), p=[0.5, 0.2, 0.1, 0.1, 0.1])
    eligible = choice == 0
    eligible = eligible | ((choice == 1) & (zone == wanted[0]))
    eligible = eligible | ((choice == 2) & ((generation == wanted[1]) | (generation == wanted[2])))
    eligible = eligible | ((choice == 3) & (generation == wanted[1]))
    return demand, capacity, eligible | ((choice == 4) & (rack == wanted[3]))


_MAKERS: dict[Kind, Maker] = {
    Kind.CONTINUOUS: _continuous,
    Kind.DISCRETE: _discrete,
    Kind.LOCAL: _local,
    Kind.BALANCED: _balanced,
    Kind.FEW_CLASSES: _few_classes,
    Kind.CHAINS: _chains,
    Kind.LABELS: _labels,
    Kind.SPREAD: _labels,
}


def _balancing(demand: Floats, weight: Floats, capacity: Floats, count: Ints) -> Floats:
    """(R,) factors for the capacities with which tenants of equal shares want the same part of
    every resource: a fixed point, as a share is of what there is."""
    factor = np.ones(capacity.shape[1])
    for _ in range(50):
        alone = _holds(demand, capacity * factor) @ count
        wanted = (weight * alone) @ demand / (count @ (capacity * factor))
        factor *= np.sqrt(wanted / wanted.mean())
        factor /= factor[0]
    return factor


def _counts(spec: Spec, random: np.random.Generator) -> Ints:
    """Machines of each class: at least one, in all as many as the spec says."""
    if spec.machines < spec.classes:
        raise ValueError(f"{spec.machines} machines cannot make {spec.classes} classes")
    parts = random.dirichlet(np.full(spec.classes, 2.0))
    extra: Ints = random.multinomial(spec.machines - spec.classes, parts)
    return extra.astype(np.int64) + 1


def _holds(demand: Floats, capacity: Floats) -> Floats:
    """(J, C) tasks of each job that one empty machine of each class holds."""
    holds = np.full((len(demand), len(capacity)), np.inf)
    for resource in range(demand.shape[1]):
        wanted = demand[:, resource]
        some = wanted > 0
        ratio = capacity[None, :, resource] / wanted[some, None]
        holds[some] = np.minimum(holds[some], ratio)
    return holds


def _short(values: Floats) -> Floats:
    """The values rounded to four decimals, none of them 0."""
    rounded: Floats = np.maximum(np.round(values, 4), 0.0001)
    return rounded


def _amounts(names: tuple[str, ...], values: Floats) -> dict[str, Decimal]:
    return {
        name: Decimal(repr(float(value)))
        for name, value in zip(names, values, strict=True)
        if value > 0
    }


def _selector(eligible: Bools) -> str:
    return f"{CLASS_LABEL} in ({', '.join(class_name(int(c)) for c in np.flatnonzero(eligible))})"
