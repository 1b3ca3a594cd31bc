"""What a request names in its address and its head: names, pages, filters, tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Annotated
from urllib.parse import unquote_to_bytes

from fastapi import Path, Query
from pydantic import BeforeValidator

from fairlead.model.values import LONGEST_NAME
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.settings import ApiSettings
from fairlead.service.records.names import LONGEST_FULL
from fairlead.wire.errors import ErrorKind

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

LONGEST_NUMBER = 42
"""Digits of a number before a name."""

RankCursor = Annotated[
    str | None,
    Query(
        max_length=LONGEST_NUMBER + LONGEST_NAME, description="`next` of the page before; opaque"
    ),
]
"""The beginning of a page of what is ordered by a number, and by name where that is the same."""

Limit = Annotated[int | None, Query(ge=1, le=LAST, description="entries at most")]
"""The most entries of a page."""

Filter = Annotated[str | None, Query(max_length=LONGEST_NAME)]
"""A name that is looked for."""

SCANNED = 20_000
"""Entries that are looked at for one page: the loop decides nothing meanwhile."""


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """The place of a name in an order. Small numbers come first."""

    number: int
    name: str

    def to_cursor(self, *, ranked: bool) -> str:
        """As a cursor: the name alone where the order is by name."""
        return f"{self.number}:{self.name}" if ranked else self.name


def read_rank(cursor: str | None, *, ranked: bool) -> Rank | None:
    """The place that a cursor means. Raises RefusalError."""
    if cursor is None or not ranked:
        return None if cursor is None else Rank(0, cursor)
    number, colon, name = cursor.partition(":")
    if not colon or not re.fullmatch(r"-?[0-9]{1,40}", number):
        raise RefusalError(
            ErrorKind.INVALID, "the cursor is none of a list in this order", "begin without one"
        )
    return Rank(int(number), name)


def ranked_page(
    ranks: Sequence[Rank], after: Rank | None, most: int | None
) -> tuple[list[Rank], Rank | None]:
    """Gives so many of the next ranks in order (None: all), and the last where more follow."""
    later = ranks if after is None else [rank for rank in ranks if rank > after]
    if most is None or len(later) <= most:
        return sorted(later), None
    found = nsmallest(most, later)
    return found, found[-1]


def page(limit: int | None, settings: ApiSettings) -> int:
    """Limits the page's length: less than was asked where that is too much."""
    return settings.page if limit is None else min(limit, settings.page)


def matches(header: str, tag: str) -> bool:
    """Whether If-None-Match names the tag."""
    tags = [part.strip().removeprefix("W/") for part in header.split(",")]
    return tag in tags or "*" in tags
