"""Sums are exact however long the numbers are, and rounded ones as near as they say."""

from __future__ import annotations

from random import Random

import pytest
from flint import fmpq

from fairlead.sharing.numbers.sums import NONE, Rounded, total


def long(random: Random, digits: int) -> fmpq:
    """A rational of about so many digits, in lowest terms."""
    return fmpq(random.randint(-(10**digits), 10**digits), random.randint(1, 10**digits))


@pytest.mark.parametrize("digits", [1, 10, 1000])
@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 7, 40])
def test_the_total_is_the_sum_of_however_many(number: int, digits: int) -> None:
    random = Random(number)
    few = [long(random, digits) for _ in range(3)]
    some = [
        random.choice(few) * fmpq(random.randint(-9, 9), random.randint(1, 9))
        for _ in range(number)
    ]
    assert total(iter(some)) == sum(some, NONE)
    assert total([*some, *(-each for each in some)]) == 0


@pytest.mark.parametrize("seed", range(20))
def test_a_rounded_sum_is_no_farther_off_than_it_says(seed: int) -> None:
    random = Random(seed)
    levels = [long(random, random.choice((3, 1000))) for _ in range(5)]
    rounded = Rounded()
    for _ in range(5):
        terms = [(random.choice(levels), long(random, 3)) for _ in range(random.randint(0, 9))]
        near, off = rounded.total(terms)
        assert abs(near - sum((level * times for level, times in terms), NONE)) <= off
        assert off < fmpq(1, 10**80)
        if all(level.q < 10**300 for level, _ in terms):
            assert off == 0
        else:
            assert near.q.bit_length() < 1000
