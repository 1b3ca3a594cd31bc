"""The numbers of a problem as rationals: what is written, not what a double makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, lcm, nextafter
from numbers import Rational
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpz

Doubles = npt.NDArray[np.float64]
Whole = npt.NDArray[np.object_]
"""Integers of any length."""


@dataclass(frozen=True)
class Amounts:
    """Demands and capacities in parts of each resource: whole numbers, of any length.

    `tasks` and `weight` are None where a job is unlimited and where a pool says the weight.
    """

    demand: Whole  # (J, R)
    capacity: Whole  # (C, R) of one machine
    parts: tuple[int, ...]  # (R,) how many make one of the resource
    tasks: tuple[fmpq | None, ...]  # (J,)
    limits: tuple[fmpq, ...]  # (L,) in parts
    weight: tuple[fmpq | None, ...]  # (T,)


def whole_parts(
    demand: Sequence[Sequence[Fraction]],
    capacity: Sequence[Sequence[Fraction]],
    limits: Iterable[tuple[int, Fraction]],
    tasks: Iterable[Fraction | None],
    weight: Iterable[Fraction | None],
    resources: int,
) -> Amounts:
    """The amounts, given in fractions. `limits`: of which resource, and how much."""
    parts = [1] * resources
    for rows in (demand, capacity):
        for r in range(resources):
            parts[r] = lcm(parts[r], *{row[r].denominator for row in rows})
    return Amounts(
        _in_parts(demand, parts),
        _in_parts(capacity, parts),
        tuple(parts),
        tuple(None if each is None else rational(each) for each in tasks),
        tuple(rational(amount) * parts[r] for r, amount in limits),
        tuple(None if each is None else rational(each) for each in weight),
    )


def of_doubles(
    demand: Doubles,
    capacity: Doubles,
    limits: Iterable[tuple[int, float]],
    tasks: Doubles,
    weight: Doubles,
) -> Amounts:
    """The amounts of a problem that was given in doubles: each stands for the shortest decimal
    that reads as it; infinite tasks and a weight that is no number are none."""
    return whole_parts(
        [[_decimal(x) for x in row] for row in demand.tolist()],
        [[_decimal(x) for x in row] for row in capacity.tolist()],
        ((resource, _decimal(amount)) for resource, amount in limits),
        (None if x == np.inf else _decimal(x) for x in tasks.tolist()),
        (None if np.isnan(x) else _decimal(x) for x in weight.tolist()),
        demand.shape[1],
    )


def rational(number: Any) -> fmpq:
    """The number as a rational; a double is the shortest decimal that reads as it."""
    if isinstance(number, fmpq):
        return number
    if isinstance(number, float):
        number = _decimal(float(number))
    return fmpq(int(number.numerator), int(number.denominator))


def rationals(numbers: Iterable[Any]) -> list[fmpq]:
    if isinstance(numbers, np.ndarray):
        numbers = numbers.tolist()
    return [rational(number) for number in numbers]


class _LowestTerms:
    """A rational in lowest terms. Python takes one as it is, where of two integers of thousands of
    digits it would look for a common divisor first, for a millisecond each."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, number: fmpq) -> None:
        self.numerator, self.denominator = int(number.p), int(number.q)


Rational.register(_LowestTerms)


def fraction(number: fmpq) -> Fraction:
    """The rational as Python has it."""
    return Fraction(cast(Rational, _LowestTerms(number)))


@lru_cache(maxsize=1 << 16)
def simplest(number: float) -> Fraction:
    """The fraction with the smallest denominator whose nearest double this is: what a quotient was
    before it became a double, unless numerator and denominator have 25 bits or more."""
    if number == int(number):
        return Fraction(int(number))
    p, q = number.as_integer_ratio()
    # From the middle to the double below, to the middle to the one above.
    (a, b), (c, d) = (
        (p * v + u * q, 2 * q * v)
        for u, v in (nextafter(number, end).as_integer_ratio() for end in (-inf, inf))
    )
    # Continued fractions: the whole part that both have, and the same of what is left, upside down.
    before, last = (0, 1), (1, 0)
    while True:
        whole, rest = divmod(a, b)
        if between := (whole + 1) * d < c:
            whole += 1
        before, last = last, (whole * last[0] + before[0], whole * last[1] + before[1])
        if between:
            return Fraction(*last)
        if not rest:
            whole = d // (c - whole * d) + 1
            return Fraction(whole * last[0] + before[0], whole * last[1] + before[1])
        a, b, c, d = d, c - whole * d, b, rest


def quotients(numbers: Doubles) -> list[fmpq]:
    """These doubles as they were before they were rounded, as far as they tell."""
    return [rational(simplest(number)) for number in numbers.tolist()]


def nearest(number: fmpq | fmpz) -> float:
    """The double that is nearest; infinite where it is too large for one."""
    try:
        if isinstance(number, fmpz):
            return float(int(number))
        return int(number.p) / int(number.q)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def _in_parts(rows: Sequence[Sequence[Fraction]], parts: Sequence[int]) -> Whole:
    found = np.empty((len(rows), len(parts)), dtype=object)
    for i, row in enumerate(rows):
        for r, amount in enumerate(row):
            found[i, r] = amount.numerator * (parts[r] // amount.denominator)
    return found


def _decimal(number: float) -> Fraction:
    whole = int(number)
    return Fraction(whole) if whole == number else Fraction(repr(number))
