"""By how much a promise fails: more than 0 where it does, however little that is, and 0 elsewhere.

Numbers are compared exactly, or as far as they are known: what a mechanism computes in doubles is
known `within` a part of itself.
"""

from __future__ import annotations

from fractions import Fraction

from fairlead.model.unrounded import LEAST, compared


def shortfall(promised: Fraction, found: Fraction, within: Fraction) -> float:
    """By how much `found` is less than `promised`, relative to what is promised; 0 if it is not."""
    return _part(promised, found) if compared(promised, found, within) < 0 else 0.0


def difference(one: Fraction, other: Fraction, within: Fraction) -> float:
    """The difference of two amounts, relative to the larger."""
    less, more = sorted((one, other))
    return _part(more, less) if compared(one, other, within) else 0.0


def _part(more: Fraction, less: Fraction) -> float:
    # Whole numbers, since fractions would look for common divisors of thousands of digits.
    all_of_it = more.numerator * less.denominator
    return (all_of_it - less.numerator * more.denominator) / all_of_it or LEAST
