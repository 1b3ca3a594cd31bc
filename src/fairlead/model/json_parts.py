"""JSON that is written in parts, between which other threads have their turn: the library writes a
whole tree in one go, in which no other thread runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

AT_ONCE = 500
"""Items of a list that are written at once: a millisecond, where they are jobs."""


def json_parts(tree: Mapping[str, Any], *, sort_keys: bool = False) -> bytes:
    """The bytes of `json.dumps` with the shortest separators: lists of the tree are written in
    parts, each of which is small where its items are."""

    def write(value: object) -> bytes:
        return json.dumps(value, sort_keys=sort_keys, separators=(",", ":")).encode()

    found = []
    for key in sorted(tree) if sort_keys else tree:
        found += [b",", write(key), b":", *_value(tree[key], write)]
    return b"".join([b"{", *found[1:], b"}"])


def _value(value: object, write: Callable[[object], bytes]) -> Iterator[bytes]:
    if not isinstance(value, list) or len(value) <= AT_ONCE:
        yield write(value)
        return
    items, mark = iter(value), b"["
    while part := list(islice(items, AT_ONCE)):
        yield mark
        yield write(part)[1:-1]
        mark = b","
    yield b"]"
