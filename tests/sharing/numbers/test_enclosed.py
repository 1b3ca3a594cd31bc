"""The numbers that doubles enclose are never farther from the solution than they say."""

from __future__ import annotations

from math import lcm
from random import Random

import pytest
from flint import fmpq, fmpz_mat

from fairlead.sharing.numbers.enclosure import enclose


def cells_of(matrix: list[list[int]]) -> list[tuple[int, int, int]]:
    return [
        (row, column, factor)
        for row, each in enumerate(matrix)
        for column, factor in enumerate(each)
        if factor
    ]


def solved(matrix: list[list[int]], right: list[fmpq]) -> list[fmpq]:
    """The solution, by elimination in rationals."""
    common = 1
    for each in right:
        common *= int(each.q)
    wanted = fmpz_mat(len(right), 1, [int(each * common) for each in right])
    found = fmpz_mat(matrix).solve(wanted)
    return [found[row, 0] / common for row in range(len(right))]


@pytest.mark.parametrize("seed", range(40))
def test_the_solution_is_within_what_is_said(seed: int) -> None:
    random = Random(seed)
    size = random.choice((1, 2, 5, 30, 60))
    most = 10 ** random.choice((1, 5, 12, 40))
    few = random.choice((0.1, 0.5, 1.0))
    matrix = [
        [random.randint(-most, most) if random.random() < few or i == j else 0 for j in range(size)]
        for i in range(size)
    ]
    right = [fmpq(random.randint(-most, most), random.randint(1, 10**9)) for _ in range(size)]
    found = enclose(cells_of(matrix), right)
    if found is None:
        # Only where the system is singular or nearly so, which these rarely are.
        assert size < 3 or most == 10 or few < 1.0
        return
    near, radius = found
    exact = solved(matrix, right)
    assert all(abs(a - b) <= radius for a, b in zip(near, exact, strict=True))
    largest = max(abs(each) for each in exact)
    assert radius < fmpq(1, 10**20) * (1 + largest)


def test_of_systems_without_a_solution_or_nearly_so_nothing_is_said() -> None:
    one = fmpq(1)
    assert enclose(cells_of([[1, 2], [2, 4]]), [one, one]) is None
    # Its determinant is 1, and doubles take it for singular.
    assert enclose(cells_of([[10**9, 10**9 + 1], [10**9 - 1, 10**9]]), [one, one]) is None
    common = lcm(*range(1, 32))
    hilbert = [[common // (i + j + 1) for j in range(16)] for i in range(16)]
    assert enclose(cells_of(hilbert), [one] * 16) is None
    assert enclose(cells_of([[10**400]]), [one]) is None
    assert enclose(cells_of([[1]]), [fmpq(10**400)]) is None
