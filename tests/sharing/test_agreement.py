"""Fairlead allocates exactly what the reference computes in rational arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import assume, given

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.shares import Level
from fairlead.sharing.allocate import allocate
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.rules.registry import POLICIES as BUILT_IN
from tests.reference import filling as reference
from tests.reference.filling import Looks, Shares, exact_shares
from tests.reference.instances import Instance, Kind, instance, instances
from tests.reference.policies import POLICIES, Known
from tests.reference.scales import can_never_run, holds, may_use
from tests.sharing.exactly import Exact, exact_tasks, exactly
from tests.tolerances import SHOWN

PER_POLICY = 4  # instances, times --cases


def test_the_reference_knows_every_policy() -> None:
    assert {name.partition("(")[0] for name in POLICIES} == {*BUILT_IN}, (
        "write each scale once more into tests/reference, and name it in policies.py there"
    )


def drawn(name: str, known: Known, number: int) -> Iterator[tuple[int, Instance]]:
    """Instances with their seeds: other ones for every policy."""
    first = 1_000_000 * sorted(POLICIES).index(name)
    found = 0
    for seed in range(first, first + 20 * number):
        case = instance(Random(seed), known.kind)
        if found < number and case[1] and known.takes(case):
            found += 1
            yield seed, case
    assert found == number


def shows(shown: float, right: Fraction) -> bool:
    """Equal to the digits that are shown; nothing is equal to nothing only."""
    return abs(shown - float(right)) <= SHOWN * float(right)


def compare(found: Exact, right: Shares, known: Known, about: object) -> None:
    """Everything that is the same whatever optimal vertex was found, exactly."""
    assert found.tasks == right.tasks, (about, found, right)
    if known.looks is not Looks.EACH:
        able = {name: scale for name, scale in found.scale.items() if right.scale[name]}
        assert able == {name: scale for name, scale in right.scale.items() if scale}, about
    assert found.weight == {name: right.weight[name] for name in found.weight}, (about, right)
    for machine, levels in found.levels.items():
        there = [(level.share, level.jobs) for level in right.levels if level.machine == machine]
        assert levels == there, (about, found, right)


def compare_shown(answer: Allocation, right: Shares, known: Known, about: object) -> None:
    """An answer shows the exact numbers, rounded."""
    for job in answer.jobs:
        assert shows(job.tasks, right.tasks[job.name]), (about, job, right)
        scale = right.scale[job.name]
        if known.looks is not Looks.EACH:
            assert shows(job.scale or 0.0, scale), (about, job, right)
        share = right.tasks[job.name] / scale if scale else Fraction(0)
        assert shows(job.share, share), (about, job, right)
    for tenant in answer.tenants:
        if tenant.name in right.weight:
            assert shows(tenant.weight, right.weight[tenant.name]), (about, tenant, right)
    if known.looks is not Looks.EACH:
        same(answer.levels, right.levels, about)
        return
    for each in answer.classes:
        found = [level for level in answer.levels if level.machine_class == each.index]
        for name in each.machines:
            same(found, [level for level in right.levels if level.machine == name], about)


def same(found: Sequence[Level], right: Sequence[reference.Level], about: object) -> None:
    """The same levels, and the same jobs froze at each."""
    assert [set(level.jobs) for level in found] == [level.jobs for level in right], (about, right)
    for level, exact in zip(found, right, strict=True):
        assert shows(level.share, exact.share), (about, found, right)


@pytest.mark.parametrize("policy", POLICIES)
def test_small_random_instances_agree_with_the_reference(policy: str, cases: int) -> None:
    known = POLICIES[policy]
    for seed, (cluster, jobs) in drawn(policy, known, PER_POLICY * cases):
        right = exact_shares(cluster, jobs, known.scale, known.looks)
        compare(exactly(cluster, jobs, policy), right, known, seed)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_shown_is_the_exact_answer(policy: str, cases: int) -> None:
    known = POLICIES[policy]
    for seed, (cluster, jobs) in drawn(policy, known, PER_POLICY // 2 * cases):
        right = exact_shares(cluster, jobs, known.scale, known.looks)
        compare_shown(allocate(cluster, jobs, policy), right, known, seed)


@given(instances())
def test_small_adversarial_instances_agree_with_the_reference(case: Instance) -> None:
    cluster, jobs = case
    assume(jobs)
    right = exact_shares(cluster, jobs, POLICIES["tsf"].scale)
    compare(exactly(cluster, jobs, "tsf"), right, POLICIES["tsf"], case)


def test_larger_random_instances_agree_with_the_reference(cases: int) -> None:
    known = POLICIES["tsf"]
    for seed in range(2 * cases):
        cluster, jobs = instance(Random(seed), Kind(machines=9, jobs=14))
        right = exact_shares(cluster, jobs, known.scale)
        compare(exactly(cluster, jobs, "tsf"), right, known, seed)


def test_coalesced_and_uncoalesced_filling_agree(cases: int) -> None:
    for seed in range(4 * cases):
        cluster, jobs = instance(Random(seed), Kind(pools=False, machines=6, jobs=12))
        problem = compile_problem(cluster, jobs)
        assert exact_tasks(problem) == exact_tasks(problem, merge=False), seed


PROMISED = [name for name, known in POLICIES.items() if known.looks is not Looks.EACH]


@pytest.mark.parametrize("policy", PROMISED)
def test_nobody_has_less_than_its_pool_alone_gives(policy: str, cases: int) -> None:
    """Theorem 1 of the TSF paper, for every linear scale: tenants of one job on one level, all
    with disjoint pools that they can use. Zero demands, finite tasks and limits included."""
    known = POLICIES[policy]
    kind = Kind(tenants=False, spread=False, machines=6, zeros=known.kind.zeros)
    found = 0
    for seed in range(1_000_000, 1_000_000 + 24 * cases):
        cluster, jobs = instance(Random(seed), kind)
        if not any(tenant.pool for tenant in cluster.tenants) or not known.takes((cluster, jobs)):
            continue
        found += 1
        tasks = exactly(cluster, jobs, policy).tasks
        for job in jobs:
            able = not can_never_run(cluster, job)
            assert tasks[job.name] >= (pool_alone(cluster, job) if able else 0), seed
    assert found >= 2 * cases


def pool_alone(cluster: Cluster, job: Job) -> Fraction:
    """The tasks that a tenant's only job can run in its pool."""
    tenant = next(tenant for tenant in cluster.tenants if tenant.name == job.tenant)
    assert tenant.pool is not None
    machines = [machine for machine in cluster.machines if machine.name in tenant.pool]
    most = sum((holds(job, machine) for machine in machines if may_use(job, machine)), Fraction(0))
    if job.tasks is not None:
        most = min(most, job.tasks)
    for resource, limit in tenant.limit.items():
        if job.demand.get(resource):
            most = min(most, limit / job.demand[resource])
    return most
