"""Making steps durable: one after the other, and nothing is believed before it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.engines.interface import Report
from fairlead.model.errors import FairleadError
from fairlead.service.failures import failed_at
from fairlead.service.fairness.observer import Counted, Observer, Timed
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    Listener,
    Store,
    TakenJournalError,
)
from fairlead.service.loop.midway import Before, Midway, NoReaders, Readers
from fairlead.service.loop.step import Step
from fairlead.service.records.book import Records
from fairlead.service.records.fold import fold

SLICE = 50
"""Entries that are folded before those who wait may read."""


@dataclass(frozen=True, slots=True)
class PendingStep:
    """A step that was decided: it counts once it is durable. `before`: a copy of what it began
    with, where that is worth while."""

    step: Step
    reports: Sequence[Report]  # that it is about
    before: Before | None = None


class Committer:
    """`trouble`: why the journal cannot be written now; empty if it can. `stuck`: the step that
    could not be written. `listeners` are called with entries that are durable and folded.
    `readers` read meanwhile, of what is folded after each `slice`."""

    def __init__(self, store: Store, records: Records, observer: Observer) -> None:
        self.trouble = ""
        self.stuck: PendingStep | None = None
        self.listeners: list[Listener] = []
        self.readers: Readers = NoReaders()
        self.slice = SLICE
        self._store, self._records, self._observer = store, records, observer
        self._midway = Midway(records)

    def commit(self, pending: PendingStep) -> bool:
        """Makes a step durable and folds it; whether that was possible. One that was not is to be
        given again as it is, before any other. Raises TakenJournalError, CorruptJournalError; and
        InternalError, which names the entry, where the program fails once it is durable."""
        entries = pending.step.entries
        try:
            if entries:
                whole = Midway(self._records, pending.before)
                with self._observer.measure(Timed.JOURNAL), self.readers.lent(whole):
                    self._store.append(entries)
        except (TakenJournalError, CorruptJournalError):
            raise
        except JournalError as error:
            self._observer.count(Counted.JOURNAL_ERRORS)
            self.trouble, self.stuck = str(error), pending
            return False
        self.trouble, self.stuck = "", None
        contents = zip(entries, pending.step.contents, strict=True)
        for number, (entry, content) in enumerate(contents, 1):
            try:
                fold(self._records, entry, content)
            except (FairleadError, MemoryError):
                raise
            except Exception as error:
                raise failed_at(entry, error) from error
            if number % self.slice == 0:
                self.readers.serve(self._midway)
        self._observer.count(Counted.ENTRIES, len(entries))
        return True

    def spread(self, entries: Sequence[Entry]) -> None:
        if entries:
            for listener in self.listeners:
                listener(entries)
