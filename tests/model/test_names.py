"""Names of machines: ranges as Slurm writes them, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import InputError
from fairlead.model.names import compress, expand, expand_all
from tests.model.draw import machine_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a[1-3]", ["a1", "a2", "a3"]),
        ("a[08-11]", ["a08", "a09", "a10", "a11"]),
        ("a[9-10]", ["a9", "a10"]),
        ("a[098-101]", ["a098", "a099", "a100", "a101"]),
        ("a[001-2]", ["a001", "a002"]),
        ("r[1-2]n[1,3-5]", ["r1n1", "r1n3", "r1n4", "r1n5", "r2n1", "r2n3", "r2n4", "r2n5"]),
        ("a[1-2][1-2]", ["a11", "a12", "a21", "a22"]),
        ("a[1,2].rack", ["a1.rack", "a2.rack"]),
        ("a[1-2],b,c[7]", ["a1", "a2", "b", "c7"]),
        ("a[2,1]", ["a2", "a1"]),
        ("a, b", ["a", "b"]),
    ],
)
def test_a_range_means_its_names(text: str, names: list[str]) -> None:
    assert list(expand(text)) == names


@pytest.mark.parametrize(
    ("text", "what", "at"),
    [
        ("", "a name is missing", 0),
        ("a,", "a name is missing", 2),
        (",a", "a name is missing", 0),
        ("a[", "a number is missing in brackets", 2),
        ("a[]", "a number is missing in brackets", 2),
        ("a[x]", "a number is missing in brackets", 2),
        ("a[1,]", "a number is missing in brackets", 4),
        ("a[1-]", "the end of a range is missing", 4),
        ("a[1-x]", "the end of a range is missing", 4),
        ("a[1", "a bracket is not closed", 1),
        ("a[1-3", "a bracket is not closed", 1),
        ("a]", "a closing bracket without an opening one", 1),
        ("a[5-1]", "the range 5-1 runs backwards", 2),
        ("a[1-05]", "the range 1-05 has a zero before its end only", 2),
        ("a[1;2]", "a ';' in brackets", 3),
        ("a b", "holds no spaces", 1),
        ("a[1-2] ", "holds no spaces", 6),
        ("a[1111111111111111111]", "more than 18 digits", 2),
    ],
)
def test_a_slip_has_a_caret_under_it(text: str, what: str, at: int) -> None:
    with pytest.raises(InputError) as caught:
        expand(text)
    (mistake,) = caught.value.mistakes
    assert what in mistake.what
    shown, marker = mistake.context.split("\n")
    assert shown[4:] == text
    assert marker == " " * (4 + at) + "^"
    assert mistake.right


@pytest.mark.parametrize("text", ["a[1-1000001]", "a[1-1000][1-1001]", "[1-9][1-999999999999]" * 9])
def test_an_absurd_range_is_refused_at_once(text: str) -> None:
    with pytest.raises(InputError, match="use ranges of at most 1000000 names"):
        expand(text)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="a name is text, not 5"):
        expand(5)  # type: ignore[arg-type]  # what is tested


def test_several_ranges_are_one_sorted_list() -> None:
    assert expand_all(["b", "a[2-3]", "a[1-2]"]) == ("a1", "a2", "a3", "b")
    assert expand_all("a[1-2]") == ("a1", "a2")


def test_every_mistake_of_a_list_is_reported() -> None:
    with pytest.raises(InputError) as caught:
        expand_all(["a[", "b", "c]"])
    assert [mistake.about for mistake in caught.value.mistakes] == [(0,), (2,)]


@pytest.mark.parametrize(
    ("names", "ranges"),
    [
        ([], []),
        (["a"], ["a"]),
        (["a7"], ["a7"]),
        (["a1", "a2", "a3", "a5"], ["a[1-3,5]"]),
        (["a08", "a09", "a10", "a11"], ["a[08-11]"]),
        (["a10", "a9", "a8"], ["a[8-10]"]),
        (["a1", "a01"], ["a[1,01]"]),
        (["r1n1", "r1n2", "r2n1", "r2n2"], ["r[1-2]n[1-2]"]),
        (["b2", "b10", "a"], ["a", "b[2,10]"]),
    ],
)
def test_names_are_written_as_few_ranges(names: list[str], ranges: list[str]) -> None:
    assert list(compress(names)) == ranges


@given(st.lists(st.one_of(machine_names, st.from_regex(r"\A[ab]?[0-9]{1,21}[xy]?\Z")), max_size=30))
def test_ranges_mean_the_names_that_they_were_made_of(names: list[str]) -> None:
    ranges = compress(names)
    assert expand_all(ranges) == tuple(sorted(set(names)))
    assert sum(len(expand(text)) for text in ranges) == len(set(names))


@given(st.text("ab01-,[] x", max_size=20))
def test_no_text_does_worse_than_being_refused(text: str) -> None:
    try:
        names = expand(text)
    except InputError:
        return
    assert all(expand(name) == (name,) for name in names)
