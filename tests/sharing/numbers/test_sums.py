"""Sums are exact however long the numbers are."""

from __future__ import annotations

from random import Random

import pytest
from flint import fmpq

from fairlead.sharing.numbers.sums import NONE, total


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
