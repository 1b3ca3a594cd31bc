"""Sums of rationals of thousands of digits."""

from __future__ import annotations

from collections.abc import Iterable

from flint import fmpq, fmpz

# Numbers of more binary digits than this are long.
_LONG = 1000

NONE = fmpq(0)


def total(numbers: Iterable[fmpq]) -> fmpq:
    """The sum. Long denominators mostly divide the longest of them, and a division takes less than
    a look for common divisors; with short ones halves are added up, whose denominators meet late.
    """
    left = list(numbers)
    if len(left) > 2 and any(each.q.bit_length() > _LONG for each in left):
        common = fmpz(1)
        for each in sorted(left, key=lambda each: -int(each.q.bit_length())):
            if common % each.q:
                common = common.lcm(each.q)
        return fmpq(sum((each.p * (common // each.q) for each in left), fmpz(0)), common)
    while len(left) > 1:
        odd = left[len(left) & ~1 :]
        left = [a + b for a, b in zip(left[::2], left[1::2], strict=False)] + odd
    return left[0] if left else NONE
