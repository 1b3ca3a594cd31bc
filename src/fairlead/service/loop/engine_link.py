"""The engine as the loop reaches it: its news, the orders to it, and what is made good after it
could not be reached."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from fairlead.engines.credible import heard
from fairlead.engines.interface import Attempt, Engine, EngineError, Lost, Node, Report
from fairlead.engines.observing import View
from fairlead.service.fairness.observer import Counted, Observer
from fairlead.service.guarded_engine import Guarded
from fairlead.service.loop.dispatch import dispatch, limit_outputs, resume
from fairlead.service.loop.step import Step
from fairlead.service.records.book import Records
from fairlead.service.settings import Settings

RETRY = 1_000_000
"""Microseconds until an engine that failed is asked again."""


AT_ONCE = 1_000
"""Attempts whose outputs are forgotten in a step: an engine may remove three files for each."""

SOON = 1_000
"""Microseconds until the next of these."""


@dataclass(frozen=True, slots=True)
class EngineNews:
    """The engine's news of a step. `nodes` None: it was not asked for them, or cannot be reached.
    `gone`: given up attempts that certainly do not run. `view`: of the cluster's own jobs, where
    they were read anew."""

    nodes: Sequence[Node] | None = None
    reports: Sequence[Report] = ()
    gone: Sequence[Attempt] = ()
    view: View | None = None


class EngineLink:
    """`trouble`: why the engine cannot be reached; empty if it can. `restored`: the records are of
    a copy of the journal that was put back. `fault` hears where it failed as nobody foresaw."""

    def __init__(
        self,
        engine: Engine,
        records: Records,
        observer: Observer,
        settings: Settings,
        restored: bool,
        fault: Callable[[str], object],
    ) -> None:
        self.trouble = "the engine was not asked yet"
        self._kept_output = settings.kept_output
        self._most_output = settings.limits.output_per_tenant
        self._engine, self._records, self._observer = Guarded(engine, fault), records, observer
        self._retry: int | None = None
        self._restored = restored
        self._lost: list[Lost] = []  # what the engine will never say
        self._forgotten: deque[Iterator[Attempt]] = deque()  # a job each
        self._forget: list[Attempt] = []  # of these, what was not told yet
        self._sent_at = 0

    def nodes(self, time: int) -> Sequence[Node] | None:
        """Asks it for its machines alone, before anything else; None where it cannot be reached."""
        if self._retry is not None and time < self._retry:
            return None
        try:
            return self._engine.nodes()
        except EngineError as error:
            self._note_failure(time, error)
            return None

    def poll(self, time: int, ask_nodes: bool) -> EngineNews:
        """Asks it. What is to be made good after a failure is made good first."""
        if self.trouble and self._retry is not None and time < self._retry:
            return EngineNews()
        try:
            gone: Sequence[Attempt] = ()
            if self.trouble:
                # Once: the first step writes down that what was launched before may have started.
                restored, self._restored = self._restored, False
                most = self._most_output
                gone, self._lost = resume(self._engine, self._records, most, restored)
            ask_nodes |= bool(self.trouble)
            view = self._engine.view()
            self.trouble, self._retry = "", None
            if ask_nodes and self._engine.cuts:
                limit_outputs(self._engine, self._records, self._most_output, self._kept_output)
            ask_nodes |= view is not None
            nodes = self._engine.nodes() if ask_nodes else None
            return EngineNews(nodes, [*self._lost, *self._engine.poll()], gone, view)
        except EngineError as error:
            self._note_failure(time, error)
            return EngineNews()

    def send(self, step: Step, reports: Sequence[Report], held_back: str = "") -> None:
        """Carries out what the step, which is durable and folded, asks for; later, where it is
        `held_back` for that reason."""
        self._forgotten.extend(_attempts(*job) for job in step.removals.items())
        self._sent_at = step.time
        if held_back and not self.trouble:
            self.trouble, self._retry = held_back, step.time + RETRY
        if self.trouble:
            return  # `resume` will see to it
        try:
            if reports:
                self._lost = [each for each in self._lost if each not in reports]
                self._engine.acknowledge(reports)
            launched, stopped = dispatch(
                self._engine, self._records, step.entries, step.cancels, self._most_output
            )
            self._observer.count(Counted.LAUNCHES, launched)
            self._observer.count(Counted.STOPS, stopped)
            self._fill()
            if self._forget:
                self._engine.forget(self._forget)
                self._forget = []
        except EngineError as error:
            self._note_failure(step.time, error)

    def order(self, time: int, line: Callable[[], Sequence[str]]) -> None:
        """Tells the scheduler of a cluster that can be told so whose turn it is."""
        try:
            self._engine.order(line)
        except EngineError as error:
            self._note_failure(time, error)

    def close(self) -> None:
        """Lets go of the engine; where it fails at that, nothing is left to be done about it."""
        with suppress(EngineError):
            self._engine.close()

    def wake(self) -> int | None:
        """The time to ask it again, if it could not be reached, or to send it the next of what is
        forgotten."""
        if self._retry is None and self._forgotten:
            return self._sent_at + SOON
        return self._retry

    def _fill(self) -> None:
        """The next attempts whose outputs go: so many at most, so that the step stays short."""
        while self._forgotten and len(self._forget) < AT_ONCE:
            self._forget += islice(self._forgotten[0], AT_ONCE - len(self._forget))
            if len(self._forget) < AT_ONCE:
                self._forgotten.popleft()

    def _note_failure(self, time: int, error: EngineError) -> None:
        self.trouble, self._retry = heard(str(error)) or "the engine failed", time + RETRY
        self._observer.count(Counted.ENGINE_ERRORS)


def _attempts(job: int, counts: Sequence[int]) -> Iterator[Attempt]:
    """All attempts that there ever were at the tasks of a job."""
    for task, count in enumerate(counts):
        for number in range(1, count + 1):
            yield Attempt(job, task, number)
