"""Server-sent events, as the HTML standard has them (its section 9.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fairlead.client.errors import AnswerError


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the data of each event. Comments and what is not known are left out; an event
    that is cut off by the end of the stream is none."""
    name, data = "", ""
    for line in lines:
        if not line:
            if data:
                yield name or "message", _data(data)
            name, data = "", ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data = f"{data}\n{value}" if data else value


def _data(text: str) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except ValueError:
        tree = None
    if not isinstance(tree, dict):
        raise AnswerError(f"an event of the service is no JSON: {text[:100]!r}")
    return tree
