"""Judges services of which each has an engine of its own: what another one's engine has is given up
by the journal and goes on there, and nobody hears of it any more."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.engines.interface import Assignment, Attempt, Report
from fairlead.scheduling.transitions import HELD
from fairlead.service.journal.entry import Entry
from tests.vopr.cluster import Run
from tests.vopr.faults import BrokenPromiseError
from tests.vopr.judge import Judge


class ApartJudge(Judge):
    """`cluster` is that of whoever writes the journal now; `asked`: the engine that is reconciled;
    `engine`: the one that the journal names."""

    asked = engine = ""

    def durable(self, entry: Entry) -> None:
        """As Judge.durable."""
        super().durable(entry)
        if entry.kind == "engine_changed":
            self.engine = entry.body["engine"]

    def expecting(self, expected: Sequence[Assignment]) -> None:
        """An engine that the journal does not name is told nothing of what another one has."""
        if self.asked == self.engine:
            super().expecting(expected)
        elif expected:
            raise BrokenPromiseError("an engine hears of its own attempts", str(expected[0]))

    def _give_up(self, run: Run) -> None:
        if self.truth.runs.get(run.attempt) is run:
            super()._give_up(run)
        run.given_up = True

    def _true(self, attempt: Attempt, entry: Entry) -> None:
        lost = entry.kind == "task_failed" and entry.body["cause"] == "lost"
        if not lost or attempt in self.truth.runs:
            super()._true(attempt, entry)

    def began(self, run: Run) -> None:
        """An attempt truly began, perhaps of one whom the journal has given up before."""
        attempt = run.attempt
        line = self.ledger.find(attempt.job, attempt.task)
        if line is not None and line.attempt == attempt.number and line.state in HELD:
            super().began(run)
            return
        run.given_up = True
        self.begun[attempt] += 1
        self.begun_of[attempt.job, attempt.task] += 1
        job = self.ledger.jobs.get(attempt.job) or self.ledger.forgotten[attempt.job]
        if self.begun_of[attempt.job, attempt.task] > 1 and not job.tree.get("rerunnable", True):
            raise BrokenPromiseError("what is not rerunnable runs once", str(attempt))
        self.alive.setdefault((attempt.job, attempt.task), []).append(run)


class Lenient:
    """Judges nothing: an engine does what it is told by one that was overtaken in the middle."""

    def launching(self, assignment: Assignment) -> None:
        """Judge.launching."""

    def cancelling(self, attempt: Attempt) -> None:
        """Judge.cancelling."""

    def acknowledging(self, report: Report) -> None:
        """Judge.acknowledging."""

    def expecting(self, expected: Sequence[Assignment]) -> None:
        """Judge.expecting."""
