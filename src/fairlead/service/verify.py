"""Does all that a journal says follow from its entries, with and without its snapshot?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.scheduling.core import Core
from fairlead.service.journal.entry import CorruptJournalError, Entry
from fairlead.service.records import dump as books
from fairlead.service.records.book import Records
from fairlead.service.recovery import Recovery
from fairlead.service.snapshots import load


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found. `digest`: of the core that follows; None: no service has begun. `snapshot`:
    the entry whose snapshot was gone through; None: there is none that this version reads."""

    entries: int
    steps: int
    time: int
    digest: str | None
    snapshot: int | None


def verify(entries: Iterable[Entry], snapshot: tuple[int, bytes] | None) -> Verified:
    """Takes all entries to the core and the records as a service does that starts; and those after
    the snapshot once more on top of it, which must lead to the same.

    Raises CorruptJournalError, DisagreementError, and InternalError where the core contradicts
    itself in the end."""
    whole, short = Recovery(None, Records()), None
    count, step = 0, 0
    for entry in entries:
        whole.take(entry)
        if short is not None:
            short.take(entry)
        elif snapshot is not None and snapshot[0] == entry.seq:
            short = _loaded(*snapshot)
        count, step = count + 1, entry.step
    whole.finish()
    core = whole.core
    if core is not None:
        core.check()
    if short is not None:
        short.finish()
        if _state(short.core, short.records) != _state(core, whole.records):
            raise CorruptJournalError(
                "the snapshot and the entries after it give another state than all entries do"
            )
    digest = None if core is None else core.digest()
    used = None if short is None or snapshot is None else snapshot[0]
    return Verified(count, step, whole.records.time, digest, used)


def _loaded(seq: int, data: bytes) -> Recovery | None:
    """What recovers on top of the snapshot; None where another version wrote it."""
    try:
        core, records = load(data)
    except CorruptJournalError:
        return None  # a service that starts passes over it, too: its bytes are those kept
    if records.seq != seq:
        raise CorruptJournalError(f"the snapshot of entry {seq} says that it is of {records.seq}")
    return Recovery(core, records)


def _state(core: Core | None, records: Records) -> tuple[str | None, bytes]:
    return None if core is None else core.digest(), books.take(records).written()
