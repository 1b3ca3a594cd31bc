"""Fractions as text, short and long."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from fairlead import Cluster, Job, Machine, allocate
from fairlead.model.unrounded import write_fraction


@pytest.mark.parametrize(
    ("number", "text"),
    [(Fraction(3, 7), "3/7"), (Fraction(2), "2"), (Fraction(0), "0"), (Fraction(10**20, 3), None)],
)
def test_short_fractions_are_written(number: Fraction, text: str | None) -> None:
    assert write_fraction(number, long=True) == (text or "100000000000000000000/3")
    assert write_fraction(number**4, long=False) == (text and write_fraction(number**4, long=True))


@pytest.mark.parametrize("digits", [3999, 4000, 4001, 8000, 12_345])
def test_numbers_of_any_length_are_written_digit_by_digit(digits: int) -> None:
    number = 10 ** (digits - 1) + 7
    assert write_fraction(Fraction(number), long=True) == "1" + "0" * (digits - 2) + "7"
    assert write_fraction(Fraction(1, number), long=True) == "1/1" + "0" * (digits - 2) + "7"


def test_an_allocation_has_its_fractions() -> None:
    cluster = Cluster([Machine("a", {"cpu": 1}), Machine("b", {"cpu": "0.3"})])
    jobs = [Job("x", {"cpu": "0.7"}), Job("y", {"cpu": "0.1"}, machines=["b"])]
    for fractions in (False, True):
        tree = json.loads(allocate(cluster, jobs).to_json(fractions=fractions))
        assert [job["exact"] for job in tree["jobs"]] == [
            {"tasks": "10/7", "share": "10/13"},
            {"tasks": "3", "share": "3/13"},
        ]
        assert [tenant["exact"] for tenant in tree["tenants"]] == [
            {"share": "10/13"},
            {"share": "3/13"},
        ]


def test_fractions_are_left_out_where_they_are_long_or_none() -> None:
    capacity = "0." + "123456789" * 10
    cluster = Cluster([Machine("a", {"cpu": capacity})])
    job = Job("x", {"cpu": "0.0" + "987654321" * 9})
    (found,) = json.loads(allocate(cluster, [job]).to_json())["jobs"]
    assert found["exact"] == {"tasks": None, "share": "1"}
    (found,) = json.loads(allocate(cluster, [job]).to_json(fractions=True))["jobs"]
    assert Fraction(found["exact"]["tasks"]) == Fraction(capacity) / Fraction(job.demand["cpu"])
    (found,) = json.loads(allocate(cluster, [job], "market").to_json())["jobs"]
    assert found["exact"] is None
