"""The market: an equilibrium by its definition, checked without what the mechanism uses."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.pool_weights import tenant_weights
from fairlead.sharing.mechanisms.market import market
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.mechanism import Outcome
from tests.reference.instances import PLAIN, instance
from tests.sharing.build import build
from tests.tolerances import EXACT


def prices_of(outcome: Outcome) -> Floats:
    assert outcome.prices is not None
    return outcome.prices


def cost(problem: Problem, prices: Floats, job: int, cls: int) -> float:
    """The cost of a task on a machine of a class."""
    return sum(
        float(problem.demand[job, r] * prices[cls, r]) for r in range(len(problem.resources))
    )


def test_the_example_of_the_drf_paper() -> None:
    outcome = market(build([[1, 4], [3, 1]], [[9, 18]]), np.ones(2))
    assert outcome.tasks[:, 0] == pytest.approx([45 / 11, 18 / 11], rel=EXACT)
    # Both are sold out, and each job spends its budget of 1.
    cpu, memory = prices_of(outcome)[0]
    assert [cpu + 4 * memory, 3 * cpu + memory] == pytest.approx([11 / 45, 11 / 18], rel=EXACT)


def test_whoever_has_twice_the_weight_has_twice_the_budget() -> None:
    outcome = market(build([[1.0], [2.0]], [[12]]), np.array([2.0, 1.0]))
    assert outcome.tasks[:, 0] == pytest.approx([8, 2], rel=EXACT)
    assert prices_of(outcome)[0, 0] == pytest.approx(3 / 12, rel=EXACT)


def test_a_job_that_has_all_its_tasks_does_not_spend_its_budget() -> None:
    outcome = market(build([[1.0], [1.0]], [[12]], tasks=[2, np.inf]), np.ones(2))
    assert outcome.tasks[:, 0] == pytest.approx([2, 10], rel=EXACT)
    assert prices_of(outcome)[0, 0] == pytest.approx(1 / 10, rel=EXACT)


def test_a_limit_caps_the_jobs_of_a_tenant_together() -> None:
    problem = build([[1.0], [2.0], [1.0]], [[12]], job_tenant=[0, 0, 1], limits=[(0, 0, 4.0)])
    outcome = market(problem, np.ones(2))
    assert outcome.tasks[:, 0] == pytest.approx([2, 1, 8], rel=EXACT)


def test_in_every_equilibrium_all_money_buys_the_cheapest_and_what_is_left_is_free(
    cases: int,
) -> None:
    random = Random("equilibrium")
    for _ in range(24 * cases):
        problem = compile_problem(*instance(random, PLAIN))
        weight = tenant_weights(problem, problem.alone).weight
        outcome = market(problem, weight)
        prices, tasks = prices_of(outcome), outcome.tasks
        assert (prices >= 0).all()
        for c, count in enumerate(problem.count):
            for r in range(len(problem.resources)):
                total = count * problem.capacity[c, r]
                unsold = 1 - tasks[:, c] @ problem.demand[:, r] / total if total else 0.0
                assert min(unsold, prices[c, r] * total) <= EXACT
        for j in range(len(tasks)):
            where = np.flatnonzero(problem.usable[j])
            if len(where):
                # One-job tenants: the budget is the weight.
                budget = weight[problem.tree.job_tenant[j]]
                costs = np.array([cost(problem, prices, j, int(c)) for c in where])
                assert costs @ tasks[j, where] == pytest.approx(budget, rel=1e-8)
                assert tasks[j].sum() * costs.min() == pytest.approx(budget, rel=1e-8)


def test_with_one_resource_it_is_max_min_fair(cases: int) -> None:
    random = np.random.default_rng(4)
    for _ in range(16 * cases):
        jobs, classes = random.integers(1, 7), random.integers(1, 5)
        problem = build(
            random.integers(1, 4, (jobs, 1)).tolist(),
            random.integers(1, 9, (classes, 1)).tolist(),
            eligible=(random.random((jobs, classes)) < 0.5).tolist(),
            weight=random.integers(1, 4, jobs).tolist(),
        )
        scale = np.where(problem.usable.any(axis=1), 1 / problem.demand[:, 0], 0.0)
        fair = fill(problem, scale, problem.tree.weight).tasks.sum(axis=1)
        assert market(problem, problem.tree.weight).tasks.sum(axis=1) == pytest.approx(
            fair, rel=1e-8, abs=1e-8
        )


def test_no_job_at_all_is_an_empty_market() -> None:
    problem = build([[1.0]], [[0.0]])
    outcome = market(problem, np.ones(1))
    assert outcome.tasks.tolist() == [[0.0]]
    assert prices_of(outcome).tolist() == [[0.0]]
