"""Rationals for the check: sums, the nearest double, and systems of equations that are solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import cast

from flint import fmpq, fmpq_mat, fmpz, fmpz_mat, nmod_mat

NONE = fmpq(0)
ONE = fmpq(1)

Equation = Mapping[int, int]
"""Whole factors of the unknowns, by their numbers."""

# Which equations follow from which is first asked in the numbers below this prime; what it says is
# seen to afterwards.
_PRIME = 2**61 - 1


def rational(number: Fraction | int) -> fmpq:
    """The number as a rational of the library that computes with them."""
    return fmpq(int(number.numerator), int(number.denominator))


def nearest(number: fmpq) -> float:
    """The double that is nearest; infinite where it is too large for one."""
    try:
        return int(number.p) / int(number.q)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def proportions(equations: Sequence[Equation], size: int) -> list[fmpz] | None:
    """The unknowns by which all of these equations add up to 0, which say them but for a factor;
    None where they say more or less than that."""
    if size == 1:
        return None if any(equation.get(0) for equation in equations) else [fmpz(1)]
    chosen = _independent(equations, size)
    if len(chosen) != size - 1:
        return None
    for last in range(size):
        matrix, right = fmpz_mat(size - 1, size - 1), fmpz_mat(size - 1, 1)
        for row, equation in enumerate(chosen):
            for unknown, factor in equation.items():
                if unknown == last:
                    right[row, 0] = -factor
                else:
                    matrix[row, unknown - (unknown > last)] = factor
        try:
            solved = cast(fmpq_mat, matrix.solve(right))
        except ZeroDivisionError:
            continue  # this one is 0
        numbers, common = solved.numer_denom()
        found = [numbers[row, 0] for row in range(size - 1)]
        found.insert(last, common)
        if all(sum((found[u] * f for u, f in each.items()), fmpz(0)) == 0 for each in equations):
            return found
        return None
    return None


def _independent(equations: Sequence[Equation], size: int) -> list[Equation]:
    """As many of the equations as do not follow from each other."""
    if len(equations) < size:
        return list(equations)
    table = [[0] * len(equations) for _ in range(size)]
    for column, equation in enumerate(equations):
        for unknown, factor in equation.items():
            table[unknown][column] = factor % _PRIME
    cells = [factor for row in table for factor in row]
    reduced, rank = nmod_mat(size, len(equations), cells, _PRIME).rref()
    chosen, column = [], 0
    for row in range(rank):
        while int(reduced[row, column]) == 0:
            column += 1
        chosen.append(equations[column])
    return chosen


def solution(
    equations: Sequence[Equation], right: Sequence[fmpq], unknowns: Sequence[int]
) -> dict[int, fmpq] | None:
    """The unknowns that satisfy as many equations; None where these do not say them."""
    size = len(unknowns)
    if len(equations) != size:
        return None
    if size == 0:
        return {}
    at = {unknown: column for column, unknown in enumerate(unknowns)}
    matrix = fmpz_mat(size, size)
    for row, equation in enumerate(equations):
        for unknown, factor in equation.items():
            matrix[row, at[unknown]] = factor
    common = fmpz(1)
    for each in right:
        common = common.lcm(each.q)
    wanted = fmpz_mat(size, 1, [each.p * (common // each.q) for each in right])
    try:
        solved = cast(fmpq_mat, matrix.solve(wanted))
    except ZeroDivisionError:
        return None
    return {unknown: solved[column, 0] / common for unknown, column in at.items()}
