"""Server-sent events, as the HTML standard has them (its section 9.2), also where the connection is
lost: they go on where they were, of the service that leads by then."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlead.client.errors import AnswerError, BusyError, UnreachableError
from fairlead.wire.events import LAST_ID_HEADER

if TYPE_CHECKING:
    from fairlead.client.transport import Transport

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
"""Seconds until a lost stream is asked for again: each pause is twice the one before it."""


@dataclass(frozen=True, slots=True)
class Heard:
    """An event; without data, only that the stream is at `at`."""

    name: str
    data: dict[str, Any] | None
    at: str


def follow(transport: Transport, path: str, at: str | None) -> Iterator[Heard]:
    """The messages of a stream from after `at`, or from now on. Where it is lost or ends it is
    asked for again, as long as the patience of the transport lasts; it ends where there is none.
    Raises ServiceError."""
    met, pause, lost = False, FIRST_PAUSE, 0.0
    while True:
        try:
            with transport.lines(path, headers={} if at is None else {LAST_ID_HEADER: at}) as lines:
                met, pause, lost = True, FIRST_PAUSE, 0.0
                for heard in events_of(lines):
                    at = heard.at or at
                    yield heard
            if not transport.patience or transport.closed:
                return
        except (UnreachableError, BusyError):
            if transport.closed:
                return
            lost = lost or time.monotonic()
            if not met or time.monotonic() + pause > lost + transport.patience:
                raise
        time.sleep(pause)
        pause = min(LONGEST_PAUSE, 2 * pause)


def events_of(lines: Iterator[str]) -> Iterator[Heard]:
    """Each event, and each place at which the stream says that it is. Comments and what is not
    known are left out; an event that is cut off by the end of the stream is none."""
    name, data, at = "", "", ""
    for line in lines:
        if not line:
            if data or at:
                yield Heard(name or "message", _data(data) if data else None, at)
            name, data, at = "", "", ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data = f"{data}\n{value}" if data else value
        elif field == "id":
            at = value


def _data(text: str) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except ValueError:
        tree = None
    if not isinstance(tree, dict):
        raise AnswerError(f"an event of the service is no JSON: {text[:100]!r}")
    return tree
