"""Filling: the papers' small cases, every kind of bound, and the proof on adversarial instances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairlead.sharing.filling.fill import Filling, fill
from fairlead.sharing.problem import Floats, Problem
from tests.sharing.build import build
from tests.sharing.filling_proof import errors


def shares(problem: Problem) -> tuple[Filling, Floats]:
    filling = fill(problem, problem.alone, problem.tree.weight)
    assert errors(problem, problem.alone, problem.tree.weight, filling).gap < 1e-12
    scale = np.where(problem.alone > 0, problem.alone, 1.0)
    return filling, filling.tasks.sum(axis=1) / scale


def test_tsf_figure_4() -> None:
    problem = build(
        [[1, 2], [3, 1], [1, 4]],
        [[9, 12], [3, 4], [9, 12]],
        eligible=[[1, 1, 0], [0, 1, 0], [1, 1, 1]],
    )
    filling, found = shares(problem)
    assert found == pytest.approx([3 / 7, 1 / 7, 3 / 7], rel=1e-14)
    assert filling.rounds[0].frozen.tolist() == [1]  # the others stop together or one by one


def test_split_rates_leave_a_gpu_job_its_part_beside_a_cpu_job_of_the_same_tenant() -> None:
    problem = build([[0, 1], [1, 0], [0, 1]], [[100, 10]], job_tenant=[0, 0, 1])
    filling, _ = shares(problem)
    assert filling.tasks[:, 0] == pytest.approx([10 / 3, 100, 20 / 3], rel=1e-14)


def test_a_job_that_runs_out_of_tasks_leaves_the_rest_to_the_others() -> None:
    filling, _ = shares(build([[1], [1]], [[10]], tasks=[2, np.inf]))
    assert filling.tasks[:, 0] == pytest.approx([2, 8], rel=1e-14)
    assert filling.rounds[0].task_price[0] > 0
    assert filling.rounds[0].frozen.tolist() == [0]


def test_tasks_that_machines_could_not_hold_anyway_do_not_count() -> None:
    filling, _ = shares(build([[1], [1]], [[10]], tasks=[10, 11]))
    assert len(filling.rounds) == 1
    assert not filling.rounds[0].task_price.any()


def test_a_limit_stops_all_that_is_below_its_tenant() -> None:
    problem = build(
        [[1], [1], [1]], [[12]], parent=[-1, -1, 0], job_tenant=[2, 0, 1], limits=[(0, 0, 2)]
    )
    filling, _ = shares(problem)
    assert filling.tasks[:, 0] == pytest.approx([1, 1, 10], rel=1e-14)
    assert filling.rounds[0].limit_price[0] > 0


def test_a_limit_of_nothing_leaves_nothing() -> None:
    filling, _ = shares(build([[1, 0], [0, 1]], [[4, 4]], job_tenant=[0, 0], limits=[(0, 1, 0)]))
    assert filling.tasks[:, 0].tolist() == [4.0, 0.0]


def test_a_job_that_spreads_has_at_most_one_task_a_machine() -> None:
    problem = build([[1], [1]], [[10]], count=[2], spread=[True, False])
    filling = fill(problem, np.ones(2), problem.tree.weight)
    assert errors(problem, np.ones(2), problem.tree.weight, filling).gap < 1e-12
    assert filling.tasks[:, 0] == pytest.approx([2, 18], rel=1e-14)
    assert filling.rounds[0].spread_price == {(0, 0): pytest.approx(1.0)}


def test_a_job_that_can_run_nowhere_gets_nothing_and_freezes_nowhere() -> None:
    filling, _ = shares(build([[1, 0], [1, 1]], [[4, 0]]))
    assert filling.tasks[:, 0].tolist() == [4.0, 0.0]
    assert all(1 not in part.frozen for part in filling.rounds)


def test_nobody_who_can_run_is_no_round() -> None:
    filling = fill(build([[1]], [[0]]), np.zeros(1), np.ones(1))
    assert filling.rounds == ()
    assert not filling.tasks.any()


def test_units_change_no_share() -> None:
    demand = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]])
    capacity = np.array([[9.0, 12.0], [3.0, 4.0], [9.0, 20.0]])
    eligible = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    _, plain = shares(build(demand.tolist(), capacity.tolist(), eligible=eligible))
    unit = np.array([1e-5, 64e9])
    scaled = build((demand * unit).tolist(), (capacity * unit).tolist(), eligible=eligible)
    assert shares(scaled)[1] == pytest.approx(plain, rel=1e-13)


def test_twins_become_one_group_and_share_by_weight() -> None:
    problem = build([[1, 2], [2, 4], [3, 1]], [[8, 12], [6, 9]], weight=[1, 3, 2])
    merged = fill(problem, problem.alone, problem.tree.weight)
    apart = fill(problem, problem.alone, problem.tree.weight, merge=False)
    assert merged.tasks.sum(axis=1) == pytest.approx(apart.tasks.sum(axis=1), rel=1e-13)
    share = merged.tasks.sum(axis=1) / problem.alone
    assert share[1] == pytest.approx(3 * share[0], rel=1e-14)


def adversarial(random: np.random.Generator) -> tuple[Problem, Floats]:
    """Ties, zero demands, identical jobs, one machine, limits, trees, spread and finite jobs."""
    jobs, classes, resources = (int(random.integers(1, most)) for most in (9, 6, 4))
    if random.random() < 0.5:
        demand = random.integers(0, 4, (jobs, resources)).astype(np.float64)
        capacity = random.integers(0, 7, (classes, resources)).astype(np.float64)
    else:
        demand = random.lognormal(0, 1, (jobs, resources))
        capacity = random.lognormal(2, 1, (classes, resources))
    demand[~demand.any(axis=1), 0] = 1.0
    tenants = int(random.integers(1, 6))
    tree = random.random() < 0.5
    more: dict[str, Any] = {
        "count": random.integers(1, 4, classes).tolist(),
        "eligible": (random.random((jobs, classes)) < random.choice([0.3, 0.6, 1.0])).tolist(),
        "weight": random.choice([1.0, 2.0, 3.0, 0.5, 1 / 3], tenants).tolist(),
        "job_tenant": random.integers(0, tenants, jobs).tolist(),
        "parent": [int(random.integers(-1, t)) if tree else -1 for t in range(tenants)],
    }
    if random.random() < 0.5:
        finite = random.random(jobs) < 0.5
        more["tasks"] = np.where(finite, random.integers(1, 9, jobs), np.inf).tolist()
    if random.random() < 0.3:
        more["spread"] = (random.random(jobs) < 0.4).tolist()
    if random.random() < 0.4:
        more["limits"] = [
            (int(random.integers(tenants)), int(random.integers(resources)), float(amount))
            for amount in random.choice([0, 1, 2, 5.5], int(random.integers(1, 3)))
        ]
    problem = build(demand.tolist(), capacity.tolist(), **more)
    scale = problem.alone
    if random.random() < 0.3:
        scale = np.where(scale > 0, random.choice([1.0, 2.0, 7.0], jobs), 0.0)
    return problem, scale


def test_adversarial_fillings_are_proved_and_merging_changes_nothing(cases: int) -> None:
    for seed in range(150 * cases):
        problem, scale = adversarial(np.random.default_rng(seed))
        filling = fill(problem, scale, problem.tree.weight)
        found = errors(problem, scale, problem.tree.weight, filling)
        assert found.fit < 1e-12, (seed, found)
        assert max(found.level, found.price, found.gap) < 1e-9, (seed, found)
        assert found.rise < 1e-6, (seed, found)
        apart = fill(problem, scale, problem.tree.weight, merge=False)
        assert filling.tasks.sum(axis=1) == pytest.approx(apart.tasks.sum(axis=1), rel=1e-9), seed


def test_the_same_input_gives_the_same_bytes() -> None:
    problem, scale = adversarial(np.random.default_rng(7))
    once = fill(problem, scale, problem.tree.weight)
    again = fill(problem, scale, problem.tree.weight)
    assert once.tasks.tobytes() == again.tasks.tobytes()
    assert [part.share for part in once.rounds] == [part.share for part in again.rounds]
