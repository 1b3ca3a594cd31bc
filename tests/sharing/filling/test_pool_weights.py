"""Weights from pools: what a tenant's machines alone could give it, with its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.proof import Places, PoolProof, Scarce
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.filling.names import names_of
from fairlead.sharing.filling.pool_weights import tenant_weights
from fairlead.sharing.numbers.amounts import fraction
from fairlead.sharing.problem.problem import Floats, Problem
from tests.reference.simplex import Simplex
from tests.scheduling.exact_shares import in_whole_tasks
from tests.sharing.build import build


def with_pools(problem: Problem, pools: Sequence[Sequence[int] | None]) -> Problem:
    """The problem where a tenant with a row has a pool: so many machines of each class."""
    weight = problem.tree.weight.copy()
    count = problem.tree.pool_count.copy()
    for tenant, pool in enumerate(pools):
        if pool is not None:
            weight[tenant] = np.nan
            count[tenant] = pool
    return replace(problem, tree=replace(problem.tree, weight=weight, pool_count=count))


def proofs(problem: Problem, scale: Floats) -> tuple[PoolProof, ...]:
    weights = tenant_weights(problem, scale)
    machines = [name for names in problem.class_machines for name in names]
    return weights.proofs(names_of(problem, machines))


def test_weights_as_written_stay() -> None:
    problem = build([[1.0], [1.0]], [[4]], weight=[2, 0.5])
    assert tenant_weights(problem, problem.alone).weight.tolist() == [2, 0.5]


def test_a_tenant_with_one_job_weighs_its_tasks_in_the_pool_over_its_scale() -> None:
    problem = build([[1, 2], [3, 1]], [[6, 8], [6, 4], [4, 6]], eligible=[[1, 1, 0], [0, 1, 1]])
    problem = with_pools(problem, [[1, 0, 0], [0, 1, 1]])
    scale = problem.alone
    found = tenant_weights(problem, scale)
    assert found.weight == pytest.approx([4 / scale[0], (2 + 4 / 3) / scale[1]])
    assert proofs(problem, scale) == ()


def test_machines_of_the_pool_that_the_job_may_not_use_count_nothing() -> None:
    problem = build([[1.0]], [[6], [6]], eligible=[[1, 0]])
    problem = with_pools(problem, [[1, 1]])
    assert tenant_weights(problem, np.array([12.0])).weight == pytest.approx([0.5])


def test_finite_tasks_and_spread_count() -> None:
    problem = build([[1.0], [1.0]], [[8]], count=[4], tasks=[5, np.inf], spread=[False, True])
    problem = with_pools(problem, [[2], [2]])
    assert tenant_weights(problem, np.array([10.0, 10.0])).weight == pytest.approx([0.5, 0.2])


def test_a_limit_counts_even_for_one_job_and_is_proved() -> None:
    problem = build([[1.0], [1.0]], [[8]], count=[2], limits=[(0, 0, 3.0)])
    problem = with_pools(problem, [[1], [1]])
    assert tenant_weights(problem, np.array([16.0, 16.0])).weight == pytest.approx([3 / 16, 0.5])
    (proof,) = proofs(problem, np.array([16.0, 16.0]))
    assert proof.tenant == "t0"
    assert proof.share == 3 / 16
    assert proof.scarce == (Scarce(tenant="t0", resource="r0"),)
    assert proof.places == (Places(("j0",), (0,)),)


def test_a_limit_of_the_tenant_above_counts() -> None:
    problem = build(
        [[1.0], [1.0]], [[8]], count=[2], parent=[-1, 0, 0], job_tenant=[1, 2], limits=[(0, 0, 3.0)]
    )
    problem = with_pools(problem, [None, [1], [1]])
    found = tenant_weights(problem, np.array([16.0, 16.0])).weight
    assert found == pytest.approx([1, 3 / 16, 3 / 16])


def test_several_jobs_weigh_the_largest_share_that_they_could_have_together() -> None:
    # Alone: 4 GPUs for the one and 8 CPUs for the other, at the same time.
    problem = build([[0, 1], [1, 0]], [[8, 4]], job_tenant=[0, 0], count=[3])
    problem = with_pools(problem, [[1]])
    scale = problem.alone
    assert tenant_weights(problem, scale).weight == pytest.approx([2 / 3])


def test_a_tenant_above_weighs_what_the_jobs_below_it_could_have() -> None:
    problem = build(
        [[1.0], [2.0]], [[8]], count=[2], parent=[-1, 0, 0], job_tenant=[1, 2], tasks=[2, np.inf]
    )
    problem = with_pools(problem, [[1], None, None])
    weight = tenant_weights(problem, problem.alone).weight
    assert weight == pytest.approx([2 / 16 + 3 / 8, 1, 1])


def test_a_pool_whose_owner_has_no_job_that_can_run_weighs_one() -> None:
    problem = build([[1.0], [1.0]], [[8]], eligible=[[1], [0]])
    problem = with_pools(problem, [[1], [1]])
    assert tenant_weights(problem, np.array([8.0, 0.0])).weight == pytest.approx([1, 1])


@pytest.mark.parametrize("unit", [Fraction(1, 2**40), Fraction(1), Fraction(2**40)])
@pytest.mark.parametrize("limited", ["cpu", "memory"])
def test_what_a_limit_of_0_forbids_counts_nothing_in_a_pool(limited: str, unit: Fraction) -> None:
    # In whatever unit: neither does a little of it pass, nor does the proof fail.
    cluster = Cluster(
        [Machine("m1", {"cpu": 4, "memory": 4 * unit, "gpu": 1})],
        [Tenant("own", pool=["m1"], limit={limited: 0})],
    )
    other = "cpu" if limited == "memory" else "memory"
    jobs = [
        Job("both", {"cpu": 1, "memory": unit}, tenant="own"),
        Job("one", {other: unit if other == "memory" else 1}, tenant="own"),
        Job("two", {"cpu": 2, "memory": unit, "gpu": 1}, tenant="own"),
    ]
    found = allocate(cluster, jobs)
    assert [job.tasks for job in found.jobs] == pytest.approx([0, 4, 0])
    assert found.tenant("own").weight == pytest.approx(1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_pool_in_which_nothing_can_run_is_refused(jobs: int) -> None:
    problem = build([[1.0]] * jobs, [[8], [8]], eligible=[[1, 0]] * jobs, job_tenant=[0] * jobs)
    problem = with_pools(problem, [[0, 1]])
    with pytest.raises(InputError, match='tenant "t0", pool: it could run nothing in its pool'):
        tenant_weights(problem, problem.alone)


def test_classes_are_numbered_as_they_are_shown() -> None:
    problem = build([[1.0], [2.0]], [[8], [4]], job_tenant=[0, 0], eligible=[[0, 1], [0, 1]])
    problem = with_pools(problem, [[0, 1]])
    weights = tenant_weights(problem, problem.alone)
    (proof,) = weights.proofs(names_of(problem, ["m1", "m0"]))
    assert [found.machines for found in proof.classes] == [("m1",)]
    assert {c for places in proof.places for c in places.classes} == {0}
    assert {row.machine_class for row in proof.scarce} == {0}


def random_problem(seed: int) -> Problem:
    """One tenant with a pool, several jobs, everything that can stop them."""
    rng = np.random.default_rng(seed)
    jobs, classes, resources = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 3)
    demand = rng.integers(0, 4, size=(jobs, resources))
    demand[:, 0] += demand.sum(axis=1) == 0
    count = rng.integers(1, 4, size=classes)
    problem = build(
        demand.tolist(),
        rng.integers(1, 9, size=(classes, resources)).tolist(),
        count=count.tolist(),
        eligible=(rng.random((jobs, classes)) < 0.8).tolist(),
        tasks=np.where(rng.random(jobs) < 0.5, rng.integers(1, 6, size=jobs), np.inf).tolist(),
        spread=(rng.random(jobs) < 0.3).tolist(),
        job_tenant=[0] * jobs,
        limits=[(0, 0, float(rng.integers(1, 12)))] if rng.random() < 0.5 else [],
    )
    return with_pools(problem, [rng.integers(0, count + 1).tolist()])


Row = tuple[dict[int, Fraction], Fraction]


def rows_of(problem: Problem, pairs: Sequence[tuple[int, int]]) -> dict[Scarce, Row]:
    """All that bounds tasks of these jobs on these classes: what each takes of it, and how much
    the pool has."""
    pool, names, resources = problem.tree.pool_count[0], problem.job_names, problem.resources
    rows: dict[Scarce, Row] = {}
    for c in range(len(pool)):
        for r, resource in enumerate(resources):
            need = {
                x: Fraction(problem.demand[j, r])
                for x, (j, b) in enumerate(pairs)
                if b == c and problem.demand[j, r]
            }
            there = Fraction(problem.capacity[c, r]) * int(pool[c])
            rows[Scarce(machine_class=c, resource=resource)] = need, there
    for j, name in enumerate(names):
        own = {x: Fraction(1) for x, (i, _) in enumerate(pairs) if i == j}
        if np.isfinite(problem.tasks[j]):
            rows[Scarce(job=name)] = own, Fraction(problem.tasks[j])
        if problem.spread[j]:
            for x in own:
                c = pairs[x][1]
                rows[Scarce(machine_class=c, job=name)] = {x: Fraction(1)}, Fraction(int(pool[c]))
    for limit in problem.tree.limits:
        need = {
            x: Fraction(problem.demand[j, limit.resource])
            for x, (j, _) in enumerate(pairs)
            if problem.demand[j, limit.resource]
        }
        about = Scarce(tenant="t0", resource=resources[limit.resource])
        rows[about] = need, Fraction(limit.amount)
    return rows


def pairs_of(problem: Problem, scale: Floats) -> list[tuple[int, int]]:
    """The jobs and the classes of the pool that they may use."""
    pool = problem.tree.pool_count[0]
    return [
        (int(j), int(c))
        for j, c in zip(*np.nonzero(problem.usable), strict=True)
        if pool[c] and scale[j]
    ]


def test_the_weight_is_the_largest_share_and_its_proof_has_it(cases: int) -> None:
    proved = 0
    for seed in range(50 * cases):
        problem = random_problem(seed)
        scale = np.where(problem.usable.any(axis=1), problem.alone.round(), 0.0)
        pairs = pairs_of(problem, scale)
        gain = {x: 1 / Fraction(scale[j]) for x, (j, _) in enumerate(pairs)}
        rows = rows_of(problem, pairs)
        best = Simplex(len(pairs), list(rows.values())).maximise(gain)
        if not best:
            continue
        assert [fraction(each) for each in tenant_weights(problem, scale).exact] == [best], seed
        for proof in proofs(problem, scale):
            proved += 1
            assert proof.share == float(best)
    assert proved >= 20


def test_in_whole_tasks_a_pool_is_worth_the_tasks_that_its_machines_hold() -> None:
    problem = with_pools(build([[2.0], [1.0]], [[3]], count=[4]), [[2], [2]])
    whole = in_whole_tasks(problem)
    assert tenant_weights(whole, np.array([4.0, 12.0])).exact == (fmpq(1, 2), fmpq(1, 2))
    assert tenant_weights(problem, np.array([4.0, 12.0])).exact == (fmpq(3, 4), fmpq(1, 2))
