"""The linear program in rationals agrees with the reference, whatever doubles say of it."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from unittest.mock import Mock

import pytest
from flint import fmpq

from fairlead.model.errors import SolverError
from fairlead.sharing.numbers.amounts import fraction, rational
from fairlead.sharing.solvers import exact_program
from fairlead.sharing.solvers.exact_program import Column, Optimum, maximise
from tests.reference.simplex import Simplex

NONE = fmpq(0)
Program = tuple[list[Column], list[fmpq], list[fmpq]]


def drawn(random: Random) -> Program:
    """Small numbers with ties, bounds of 0, and every column bounded by some row."""
    rows = random.randint(1, 6)
    columns: list[Column] = []
    for _ in range(random.randint(1, 9)):
        some = random.sample(range(rows), random.randint(1, min(rows, 3)))
        columns.append(
            {
                row: rational(Fraction(random.randint(1, 4), random.choice([1, 1, 3])))
                for row in some
            }
        )
    bound = [fmpq(random.choice([0, 1, 2, 2, 5, 9])) for _ in range(rows)]
    gain = [fmpq(random.randint(1, 5), random.choice([1, 2])) for _ in columns]
    return columns, bound, gain


def right(program: Program) -> Fraction:
    """The reference's value."""
    columns, bound, gain = program
    rows = [
        (
            {x: fraction(column[row]) for x, column in enumerate(columns) if row in column},
            fraction(b),
        )
        for row, b in enumerate(bound)
    ]
    return Simplex(len(columns), rows).maximise({x: fraction(g) for x, g in enumerate(gain)})


def check(program: Program, found: Optimum) -> None:
    """Amounts that fit and prices that cover, of one value, and a corner of both."""
    columns, bound, gain = program
    assert fraction(found.value) == right(program)
    assert len(found.basic) == len(found.full)
    load = [NONE] * len(bound)
    for index, amount in found.amount.items():
        assert amount >= 0
        for row, takes in columns[index].items():
            load[row] += takes * amount
    assert all(used <= there for used, there in zip(load, bound, strict=True))
    assert all(load[row] == bound[row] for row in found.full)
    assert all(price >= 0 for price in found.price.values())
    for index, column in enumerate(columns):
        cost = sum((found.price.get(row, NONE) * takes for row, takes in column.items()), NONE)
        assert cost >= gain[index]
        if index in found.amount:
            assert cost == gain[index]
    assert sum((each * bound[row] for row, each in found.price.items()), NONE) == found.value


def test_random_programs_agree_with_the_reference(cases: int) -> None:
    for seed in range(60 * cases):
        program = drawn(Random(seed))
        check(program, maximise(*program))


@pytest.mark.parametrize("part", [0.0, 0.5])
def test_wrong_doubles_cost_time_and_change_nothing(
    part: float, monkeypatch: pytest.MonkeyPatch, cases: int
) -> None:
    """They say that nothing matters, or just anything."""
    for seed in range(32 * cases):
        random = Random(seed)
        program = drawn(random)
        columns, bound, _ = program
        said = (
            {x for x in range(len(columns)) if random.random() < part},
            {row for row in range(len(bound)) if random.random() < part},
        )
        monkeypatch.setattr(exact_program, "_likely", Mock(return_value=said))
        check(program, maximise(*program))


def test_where_the_program_in_doubles_fails_rationals_do_it_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fails = Mock(side_effect=SolverError("no optimum"))
    monkeypatch.setattr("fairlead.sharing.solvers.linear.Program.solve", fails)
    for seed in range(40):
        program = drawn(Random(seed))
        check(program, maximise(*program))


def test_the_first_that_gains_comes_to_an_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_program, "_FAST", 0)
    for seed in range(40):
        program = drawn(Random(seed))
        check(program, maximise(*program))


@pytest.mark.parametrize("far", [10**6, 10**15, 10**40])
def test_numbers_far_apart_are_exact(far: int) -> None:
    program = (
        [{0: fmpq(1), 1: fmpq(far)}, {0: fmpq(far)}, {1: fmpq(1, far)}],
        [fmpq(1), fmpq(1)],
        [fmpq(1), fmpq(1), fmpq(1, far)],
    )
    check(program, maximise(*program))
