"""A journal applied to a new core: does it decide now what it decided then?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from fairlead.model.errors import FairleadError
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision
from fairlead.service.failures import failed_at
from fairlead.service.journal.codec import DECISIONS, EVENTS
from fairlead.service.journal.entry import Entry
from fairlead.service.recovery.core_fold import CoreFold


@dataclass(frozen=True, slots=True)
class Replayed:
    """Counts of what was replayed, and the core's digest in the end; None: there was no core."""

    entries: int
    steps: int
    events: int
    decisions: int
    time: int
    digest: str | None


def replay(
    entries: Iterable[Entry],
    progress: Callable[[int], object] = int,
    core: Core | None = None,
) -> Replayed:
    """Folds all entries into a core. `progress` is called with the number of entries of each step.
    `core`: the one that the entries before these left.

    The records are not needed: what the core decides follows from its events alone. Raises
    DisagreementError at the first decision that differs, CorruptJournalError where an event cannot
    have happened."""
    cores = CoreFold(core, _wording)
    counts = dict.fromkeys(("entries", "steps", "events", "decisions"), 0)
    time = 0
    for _, step in groupby(entries, lambda entry: entry.step):
        before = counts["entries"]
        for entry in step:
            try:
                cores.take(entry)
            except (FairleadError, MemoryError):
                raise
            except Exception as error:
                raise failed_at(entry, error) from error
            cores.core_at(entry)
            counts["entries"] += 1
            counts["events"] += entry.kind in EVENTS
            counts["decisions"] += entry.kind in DECISIONS
            time = entry.time
        cores.finish()
        counts["steps"] += 1
        progress(counts["entries"] - before)
    digest = None if cores.core is None else cores.core.digest()
    return Replayed(**counts, time=time, digest=digest)


def _wording(entry: Entry, recorded: Decision | None, decided: Decision | None) -> str:
    if recorded is None:
        return (
            f"after entry {entry.seq}, the last of step {entry.step}, {decided} is decided now,"
            " which the journal does not say"
        )
    if decided is None:
        return f"entry {entry.seq} says {recorded}, and now nothing is decided there"
    return f"entry {entry.seq} says {recorded}, and now it is {decided}"
