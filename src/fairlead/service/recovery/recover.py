"""From a journal to the core and the records: the same fold as live, and the same decisions."""

from __future__ import annotations

from collections import deque

from fairlead.model.errors import FairleadError, InputError
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event
from fairlead.service.journal.codec import DECISIONS, EVENTS, decision_of, event_of
from fairlead.service.journal.entry import CorruptJournalError, Entry, JournalError, Store
from fairlead.service.records.book import Records
from fairlead.service.records.fold import fold
from fairlead.service.recovery.configuration import CORE_CHANGED, SCHEMA, changed_core, core_of
from fairlead.service.recovery.snapshots import load
from fairlead.version import __version__


class DisagreementError(FairleadError):
    """The core decides otherwise than the journal says that it did."""


def _known(entry: Entry) -> None:
    """Raises JournalError where a newer version wrote what follows."""
    if entry.body["schema"] > SCHEMA:
        raise JournalError(
            f"the journal goes on, from entry {entry.seq}, as version {entry.body['version']} of"
            f" Fairlead wrote it, and this is {__version__}: use the newer one"
        )


def change(core: Core, entry: Entry) -> Core:
    """The core after an entry `core_changed`. Raises CorruptJournalError where it cannot be."""
    try:
        return changed_core(core, entry.time, entry.body)
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise CorruptJournalError(
            f"entry {entry.seq} ({entry.kind}) cannot have happened: {error}"
        ) from error


class Recovery:
    """Takes entries one by one, on top of what a snapshot held."""

    def __init__(self, core: Core | None, records: Records) -> None:
        self.core, self.records = core, records
        self._step = records.step
        self._told = False
        self._decided: deque[Decision] | None = None

    def take(self, entry: Entry) -> None:
        """The next entry. Raises CorruptJournalError and DisagreementError."""
        if entry.step != self._step:
            self.finish()
            self._step = entry.step
        if entry.kind in EVENTS:
            event = event_of(entry)
            self._tell(entry, event)
            fold(self.records, entry, event)
        elif entry.kind in DECISIONS:
            decision = decision_of(entry)
            self._compare(entry, decision)
            fold(self.records, entry, decision)
        else:
            if entry.kind == "service_started":
                _known(entry)
                self.core = self.core or core_of(entry.body)
            elif entry.kind == CORE_CHANGED:
                self._change(entry)
            fold(self.records, entry, None)

    def finish(self) -> None:
        """The step is over: the core decided what the journal says, and nothing else."""
        if self._told and self._decided is None:
            self._decided = deque(self._core("the last entry").decide())
        if self._decided:
            raise DisagreementError(
                f"after entry {self.records.seq} this version ({__version__}) decides"
                f" {self._decided[0]}, which the journal does not hold{self._written()}"
            )
        self._told, self._decided = False, None

    def _tell(self, entry: Entry, event: Event) -> None:
        if self._decided is not None:
            raise CorruptJournalError(f"entry {entry.seq} comes after the decisions of its step")
        try:
            self._core(f"entry {entry.seq}").apply(event)
        except InputError as error:
            raise CorruptJournalError(
                f"entry {entry.seq} ({entry.kind}) cannot have happened: {error}"
            ) from error
        self._told = True

    def _change(self, entry: Entry) -> None:
        if self._told:
            raise CorruptJournalError(f"entry {entry.seq} comes after events of its step")
        self.core = change(self._core(f"entry {entry.seq}"), entry)
        self._told = True

    def _compare(self, entry: Entry, decision: Decision) -> None:
        if self._decided is None:
            self._decided = deque(self._core(f"entry {entry.seq}").decide())
        mine = self._decided.popleft() if self._decided else None
        if mine != decision:
            raise DisagreementError(
                f"entry {entry.seq} of the journal says {decision}; this version ({__version__})"
                f" decides {mine or 'nothing'}{self._written()}"
            )

    def _core(self, what: str) -> Core:
        if self.core is None:
            raise CorruptJournalError(f"{what} comes before the service was started")
        return self.core

    def _written(self) -> str:
        start = self.records.start
        return "" if start is None else f" (it was written by version {start.version})"


def newest(store: Store) -> tuple[Core | None, Records]:
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
            raise JournalError(
                f"the journal's entries up to {start} were removed, and this version"
                f" ({__version__}) cannot read the snapshot that says what they did ({error}): use"
                " the version that wrote it"
            ) from error
        return None, Records()  # the store saw that it is whole, so another version wrote it
    if found[0] != records.seq:
        raise CorruptJournalError(
            f"the snapshot of entry {found[0]} says that it is of {records.seq}"
        )
    return core, records


def follow(store: Store, core: Core | None, records: Records) -> Core | None:
    """Takes in all entries after those that the records know; the core (None if there never was
    one)."""
    recovery = Recovery(core, records)
    for entry in store.read(records.seq):
        recovery.take(entry)
    recovery.finish()
    return recovery.core
