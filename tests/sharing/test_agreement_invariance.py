"""Some changes must leave an answer as it is, and the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from fairlead.cli.main import main
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Problem
from tests.reference.instances import Instance, Kind, instance
from tests.reference.scales import can_never_run
from tests.sharing.exactly import Exact, exact_tasks, exactly
from tests.surroundings import said_under_another_hash_seed

SEEDS = 6
POLICIES = ("tsf", "cdrf", "drf", "per-machine-drf")


def rebuilt(
    case: Instance,
    names: Mapping[str, str] | None = None,
    units: Mapping[str, Fraction] | None = None,
) -> Instance:
    """The same input with other names, or with resources in other units."""
    cluster, jobs = case
    names, units = names or {}, units or {}

    def named(name: str) -> str:
        return names.get(name, name)

    def scaled(amounts: Mapping[str, Fraction]) -> dict[str, Fraction]:
        return {resource: amount * units.get(resource, 1) for resource, amount in amounts.items()}

    machines = [Machine(named(m.name), scaled(m.capacity), m.labels) for m in cluster.machines]
    tenants = [
        Tenant(
            named(t.name),
            weight=t.weight,
            pool=None if t.pool is None else [named(name) for name in t.pool],
            parent=None if t.parent is None else named(t.parent),
            limit=scaled(t.limit),
        )
        for t in cluster.tenants
    ]
    other = [
        replace(
            job,
            name=named(job.name),
            demand=FrozenMap(scaled(job.demand)),
            tenant=None if job.tenant is None else named(job.tenant),
            machines=None if job.machines is None else tuple(map(named, job.machines)),
            exclude=tuple(map(named, job.exclude)),
        )
        for job in jobs
    ]
    return Cluster(machines, tenants), tuple(other)


def shuffled(case: Instance, random: Random) -> Instance:
    """The same input in another order. A parent may come after its children."""
    cluster, jobs = case
    machines, tenants = list(cluster.machines), list(cluster.tenants)
    order = list(jobs)
    for each in (machines, tenants, order):
        random.shuffle(each)
    return Cluster(machines, tenants), tuple(order)


def same(found: Exact, right: Exact, names: Mapping[str, str] | None = None) -> None:
    """Levels, tasks and weights are equal; placements need not be."""
    new = names or {}

    def renamed(of: Mapping[str, Fraction]) -> dict[str, Fraction]:
        return {new.get(name, name): number for name, number in of.items()}

    assert found.tasks == renamed(right.tasks)
    assert found.weight == renamed(right.weight)
    for machine, levels in right.levels.items():
        assert found.levels[None if machine is None else new.get(machine, machine)] == [
            (level, frozenset(new.get(name, name) for name in jobs)) for level, jobs in levels
        ]


@pytest.mark.parametrize("policy", POLICIES)
def test_renaming_leaves_the_answer_as_it_is(policy: str, cases: int) -> None:
    for seed in range(SEEDS * cases):
        case = instance(Random(seed))
        cluster, jobs = case
        of = [x.name for some in (cluster.machines, cluster.tenants, jobs) for x in some]
        # Backwards, so that another order of the names cannot hide.
        names = {name: f"x{len(of) - index:02}" for index, name in enumerate(of)}
        same(exactly(*rebuilt(case, names), policy), exactly(*case, policy), names)


@pytest.mark.parametrize("policy", POLICIES)
def test_reordering_leaves_the_answer_as_it_is(policy: str, cases: int) -> None:
    for seed in range(SEEDS * cases):
        random = Random(seed)
        case = instance(random)
        same(exactly(*shuffled(case, random), policy), exactly(*case, policy))


@pytest.mark.parametrize("policy", POLICIES)
def test_other_units_leave_the_answer_as_it_is(policy: str, cases: int) -> None:
    units = {"cpu": Fraction(1000), "memory": Fraction(1, 2**30), "gpu": Fraction(7, 3)}
    for seed in range(SEEDS * cases):
        case = instance(Random(seed))
        same(exactly(*rebuilt(case, units=units), policy), exactly(*case, policy))


def test_a_machine_in_two_halves_leaves_the_answer_as_it_is(cases: int) -> None:
    """Tasks are divisible, so two machines of half the size are one of the whole, but for who can
    never run on machines so small."""
    compared = 0
    for seed in range(SEEDS * cases):
        case = instance(Random(seed), Kind(spread=False))
        cluster, jobs = case
        halved = cluster.machines[0].name
        machines = []
        for machine in cluster.machines:
            if machine.name == halved:
                half = {name: amount / 2 for name, amount in machine.capacity.items()}
                machines.append(Machine(f"{halved}-half", half, machine.labels))
                machine = Machine(halved, half, machine.labels)
            machines.append(machine)

        def both(names: tuple[str, ...], halved: str = halved) -> tuple[str, ...]:
            return (*names, f"{halved}-half") if halved in names else names

        tenants = [
            tenant
            if tenant.pool is None
            else Tenant(tenant.name, pool=both(tenant.pool), limit=tenant.limit)
            for tenant in cluster.tenants
        ]
        split = [
            replace(
                job,
                machines=None if job.machines is None else both(job.machines),
                exclude=both(job.exclude),
            )
            for job in jobs
        ]
        if [can_never_run(Cluster(machines, tenants), job) for job in split] == [
            can_never_run(cluster, job) for job in jobs
        ]:
            compared += 1
            same(exactly(Cluster(machines, tenants), split, "tsf"), exactly(*case, "tsf"))
    assert compared > SEEDS * cases / 2


def test_splitting_a_class_of_machines_leaves_the_answer_as_it_is(cases: int) -> None:
    for seed in range(SEEDS * cases):
        random = Random(seed)
        cluster, jobs = instance(random, Kind(pools=False))
        twins = [
            Machine(f"{machine.name}-{index}", machine.capacity, machine.labels)
            for machine in cluster.machines
            for index in range(random.randint(1, 4))
        ]
        free = [replace(job, machines=None, exclude=()) for job in jobs]
        problem = compile_problem(Cluster(twins, cluster.tenants), free)
        assert exact_tasks(problem) == exact_tasks(in_single_machines(problem)), seed


def in_single_machines(problem: Problem) -> Problem:
    """Every machine a class of its own."""
    of = np.repeat(np.arange(len(problem.count)), problem.count)
    members = tuple((name,) for names in problem.class_machines for name in names)
    return replace(
        problem,
        class_machines=members,
        capacity=problem.capacity[of],
        count=np.ones(len(of), dtype=np.int64),
        eligible=problem.eligible[:, of],
        holds=problem.holds[:, of],
        usable=problem.usable[:, of],
        known=replace(problem.amounts, capacity=problem.amounts.capacity[of]),
        tree=replace(
            problem.tree, pool_count=np.zeros((len(problem.tree.names), len(of)), dtype=np.int64)
        ),
    )


INPUT = """\
machines:
  - {name: "a[01-12]", capacity: {cpu: 16, memory: 64GiB, gpu: 4}, labels: {zone: east}}
  - {name: "b[01-09]", capacity: {cpu: 32, memory: 64GiB}, labels: {zone: west}}
  - {name: "c[1-5]", capacity: {cpu: 8, memory: 128GiB, gpu: 1}, labels: {zone: east}}
tenants:
  - {name: vision, weight: 2, limit: {gpu: 40}}
  - {name: vision-eu, parent: vision}
  - {name: vision-us, parent: vision, weight: 3}
jobs:
  - {name: train, tenant: vision-eu, demand: {cpu: 4, memory: 12GiB, gpu: 1}, tasks: 20}
  - {name: tune, tenant: vision-us, demand: {cpu: 2, memory: 8GiB, gpu: 1}, where: zone = east}
  - {name: serve, tenant: vision, demand: {cpu: 1, memory: 1GiB}, spread: true}
  - {name: etl, demand: {cpu: 2, memory: 6GiB}, exclude: ["b[01-04]"]}
  - {name: sql, demand: {cpu: 1, memory: 16GiB}, machines: ["b[03-09]", "c[1-3]"]}
  - {name: copy, demand: {cpu: 1, memory: 16GiB}, machines: ["b[03-09]", "c[1-3]"]}
"""


def test_the_same_input_gives_the_same_bytes_under_any_hash_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, proof = tmp_path / "input.yaml", tmp_path / "proof.json"
    path.write_text(INPUT, encoding="utf-8")
    words = ("allocate", str(path), "--json", "--proof", str(proof))
    assert main([*words]) == 0
    here = proof.read_bytes()
    assert said_under_another_hash_seed("fairlead", *words) == capsys.readouterr().out
    assert proof.read_bytes() == here
