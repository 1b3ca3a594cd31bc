"""From a journal to the core and the records: the same fold as live, and the same decisions."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.model.errors import FairleadError
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision
from fairlead.service.failures import failed_at
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    Listener,
    Readable,
    VersionJournalError,
)
from fairlead.service.records.book import Records
from fairlead.service.records.fold import fold
from fairlead.service.recovery.core_fold import CoreFold
from fairlead.service.recovery.snapshots import check_seq, load
from fairlead.version import __version__


@dataclass(frozen=True)
class Recovered:
    """The state that a service goes on with. `snapshot`: the entry of the newest one that was read.
    The rest is of a service that followed: its monitor, and who is told of entries."""

    core: Core | None
    records: Records
    snapshot: int
    watch: FairnessMonitor | None = None
    listeners: list[Listener] = field(default_factory=list)


def recover(store: Readable) -> Recovered:
    """All that the journal holds. Raises JournalError and DisagreementError."""
    core, records = newest(store)
    snapshot = records.seq
    return Recovered(follow(store, core, records), records, snapshot)


class Recovery:
    """Takes entries one by one, on top of what a snapshot held."""

    def __init__(self, core: Core | None, records: Records) -> None:
        self.records = records
        self._cores = CoreFold(core, self._wording)

    @property
    def core(self) -> Core | None:
        """The core; None before the service was started."""
        return self._cores.core

    def take(self, entry: Entry) -> None:
        """The next entry. Raises CorruptJournalError, VersionJournalError, DisagreementError; and
        InternalError, which names it, where the program fails at it."""
        try:
            fold(self.records, entry, self._cores.take(entry))
        except (FairleadError, MemoryError):
            raise
        except Exception as error:
            start = self.records.start
            raise failed_at(entry, error, "" if start is None else start.version) from error

    def finish(self) -> None:
        """The last entry was taken. Raises DisagreementError."""
        self._cores.finish()

    def _wording(self, entry: Entry, recorded: Decision | None, decided: Decision | None) -> str:
        start = self.records.start
        by = "" if start is None else f" (it was written by version {start.version})"
        if recorded is None:
            return (
                f"after entry {entry.seq} this version ({__version__}) decides {decided}, which the"
                f" journal does not hold{by}"
            )
        return (
            f"entry {entry.seq} of the journal says {recorded}; this version ({__version__})"
            f" decides {decided or 'nothing'}{by}"
        )


def newest(store: Readable) -> tuple[Core | None, Records]:
    """The core and the records of the newest snapshot; of the beginning if there is none, or none
    that this version can read: the entries alone say everything, if they are all there."""
    found = store.snapshot()
    start = store.start()
    if found is None:
        if start:
            raise CorruptJournalError(
                f"the journal's entries up to {start} were removed, and no snapshot that says what"
                " they did is whole: put back the last good copy"
            )
        return None, Records()
    try:
        core, records = load(found[1])
    except CorruptJournalError as error:
        if start:
            raise VersionJournalError(
                f"the journal's entries up to {start} were removed, and this version"
                f" ({__version__}) cannot read the snapshot that says what they did ({error}): use"
                " the version that wrote it"
            ) from error
        return None, Records()  # the store saw that it is whole, so another version wrote it
    check_seq(found[0], records)
    return core, records


def last_time(store: Readable) -> int:
    """The time of the last entry; 0 where there never was one."""
    last = store.last()
    if last > store.start():
        return next(store.read(last - 1)).time
    return newest(store)[1].time


def follow(store: Readable, core: Core | None, records: Records) -> Core | None:
    """Takes in all entries after those that the records know; the core (None if there never was
    one)."""
    recovery = Recovery(core, records)
    for entry in store.read(records.seq):
        recovery.take(entry)
    recovery.finish()
    return recovery.core
