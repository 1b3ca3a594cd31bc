"""Constraints: what selectors mean, how they are written, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.constraint import Label, Operator, Requirement, Selector
from fairlead.model.errors import InputError
from fairlead.model.plain import kept_job_of
from fairlead.model.selector_syntax import parse_selector
from fairlead.model.version import version
from tests.model.draw import selectors, versions

MACHINE: dict[str, Label] = {
    "gpu-model": "a100",
    "zone": "east",
    "kernel": "5.15",
    "memory": Decimal(80),
    "load": Decimal("5.10"),
    "offset": Decimal(-1),
    "empty": "",
    "odd": 'a "b", c',
}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("  ", True),
        ("zone = east", True),
        ("zone == east", True),
        ("zone=west", False),
        ("zone != west", True),
        ("zone != east", False),
        ("gpu-model in (a100, h100)", True),
        ("gpu-model in (v100)", False),
        ("gpu-model notin (a100)", False),
        ("gpu-model notin (v100, h100)", True),
        ("zone", True),
        ("!zone", False),
        ("rack", False),
        ("!rack", True),
        ("! rack", True),
        ("rack = r1", False),
        ("rack != r1", True),
        ("rack in (r1)", False),
        ("rack notin (r1)", True),
        ("rack < 5", False),
        ("rack >= 5", False),
        ("kernel >= 5.10", True),
        ("kernel > 5.9", True),
        ("kernel < 5.9", False),
        ("kernel <= 5.15.0", True),
        ("kernel < 5.15.1", True),
        ("kernel > 5", True),
        ("kernel = 5.15.0", False),
        ("memory > 8", True),
        ("memory <= 80", True),
        ("memory = 80", True),
        ("memory < 80.1", True),
        ("load = 5.10", True),
        ("load = 5.1", False),
        ("load in (5.1, 5.10)", True),
        ("offset < 0", True),
        ("offset >= -1", True),
        ('empty = ""', True),
        ('odd = "a \\"b\\", c"', True),
        ("odd = 'a \"b\", c'", True),
        ("gpu-model in (a100), zone != west,kernel>=5.10", True),
        ("zone = east, zone = west", False),
        ("zone\n=\teast", True),
    ],
)
def test_a_selector_means_what_kubernetes_says(text: str, matches: bool) -> None:
    assert parse_selector(text).matches(MACHINE) is matches


def test_operators_may_be_keys_and_values() -> None:
    labels: dict[str, Label] = {"in": "notin", "notin": "in"}
    assert parse_selector("in in (notin), notin = in, in, notin").matches(labels)
    assert not parse_selector("!in").matches(labels)


@given(versions, versions)
def test_versions_compare_part_by_part(one: str, other: str) -> None:
    parts = [[int(part) for part in text.split(".")] for text in (one, other)]
    longest = max(map(len, parts))
    first, second = (each + [0] * (longest - len(each)) for each in parts)
    assert parse_selector(f"v < {other}").matches({"v": one}) is (first < second)
    assert parse_selector(f"v >= {other}").matches({"v": one}) is (first >= second)
    assert parse_selector(f"v <= {other}").matches({"v": one}) is (first <= second)
    assert parse_selector(f"v > {other}").matches({"v": one}) is (first > second)


@pytest.mark.parametrize("text", ["v5", "generic-5.15", "", "5.", ".5", "-1.5", "1e3", "٥"])
def test_what_has_no_parts_is_no_version(text: str) -> None:
    assert version(text) is None


def test_a_label_without_order_is_refused() -> None:
    with pytest.raises(
        InputError, match=r'"generic-5\.15" is neither a whole number nor a version'
    ):
        parse_selector("kernel > 5").matches({"kernel": "generic-5.15"})


@pytest.mark.parametrize("text", ["kernel > 5", "kernel > 5.9"])
def test_a_version_without_quotes_is_refused_with_the_hint(text: str) -> None:
    with pytest.raises(InputError, match=r'but written as a number; write it in quotes: "5\.10"'):
        parse_selector(text).matches({"kernel": Decimal("5.10")})


@pytest.mark.parametrize(
    ("text", "what", "at", "length"),
    [
        ("zone =", "a value after = is missing", 6, 1),
        ("zone = east,", "the key of a label is missing", 12, 1),
        (", zone", "the key of a label is missing", 0, 1),
        ("= east", "the key of a label is missing", 0, 1),
        ("!", "the key of a label is missing", 1, 1),
        ("zone east", "east comes where a requirement has ended", 5, 4),
        ("a = 1 and b = 2", "and comes where a requirement has ended", 6, 3),
        ("a = 1 & b = 2", "& comes where a requirement has ended", 6, 1),
        ("a = 1 && b = 2", "&& is no part of a constraint", 6, 2),
        ("a = 1||b = 2", "|| is no part of a constraint", 5, 2),
        ("a = 1)", '")" comes where a requirement has ended', 5, 1),
        ("zone =< 5", "=< is not an operator", 5, 2),
        ("zone in east", "an opening bracket is missing after in", 8, 4),
        ("zone in ()", "a value is missing", 9, 1),
        ("zone in (a,)", "a value is missing", 11, 1),
        ("zone in (a", "a bracket is not closed", 8, 1),
        ("zone in (a b)", "b comes where a comma or a closing bracket should", 11, 1),
        ("zone not in (a)", "not is not an operator", 5, 3),
        ("zone IN (a)", "IN is not an operator", 5, 2),
        ('zone = "a', "a quote is not closed", 7, 1),
        ("zone = a\\b", "a backslash outside quotes", 8, 1),
        ("kernel > new", "new is neither a whole number nor a version", 9, 3),
        ("kernel > v5.15-generic", "v5.15-generic is neither", 9, 13),
        ('"" = a', "a label's key cannot be empty", 0, 2),
        ('zone = "a\x07"', "a character that is not shown", 7, 4),
    ],
)
def test_a_parse_error_shows_the_text_with_a_caret(
    text: str, what: str, at: int, length: int
) -> None:
    with pytest.raises(InputError) as caught:
        parse_selector(text)
    (mistake,) = caught.value.mistakes
    assert what in mistake.what
    assert mistake.right
    shown, marker = mistake.context.split("\n")
    assert shown == "    " + "".join(c if c.isprintable() else " " for c in text)
    assert marker == " " * (4 + at) + "^" * length


def test_what_was_taken_in_before_is_read_as_it_was_and_written_in_quotes() -> None:
    kept = kept_job_of({"name": "j", "demand": {"cpu": 1}, "where": "a = b&&c"}).where
    assert kept == parse_selector('a = "b&&c"')
    assert str(kept) == 'a = "b&&c"'


def test_the_caret_stays_in_view_in_a_long_text() -> None:
    text = ", ".join(f"key{n} = value{n}" for n in range(100)) + ", zone east, a = b"
    with pytest.raises(InputError) as caught:
        parse_selector(text)
    shown, marker = caught.value.mistakes[0].context.split("\n")
    assert shown[marker.index("^") :].startswith("east")
    assert len(shown) <= 104


def test_an_endless_text_is_refused() -> None:
    with pytest.raises(InputError, match="a constraint of 200001 characters"):
        parse_selector("a" * 200001)


@given(selectors)
def test_what_is_written_parses_back(selector: Selector) -> None:
    assert parse_selector(str(selector)) == selector


@given(st.text("ab&|(),=!<> \"'\\5.", max_size=20))
def test_no_text_does_worse_than_being_refused(text: str) -> None:
    try:
        selector = parse_selector(text)
    except InputError:
        return
    assert parse_selector(str(selector)) == selector


@pytest.mark.parametrize(
    ("key", "operator", "values", "what"),
    [
        ("", Operator.EXISTS, (), "a label's key cannot be empty"),
        ("a", Operator.EQUAL, (), '"=" takes 1 values, not 0'),
        ("a", Operator.EXISTS, ("b",), '"exists" takes 0 values, not 1'),
        ("a", Operator.IN, (), '"in" without values'),
        ("a", Operator.LESS, ("b",), '"b" after < is neither'),
        ("a", Operator.EQUAL, (5,), "5 in a constraint is not text"),
        ("a", "=", ("5",), "'=' is not an operator"),
        ("a", Operator.EQUAL, ("\n",), "holds a character that is not shown"),
    ],
)
def test_a_requirement_from_python_is_checked(
    key: str, operator: Operator, values: tuple[str, ...], what: str
) -> None:
    with pytest.raises(InputError) as caught:
        Requirement(key, operator, values)
    assert what in str(caught.value)


def test_the_empty_selector_matches_everything() -> None:
    assert Selector().matches({})
    assert not Selector()
    assert str(Selector()) == ""
    assert parse_selector("") == Selector()
