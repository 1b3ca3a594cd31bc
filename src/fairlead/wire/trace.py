"""W3C's `traceparent`: the span of somebody else's to which a request, or a job, belongs."""

from __future__ import annotations

import re
from dataclasses import dataclass

TRACEPARENT = "TRACEPARENT"
"""The variable that names such a span, in a job's environment and in that of who submits it."""

HEADER = "traceparent"
"""The same, of a request."""

_FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class Parent:
    """A span of somebody else's. `sampled`: he keeps it."""

    trace: int
    span: int
    sampled: bool


def parent_of(text: object) -> Parent | None:
    """The content of a traceparent; None where it is none: then the trace begins here."""
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    trace, span = int(found[1], 16), int(found[2], 16)
    return Parent(trace, span, bool(int(found[3], 16) & 1)) if trace and span else None
