"""A journal in memory, for tests and simulations: the same promises, and nothing that lasts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fairlead.service.journal.chain import Row, entries_of, first_link, fresh, rows_of
from fairlead.service.journal.entry import Entry, JournalError, Standing, TakenJournalError

NAME = "memory"

KEPT = 2
"""So many snapshots are kept."""


@dataclass
class Place:
    """A place of a journal in memory, which outlives its writer."""

    rows: list[Row] = field(default_factory=list)
    start: int = 0  # entries that were removed
    first: bytes = field(default_factory=lambda: first_link(NAME))  # what the next is linked to
    snapshots: dict[int, bytes] = field(default_factory=dict)
    writer: MemoryStore | None = None
    epoch: int = 0  # writers so far
    beat: int = 0
    held: bool = False
    leader: str = ""

    def standing(self) -> Standing:
        """Its writer now, and how far that went."""
        last = self.start + len(self.rows)
        return Standing(self.epoch, self.beat, self.held, self.leader, last)


class MemoryStore:
    """A journal at a place in memory. `place.writer = None` is what a killed writer leaves.
    `after`: where a writer stood whose lease has run out."""

    def __init__(self, place: Place, after: Standing | None = None) -> None:
        seen = None if after is None else (after.epoch, after.beat, after.seq)
        now = place.standing()
        if place.writer is not None and seen != (now.epoch, now.beat, now.seq):
            raise TakenJournalError("the journal in memory is being written by another service")
        self._place = place
        self.leader, self.restored = "", False
        self._closed = False
        place.writer = self
        place.epoch, place.beat, place.held, place.leader = place.epoch + 1, 0, True, ""

    def append(self, entries: Sequence[Entry]) -> None:
        place = self._mine()
        new = fresh(entries, self.last(), lambda seq: place.rows[seq - 1 - place.start])
        place.rows += list(rows_of(new, self._link(self.last())))

    def last(self) -> int:
        return self._place.start + len(self._place.rows)

    def start(self) -> int:
        return self._place.start

    def read(self, after: int = 0) -> Iterator[Entry]:
        after = max(after, self._place.start)
        rows = self._place.rows[after - self._place.start :]
        return entries_of(rows, after, self._link(after))

    def until(self, time: int) -> int:
        place = self._place
        return place.start + sum(row.time <= time for row in place.rows)

    def keep(self, seq: int, snapshot: bytes) -> None:
        place = self._mine()
        if not place.start < seq <= self.last():
            raise ValueError(f"a snapshot of {seq} entries, of which there are {self.last()}")
        kept = {**place.snapshots, seq: snapshot}
        place.snapshots = {each: kept[each] for each in sorted(kept)[-KEPT:]}

    def snapshot(self) -> tuple[int, bytes] | None:
        return max(self._place.snapshots.items(), default=None)

    def snapshots(self) -> list[tuple[int, bytes]]:
        return sorted(self._place.snapshots.items())

    def forget(self, seq: int) -> None:
        place = self._mine()
        if not place.snapshots or min(place.snapshots) < seq:
            raise JournalError(
                f"the journal in memory: no whole snapshot says what the entries up to {seq} did,"
                " so they stay"
            )
        if seq > place.start:
            place.first = self._link(seq)
            del place.rows[: seq - place.start]
            place.start = seq

    def renew(self) -> None:
        place = self._mine()
        place.beat, place.held, place.leader = place.beat + 1, True, self.leader

    def close(self) -> None:
        self._closed = True
        if self._place.writer is self:
            self._place.writer, self._place.held = None, False

    def _mine(self) -> Place:
        if self._closed:
            raise JournalError("the journal in memory is closed")
        if self._place.writer is not self:
            raise TakenJournalError("another service has taken over the journal in memory")
        return self._place

    def _link(self, seq: int) -> bytes:
        """Of the entry, which is kept or the last that was removed."""
        place = self._place
        return place.rows[seq - 1 - place.start].link if seq > place.start else place.first
