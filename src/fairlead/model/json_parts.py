"""JSON that is written in parts, between which other threads have their turn: the library writes a
whole tree in one go, in which no other thread runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby, islice
from typing import Any

AT_ONCE = 500
"""Items of a list that are written at once: a millisecond, where they are jobs."""


PLAIN = (str, int, float, dict, type(None))
"""What is in nearly all places of a tree: whether something is an iterator takes ten times as long
to tell."""


def json_parts(tree: Mapping[str, Any], *, sort_keys: bool = False) -> bytes:
    """The bytes of `json.dumps` with the shortest separators: lists of the tree are written in
    parts, however deep in other lists they are. An iterator is a list whose items are made when
    they are written."""

    def write(value: object) -> bytes:
        return json.dumps(value, sort_keys=sort_keys, separators=(",", ":")).encode()

    found = []
    for key in sorted(tree) if sort_keys else tree:
        found += [b",", write(key), b":", *_value(tree[key], write)]
    return b"".join([b"{", *found[1:], b"}"])


def _value(value: Any, write: Callable[[object], bytes]) -> Iterator[bytes]:
    if not _is_long(value):
        yield write(value)
        return
    mark, items = b"[", iter(value)
    while part := list(islice(items, AT_ONCE)):
        for long, some in groupby(part, _is_long):
            for each in some if long else [list(some)]:
                yield mark
                yield from _value(each, write) if long else [write(each)[1:-1]]
                mark = b","
    yield b"]" if mark == b"," else b"[]"


def _is_long(value: object) -> bool:
    """Whether it is a list of more than is written at once, or one with such a list in it."""
    if isinstance(value, list):
        return len(value) > AT_ONCE or any(map(_is_long, value))
    return not isinstance(value, PLAIN) and isinstance(value, Iterator)
