"""Amounts: what is written, as rationals, and what could be run alone, which follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from flint import fmpq, fmpz

from fairlead.sharing.numbers.amounts import fraction, nearest, rational, rationals, simplest
from fairlead.sharing.problem.alone import alone, held
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.problem.problem import Problem
from tests.reference.instances import Kind, instance
from tests.reference.scales import can_never_run, cdrf, tsf
from tests.sharing.build import build


def test_a_double_is_the_shortest_decimal_that_reads_as_it() -> None:
    assert rational(0.1) == fmpq(1, 10)
    assert rational(1e-5) == fmpq(1, 100_000)
    assert rational(1e22) == fmpq(10**22)
    assert rational(np.float64(0.3)) == fmpq(3, 10)


def test_what_is_exact_stays_as_it_is() -> None:
    assert rational(Fraction(1, 3)) == fmpq(1, 3)
    assert rational(7) == fmpq(7)
    assert rational(fmpq(2, 7)) == fmpq(2, 7)
    assert rationals(np.array([0.5, 2.0])) == [fmpq(1, 2), fmpq(2)]
    assert fraction(fmpq(-6, 4)) == Fraction(-3, 2)


@pytest.mark.parametrize("exact", [Fraction(1, 3), Fraction(10**400, 7 * 10**399), Fraction(-2, 7)])
def test_the_nearest_double_is_the_nearest_however_long_the_numbers(exact: Fraction) -> None:
    assert nearest(rational(exact)) == float(exact)


def test_what_is_too_large_for_a_double_is_infinite() -> None:
    assert nearest(fmpq(10**400)) == np.inf
    assert nearest(fmpq(-(10**400))) == -np.inf
    assert nearest(fmpz(10**400)) == np.inf


def test_amounts_are_whole_numbers_in_parts_of_each_resource() -> None:
    amounts = build([[0.1, 3], [0.25, 1]], [[1, 10]], limits=[(0, 0, 0.5)]).amounts
    assert amounts.parts == (20, 1)
    assert amounts.demand.tolist() == [[2, 3], [5, 1]]
    assert amounts.capacity.tolist() == [[20, 10]]
    assert amounts.limits == (fmpq(10),)
    assert amounts.tasks == (None, None)


def alone_in_fractions(problem: Problem, job: int, count: Sequence[int]) -> Fraction:
    """Machine by machine."""
    amounts, found = problem.amounts, Fraction(0)
    for c, machines in enumerate(count):
        fits = min(
            Fraction(int(amounts.capacity[c, r]), int(need))
            for r, need in enumerate(amounts.demand[job].tolist())
            if need
        )
        found += machines * (min(fits, Fraction(1)) if problem.spread[job] else fits)
    return found


def test_what_could_run_alone_agrees_with_the_reference(cases: int) -> None:
    for seed in range(60 * cases):
        cluster, jobs = instance(Random(seed), Kind(machines=6, jobs=6))
        problem = compile_problem(cluster, jobs)
        by_name = {job.name: job for job in jobs}
        everywhere, allowed = alone(problem), alone(problem, allowed=True)
        for j, name in enumerate(problem.job_names):
            assert fraction(everywhere[j]) == tsf(cluster.machines, by_name[name]), seed
            never = can_never_run(cluster, by_name[name])
            may = 0 if never else cdrf(cluster.machines, by_name[name])
            assert fraction(allowed[j]) == may, seed


@pytest.mark.parametrize("unit", [1.0, 1e-9, 3e12])
def test_the_scarcest_resource_is_found_where_doubles_cannot_tell(unit: float) -> None:
    """Ratios that are equal, or differ in the sixteenth digit, in small and in long numbers."""
    random = np.random.default_rng(3)
    for _ in range(40):
        demand = random.choice([0.1, 0.3, 0.7, 1.0], (4, 3)) * unit
        capacity = random.choice([1.0, 3.0, 7.0, 10.0], (3, 3)) * unit
        capacity[:, 1] *= 1 + random.choice([0, 2e-16, -2e-16], 3)
        count = random.integers(0, 4, (4, 3))
        problem = build(
            demand.tolist(), capacity.tolist(), spread=(random.random(4) < 0.3).tolist()
        )
        found = held(problem, [0, 1, 2, 3], count)
        for job in range(4):
            right = alone_in_fractions(problem, job, count[job].tolist())
            assert fraction(found[job]) == right


def test_a_fraction_is_taken_over_as_it_is() -> None:
    found = fraction(fmpq(-6, 4))
    assert (found.numerator, found.denominator, hash(found)) == (-3, 2, hash(Fraction(-3, 2)))


def test_a_double_tells_the_quotient_that_it_was(cases: int) -> None:
    random = Random(5)
    for _ in range(500 * cases):
        p, q = random.randint(1, 2**24), random.randint(1, 2**24)
        assert simplest(p / q) == Fraction(p, q)


def test_the_simplest_fraction_is_the_double_and_no_other_has_a_smaller_denominator(
    cases: int,
) -> None:
    random = Random(6)
    for _ in range(200 * cases):
        number = random.random() * 10.0 ** random.randint(-9, 9)
        assert float(simplest(number)) == number
        number = random.randint(1, 99) / random.randint(1, 99)
        found = simplest(number)
        for q in range(1, found.denominator):
            assert float(Fraction(round(number * q), q)) != number
    for number in (0.0, 7.0, 1e300, 5e-324, 0.9999999999999999, 1.0000000000000002):
        assert float(simplest(number)) == number
