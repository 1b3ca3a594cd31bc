"""A journal in memory, for tests and simulations: the same promises, and nothing that lasts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fairlead.service.journal.chain import Row, entries_of, first_link, rows_of
from fairlead.service.journal.entry import Entry, JournalError, TakenJournalError
from fairlead.service.journal.growing import fresh

NAME = "memory"


@dataclass
class Place:
    """Where a journal in memory is kept: what is left of it when who wrote it is gone."""

    rows: list[Row] = field(default_factory=list)
    snapshots: dict[int, bytes] = field(default_factory=dict)
    writer: MemoryStore | None = None


class MemoryStore:
    """A journal at a place in memory. `place.writer = None` is what a killed writer leaves."""

    def __init__(self, place: Place) -> None:
        if place.writer is not None:
            raise TakenJournalError("the journal in memory is being written by another service")
        self._place = place
        place.writer = self

    def append(self, entries: Sequence[Entry]) -> None:
        rows = self._mine().rows
        new = fresh(entries, len(rows), lambda seq: rows[seq - 1])
        rows += list(rows_of(new, self._link()))

    def last(self) -> int:
        return len(self._place.rows)

    def read(self, after: int = 0) -> Iterator[Entry]:
        rows = self._place.rows
        before = rows[after - 1].link if after else first_link(NAME)
        return entries_of(rows[after:], after, before)

    def keep(self, seq: int, snapshot: bytes) -> None:
        place = self._mine()
        if not 0 < seq <= len(place.rows):
            raise ValueError(f"a snapshot of {seq} entries, of which there are {len(place.rows)}")
        place.snapshots = {seq: snapshot}

    def snapshot(self) -> tuple[int, bytes] | None:
        return max(self._place.snapshots.items(), default=None)

    def close(self) -> None:
        if self._place.writer is self:
            self._place.writer = None

    def _mine(self) -> Place:
        if self._place.writer is not self:
            raise JournalError("the journal in memory is closed")
        return self._place

    def _link(self) -> bytes:
        rows = self._place.rows
        return rows[-1].link if rows else first_link(NAME)
