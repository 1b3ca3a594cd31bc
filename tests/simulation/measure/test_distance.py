"""The distance from the exact allocation: what is exact, and how far is measured."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.present import Snapshot, Tenants, exact_now
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.distance import measure_sample, sample_now, summary_of
from fairlead.simulation.measure.distances import Distances
from fairlead.simulation.workloads.registry import generate
from tests.tolerances import CERTIFICATE, close

NOBODY = Tenants(np.zeros(0, np.int64), np.zeros(0))
TERMS = 2
LARGEST = 3  # of a demand: every machine holds a whole task


@st.composite
def moments(draw: st.DrawFn) -> tuple[Snapshot, Tenants]:
    """Few machines and jobs, with ties, zero demands, jobs that spread, tenants with weights."""
    machines, jobs = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    resources, tenants = draw(st.integers(1, 2)), draw(st.integers(0, 3))

    def numbers(rows: int, columns: int, low: int, high: int) -> np.ndarray:
        row = st.lists(st.integers(low, high), min_size=columns, max_size=columns)
        return np.array(draw(st.lists(row, min_size=rows, max_size=rows)), np.int64)

    demand = numbers(jobs, resources, 0, LARGEST)
    demand[demand.sum(axis=1) == 0, 0] = 1
    capacity = numbers(machines, resources, LARGEST, 6)
    parent = [draw(st.integers(-1, t - 1)) for t in range(tenants)]
    scale = np.array(
        [
            sum(
                min(c // d for c, d in zip(cap, need, strict=True) if d)
                for cap in capacity.tolist()
            )
            for need in demand.tolist()
        ],
        np.float64,
    )
    return Snapshot(
        time=0,
        capacity=capacity,
        satisfies=numbers(machines, 1, 0, 2**TERMS - 1).astype(np.uint64),
        job=np.arange(jobs),
        tenant=numbers(jobs, 1, -1, tenants - 1)[:, 0],
        demand=demand,
        needs=numbers(jobs, 1, 0, 2**TERMS - 1).astype(np.uint64),
        spread=numbers(jobs, 1, 0, 1)[:, 0].astype(np.bool_),
        waiting=numbers(jobs, 1, 0, 4)[:, 0],
        held=numbers(jobs, 1, 0, 2)[:, 0],
        scale=scale,
    ), Tenants(np.array(parent, np.int64), numbers(tenants, 1, 1, 3).reshape(-1).astype(np.float64))


def by_allocate(now: Snapshot, tenants: Tenants) -> list[float]:
    """The same by the model's objects, with the run's scales as a policy of a user's own."""
    from fairlead.sharing.policy import Policy, View
    from fairlead.sharing.problem.problem import Floats, Problem

    names = [f"r{r}" for r in range(now.demand.shape[1])]

    def bits(word: int) -> list[int]:
        return [k for k in range(TERMS) if word >> k & 1]

    cluster = Cluster(
        [
            Machine(
                f"m{m}",
                dict(zip(names, now.capacity[m].tolist(), strict=True)),
                {f"t{k}": "yes" for k in bits(int(now.satisfies[m, 0]))},
            )
            for m in range(len(now.capacity))
        ],
        [
            Tenant(
                f"u{t}",
                weight=int(tenants.weight[t]),
                parent=None if tenants.parent[t] < 0 else f"u{tenants.parent[t]}",
            )
            for t in range(len(tenants.parent))
        ],
    )
    present = np.flatnonzero(now.waiting + now.held > 0)
    jobs = [
        Job(
            f"j{j}",
            dict(zip(names, now.demand[j].tolist(), strict=True)),
            tasks=int(now.waiting[j] + now.held[j]),
            tenant=None if now.tenant[j] < 0 else f"u{now.tenant[j]}",
            where=", ".join(f"t{k}" for k in bits(int(now.needs[j, 0]))),
            spread=bool(now.spread[j]),
        )
        for j in present.tolist()
    ]

    def scale(problem: Problem) -> Floats:
        of = np.array([now.scale[int(name[1:])] for name in problem.job_names])
        return np.where(problem.usable.any(axis=1), of, 0.0)

    answer = allocate(cluster, jobs, Policy("own", View.MACHINES, scale)) if jobs else None
    found = {job.name: job.tasks for job in answer.jobs} if answer else {}
    return [found.get(f"j{j}", 0.0) for j in range(len(now.job))]


@given(moments())
def test_the_exact_allocation_of_a_moment_is_that_of_the_same_cluster(
    given: tuple[Snapshot, Tenants],
) -> None:
    now, tenants = given
    there = (now.waiting + now.held) > 0
    ours = np.zeros(len(now.job))
    if there.any():
        columns = {
            name: getattr(now, name)[there]
            for name in ("job", "tenant", "demand", "needs", "spread", "waiting", "held", "scale")
        }
        ours[there] = exact_now(replace(now, **columns), tenants).total
    for mine, theirs in zip(ours.tolist(), by_allocate(now, tenants), strict=True):
        assert close(mine, theirs, CERTIFICATE)


def moment(
    capacity: list[list[int]],
    demand: list[list[int]],
    held: list[int],
    waiting: list[int],
    scale: list[float],
) -> Snapshot:
    """A moment without constraints, every job its own tenant."""
    jobs = len(demand)
    return Snapshot(
        time=7,
        capacity=np.array(capacity),
        satisfies=np.zeros((len(capacity), 1), np.uint64),
        job=np.arange(10, 10 + jobs),
        tenant=np.full(jobs, -1),
        demand=np.array(demand),
        needs=np.zeros((jobs, 1), np.uint64),
        spread=np.zeros(jobs, np.bool_),
        waiting=np.array(waiting),
        held=np.array(held),
        scale=np.array(scale),
    )


def test_alike_jobs_get_alike_shares() -> None:
    now = moment([[9]] * 2, [[1]] * 6, [0] * 6, [9] * 6, [18.0] * 6)
    assert exact_now(now, NOBODY).total == pytest.approx([3.0] * 6)


def test_alike_jobs_weigh_as_much_as_they_are_many() -> None:
    now = moment([[12]], [[1], [1], [1], [2]], [0] * 4, [9] * 4, [12.0, 12.0, 12.0, 6.0])
    assert exact_now(now, NOBODY).total == pytest.approx([3.0, 3.0, 3.0, 1.5])


def test_no_job_gets_more_than_its_present_tasks() -> None:
    now = moment([[10]], [[1], [1]], [1, 0], [1, 20], [10.0, 10.0])
    assert exact_now(now, NOBODY).total == pytest.approx([2.0, 8.0])


def test_a_machine_that_holds_no_whole_task_gives_no_part_of_one() -> None:
    now = moment([[3], [1]], [[2]], [0], [9], [1.0])
    assert exact_now(now, NOBODY).total == pytest.approx([1.5])


def test_a_limit_caps_what_a_tenant_holds() -> None:
    now = replace(moment([[10]], [[1], [1]], [0, 0], [9, 9], [10.0, 10.0]), tenant=np.array([0, 1]))
    limited = Tenants(np.array([-1, -1]), np.ones(2), np.array([[2], [-1]]))
    assert exact_now(now, limited).total == pytest.approx([2.0, 8.0])


def test_who_has_too_little_is_named_with_how_much() -> None:
    now = moment([[10]], [[1], [1]], [8, 2], [9, 9], [10.0, 10.0])
    found = sample_now(now, NOBODY)
    assert found is not None
    assert found.time == 7
    assert found.tenants == 2
    assert found.whose == -1 - 11
    assert found.shortfall == pytest.approx(30.0)
    assert found.rmse == pytest.approx(30.0)
    assert found.rmse_sorted == pytest.approx(30.0)


def test_sorted_vectors_hide_who_lost() -> None:
    # Exact: 2 tasks and 8; the other way round in the run.
    found = sample_now(moment([[10]], [[1], [1]], [2, 8], [9, 9], [10.0, 40.0]), NOBODY)
    assert found is not None
    exact = measure_sample(0, np.array([0.8, 0.2]), np.array([0.2, 0.8]), np.array([0, 1]))
    assert exact.rmse == pytest.approx(60.0)
    assert exact.rmse_sorted == pytest.approx(0.0)
    assert found.rmse == pytest.approx(0.0)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=9))
def test_sorted_vectors_are_never_further_apart(pairs: list[tuple[float, float]]) -> None:
    held, exact = np.array(pairs).T
    found = measure_sample(0, held, exact, np.arange(len(pairs)))
    assert found.rmse_sorted <= found.rmse * (1 + 1e-12) + 1e-12
    assert found.shortfall >= 0


def test_all_samples_together() -> None:
    held = ([8, 2], [5, 5])
    moments = [moment([[10]], [[1], [1]], each, [9, 9], [10.0, 10.0]) for each in held]
    found = [sample_now(now, NOBODY) for now in moments]
    summary = summary_of([each for each in found if each is not None])
    assert summary.samples == 2
    assert summary.rmse == pytest.approx(15.0)
    assert summary.largest is not None
    assert summary.largest.whose == -1 - 11
    assert summary.largest.shortfall == pytest.approx(30.0)


def test_a_moment_without_anybody_counts_for_nothing() -> None:
    empty = moment([[10]], [[1]], [0], [1], [10.0])
    nobody = {
        name: getattr(empty, name)[:0]
        for name in ("job", "tenant", "demand", "needs", "spread", "waiting", "held", "scale")
    }
    assert sample_now(replace(empty, **nobody), NOBODY) is None
    assert summary_of([]).samples == 0
    assert isnan(summary_of([]).rmse)


def test_jobs_of_one_tenant_are_added_up() -> None:
    now = replace(
        moment([[10]], [[1], [1], [1]], [5, 0, 5], [9, 9, 9], [10.0] * 3),
        tenant=np.array([0, 0, -1]),
    )
    found = sample_now(now, Tenants(np.array([-1]), np.ones(1)))
    assert found is not None
    assert found.tenants == 2
    assert found.rmse == pytest.approx(0.0)


def test_shares_that_are_many_powers_of_ten_apart_are_found() -> None:
    # Tasks that ask for nearly no memory beside those that ask for most of a machine: the simplex
    # alone gives up on this moment.
    study = "tsf-study(machines=100, jobs=450, tasks=18000, times=exponential, mean=600)"
    moment = 3_000_000_000
    distances = Distances(moment)
    options = Options(until=moment)
    simulate(generate(study, 0), policy="cmmf:memory", sinks=[distances], options=options)
    assert distances.summary.samples == 1
    assert 0 < distances.summary.rmse < 5
