"""Most tasks: the largest total, and the fairest way to have it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairlead.sharing.mechanisms.most_tasks import most_tasks
from fairlead.sharing.problem.problem import Floats, Problem
from tests.reference.simplex import Simplex
from tests.sharing.build import build
from tests.tolerances import EXACT


def tasks(problem: Problem) -> Floats:
    total: Floats = most_tasks(problem, problem.tree.weight).tasks.sum(axis=1)
    return total


def exact(problem: Problem) -> tuple[float, list[float]]:
    """The largest total, and the shares (tasks / alone) of the fairest allocation that has it, in
    rational arithmetic, without finite tasks, spread, limits and weights."""
    pairs = list(zip(*np.nonzero(problem.usable), strict=True))
    rows: list[tuple[dict[int, Fraction], Fraction]] = [
        (
            {k: Fraction(problem.demand[j, r]) for k, (j, at) in enumerate(pairs) if at == c},
            Fraction(problem.capacity[c, r]) * int(problem.count[c]),
        )
        for c in range(len(problem.count))
        for r in range(len(problem.resources))
    ]
    capacities = len(rows)
    share = [
        {
            k: 1 / sum((n * fits(problem, j, c) for c, n in counts(problem)), Fraction(0))
            for k, (at, _) in enumerate(pairs)
            if at == j
        }
        for j in range(len(problem.demand))
    ]
    rows += [({k: -value for k, value in row.items()}, Fraction(0)) for row in share]
    program = Simplex(len(pairs), rows)
    total = program.maximise(dict.fromkeys(range(len(pairs)), Fraction(1)), keep=True)
    active = [j for j, row in enumerate(share) if row]
    found = [Fraction(0)] * len(share)
    level = Fraction(0)
    while active:
        step = program.add_column({capacities + j: Fraction(1) for j in active})
        level += program.maximise({step: Fraction(1)}, keep=True)
        for j in [j for j in active if program.maximise(share[j]) == level]:
            found[j] = level
            active.remove(j)
    return float(total), [float(value) for value in found]


def counts(problem: Problem) -> list[tuple[int, int]]:
    return list(enumerate(problem.count.tolist()))


def fits(problem: Problem, job: int, cls: int) -> Fraction:
    """Tasks that one machine of the class holds."""
    return min(
        Fraction(capacity) / Fraction(demand)
        for capacity, demand in zip(
            problem.capacity[cls].tolist(), problem.demand[job].tolist(), strict=True
        )
        if demand
    )


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


def test_the_total_is_the_largest_and_the_choice_the_fairest(cases: int) -> None:
    random = np.random.default_rng(7)
    for _ in range(16 * cases):
        jobs, classes = random.integers(1, 6), random.integers(1, 4)
        demand = random.integers(0, 4, (jobs, 2))
        demand[:, 0] += demand.sum(axis=1) == 0
        problem = build(
            demand.tolist(),
            random.integers(0, 9, (classes, 2)).tolist(),
            count=random.integers(1, 4, classes).tolist(),
            eligible=(random.random((jobs, classes)) < 0.6).tolist(),
        )
        total, shares = exact(problem)
        ours = tasks(problem)
        assert ours.sum() == pytest.approx(total, rel=EXACT, abs=EXACT)
        expected = np.array(shares) * problem.alone
        assert ours == pytest.approx(expected, rel=1e-8, abs=1e-8)
