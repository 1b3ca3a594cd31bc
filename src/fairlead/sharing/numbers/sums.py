"""Sums of rationals of thousands of digits, exact and rounded."""

from __future__ import annotations

from collections.abc import Iterable

from flint import fmpq, fmpz

# Numbers of more binary digits than this are long.
_LONG = 1000
# Long levels are rounded down to whole multiples of this power of one half.
_FINE = 320

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


class Rounded:
    """Sums of levels, each times something, in which levels of very many digits are rounded down.

    Few levels are shared by many jobs, and each is rounded once.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[fmpq, fmpq, fmpq]] = {}  # the level, rounded, how far off

    def total(self, terms: Iterable[tuple[fmpq, fmpq]]) -> tuple[fmpq, fmpq]:
        """The sum, and how far it is off at most."""
        found, off = NONE, NONE
        for level, times in terms:
            known = self._known.get(id(level))
            if known is None:
                known = self._known[id(level)] = level, *_round_down(level)
            found += known[1] * times
            if known[2]:
                off += known[2] * abs(times)
        return found, off


def _round_down(level: fmpq) -> tuple[fmpq, fmpq]:
    if level.q.bit_length() < _LONG:
        return level, NONE
    unit = fmpq(1, 1 << _FINE)
    return ((level.p << _FINE) // level.q) * unit, unit
