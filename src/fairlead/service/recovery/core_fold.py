"""The core's side of the fold: recovery, verification and replay bring a core from entry to entry
by it, so that they agree on which journals follow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fairlead.model.errors import FairleadError, InputError
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event
from fairlead.service.journal.codec import DECISIONS, EVENTS, decision_of, event_of
from fairlead.service.journal.entry import CorruptJournalError, Entry
from fairlead.service.recovery.configuration import (
    CORE_CHANGED,
    SERVICE_STARTED,
    core_of,
    reconfigure_core,
)
from fairlead.service.recovery.versions import check_schema

Wording = Callable[[Entry, Decision | None, Decision | None], str]
"""The sentence for a core that decides otherwise: the entry, its decision (None: it has none, and
is the last of its step), and the core's (None: it decides nothing more)."""


class DisagreementError(FairleadError):
    """The core decides otherwise than the journal says that it did, at the entry `seq`."""

    def __init__(self, message: str, seq: int) -> None:
        super().__init__(message)
        self.seq = seq

    def __reduce__(self) -> tuple[type[DisagreementError], tuple[str, int]]:
        return (DisagreementError, (str(self), self.seq))


class CoreFold:
    """Applies the events of each step to the core and compares its decisions with the journal's.
    `core` is None before the entry that says what it is made of."""

    def __init__(self, core: Core | None, wording: Wording) -> None:
        self.core = core
        self._wording = wording
        self._last: Entry | None = None
        self._is_changed = False
        self._decisions: deque[Decision] | None = None

    def take(self, entry: Entry) -> Event | Decision | None:
        """Takes the next entry, and returns the event or the decision in it. Raises
        CorruptJournalError, VersionJournalError and DisagreementError."""
        if self._last is not None and entry.step != self._last.step:
            self.finish()
        self._last = entry
        if entry.kind in EVENTS:
            return self._apply(entry)
        if entry.kind in DECISIONS:
            return self._compare(entry)
        if entry.kind == SERVICE_STARTED:
            self._start(entry)
        elif entry.kind == CORE_CHANGED:
            self._change(entry)
        return None

    def _start(self, entry: Entry) -> None:
        where = f"the journal goes on, from entry {entry.seq},"
        check_schema(entry.body["schema"], entry.body["version"], where)
        try:
            self.core = self.core or core_of(entry.body)
        except InputError as error:
            raise _impossible(entry, error) from error

    def finish(self) -> None:
        """Ends a step: the core decided what the journal says, and nothing else."""
        if self._last is None:
            return
        if self._is_changed and self._decisions is None:
            self._decisions = deque(self.core_at(self._last).decide())
        if self._decisions:
            raise self._disagreement(self._last, None, self._decisions[0])
        self._is_changed, self._decisions = False, None

    def _apply(self, entry: Entry) -> Event:
        event = event_of(entry)
        if self._decisions is not None:
            raise CorruptJournalError(f"entry {entry.seq} comes after the decisions of its step")
        try:
            self.core_at(entry).apply(event)
        except InputError as error:
            raise _impossible(entry, error) from error
        self._is_changed = True
        return event

    def _change(self, entry: Entry) -> None:
        if self._is_changed:
            raise CorruptJournalError(f"entry {entry.seq} comes after events of its step")
        try:
            self.core = reconfigure_core(self.core_at(entry), entry.time, entry.body)
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise _impossible(entry, error) from error
        self._is_changed = True

    def _compare(self, entry: Entry) -> Decision:
        decision = decision_of(entry)
        if self._decisions is None:
            self._decisions = deque(self.core_at(entry).decide())
        mine = self._decisions.popleft() if self._decisions else None
        if mine != decision:
            raise self._disagreement(entry, decision, mine)
        return decision

    def _disagreement(
        self, entry: Entry, recorded: Decision | None, decided: Decision | None
    ) -> DisagreementError:
        return DisagreementError(self._wording(entry, recorded, decided), entry.seq)

    def core_at(self, entry: Entry) -> Core:
        """The core. Raises CorruptJournalError where the entry comes before there is one."""
        if self.core is None:
            raise CorruptJournalError(f"entry {entry.seq} comes before the service was started")
        return self.core


def _impossible(entry: Entry, error: Exception) -> CorruptJournalError:
    return CorruptJournalError(f"entry {entry.seq} ({entry.kind}) cannot have happened: {error}")
