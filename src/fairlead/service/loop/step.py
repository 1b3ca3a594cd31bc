"""A step of the loop: entries for the journal. The core has applied their events; the records have
not, and nothing was acted on."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.engines.interface import Attempt
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event, TimePassed
from fairlead.service.journal.codec import entry_of
from fairlead.service.journal.entry import Entry
from fairlead.service.records.book import Records, Totals
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.people import KeyOwner, KeyRecord, KeyTotals

QUIET = 24 * 3_600_000_000
"""Microseconds after which a service in which nothing happens writes down that time passed: the
next start sees by it how far the clock may have gone on (`process.clock`)."""


@dataclass
class Step:
    """Entries with what was said in them, in their order, all of one moment.

    The rest is what the step has done already and the records do not know yet; `cancels` are
    attempts to be cancelled beside those that decisions and cancelled jobs name; `ahead` is 1 as
    long as one step of one entry comes before it that the records do not know either; `pause` is
    called between its parts."""

    core: Core
    records: Records
    time: int
    entries: list[Entry] = field(default_factory=list)
    contents: list[Event | Decision | None] = field(default_factory=list)
    has_events: bool = False
    cancels: list[Attempt] = field(default_factory=list)
    ends: set[Attempt] = field(default_factory=set)
    quarantines: set[str] = field(default_factory=set)
    releases: set[str] = field(default_factory=set)
    drains: dict[str, bool] = field(default_factory=dict)
    numbers: int = 0  # of jobs that were used
    ahead: int = 0
    submissions: dict[str, int] = field(default_factory=dict)  # unique name: number
    called: set[tuple[str | None, str]] = field(default_factory=set)  # of these tenant and name
    additions: dict[str, Totals] = field(default_factory=dict)  # tenant: what is more
    sizes: dict[int, int] = field(default_factory=dict)  # job: how many tasks it has now
    keys: dict[KeyOwner, KeyRecord] = field(default_factory=dict)
    key_additions: dict[str | None, KeyTotals] = field(default_factory=dict)  # by tenant
    removals: dict[int, array[int]] = field(default_factory=dict)  # attempts of each task
    tokens: dict[str, bool] = field(default_factory=dict)  # made or revoked
    pause: Callable[[], None] = lambda: None

    def apply(self, event: Event, **more: Any) -> None:
        """Tells the core, and writes it down with `more`. Raises InputError, and changes nothing,
        where it cannot have happened."""
        self.core.apply(event)
        self.has_events = True
        self._add(entry_of(self._next(), self._step(), self.time, event, **more), event)

    def change_core(self, core: Core, kind: str, body: dict[str, Any]) -> None:
        """Goes on with this core, which was made of the one so far, and writes down how."""
        self.core, self.has_events = core, True
        self.note(kind, **body)

    def note(self, kind: str, **body: Any) -> None:
        """Writes down what the core does not need to know."""
        self._add(Entry(self._next(), self._step(), self.time, kind, body), None)

    def give_back(self, attempt: Attempt, machine: str) -> None:
        """Writes down that an attempt that was given up with its machine is over."""
        self.ends.add(attempt)
        self.note(
            "attempt_gone",
            id=attempt.job,
            task=attempt.task,
            attempt=attempt.number,
            machine=machine,
        )

    def mark_attempt_gone(self, attempt: Attempt) -> bool:
        """The same, wherever it was given up; whether it was anywhere."""
        if attempt in self.ends:
            return False
        for machine in self.records.machines.values():
            if attempt in machine.given_up:
                self.give_back(attempt, machine.name)
                return True
        return False

    def machine_of(self, attempt: Attempt) -> str:
        """The machine of a task's present attempt."""
        row = self.records.jobs[attempt.job].first + attempt.task
        return self.records.machine_names[self.records.table.machine[row]]

    def forget(self, job: JobRecord) -> None:
        """Writes down that a job, which is over, is forgotten."""
        self.removals[job.id] = self.records.attempt_counts(job)
        self.note("job_forgotten", job=job.name, id=job.id)

    def decide(self, more: Callable[[Decision], Mapping[str, Any]] = lambda _: {}) -> None:
        """Writes down what the core decides now, with `more` that the records need of each."""
        for decision in self.core.decide():
            entry = entry_of(self._next(), self._step(), self.time, decision, **more(decision))
            self._add(entry, decision)

    def pass_time(self) -> None:
        """Tells the core how late it is, if it wants to know and was told nothing else, and at
        least once a day."""
        wake, quiet = self.core.wake(), self.records.time + QUIET
        if not self.has_events and min(quiet, quiet if wake is None else wake) <= self.time:
            self.apply(TimePassed(self.time))

    def _next(self) -> int:
        return self.records.seq + self.ahead + len(self.entries) + 1

    def _step(self) -> int:
        return self.records.step + self.ahead + 1

    def _add(self, entry: Entry, content: Event | Decision | None) -> None:
        self.entries.append(entry)
        self.contents.append(content)
        self.pause()
