"""The chain over a journal's entries: each link is a checksum of its entry and of all before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from fairlead.model.errors import InternalError
from fairlead.service.journal.codec import from_text, to_text
from fairlead.service.journal.entry import CorruptJournalError, Entry

LINK = 16
"""Bytes of a link."""


class Row(NamedTuple):
    """An entry as stores keep it: its body as text, and its link."""

    seq: int
    step: int
    time: int
    kind: str
    body: str
    link: bytes


def first_link(journal: str) -> bytes:
    """The link before the first entry of the journal of this name, so that entries of another
    journal do not fit."""
    return blake2b(journal.encode(), digest_size=LINK).digest()


def link(before: bytes, seq: int, step: int, time: int, kind: str, body: str) -> bytes:
    """The link of an entry that comes after `before`."""
    # One text for one entry: numbers and the kind hold no space.
    said = b"%b%d %d %d %b %b" % (before, seq, step, time, kind.encode(), body.encode())
    return blake2b(said, digest_size=LINK).digest()


def rows_of(entries: Iterable[Entry], before: bytes) -> Iterator[Row]:
    """The entries as rows that come after `before`."""
    for entry in entries:
        if not entry.kind.isidentifier():
            raise ValueError(f"{entry.kind!r} cannot be the kind of an entry")
        body = to_text(entry.body)
        before = link(before, entry.seq, entry.step, entry.time, entry.kind, body)
        yield Row(entry.seq, entry.step, entry.time, entry.kind, body, before)


def entries_of(rows: Iterable[Row], seq: int, before: bytes) -> Iterator[Entry]:
    """The entries of rows that come after the `seq`-th, whose link is `before`. Raises
    CorruptJournalError at the first that is missing or is not what was written."""
    for row in rows:
        seq += 1
        if row[0] != seq:
            raise CorruptJournalError(f"entry {seq} is missing: {row[0]} comes in its place")
        _, step, time, kind, body, kept = row
        try:
            before = link(before, seq, step, time, kind, body)
        except (TypeError, AttributeError) as error:
            raise CorruptJournalError(f"entry {seq} is damaged: {error}") from error
        if before != kept:
            raise CorruptJournalError(
                f"entry {seq} is damaged, or one before it: its checksum does not fit"
            )
        try:
            tree = from_text(body)
        except ValueError as error:
            raise CorruptJournalError(f"entry {seq} holds no body: {error}") from error
        yield Entry(seq, step, time, kind, tree)


def fresh(entries: Sequence[Entry], last: int, kept: Callable[[int], Row]) -> Sequence[Entry]:
    """Those of the entries that come after the last that is kept. Raises CorruptJournalError where
    one that is kept is another one, InternalError where some between are missing."""
    if not entries:
        return entries
    first = entries[0].seq
    if [entry.seq for entry in entries] != list(range(first, first + len(entries))):
        raise InternalError("entries to append are not numbered without gaps")
    if not 0 < first <= last + 1:
        raise InternalError(f"entry {first} cannot follow entry {last}")
    known = max(0, last + 1 - first)
    for entry in entries[:known]:
        row = kept(entry.seq)
        said = (entry.step, entry.time, entry.kind, to_text(entry.body))
        if said != (row.step, row.time, row.kind, row.body):
            raise CorruptJournalError(f"entry {entry.seq} is there already, and is another one")
    return entries[known:]
