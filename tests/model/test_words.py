"""Numbers, plurals and lists read well."""

from __future__ import annotations

import pytest

from fairlead.model.words import (
    amount,
    amounts,
    counted,
    listing,
    number,
    percent,
    plural,
    sentence,
    size,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.333333"),
        (31.5, "31.5"),
        (100.0, "100"),
        (1234567.0, "1234567"),
        (123456.7, "123457"),
        (0.0001, "0.0001"),
        (1.5e-7, "1.5e-07"),
        (2e15, "2e+15"),
        (-2.5, "-2.5"),
        (999999.6, "1000000"),
    ],
)
def test_numbers_have_six_digits_and_no_noise(value: float | None, text: str) -> None:
    assert number(value) == text


def test_amounts_of_bytes_have_a_unit() -> None:
    assert amount(12 * 2**30, "memory") == "12Gi memory"
    assert amount(4, "gpu") == "4 gpu"
    assert amount(1000, "cpu") == "1000 cpu"
    assert amounts([2**40, 2**39, 0]) == ["1Ti", "0.5Ti", "0"]


def test_a_small_amount_beside_a_large_one_has_no_powers() -> None:
    assert amounts([12 * 2**20, 10], 4) == ["12Mi", "10"]
    assert amounts([0.00001]) == ["1e-05"]
    assert amounts([2**50, 2**20, 0], 4) == ["1Pi", "1Mi", "0"]


def test_bytes_are_called_so_where_they_are_few() -> None:
    assert [size(each) for each in (0, 10, 40 * 2**20, 5 * 10**9)] == ["0 B", "10 B", "40Mi", "5G"]


def test_amounts_are_in_the_unit_in_which_the_largest_is_short() -> None:
    assert amount(7e12, "scratch") == "7T scratch"
    assert amounts([28e12, 7e12, 0]) == ["28T", "7T", "0"]
    assert amounts([64 * 2**30, 1e9]) == ["64Gi", "0.931323Gi"]
    assert amount(1_000_000, "iops") == "1000000 iops"
    assert amount(16_730_624_123, "memory") == "15.5816Gi memory"
    assert amount(2**50 + 1, "memory") == "1Pi memory"


@pytest.mark.parametrize(
    ("count", "text"), [(1, "1 task"), (1.0000000001, "1 task"), (0, "0 tasks"), (1.5, "1.5 tasks")]
)
def test_what_is_counted_agrees_with_its_number(count: float, text: str) -> None:
    assert counted(count, "task") == text


def test_verbs_agree_with_their_subject() -> None:
    assert [plural(word, 1) for word in ("is", "has", "holds")] == ["is", "has", "holds"]
    assert [plural(word, 2) for word in ("is", "has", "holds")] == ["are", "have", "hold"]


@pytest.mark.parametrize(
    ("items", "most", "text"),
    [
        ([], None, ""),
        (["a"], None, "a"),
        (["a", "b"], None, "a and b"),
        (["a", "b", "c"], None, "a, b and c"),
        (["a", "b", "c"], 2, "a, b and c"),
        (["a", "b", "c", "d"], 2, "a, b and 2 more"),
    ],
)
def test_lists_end_in_and(items: list[str], most: int | None, text: str) -> None:
    assert listing(items, most) == text


def test_percent_of_nothing_is_nothing() -> None:
    assert percent(1, 3) == "33.3%"
    assert percent(0, 0) == "0%"


def test_a_sentence_ends_once() -> None:
    assert sentence("it is") == "it is."
    assert sentence("is it?") == "is it?"
