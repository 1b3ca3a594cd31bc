"""JSON in parts is what the library writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.model.json_parts import AT_ONCE, json_parts


@pytest.mark.parametrize("sort_keys", [False, True])
@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])
def test_what_is_written_in_parts_is_what_is_written_at_once(count: int, sort_keys: bool) -> None:
    tree = {"z": 1, "rows": [[n, {"b": "ä, ]", "a": None}] for n in range(count)], "a": {"b": []}}
    whole = json.dumps(tree, sort_keys=sort_keys, separators=(",", ":")).encode()
    assert json_parts(tree, sort_keys=sort_keys) == whole
    assert json_parts({}) == b"{}"


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, 3 * AT_ONCE + 1])
def test_long_lists_within_others_are_written_in_parts_too(count: int) -> None:
    many = list(range(count))
    rows = [["a", 1], ["b", many, []], [["c", [many, "d"]]], 5, ["e"]]
    whole = json.dumps({"rows": rows}, separators=(",", ":")).encode()
    assert json_parts({"rows": rows}) == whole
    made = iter([["a", 1], ["b", iter(many), []], [["c", [iter(many), "d"]]], 5, ["e"]])
    assert json_parts({"rows": made}) == whole


def test_no_part_is_longer_than_what_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 0
    dumps = json.dumps

    def noted(value: object, **more: Any) -> str:
        nonlocal longest
        longest = max(longest, len(value) if isinstance(value, list) else 0)
        return dumps(value, **more)

    monkeypatch.setattr(json, "dumps", noted)
    json_parts({"rows": [["a", [[n, [n] * 8] for n in range(5 * AT_ONCE)]]]})
    assert longest == AT_ONCE
