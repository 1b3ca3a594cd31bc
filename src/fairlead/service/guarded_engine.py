"""The engine as the loop calls it: whatever it raises, it is an engine that is away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from fairlead.engines.credible import heard_nodes
from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Engine,
    EngineError,
    LimitsOutputs,
    Node,
    Output,
    Report,
    Stream,
)
from fairlead.engines.observing import Adopts, Observes, Orders, View
from fairlead.service.failures import origin

P = ParamSpec("P")
T = TypeVar("T")

MOST_TOLD = 1_000
"""Places in the program that are remembered to have been told."""


class Guarded:
    """Calls an engine. Raises EngineError where it raises anything, once what it returned was
    looked at: what it does wrong ends no service. The place in the program is told by `fault`, each
    once. What the loop itself does wrong is not within, and is hidden nowhere."""

    def __init__(self, engine: Engine, fault: Callable[[str], object]) -> None:
        self._engine, self._fault = engine, fault
        self._told: set[str] = set()
        self.name, self.identity = engine.name, engine.identity
        self.cuts = isinstance(engine, LimitsOutputs)
        # Chosen once: to ask what an engine does takes longer than to ask the engine.
        self._view: Callable[[], View | None] = lambda: None
        if isinstance(engine, Observes):
            self._view = engine.view
        elif isinstance(engine, Adopts):
            self._view = engine.adopted

    def knows(self, identity: str | None) -> bool:
        return self._ask("knows", self._engine.knows, identity)

    def nodes(self) -> Sequence[Node]:
        return self._ask("nodes", lambda: heard_nodes(self._engine.nodes()))

    def launch(self, batch: Sequence[Assignment]) -> None:
        self._ask("launch", self._engine.launch, batch)

    def poll(self) -> Sequence[Report]:
        return self._ask("poll", lambda: list(self._engine.poll()))

    def acknowledge(self, reports: Sequence[Report]) -> None:
        self._ask("acknowledge", self._engine.acknowledge, reports)

    def cancel(self, batch: Sequence[Attempt]) -> None:
        self._ask("cancel", self._engine.cancel, batch)

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        return self._ask("reconcile", lambda: list(self._engine.reconcile(expected, owner)))

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        return self._ask("output", self._engine.output, attempt, stream, offset, most)

    def forget(self, attempts: Sequence[Attempt]) -> None:
        self._ask("forget", self._engine.forget, attempts)

    def close(self) -> None:
        self._ask("close", self._engine.close)

    def limit_outputs(self, most: Mapping[str, int]) -> None:
        """As of LimitsOutputs, where it `cuts` them."""
        if isinstance(self._engine, LimitsOutputs):
            self._ask("limit_outputs", self._engine.limit_outputs, most)

    def view(self) -> View | None:
        """The cluster's own jobs, where it has any that are told of; None where they were not read
        anew."""
        return self._ask("view", self._view)

    def order(self, jobs: Callable[[], Sequence[str]]) -> None:
        """Tells the scheduler of a cluster that can be told so whose turn it is."""
        if isinstance(self._engine, Orders):
            self._ask("order", self._engine.order, jobs())

    def _ask(self, name: str, call: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        try:
            return call(*args, **more)
        except (EngineError, MemoryError):  # that of the process is no engine's
            raise
        except Exception as error:
            what = f"the engine failed at `{name}`, as nobody foresaw: {origin(error)}"
            if what not in self._told:
                if len(self._told) >= MOST_TOLD:
                    self._told.clear()
                self._told.add(what)
                self._fault(f"{what}; it is asked again as one that was away")
            raise EngineError(what) from error
