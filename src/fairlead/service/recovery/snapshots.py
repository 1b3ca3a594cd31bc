"""Snapshots: the core and the records at one entry, so that recovery begins there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.model.errors import InputError
from fairlead.model.values import believing
from fairlead.scheduling import dump as cores
from fairlead.scheduling.core import Core
from fairlead.service.fairness.observer import Counted, Observer
from fairlead.service.journal.entry import CorruptJournalError, JournalError, Store
from fairlead.service.records import dump as books
from fairlead.service.records.book import Records
from fairlead.service.recovery.configuration import core_like
from fairlead.service.recovery.versions import check_schema

START = b"fairlead snapshot 1\n"

Aside = Callable[[Callable[[], None]], None]
"""Runs what takes long and changes nothing, at once or in another thread."""


def at_once(work: Callable[[], None]) -> None:
    """Runs it here and now."""
    work()


@dataclass(frozen=True)
class Snapshot:
    """The core and the records of one moment. Taking one is quick, `written` takes longer."""

    core: cores.Dump
    records: books.RecordsDump

    def encode(self) -> bytes:
        core = self.core.encode()
        return b"".join([START, len(core).to_bytes(8, "little"), core, self.records.encode()])


def take(core: Core, records: Records) -> Snapshot:
    """Between two steps: the core and the records, which are of the same entry."""
    return Snapshot(cores.take(core), books.take(records))


def load(data: bytes) -> tuple[Core, Records]:
    """The core and the records of a snapshot. Raises CorruptJournalError where it is none, and
    VersionJournalError where a newer version wrote it."""
    if not data.startswith(START):
        raise CorruptJournalError("the journal's snapshot is none of this version")
    begin = len(START) + 8
    end = begin + int.from_bytes(data[len(START) : begin], "little")
    with believing():
        records = books.load(data[end:])
    if records.start is None:
        raise CorruptJournalError("the journal's snapshot is of a service that never started")
    check_schema(records.start.schema, records.start.version, "the journal's snapshot is")
    try:
        with believing():
            return cores.load(data[begin:end], core_like(records.start)), records
    except InputError as error:
        raise CorruptJournalError(f"the journal's snapshot cannot be read: {error}") from error


def check_seq(seq: int, records: Records) -> None:
    """Raises CorruptJournalError where the snapshot of one entry holds the records of another."""
    if records.seq != seq:
        raise CorruptJournalError(f"the snapshot of entry {seq} says that it is of {records.seq}")


class Snapshots:
    """Keeps a snapshot of a store every so many entries, one at a time. `aside`
    is how they are written, `on_keep` is called there once one is, with its time; `may_begin`:
    whether those so far leave enough of the time to others."""

    def __init__(self, store: Store, every: int, seq: int, observer: Observer) -> None:
        self.aside: Aside = at_once
        self.on_keep: Callable[[int], object] = int
        self.may_begin: Callable[[], bool] = lambda: True
        self._store, self._every, self._observer = store, every, observer
        self._last = seq
        self._busy = False

    def look(self, core: Core, records: Records) -> None:
        """Begins one if it is time."""
        due = self._every and records.seq >= self._last + self._every
        if due and not self._busy and self.may_begin():
            self._begin(core, records, self.aside)

    def finish(self, core: Core, records: Records) -> None:
        """One more at the end, so that the next start is quick. Nothing depends on it."""
        if self._every and not self._busy and records.seq > self._last:
            self._begin(core, records, at_once)

    def _begin(self, core: Core, records: Records, aside: Aside) -> None:
        self._busy, self._last = True, records.seq
        taken, seq, time = take(core, records), records.seq, records.time
        aside(lambda: self._keep(seq, time, taken))

    def _keep(self, seq: int, time: int, taken: Snapshot) -> None:
        try:
            self._store.keep(seq, taken.encode())
        except JournalError:
            # Recovery takes longer without it, and that is all.
            self._observer.count(Counted.JOURNAL_ERRORS)
        else:
            self.on_keep(time)
        finally:
            self._busy = False
