"""The simulated engine: the cluster as the service can reach it, which is not always."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    EngineError,
    Lost,
    Node,
    Output,
    Report,
    Started,
    Stream,
)
from tests.vopr.cluster import Cluster
from tests.vopr.faults import BrokenPromiseError, Chance, CrashError, Fault, Trace

T = TypeVar("T")
R = TypeVar("R")


class Judge(Protocol):
    """Is told what the service asks of the engine before it is done, and raises
    BrokenPromiseError where the service must not ask for it."""

    def launching(self, assignment: Assignment) -> None:
        """The engine is asked to launch this."""

    def cancelling(self, attempt: Attempt) -> None:
        """The engine is asked to stop this."""

    def acknowledging(self, report: Report) -> None:
        """The engine may forget this report."""

    def expecting(self, expected: Sequence[Assignment]) -> None:
        """The engine is told what should be there, and stops everything else."""


class SimEngine:
    """One life of the driver; the cluster outlives it."""

    name = identity = "simulated"

    def __init__(
        self,
        cluster: Cluster,
        judge: Judge,
        chance: Chance,
        trace: Trace,
        calls: Counter[str],
    ) -> None:
        self.cluster = cluster
        self.judge = judge
        self.chance = chance
        self.trace = trace
        self.calls = calls
        self.down_until = 0
        self.reconciled = False

    def knows(self, identity: str | None) -> bool:
        return identity in (None, self.identity)

    def nodes(self) -> Sequence[Node]:
        """Engine.nodes."""
        return self._call("nodes", (), lambda _: None, self.cluster.listed)

    def launch(self, batch: Sequence[Assignment]) -> None:
        """Engine.launch."""
        self._ready("launch")
        for assignment in batch:
            self.judge.launching(assignment)
        self._call("launch", batch, self._launch_one, lambda: None)

    def _launch_one(self, assignment: Assignment) -> None:
        if self.trace.wanted:
            self.trace.say(f"   engine: launch {assignment.attempt} on {assignment.machine}")
        if assignment.attempt not in self.cluster.runs:
            self.cluster.take(assignment)

    def poll(self) -> Sequence[Report]:
        """Engine.poll."""
        self._ready("poll")
        return self._call("poll", (), lambda _: None, self._reports)

    def _reports(self) -> list[Report]:
        chance, cluster = self.chance, self.cluster
        found = cluster.visible()
        if cluster.said and chance.hit(Fault.REPORT_TWICE):
            found.append(chance.one_of("twice", cluster.said))
        if cluster.said and chance.hit(Fault.REPORT_OLD):
            found += cluster.old_ends()[: 1 + chance.stream("old").randrange(4)]
        if chance.hit(Fault.REPORT_UNKNOWN):
            found.append(Lost(Attempt(987654, 3, 1), True, "nobody knows it"))
        if len(found) > 1 and chance.hit(Fault.REPORTS_SHUFFLED):
            chance.stream("shuffle").shuffle(found)
        if self.trace.wanted:
            for report in found:
                self.trace.say(f"   engine reports {report}")
        return found

    def acknowledge(self, reports: Sequence[Report]) -> None:
        """Engine.acknowledge."""
        self._ready("acknowledge")
        for report in reports:
            self.judge.acknowledging(report)
        self._call("acknowledge", reports, self.cluster.forget, lambda: None)

    def cancel(self, batch: Sequence[Attempt]) -> None:
        """Engine.cancel."""
        self._ready("cancel")
        for attempt in batch:
            self.judge.cancelling(attempt)
        self._call("cancel", batch, self._cancel_one, lambda: None)

    def _cancel_one(self, attempt: Attempt) -> None:
        if self.trace.wanted:
            self.trace.say(f"   engine: cancel {attempt}")
        self.cluster.stop(attempt)

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        """Engine.reconcile."""
        if owner < self.cluster.owner:
            raise EngineError("a newer owner of the journal was here")
        self.cluster.owner = owner
        self.judge.expecting(expected)
        self.reconciled = True
        return self._call("reconcile", (), lambda _: None, lambda: self._compared(expected))

    def _compared(self, expected: Sequence[Assignment]) -> list[Attempt]:
        cluster = self.cluster
        wanted = {assignment.attempt for assignment in expected}
        for attempt in list(cluster.runs):
            if attempt not in wanted:
                cluster.abandon(attempt)
        missing = []
        for attempt in (assignment.attempt for assignment in expected):
            run = cluster.runs.get(attempt)
            if run is None:
                if not any(isinstance(r, Lost) and r.attempt == attempt for r in cluster.reports):
                    missing.append(attempt)
            elif run.dropped and not run.over:
                cluster.abandon(attempt)
                missing.append(attempt)
            elif run.over and not any(r.attempt == attempt for r in cluster.reports):
                cluster.report(Lost(attempt, run.begun is not None, "its machine died"))
            elif run.begun is not None and not run.over:
                cluster.report(Started(attempt, run.begun))
        if self.trace.wanted:
            self.trace.say(f"   engine: reconcile {len(expected)}, missing {missing}")
        return missing

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        """Engine.output."""
        run = self.cluster.runs.get(attempt)
        said = "" if run is None else str(run.assignment.command)
        data = f"{stream.value} of {attempt}: {said}\n".encode()[offset:][:most]
        return Output(data, max(offset, 0), len(data), True)

    def forget(self, attempts: Sequence[Attempt]) -> None:
        """Engine.forget."""
        self._call("forget", attempts, lambda _: None, lambda: None)

    def close(self) -> None:
        """Engine.close."""

    # Faults

    def _ready(self, call: str) -> None:
        if not self.reconciled:
            raise BrokenPromiseError("reconcile first", f"{call} was called before reconcile")

    def _call(
        self,
        name: str,
        batch: Sequence[T],
        each: Callable[[T], None],
        result: Callable[[], R],
    ) -> R:
        """Does what was asked, or a part of it, or nothing, and says so or not."""
        chance = self.chance
        self.calls[name] += 1
        self.cluster.advance(self.trace.now)
        if chance.hit(Fault.CRASH_BEFORE_ENGINE):
            raise CrashError(name)
        if self.trace.now < self.down_until or chance.hit(Fault.ENGINE_ERROR):
            raise self._failed(name)
        half = len(batch) // 2
        for one in batch[:half]:
            each(one)
        if chance.hit(Fault.CRASH_IN_ENGINE):
            raise CrashError(name)
        if chance.hit(Fault.ENGINE_ERROR_HALF):
            raise self._failed(name)
        for one in batch[half:]:
            each(one)
        value = result()
        if chance.hit(Fault.CRASH_AFTER_ENGINE):
            raise CrashError(name)
        if chance.hit(Fault.ENGINE_ERROR_AFTER):
            raise self._failed(name)
        return value

    def _failed(self, name: str) -> EngineError:
        self.reconciled = False
        if self.trace.wanted:
            self.trace.say(f"   engine: {name} failed")
        return EngineError(f"the simulated engine failed in {name}")
