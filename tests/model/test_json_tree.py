"""JSON that somebody hands in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import InputError, Place
from fairlead.model.json_tree import json_tree

TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(TREES)
def test_what_is_written_is_read(tree: object) -> None:
    assert json_tree(json.dumps(tree), "my.json") == tree


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "this is not JSON"),
        ('{"a": 1, "b": {"a": 2, "a": 3}}', 'my.json: "a" is there twice; mend it'),
        ("[NaN]", "my.json: NaN is not a number; mend it"),
        ("[-Infinity]", "-Infinity is not a number"),
        ("[1e999]", "1e999 is too large"),
        ("1" * 10_000, "a number in it is too long"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"a":' * 100_000, "it is nested too deeply"),
    ],
)
def test_what_is_not_good_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        json_tree(text, "my.json", "mend it")
    assert sentence in str(caught.value)


def test_what_is_no_json_is_refused_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        json_tree('{\n "a": }', "my.json")
    assert caught.value.mistakes[0].place == Place("my.json", 2, 7)
