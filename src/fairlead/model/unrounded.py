"""The numbers of an answer before they are rounded to be shown, and how they are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

EXACT = Fraction(0)

IN_DOUBLES = Fraction(1, 10**6)
"""A mechanism's numbers are known to this part of themselves: it computes in doubles. Steps of the
market and of PS-DSF end at a gap of 1e-9, and of a thousand jobs each is then known to about 1e-7;
the others are sums and quotients, or a linear program whose rows hold to 1e-9."""

LEAST = 5e-324
"""The smallest double that is not 0: stands for changes that are smaller."""


@dataclass(frozen=True)
class Unrounded:
    """By name: of each job its tasks, and the tasks that make one unit of share (its scale; where
    it has none what it could run alone), and its share; of each tenant its weight and its share.

    `within` is 0 where they are exact. What is computed in doubles is known to this part of itself.
    """

    tasks: Mapping[str, Fraction]
    unit: Mapping[str, Fraction]
    share: Mapping[str, Fraction]
    weight: Mapping[str, Fraction]
    tenant_share: Mapping[str, Fraction]
    within: Fraction = EXACT


NONE = Unrounded({}, {}, {}, {}, {})

SHORT = 200
"""Bits of numerator and denominator up to which a fraction is short: some 60 digits in all."""


def write_fraction(number: Fraction, *, long: bool) -> str | None:
    """The fraction as text: `3/7`, `2`. None where it is not short, and `long` is not wanted."""
    over, under = number.numerator, number.denominator
    if not long and over.bit_length() + under.bit_length() > SHORT:
        return None
    return _digits(over) if under == 1 else f"{_digits(over)}/{_digits(under)}"


_AT_ONCE = 4000  # Python writes no more than 4,300 digits of a whole number at once


def _digits(number: int) -> str:
    parts: list[str] = []
    while number >= 10**_AT_ONCE:
        number, part = divmod(number, 10**_AT_ONCE)
        parts.append(f"{part:0{_AT_ONCE}d}")
    return "".join([str(number), *reversed(parts)])


def compared(before: Fraction, after: Fraction, within: Fraction = EXACT) -> int:
    """1 where it is more than before, -1 where it is less, 0 where it is as much: exactly, or
    where both are known `within` a part of themselves as far as that tells."""
    if before == after or (within and abs(after - before) <= within * max(before, after)):
        return 0
    return 1 if after > before else -1


def rise(before: Fraction, after: Fraction) -> float:
    """The change as a part of the number before."""
    now = after.numerator * before.denominator - before.numerator * after.denominator
    return now / (before.denominator * after.denominator)


def change(before: Fraction, after: Fraction, within: Fraction = EXACT) -> float | None:
    """The change as a part of what was before, 0 only where there is none; None where there was
    nothing before."""
    if compared(before, after, within) == 0:
        return 0.0
    if not before:
        return None
    # Whole numbers, since fractions would look for common divisors of thousands of digits.
    now = after.numerator * before.denominator
    then = before.numerator * after.denominator
    return (now - then) / then or (LEAST if now > then else -LEAST)
