"""JSON in parts is what the library writes."""

from __future__ import annotations

import json

import pytest

from fairlead.model.json_parts import AT_ONCE, json_parts


@pytest.mark.parametrize("sort_keys", [False, True])
@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])
def test_what_is_written_in_parts_is_what_is_written_at_once(count: int, sort_keys: bool) -> None:
    tree = {"z": 1, "rows": [[n, {"b": "ä, ]", "a": None}] for n in range(count)], "a": {"b": []}}
    whole = json.dumps(tree, sort_keys=sort_keys, separators=(",", ":")).encode()
    assert json_parts(tree, sort_keys=sort_keys) == whole
    assert json_parts({}) == b"{}"
