"""Whether who answers speaks HTTP at all: seen by his first bytes, before the library waits for
more of what is no answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fairlead.client.errors import AnswerError
from fairlead.client.places import Place

BEGIN = b"HTTP/"
"""What each answer of a service begins with."""

TLS = b"\x15\x03"
"""What a server that wants TLS answers without it begins with: an alert."""

_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
"""Steps of the library of which a connection comes: the first, and the same with TLS."""

_READABLE = re.compile(r"[ -~]{1,60}")


def listen(place: Place) -> Callable[[str, dict[str, Any]], None]:
    """What the library is to tell of its steps (its extension `trace`): who answers on a new
    connection with what is no HTTP is found out by his first bytes. Raises AnswerError where they
    are read."""

    def trace(step: str, told: dict[str, Any]) -> None:
        if step in _CONNECTED:
            _listen_to(told["return_value"], place)

    return trace


def _listen_to(stream: Any, place: Place) -> None:
    """Has the stream look at what it reads first."""
    read, begun = stream.read, b""

    def look(most: int, timeout: float | None = None) -> bytes:
        nonlocal begun
        came: bytes = read(most, timeout)
        if len(begun) < len(BEGIN):
            begun += came
            if not BEGIN.startswith(begun[: len(BEGIN)]):
                raise AnswerError(not_http(begun, place))
        return came

    stream.read = look


def not_http(begun: bytes, place: Place) -> str:
    """What is told of one who begins like this."""
    there = f"what listens at {place.url} (from {place.said_by})"
    if begun.startswith(TLS):
        return f"{there} wants TLS: the address begins with https://"
    first = begun.partition(b"\n")[0].rstrip(b"\r").decode("ascii", "replace")
    said = _READABLE.match(first)
    how = f" (it says {said[0]!r})" if said and said[0] == first[:60] else ""
    return f"{there} speaks no HTTP, and is no Fairlead service{how}; is the address right?"
