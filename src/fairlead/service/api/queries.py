"""The parts of a request's address: names, pages, filters."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote_to_bytes

from fastapi import Path, Query
from pydantic import BeforeValidator

from fairlead.model.values import LONGEST_NAME
from fairlead.service.api.settings import ApiSettings
from fairlead.service.records.names import LONGEST_FULL

LAST = 2**53 - 1


def _decode(text: str) -> str:
    """The name, which stands in the path percent-encoded. Raises ValueError."""
    try:
        name = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("this name is not UTF-8") from error
    if not name.isprintable():
        raise ValueError("a name holds no control characters")
    return name


Name = Annotated[str, BeforeValidator(_decode), Path(min_length=1, max_length=LONGEST_NAME)]
"""A name, in a path."""

JobName = Annotated[
    str,
    BeforeValidator(_decode),
    Path(
        min_length=1,
        max_length=LONGEST_FULL,
        description="as its tenant called it, or `tenant/name`",
    ),
]
"""The name of a job, in a path."""

Number = Annotated[int, Path(ge=0, le=LAST)]
"""A number, in a path."""

Cursor = Annotated[
    int | None, Query(ge=0, le=LAST, description="`next` of the page before; opaque")
]
"""The beginning of a page."""

NameCursor = Annotated[
    str | None, Query(max_length=LONGEST_NAME, description="`next` of the page before; opaque")
]
"""The beginning of a page of names."""

Limit = Annotated[int | None, Query(ge=1, le=LAST, description="entries at most")]
"""The most entries of a page."""

Filter = Annotated[str | None, Query(max_length=LONGEST_NAME)]
"""A name that is looked for."""

SCANNED = 20_000
"""Entries that are looked at for one page: the loop decides nothing meanwhile."""


def page(limit: int | None, settings: ApiSettings) -> int:
    """Limits the page's length: less than was asked where that is too much."""
    return settings.page if limit is None else min(limit, settings.page)
