"""An engine in memory: what tests, benchmarks and the simulated service run on.

`world.World` is what outlives an engine object; a `FakeEngine` is one connection to it. `Faults`
are what goes wrong between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol, TypeVar

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    EngineError,
    Node,
    Output,
    Report,
    Started,
    Stream,
)
from tests.engines.world import Happening, World

T = TypeVar("T")


class Call(Enum):
    """The calls of an engine in which a failure can be planted."""

    NODES = "nodes"
    LAUNCH = "launch"
    POLL = "poll"
    ACKNOWLEDGE = "acknowledge"
    CANCEL = "cancel"
    RECONCILE = "reconcile"
    OUTPUT = "output"
    FORGET = "forget"


class Faults(Protocol):
    """Failures between the service and the world."""

    def doing(self, call: Call, size: int) -> int | None:
        """None: all is well. Otherwise the call does the first so many things of what was asked
        (0 up to `size`, the length of the batch) and then raises EngineError."""

    def reports(self, reports: Sequence[Report]) -> Sequence[Report]:
        """The reports that the service sees now, in their order: others come again."""


class Planted:
    """Failures by hand: `plant(Call.LAUNCH)` makes the next launch fail before it did anything,
    `plant(Call.LAUNCH, done=1)` after its first, `hold` keeps reports back. `error`: of the kind
    that is raised, where it is a mistake of the engine's own."""

    error: type[Exception] = EngineError

    def __init__(self) -> None:
        self._planted: list[tuple[Call, int]] = []
        self._held: set[Attempt] = set()

    def plant(self, call: Call, done: int = 0, times: int = 1) -> None:
        """The next so many calls of this kind fail, each after `done` things."""
        self._planted += [(call, done)] * times

    def hold(self, attempt: Attempt) -> None:
        """Keep back all reports of this attempt until it is let go."""
        self._held.add(attempt)

    def let_go(self, attempt: Attempt) -> None:
        """The reports of this attempt come through again."""
        self._held.discard(attempt)

    def doing(self, call: Call, size: int) -> int | None:
        for at, (planted, done) in enumerate(self._planted):
            if planted is call:
                del self._planted[at]
                return min(done, size)
        return None

    def reports(self, reports: Sequence[Report]) -> Sequence[Report]:
        if not self._held:
            return reports
        return [report for report in reports if report.attempt not in self._held]


class FakeEngine:
    """A connection to a world. A new one over the same world replaces the one before it, as an
    engine that was started again replaces one that was killed."""

    name = "fake"

    def __init__(self, world: World, faults: Faults | None = None) -> None:
        self.world = world
        self.faults = faults
        self._reports: dict[tuple[Attempt, bool], Report] = {}
        self._ready = False
        self.identity, self._kept = world.identity, world.owner > 0
        world.engine = self

    def knows(self, identity: str | None) -> bool:
        return self._kept if identity is None else identity == self.identity

    def nodes(self) -> Sequence[Node]:
        _, error = self._doing(Call.NODES, [])
        self._end(error)
        nodes = self.world.nodes
        return tuple(nodes[name] for name in sorted(nodes))

    def launch(self, batch: Sequence[Assignment]) -> None:
        done, error = self._doing(Call.LAUNCH, batch)
        for assignment in done:
            self.world.begin(assignment)
        self._end(error)

    def poll(self) -> Sequence[Report]:
        _, error = self._doing(Call.POLL, [])
        self._end(error)
        self._look()
        reports = tuple(self._reports.values())
        return reports if self.faults is None else self.faults.reports(reports)

    def acknowledge(self, reports: Sequence[Report]) -> None:
        done, error = self._doing(Call.ACKNOWLEDGE, reports)
        for report in done:
            task = self.world.tasks.get(report.attempt)
            if isinstance(report, Started):
                self._reports.pop((report.attempt, False), None)
            elif task is not None and task.over == report:
                del self.world.tasks[report.attempt]
                self._reports.pop((report.attempt, True), None)
                self._reports.pop((report.attempt, False), None)
        self._end(error)

    def cancel(self, batch: Sequence[Attempt]) -> None:
        done, error = self._doing(Call.CANCEL, batch)
        for attempt in done:
            self.world.stop(attempt)
        self._end(error)

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        if owner < self.world.owner:
            raise EngineError("a newer owner of the journal was here")
        self.world.owner = owner
        _, error = self._doing(Call.RECONCILE, [], first=True)
        self._end(error)
        self.world.advance()
        wanted = {assignment.attempt for assignment in expected}
        for attempt in [attempt for attempt in self.world.tasks if attempt not in wanted]:
            self.world.drop(attempt)
        self.world.news.clear()
        self._reports.clear()
        self._ready = True
        tasks = self.world.tasks
        for one in sorted(tasks.values(), key=lambda task: task.order):
            attempt = one.assignment.attempt
            if one.over is not None:
                self._reports[attempt, True] = one.over
            elif one.running:
                self._reports[attempt, False] = Started(attempt, one.starts)
        return [attempt for attempt in (one.attempt for one in expected) if attempt not in tasks]

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        _, error = self._doing(Call.OUTPUT, [], first=True)
        self._end(error)
        task = self.world.tasks.get(attempt)
        over = task is None or task.over is not None
        out, err = self.world.outputs.get(attempt, (b"", b""))
        text = {Stream.OUT: out, Stream.ERR: err}.get(stream, b"")
        return Output.part_of(text, offset, most, over)

    def forget(self, attempts: Sequence[Attempt]) -> None:
        done, error = self._doing(Call.FORGET, attempts)
        for attempt in done:
            self.world.outputs.pop(attempt, None)
        self._end(error)

    def close(self) -> None:
        """Let go of the world, in which everything goes on."""
        if self.world.engine is self:
            self.world.engine = None
        self._ready = False

    def _doing(
        self, call: Call, batch: Sequence[T], first: bool = False
    ) -> tuple[Sequence[T], Exception | None]:
        """The part of the batch that is to be done, and the error to end with. Raises EngineError
        where the call is not allowed."""
        if self.world.engine is not self:
            raise EngineError("this engine was closed, or another took its place")
        if not (self._ready or first or call is Call.NODES):
            raise EngineError("reconcile comes first")
        done = None if self.faults is None else self.faults.doing(call, len(batch))
        if done is None:
            return batch, None
        if call is not Call.OUTPUT:  # it comes from other threads, and changes nothing
            self._ready = False
        kind = getattr(self.faults, "error", EngineError)
        return batch[:done], kind(f"a planted failure in {call.value}")

    def _end(self, error: Exception | None) -> None:
        if error:
            raise error

    def _look(self) -> None:
        self.world.advance()
        news, self.world.news = self.world.news, []
        for happening, task in news:
            attempt = task.assignment.attempt
            if self.world.tasks.get(attempt) is not task:
                continue
            if happening is Happening.STARTED:
                self._reports[attempt, False] = Started(attempt, task.starts)
            elif task.over is not None:
                self._reports[attempt, True] = task.over
