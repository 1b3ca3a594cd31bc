"""A journal told to a new core, step by step: does it decide now what it decided then?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from fairlead.model.errors import InputError
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision
from fairlead.service.journal.codec import DECISIONS, EVENTS, decision_of, event_of
from fairlead.service.journal.entry import CorruptJournalError, Entry
from fairlead.service.recovery.configuration import CORE_CHANGED, core_of
from fairlead.service.recovery.recover import DisagreementError, change

START = "service_started"
"""The kind of the entry that says what the core is made of."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was told, what was decided, how the core stands in the end; None: there was no core."""

    entries: int
    steps: int
    events: int
    decisions: int
    time: int
    digest: str | None


def replay(
    entries: Iterable[Entry],
    told: Callable[[int], object] = int,
    core: Core | None = None,
) -> Replayed:
    """Tells a new core all events, decides once after those of each step, and compares. `told` is
    called with the number of entries of each step. `core`: the one that the entries before these
    left.

    The records are not needed: what the core decides follows from its events alone. Raises
    DisagreementError at the first decision that differs, CorruptJournalError where an event cannot
    have happened."""
    counts = dict.fromkeys(("entries", "steps", "events", "decisions"), 0)
    time = 0
    for _, group in groupby(entries, lambda entry: entry.step):
        step = list(group)
        if core is None:
            core = next((core_of(entry.body) for entry in step if entry.kind == START), None)
        if core is None:
            raise CorruptJournalError(f"entry {step[0].seq} comes before the service was started")
        changes = [entry for entry in step if entry.kind == CORE_CHANGED]
        for entry in changes:
            core = change(core, entry)
        happened = [entry for entry in step if entry.kind in EVENTS]
        for entry in happened:
            _tell(core, entry)
        decided = [entry for entry in step if entry.kind in DECISIONS]
        _compare(decided, core.decide() if happened or changes else [], step[-1])
        counts["entries"] += len(step)
        counts["steps"] += 1
        counts["events"] += len(happened)
        counts["decisions"] += len(decided)
        time = step[-1].time
        told(len(step))
    return Replayed(**counts, time=time, digest=None if core is None else core.digest())


def _tell(core: Core, entry: Entry) -> None:
    try:
        core.apply(event_of(entry))
    except InputError as error:
        raise CorruptJournalError(
            f"entry {entry.seq} ({entry.kind}) cannot have happened: {error}"
        ) from error


def _compare(recorded: list[Entry], decided: list[Decision], last: Entry) -> None:
    for entry, decision in zip(recorded, decided, strict=False):
        if decision_of(entry) != decision:
            raise DisagreementError(
                f"entry {entry.seq} says {decision_of(entry)}, and now it is {decision}"
            )
    if len(recorded) > len(decided):
        entry = recorded[len(decided)]
        raise DisagreementError(
            f"entry {entry.seq} says {decision_of(entry)}, and now nothing is decided there"
        )
    if len(decided) > len(recorded):
        raise DisagreementError(
            f"after entry {last.seq}, the last of step {last.step}, {decided[len(recorded)]} is"
            " decided now, which the journal does not say"
        )
