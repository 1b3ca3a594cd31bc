"""Most tasks: the largest total, and the fairest way to have it."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlead.sharing.compile import compile_problem
from fairlead.sharing.mechanisms.most_tasks import most_tasks
from fairlead.sharing.problem import Floats, Problem
from tests.reference.instances import PLAIN, instance
from tests.sharing.build import build
from tests.tolerances import EXACT


def tasks(problem: Problem) -> Floats:
    total: Floats = most_tasks(problem, problem.tree.weight).tasks.sum(axis=1)
    return total


def largest_total(problem: Problem) -> float:
    """The largest total by one dense linear program, without finite tasks, spread and limits."""
    job, cls = np.nonzero(problem.usable)
    if not len(job):
        return 0.0
    resources = len(problem.resources)
    matrix = np.zeros((len(problem.count) * resources, len(job)))
    for k, (j, c) in enumerate(zip(job, cls, strict=True)):
        matrix[c * resources : (c + 1) * resources, k] = problem.demand[j]
    right = (problem.capacity * problem.count[:, None]).ravel()
    largest = np.abs(matrix).max(axis=1)
    used = largest > 0
    found = linprog(
        -np.ones(len(job)), matrix[used] / largest[used, None], right[used] / largest[used]
    )
    assert found.status == 0
    return float(-found.fun)


def test_the_cheapest_job_gets_everything() -> None:
    # k-DF section 1.1.
    problem = build([[40, 8, 8], [8, 5, 1]], [[200, 200, 200]])
    assert tasks(problem) == pytest.approx([0, 25], abs=EXACT)


def test_of_equal_totals_the_fairest_is_chosen() -> None:
    assert tasks(build([[1.0], [1.0], [2.0]], [[12]])) == pytest.approx([6, 6, 0], abs=EXACT)


def test_weights_choose_among_equal_totals_only() -> None:
    problem = build([[1.0], [1.0], [2.0]], [[12]], weight=[1, 2, 100])
    assert tasks(problem) == pytest.approx([4, 8, 0], abs=EXACT)


def test_the_choice_is_fair_from_the_least_share_up() -> None:
    # All three CPUs of m1 are tasks of A or B, all six of m2 of B or C, all nine of m3 of C: that
    # leaves A 3, B 6 and C 9 where the least is as large as can be, not more to A, not more to C.
    problem = build([[1.0]] * 3, [[3.0], [6.0], [9.0]], eligible=[[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    assert tasks(problem) == pytest.approx([3, 6, 9])


def test_what_the_winner_leaves_goes_to_the_others() -> None:
    problem = build([[1, 0], [2, 1]], [[12, 4]], tasks=[4, np.inf])
    assert tasks(problem) == pytest.approx([4, 4])


def test_the_total_is_the_largest(cases: int) -> None:
    random = Random("most")
    for _ in range(60 * cases):
        problem = compile_problem(*instance(random, PLAIN))
        assert tasks(problem).sum() == pytest.approx(largest_total(problem), rel=1e-8)
