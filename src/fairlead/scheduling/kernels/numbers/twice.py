"""Numbers of twice a double's length: a double and what is left of it, at most half its last digit.

Of numbers that are not below 0 each operation is off by less than 2^-100 of what it gives (Dekker
1971; Joldes, Muller, Popescu 2017 with tighter bounds). No operation is reordered or fused when a
kernel is compiled, on which this depends.
"""

from __future__ import annotations

from fairlead.compiling import inner

HALVES = 134217729.0
"""2^27 + 1 parts a double into two of half its length (Veltkamp)."""


@inner
def plus(a: float, b: float) -> tuple[float, float]:
    """The sum of two doubles, exactly (Knuth)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


@inner
def times(a: float, b: float) -> tuple[float, float]:
    """The product of two doubles, exactly (Dekker)."""
    product = a * b
    big = HALVES * a
    a_high = big - (big - a)
    a_low = a - a_high
    big = HALVES * b
    b_high = big - (big - b)
    b_low = b - b_high
    left = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, left


@inner
def add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """The sum of two long numbers that are not below 0."""
    total, low = plus(a, b)
    return plus(total, low + (a_low + b_low))


@inner
def multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """The product of two long numbers that are not below 0."""
    product, low = times(a, b)
    return plus(product, low + (a * b_low + a_low * b))


@inner
def divide(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """The quotient of two long numbers."""
    first = a / b
    product, low = times(first, b)
    return plus(first, (((a - product) - low) + a_low - first * b_low) / b)
