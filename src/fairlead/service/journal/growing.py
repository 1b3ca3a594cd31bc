"""The entries that an append adds: those that are not there yet, after those that are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.model.errors import InternalError
from fairlead.service.journal.chain import Row
from fairlead.service.journal.codec import to_text
from fairlead.service.journal.entry import CorruptJournalError, Entry


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
