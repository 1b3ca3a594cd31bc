"""Verdicts follow from numbers, as exactly as the paper prints its own."""

from __future__ import annotations

import pytest

from fairlead.model.errors import InternalError
from fairlead.studies.claims import NOT_KNOWN, Verdict, compare, contradiction, printed, whether


@pytest.mark.parametrize(
    ("paper", "ours", "agrees"),
    [
        ("12", 12.0, True),
        ("12", 12.001, False),
        ("4/3", 4 / 3, True),
        ("4/3", 1.3333, False),
        ("1.62", 1.6249, True),
        ("1.62", 1.6251, False),
        ("51.7%", 0.5174, True),
        ("51.7%", 0.513, False),
        ("45%", 0.454, True),
        ("< 5 s", 4.9, True),
        ("< 5 s", 5.0, False),
        ("≤ 0.71%", 0.0071, True),
        ("> 60%", 0.61, True),
        ("≥ 4", 4.0, True),
        ("1,000", 1000.0, True),
    ],
)
def test_a_number_agrees_to_the_digits_that_are_printed(
    paper: str, ours: float, agrees: bool
) -> None:
    row = compare("claim", paper, ours, "it is so")
    assert row.verdict is (Verdict.AGREES if agrees else Verdict.DIFFERS)
    assert row.because == ("" if agrees else "it is so")


def test_each_of_several_numbers_has_to_agree() -> None:
    assert compare("c", "6, 1 and 3", [6, 1, 3]).verdict is Verdict.AGREES
    row = compare("c", "6, 1 and 3", [6, 1, 2.5])
    assert (row.verdict, row.ours, row.because) == (Verdict.DIFFERS, "6, 1 and 5/2", NOT_KNOWN)


def test_what_is_exact_is_shown_as_the_paper_has_it_and_what_is_measured_in_decimals() -> None:
    assert compare("c", "2/3 and 1,000", [2 / 3, 1953125]).ours == "2/3 and 1,953,125"
    assert compare("c", "2/3", 0.66133, within=0.05).ours == "0.661"
    assert compare("c", "~1/4", 0.25, within=0.05).ours == "0.25"
    assert compare("c", "≤ 5 s", 1.1).ours == "1.1 s"


def test_a_stated_tolerance_is_a_part_of_the_papers_number() -> None:
    assert compare("c", "~300", 310, within=0.05).verdict is Verdict.AGREES
    assert compare("c", "~300", 316, within=0.05).verdict is Verdict.DIFFERS
    with pytest.raises(InternalError, match="tolerance"):
        compare("c", "~300", 300)


def test_a_paper_that_prints_two_numbers_contradicts_itself_only_if_they_differ() -> None:
    row = contradiction("c", "4", "3", "section 2.4", 3)
    assert (row.verdict, row.because) == (Verdict.CONTRADICTION, "section 2.4 has 3")
    assert contradiction("c", "1.5", "1.48", "the table", 1.48).verdict is Verdict.AGREES


def test_a_claim_that_does_not_hold_differs() -> None:
    assert whether("c", True).verdict is Verdict.AGREES
    assert whether("c", False, "no").verdict is Verdict.DIFFERS
    assert whether("c", False, paper=False).verdict is Verdict.AGREES


def test_what_is_no_number_is_our_mistake() -> None:
    with pytest.raises(InternalError, match="many"):
        printed("many")
    with pytest.raises(InternalError, match="2 numbers"):
        compare("c", "1", [1, 2])
