"""PS-DSF: the definition, checked job by job and machine by machine."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.pool_weights import tenant_weights
from fairlead.sharing.filling.rates import rates
from fairlead.sharing.mechanisms.ps_dsf import distance, ps_dsf
from fairlead.sharing.mechanisms.weights import runnable
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Floats, Problem
from tests.reference.instances import Kind, instance
from tests.sharing.build import build
from tests.tolerances import EXACT


def has_bottleneck(
    problem: Problem, share: Floats, tasks: Floats, job: int, cls: int, resource: int
) -> bool:
    """The definition in the paper's words: the resource is used up on the machine, the job demands
    it, and nobody who holds some of it there has a larger virtual share there."""
    demand = problem.demand[:, resource]
    capacity = problem.capacity[cls, resource] * problem.count[cls]
    if not demand[job] or demand @ tasks[:, cls] < capacity * (1 - EXACT):
        return False
    return all(
        share[other, cls] <= share[job, cls] * (1 + EXACT)
        for other in range(len(tasks))
        if demand[other] * tasks[other, cls] > EXACT * capacity
    )


@pytest.mark.parametrize("finite", [False, True])
def test_every_job_is_finished_or_has_a_bottleneck_on_every_machine_that_it_may_use(
    finite: bool, cases: int
) -> None:
    random = Random("ps-dsf")
    kind = Kind(finite=finite, spread=False, limits=False)
    for _ in range(32 * cases):
        problem = compile_problem(*instance(random, kind))
        weight = tenant_weights(problem, problem.alone).weight
        tasks = ps_dsf(problem, weight).tasks
        phi = rates(problem.tree, weight, runnable(problem, weight))
        total = tasks.sum(axis=1)
        share = np.full(tasks.shape, np.inf)
        for j, c in zip(*np.nonzero(problem.usable), strict=True):
            share[j, c] = total[j] / (phi[j] * problem.holds[j, c])
        for j, c in zip(*np.nonzero(problem.usable), strict=True):
            assert total[j] >= problem.tasks[j] * (1 - EXACT) or any(
                has_bottleneck(problem, share, tasks, j, c, r)
                for r in range(len(problem.resources))
            )


def test_on_one_machine_it_is_drf() -> None:
    tasks = ps_dsf(build([[1, 4], [3, 1]], [[9, 18]]), np.ones(2)).tasks
    assert tasks[:, 0] == pytest.approx([3, 2], rel=EXACT)


def test_machines_that_suit_different_jobs_go_to_them() -> None:
    # CDRF section 3.1: DRF on each machine gives 6 and 6, the efficient allocation is 10 and 10.
    problem = build([[0.2, 1], [1, 0.2]], [[2, 12], [12, 2]])
    assert ps_dsf(problem, np.ones(2)).tasks.sum(axis=1) == pytest.approx([10, 10], rel=EXACT)


def test_with_one_resource_and_equal_machines_it_is_max_min_fair() -> None:
    problem = build(
        [[1.0]] * 3,
        [[1.0], [1.0], [1.0]],
        count=[2, 3, 4],
        eligible=[[1, 0, 0], [1, 1, 0], [0, 1, 1]],
        weight=[1, 2, 3],
    )
    fair = fill(problem, np.ones(3), problem.tree.weight).tasks.sum(axis=1)
    assert ps_dsf(problem, problem.tree.weight).tasks.sum(axis=1) == pytest.approx(fair)


def test_a_limit_is_shared_like_a_machine_through_which_all_tasks_pass() -> None:
    # Ten units for both jobs of a tenant, although each is alone on its machine; the second needs
    # two a task, so it has half as many.
    problem = build(
        [[1.0], [2.0]],
        [[100.0], [100.0]],
        eligible=[[1, 0], [0, 1]],
        job_tenant=[0, 0],
        limits=[(0, 0, 10.0)],
    )
    assert ps_dsf(problem, np.ones(1)).tasks.sum(axis=1) == pytest.approx([5, 2.5], rel=EXACT)


def test_the_distance_of_an_allocation_that_is_not_ps_dsf_is_seen() -> None:
    problem = build([[1.0], [1.0]], [[10.0]])
    weight = np.ones(2)
    assert distance(problem, weight, np.array([[5.0], [5.0]])) <= EXACT
    assert distance(problem, weight, np.array([[6.0], [4.0]])) == pytest.approx(1 / 3)
    assert distance(problem, weight, np.array([[4.5], [4.5]])) == pytest.approx(0.1)
    assert distance(problem, weight, np.array([[6.0], [6.0]])) == pytest.approx(0.2)


def test_the_definition_holds_with_everything_a_problem_may_have(cases: int) -> None:
    random = Random("everything")
    for _ in range(32 * cases):
        problem = compile_problem(*instance(random))
        weight = tenant_weights(problem, problem.alone).weight
        assert distance(problem, weight, ps_dsf(problem, weight).tasks) <= EXACT
