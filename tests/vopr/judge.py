"""Judges what the service asks of the engine and what truly happens there by what is durable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Cause,
    Ended,
    Health,
    Lost,
    Report,
    Started,
)
from fairlead.scheduling.transitions import HELD, TaskState
from fairlead.service.journal.entry import Entry
from tests.vopr.cluster import Cluster, Run
from tests.vopr.faults import SECOND, BrokenPromiseError
from tests.vopr.ledger import Ledger
from tests.vopr.lines import Amounts

BAD_FOR = 100 * SECOND
"""So long after a node was in trouble the service may still give it up."""

LOOKED_BY = 12 * SECOND
"""So long after a change the service has seen it, if it could look; and so long after a decision
the engine was told of it."""


class Judge:
    """Holds the ledger and the cluster side by side. Raises BrokenPromiseError."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.cluster: Cluster | None = None
        self.blind_until = 0  # until then the service could not see the engine
        self.looked_by = LOOKED_BY  # twice as long while its time goes half as fast
        self.begun: Counter[Attempt] = Counter()
        self.begun_of: Counter[tuple[int, int]] = Counter()
        self.alive: dict[tuple[int, int], list[Run]] = {}

    @property
    def truth(self) -> Cluster:
        """The cluster."""
        assert self.cluster is not None
        return self.cluster

    # What is durable

    def durable(self, entry: Entry) -> None:
        """An entry is durable: is it legal, and is it true?"""
        self.ledger.apply(entry)
        body = entry.body
        if entry.kind in ("task_finished", "task_failed"):
            job = self.ledger.names[body["job"]].id
            attempt = Attempt(job, body["task"], body["attempt"])
            self._true(attempt, entry)
        elif entry.kind == "machine_joined":
            name = body["machine"]["name"]
            alive = list(self.truth.nodes[name].runs)
            if alive:
                raise BrokenPromiseError("a machine that returns is empty", f"{name} runs {alive}")
        elif entry.kind == "machine_left":
            node = self.truth.nodes[body["machine"]]
            if node.well_since is not None and self.truth.now - node.well_since > BAD_FOR:
                raise BrokenPromiseError(
                    "no machine is given up without cause",
                    f"{body['machine']} has been well since {node.well_since}",
                )
            for run in node.runs.values():
                run.given_up = True
        elif entry.kind == "task_lost":
            job = self.ledger.names[body["job"]].id
            for run in self.alive.get((job, body["task"]), ()):
                if run.attempt.number == body["attempt"]:
                    self._give_up(run)

    def _give_up(self, run: Run) -> None:
        """The service takes for lost what is alive: only where its node was in trouble."""
        node = self.truth.nodes[run.machine]
        if node.well_since is not None and self.truth.now - node.well_since > BAD_FOR:
            raise BrokenPromiseError(
                "what runs is not taken for lost", f"{run.attempt} is alive on {run.machine}"
            )
        run.given_up = True

    def _true(self, attempt: Attempt, entry: Entry) -> None:
        """A result is recorded only if the engine said so of this very attempt; a failure also
        where the attempt is lost and must not or may not be tried again."""
        said = self.truth.of(attempt)
        good = entry.kind == "task_finished"
        for report in said:
            if isinstance(report, Ended):
                well = report.cause is Cause.EXITED and report.code == 0
                if well == good and (good or entry.body.get("code") == report.code):
                    return
            elif isinstance(report, Lost) and report.started and not good:
                return
        never = any(isinstance(report, Lost) and not report.started for report in said)
        if never and not good and not entry.body["given_up"]:  # a report may be on its way
            raise BrokenPromiseError("what never started is tried again", str(attempt))
        if not good:
            line = self.ledger.jobs[attempt.job].tasks[attempt.task]
            node = self.truth.nodes[line.machine]
            if node.well_since is None or self.truth.now - node.well_since <= BAD_FOR:
                return  # its machine is, or was, given up
        raise BrokenPromiseError(
            "a result is what the engine reported",
            f"entry {entry.seq}, {entry.kind} of {attempt}; the engine said {said}",
        )

    # What is asked of the engine

    def launching(self, assignment: Assignment) -> None:
        """Only a durable launch of the task's current attempt is acted on."""
        attempt = assignment.attempt
        line = self.ledger.find(attempt.job, attempt.task)
        if line is None or attempt.number > line.attempt:
            raise BrokenPromiseError("no launch before its entry is durable", str(attempt))
        if attempt.number < line.attempt or line.state not in HELD:
            raise BrokenPromiseError(
                "only the current attempt is launched",
                f"{attempt}, where the journal has {line.state.name} at {line.attempt}",
            )
        job = self.ledger.jobs[attempt.job]
        if (
            assignment.machine != line.machine
            or assignment.pieces != line.pieces
            or assignment.name != job.called
            or dict(assignment.demand) != job.demand
        ):
            raise BrokenPromiseError(
                "what is launched is what was decided", f"{assignment} and {line}"
            )
        # What was decided before a machine shrank is made good after it, too.
        if attempt not in self.truth.runs and line.launched > self._changed(line.machine):
            self._fits(assignment)

    def _changed(self, machine: str) -> int:
        return self.ledger.machines[machine].changed

    def _fits(self, assignment: Assignment) -> None:
        """What truly is on the machine, and this, is no more than it has."""
        node = self.truth.nodes.get(assignment.machine)
        known = self.ledger.machines[assignment.machine]
        if node is None or not node.listed or node.health is not Health.READY:
            return  # it will not start there
        capacity = dict(node.machine.capacity)
        if known.capacity != capacity:
            if self.truth.now - max(node.changed, self.blind_until) > self.looked_by:
                raise BrokenPromiseError(
                    "a change of a machine is seen", f"{assignment.machine} has {capacity} now"
                )
            return  # it changed since the service looked
        used: Amounts = {}
        devices: Amounts = {}
        for each in [assignment, *(run.assignment for run in node.runs.values())]:
            for resource, amount in each.demand.items():
                used[resource] = used.get(resource, Fraction(0)) + amount
            for resource, piece in each.pieces:
                share = min(each.demand[resource], Fraction(1))
                name = f"{resource} {piece}"
                devices[name] = devices.get(name, Fraction(0)) + share
        # What comes in pieces is counted by the piece: one in use may be on a device that is gone.
        whole = [r for r in assignment.demand if r not in dict(assignment.pieces)]
        over = [r for r in whole if used[r] > capacity.get(r, 0)]
        over += [f"{r} {p}" for r, p in assignment.pieces if devices[f"{r} {p}"] > 1]
        if over:
            raise BrokenPromiseError(
                "no machine truly over capacity",
                f"{assignment.attempt} on {assignment.machine}, {over[0]},"
                f" beside {[str(each) for each in node.runs]}",
            )

    def cancelling(self, attempt: Attempt) -> None:
        """What runs is stopped only after the journal says so."""
        line = self.ledger.find(attempt.job, attempt.task)
        if line is None:
            raise BrokenPromiseError("no stop of what never was", str(attempt))
        if attempt.number > line.attempt or (
            attempt.number == line.attempt and line.state in (TaskState.LAUNCHED, TaskState.RUNNING)
        ):
            raise BrokenPromiseError("no stop before its entry is durable", str(attempt))

    def acknowledging(self, report: Report) -> None:
        """A report is forgotten only when the journal holds what it says."""
        attempt = report.attempt
        line = self.ledger.find(attempt.job, attempt.task)
        if line is None or attempt.number != line.attempt:
            return
        early = (
            line.state is TaskState.LAUNCHED if isinstance(report, Started) else line.state in HELD
        )
        if early and attempt.job in self.ledger.jobs:
            raise BrokenPromiseError(
                "no report is acknowledged before it is durable",
                f"{report}, where the journal has {line.state.name}",
            )

    def check_stops(self) -> None:
        """What belongs to a cancelled job was stopped at the engine, if it could be reached."""
        now = self.truth.now
        for (job, task), line in self.ledger.stopping.items():
            attempt = Attempt(job, task, line.attempt)
            run = self.truth.runs.get(attempt)
            late = now - max(line.stopped_at, self.blind_until) > self.looked_by
            if late and run is not None and not run.over and not run.asked_to_stop:
                raise BrokenPromiseError("a cancel is carried out", f"{attempt} was never stopped")

    def expecting(self, expected: Sequence[Assignment]) -> None:
        """The engine stops what is not expected: everything that is held must be."""
        got = {(a.attempt.job, a.attempt.task, a.attempt.number) for a in expected}
        held = self.ledger.held()
        missing = sorted(key for key in held if key not in got)
        more = sorted(key for key in got if key not in held and key not in self.ledger.given_up)
        if missing or more:
            raise BrokenPromiseError(
                "what is expected is what the journal holds",
                f"missing {missing}, too many {more}",
            )

    # What truly happens

    def began(self, run: Run) -> None:
        """An attempt truly began."""
        attempt = run.attempt
        task = (attempt.job, attempt.task)
        self.begun[attempt] += 1
        self.begun_of[task] += 1
        if self.begun[attempt] > 1:
            raise BrokenPromiseError("no attempt runs twice", str(attempt))
        line = self.ledger.jobs.get(attempt.job) or self.ledger.forgotten[attempt.job]
        if not line.tree.get("rerunnable", True) and self.begun_of[task] > 1:
            raise BrokenPromiseError("what is not rerunnable runs once", str(attempt))
        others = self.alive.setdefault(task, [])
        for other in others:
            if not other.given_up:
                raise BrokenPromiseError(
                    "no two attempts of a task at once", f"{attempt} and {other.attempt}"
                )
        others.append(run)

    def ended(self, run: Run) -> None:
        """Nothing of the attempt runs any more."""
        runs = self.alive.get((run.attempt.job, run.attempt.task), [])
        if run in runs:
            runs.remove(run)
