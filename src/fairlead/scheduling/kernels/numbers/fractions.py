"""Sums of fractions, whose signs are told without rounding and without long numbers.

A sum is written digit by digit, as in a long division. What the digits so far leave over is at
least 0 and less than the number of fractions, so a whole part of 0 or more, or far enough below 0,
says the sign. A sum that is not 0 is at least 1 divided by the product of all denominators: where
so many digits were written and neither happened, it is 0.

Denominators have up to 53 binary digits, as all amounts (`ids.LARGEST`).
"""

from __future__ import annotations

from fairlead.compiling import inner
from fairlead.scheduling.kernels.memory.state import Ints, int64

SMALL = 1 << 31
"""The product of two numbers below this fits into a word."""


@inner
def _length(number: int) -> int:
    """How many binary digits a number has."""
    digits = 0
    while number > 0:
        number >>= 1
        digits += 1
    return digits


@inner
def sign_of(whole: int, ones: Ints, twos: Ints, below: Ints, size: int) -> int:
    """The sign (-1, 0 or 1) of `whole` and the first `size` of ones / below + twos / below^2
    together. Each of `ones` and `twos` is at least 0 and less than what is below it. They are used
    up."""
    longest, enough = int64(0), _length(size)
    for i in range(size):
        length = _length(below[i])
        longest = max(longest, length)
        enough += 2 * length
    step = min(62 - longest, int64(32))
    written = int64(0)
    while True:
        left = False
        for i in range(size):
            left |= ones[i] > 0 or twos[i] > 0
        if whole >= 0:
            return 1 if whole > 0 or left else 0
        if not left or whole <= -size:
            return -1
        if written >= enough:
            return 0
        whole <<= step
        for i in range(size):
            two = twos[i] << step
            once = two // below[i]
            one = (ones[i] << step) + once
            digit = one // below[i]
            twos[i] = two - once * below[i]
            ones[i] = one - digit * below[i]
            whole += digit
        written += step


@inner
def put_part(ones: Ints, twos: Ints, below: Ints, at: int, above: int, under: int) -> int:
    """Writes above / under as a fraction of a sum. Returns its whole part."""
    whole = above // under
    ones[at] = above - whole * under
    twos[at] = 0
    below[at] = under
    return whole


@inner
def put_product(ones: Ints, twos: Ints, below: Ints, at: int, a: int, b: int, under: int) -> int:
    """Writes a b / under^2, where a is at least 0 and at most `under`, as a fraction of a sum.
    Returns its whole part."""
    whole, one, two = int64(0), int64(0), int64(0)
    if a < SMALL and abs(b) < SMALL:
        product = a * b
        once = product // under
        whole = once // under
        one = once - whole * under
        two = product - once * under
    else:
        # By the digits of b, the highest first.
        for place in range(62, -1, -1):
            two *= 2
            if (abs(b) >> place) & 1:
                two += a
            carried = two // under
            two -= carried * under
            one = 2 * one + carried
            carried = one // under
            one -= carried * under
            whole = 2 * whole + carried
        if b < 0:
            # Less than nothing: a whole one less, and what is left of it.
            carried = -two // under
            two = -two - carried * under
            one = -one + carried
            carried = one // under
            one -= carried * under
            whole = -whole + carried
    ones[at] = one
    twos[at] = two
    below[at] = under
    return whole
