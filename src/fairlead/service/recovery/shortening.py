"""Removal of a journal's old entries, once two snapshots say what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

from fairlead.model.errors import InternalError
from fairlead.service.fairness.observer import Counted, Observer
from fairlead.service.journal.entry import Entry, JournalError, Store
from fairlead.service.journal.reading import SqlReader
from fairlead.service.recovery.core_fold import DisagreementError
from fairlead.service.recovery.verify import verify

Verify = Callable[[Store], None]
"""Raises JournalError, DisagreementError or InternalError where one of the kept snapshots does not
say what the entries did."""


def check_snapshots(store: Store | SqlReader) -> None:
    """The older of the snapshots leads, by the entries after it, to the newer one. Raises
    CorruptJournalError and DisagreementError."""
    kept = store.snapshots()
    if not kept:
        return
    newest = kept[-1][0]

    def between() -> Iterator[Entry]:
        yield from takewhile(lambda entry: entry.seq <= newest, store.read(kept[0][0]))

    verify(between(), kept, start=kept[0][0])


def removable(store: Store, until: int | None) -> int:
    """The last entry that may be removed, of that time or before (None: of whatever time); what
    `store.start()` says where none may. Two snapshots must cover it: one may turn out damaged."""
    kept, start = store.snapshots(), store.start()
    if len(kept) < 2:
        return start
    last = kept[0][0]
    return max(start, last if until is None else min(last, store.until(until)))


def shorten(store: Store, until: int | None, verify: Verify = check_snapshots) -> int:
    """Removes what may go, once the snapshots were found right; how many entries that were. Raises
    JournalError and what `verify` raises: nothing is removed then, or more is removed later."""
    last, start = removable(store, until), store.start()
    if last <= start:
        return 0
    verify(store)
    store.forget(last)
    return last - start


class Shortening:
    """Removes entries that are older than `keep` microseconds whenever a snapshot was kept.
    `verify`: how snapshots are looked at before. `trouble`: why nothing could be removed last."""

    def __init__(self, store: Store, keep: int, observer: Observer) -> None:
        self.verify: Verify = check_snapshots
        self.trouble = ""
        self._store, self._keep, self._observer = store, keep, observer

    def __call__(self, time: int) -> None:
        try:
            shorten(self._store, time - self._keep, self.verify)
            self.trouble = ""
        except (JournalError, DisagreementError, InternalError) as error:
            # The journal stays longer, and that is all.
            self.trouble = str(error)
            self._observer.count(Counted.JOURNAL_ERRORS)
