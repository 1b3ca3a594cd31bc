"""Quantities: exact amounts from text and numbers, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import InputError
from fairlead.model.quantity import (
    Amount,
    exact,
    quantities,
    write_amount,
    write_near,
    write_plain,
    write_short,
)
from tests.model.draw import amounts


@pytest.mark.parametrize(
    ("amount", "value"),
    [
        ("0", 0),
        ("4", 4),
        ("+4", 4),
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("4.", 4),
        ("1.526e-05", Fraction(1526, 10**8)),
        ("1E3", 1000),
        ("500m", Fraction(1, 2)),
        ("2k", 2000),
        ("2M", 2 * 10**6),
        ("2G", 2 * 10**9),
        ("2T", 2 * 10**12),
        ("2P", 2 * 10**15),
        ("2Ki", 2 * 2**10),
        ("2Mi", 2 * 2**20),
        ("2Gi", 2 * 2**30),
        ("2Ti", 2 * 2**40),
        ("2Pi", 2 * 2**50),
        ("64GiB", 64 * 2**30),
        ("2kB", 2000),
        ("12B", 12),
        ("1.5Ki", 1536),
        ("1/3", Fraction(1, 3)),
        (0.1, Fraction(1, 10)),
        (1e-05, Fraction(1, 10**5)),
        (Decimal("5.10"), Fraction(51, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (7, 7),
    ],
)
def test_an_amount_is_read_exactly(amount: Amount, value: Fraction) -> None:
    assert exact(amount) == value


@pytest.mark.parametrize(
    ("amount", "value"),
    [
        (np.int64(7), Fraction(7)),
        (np.uint8(7), Fraction(7)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
    ],
)
def test_numbers_of_numpy_mean_what_they_show(amount: Any, value: Fraction) -> None:
    assert exact(amount) == value


@pytest.mark.parametrize("amount", [np.float32("nan"), np.float32("inf"), np.bool_(True), 1j])
def test_what_is_no_finite_number_of_any_kind_is_refused(amount: Any) -> None:
    with pytest.raises(InputError, match="number"):
        exact(amount)


def test_there_is_no_noise_of_floats() -> None:
    assert exact(0.1) + exact(0.2) == exact(0.3)


@pytest.mark.parametrize(
    ("amount", "what", "right"),
    [
        ("12 GiB", '"12 GiB" is not a quantity', "12GiB without spaces"),
        ("4K", "not a quantity", "write 4k (powers of 1000) or 4Ki (powers of 1024)"),
        ("4KB", "not a quantity", "write 4kB (powers of 1000) or 4KiB (powers of 1024)"),
        ("64gb", "not a quantity", "write 64GB (powers of 1000) or 64GiB (powers of 1024)"),
        ("64gib", "not a quantity", "write 64GB (powers of 1000) or 64GiB (powers of 1024)"),
        ("64ki", "not a quantity", "64Ki"),
        ("K", "not a quantity", "such as 4, 0.5, 500m or 64GiB"),
        ("1,000", "not a quantity", "write 1000 without spaces or separators"),
        ("1_000", "not a quantity", "write 1000 without spaces or separators"),
        (" 4", "not a quantity", "write 4 without spaces"),
        ("5%", "not a quantity", "0.5"),
        ("4E", "not a quantity", "units are m, k M G T P"),
        ("4mB", "not a quantity", "4MB"),
        ("010", "not a quantity", "write 10 (a leading zero may mean an octal number)"),
        ("0x10", "not a quantity", "such as 4"),
        ("12:30", "not a quantity", "such as 4"),
        ("yes", "not a quantity", "such as 4"),
        ("", "not a quantity", "such as 4"),
        ("1/0", "not a quantity", "such as 4"),
        ("١", "not a quantity", "such as 4"),
        (".inf", "not a quantity", "finite"),
        ("nan", "not a quantity", "finite"),
        (math.inf, "inf is not a finite number", "finite"),
        (math.nan, "nan is not a finite number", "finite"),
        (Decimal("Infinity"), "Infinity is not a finite number", "finite"),
        (True, "True is not a number", "write a number"),
        (None, "None is not a number", "write a number"),
        ([1], "[1] is not a number", "write a number"),
        ("1e999999999", '"1e999999999" is too large', "between 1e-30 and 1e30"),
        ("1e-999999999", '"1e-999999999" is too small', "between 1e-30 and 1e30"),
        (10**31, "the number is too large", "between 1e-30 and 1e30"),
        (5e-324, "too small", "between 1e-30 and 1e30"),
        (Fraction(10**250, 10**250 + 1), "too many digits", "at most 200"),
        ("0." + "1" * 2000, "a quantity of 2002 characters", "at most 1000"),
    ],
)
def test_a_slip_is_refused_with_what_was_meant(amount: Amount, what: str, right: str) -> None:
    with pytest.raises(InputError) as caught:
        exact(amount)
    (mistake,) = caught.value.mistakes
    assert what in mistake.what
    assert right in mistake.right


@given(amounts())
def test_what_is_written_reads_back_exactly(amount: Fraction) -> None:
    assert exact(write_amount(amount)) == amount
    assert exact(write_plain(amount)) == amount


@given(amounts())
def test_what_is_written_short_reads_back_exactly(amount: Fraction) -> None:
    assert exact(write_short(amount)) == amount


@given(amounts())
def test_what_is_written_nearly_is_on_its_side(amount: Fraction) -> None:
    less, more = exact(write_near(amount, up=False)), exact(write_near(amount, up=True))
    assert less <= amount <= more
    assert more - less <= amount / 1000


@pytest.mark.parametrize(
    ("amount", "down", "up"),
    [
        (Fraction(3), "3", "3"),
        (Fraction(10**13), "10T", "10T"),
        (Fraction(25276063744), "23.54Gi", "23.55Gi"),
        (Fraction(64 * 2**30), "64Gi", "64Gi"),
        (Fraction(4096), "4096", "4096"),
        (Fraction(1, 3), "1/3", "1/3"),
        (Fraction(5 * 2**60 + 1), "5120Pi", "5121Pi"),
    ],
)
def test_an_amount_for_people_has_four_digits_and_a_unit(
    amount: Fraction, down: str, up: str
) -> None:
    assert (write_near(amount, up=False), write_near(amount, up=True)) == (down, up)


@given(st.floats(min_value=1e-30, max_value=1e30))
def test_a_float_is_the_decimal_that_it_shows(amount: float) -> None:
    assert exact(amount) == exact(repr(amount))
    assert float(exact(amount)) == amount


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1000), "1000"),
        (Fraction(64 * 2**30), "64Gi"),
        (Fraction(3 * 2**19), "1572864"),
        (Fraction(1, 8), "0.125"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1526, 10**8), "0.00001526"),
        (Fraction(1, 10**30), "1e-30"),
        (Fraction(-5, 2), "-2.5"),
    ],
)
def test_amounts_are_written_as_people_write_them(amount: Fraction, text: str) -> None:
    assert write_amount(amount) == text


def test_equal_mappings_are_one_object() -> None:
    one = quantities({"cpu": 4, "memory": "1Gi"})
    assert quantities({"memory": 2**30, "cpu": "4"}) is one
    assert quantities(one) is one
    assert list(one) == ["cpu", "memory"]


@pytest.mark.parametrize("make", [str, int, float, Decimal, Fraction])
def test_negative_amounts_are_refused(make: Callable[[int], Amount]) -> None:
    with pytest.raises(InputError, match="cpu: -1 is negative; write 0 or more"):
        quantities({"cpu": make(-1)})


def test_all_mistakes_of_a_mapping_are_reported() -> None:
    with pytest.raises(InputError) as caught:
        quantities({"cpu": "x", "memory": "4 G", " gpu": 1, "disk": 1})
    assert [mistake.about for mistake in caught.value.mistakes] == [
        ("cpu",),
        ("memory",),
        (" gpu",),
    ]


@given(st.text(max_size=30))
def test_no_text_does_worse_than_being_refused(text: str) -> None:
    try:
        value = exact(text)
    except InputError:
        return
    assert exact(write_amount(value)) == value
