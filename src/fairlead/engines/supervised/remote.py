"""An engine in a supervised child process, behind the same interface.

A driver that dies, or that does not answer in time, is killed and started again after growing
waits; meanwhile every call raises EngineError. The first call to a new driver must be `reconcile`
(`nodes` and `output` may come before it): all others raise EngineError until then, so that no
restart goes unnoticed.

Only `reconcile` and `output` wait for the driver, and only while it says that the engine can be
reached: a cluster that is away keeps nobody waiting. What the driver is told otherwise may fail
there later, and the next call says so. Its machines and reports come by themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from time import monotonic
from typing import Any

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    EngineError,
    Node,
    Output,
    Report,
    Stream,
)
from fairlead.engines.supervised.child import Child
from fairlead.engines.supervised.messages import (
    Tree,
    attempt_of,
    output_of,
    plain_assignments,
    plain_attempt,
    plain_report,
)
from fairlead.model.errors import InputError

CALLS_KEPT = 64 * 1024 * 1024
"""Characters of calls that a driver keeps. Beyond it, it begins anew with those it needs."""

FIRST_WAIT, LONGEST_WAIT = 0.1, 30.0
"""Seconds before a driver is started again; doubled each time."""

GOOD_SERVICE = 30.0
"""Seconds after which a driver that then dies is started again without long waits."""

logger = logging.getLogger(__name__)


class RemoteEngine:
    """The engine that `opener` (module:function) opens with these settings, in a child process.

    Settings are plain data. Starts the child and waits until it is ready: raises InputError where
    the settings are refused, EngineError where it does not come up. A child that is killed
    meanwhile says nothing of either, and another one is started.
    """

    def __init__(
        self,
        opener: str,
        settings: Mapping[str, Any],
        *,
        timeout: float = 20.0,
        start_timeout: float = 90.0,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._request = {"opener": opener, "settings": dict(settings)}
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._environment = environment
        self._clock = clock
        self._lock = Lock()
        self._wait = FIRST_WAIT
        self._not_before = 0.0
        self._closed = False
        self._wake: Callable[[], None] = lambda: None
        self.restarts = 0
        self._child: Child | None = Child(self._request, environment, self._news, clock)
        first = self._until_ready(self._child)
        self.name, self.identity, self._known = first.name, first.identity, first.known

    @property
    def pid(self) -> int | None:
        """The child process that is there now."""
        child = self._child
        return None if child is None or child.over.is_set() else child.pid

    def knows(self, identity: str | None) -> bool:
        return self._known if identity is None else identity == self.identity

    def nodes(self) -> Sequence[Node]:
        nodes = self._ready().nodes
        if nodes is None:
            raise EngineError("the engine's driver is starting")
        return nodes

    def listen(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def launch(self, batch: Sequence[Assignment]) -> None:
        child = self._check_reconciled()
        trees, calls = plain_assignments(batch)
        fresh = child.calls_size > CALLS_KEPT
        if fresh:
            child.calls, child.calls_size = set(), 0
        new = {key: call for key, call in calls.items() if key not in child.calls}
        child.calls.update(new)
        child.calls_size += sum(map(len, new.values()))
        child.send({"method": "launch", "batch": trees, "calls": new, "fresh": fresh})

    def poll(self) -> Sequence[Report]:
        return self._check_reconciled().reports.all()

    def acknowledge(self, reports: Sequence[Report]) -> None:
        child = self._check_reconciled()
        child.reports.drop(reports)
        trees = [plain_report(report) for report in reports]
        child.send({"method": "acknowledge", "reports": trees})

    def cancel(self, batch: Sequence[Attempt]) -> None:
        self._attempts("cancel", batch)

    def forget(self, attempts: Sequence[Attempt]) -> None:
        self._attempts("forget", attempts)

    def limit_outputs(self, most: Mapping[str, int]) -> None:
        self._check_reconciled().send({"method": "limit_outputs", "most": dict(most)})

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        child = self._ready()
        trees, calls = plain_assignments(expected)
        child.calls, child.calls_size = set(calls), sum(map(len, calls.values()))
        request: Tree = {"method": "reconcile", "batch": trees, "calls": calls, "owner": owner}
        value = child.ask({**request, "round": child.begin()}, self._timeout)
        try:
            never = [attempt_of(tree) for tree in value]
        except (TypeError, ValueError):
            child.kill("it answered reconcile with what nobody understands")
            raise EngineError(f"the engine's driver is gone: {child.why}") from None
        child.reconciled = True
        return never

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        request: Tree = {"method": "output", "attempt": plain_attempt(attempt)}
        request |= {"stream": stream.value, "offset": offset, "most": most}
        child = self._ready()
        try:
            return output_of(child.ask(request, self._timeout))
        except (LookupError, TypeError, ValueError):
            child.kill("it answered output with what nobody understands")
            raise EngineError(f"the engine's driver is gone: {child.why}") from None

    def close(self) -> None:
        self._closed = True
        child = self._child
        if child is None or child.over.is_set():
            return
        if child.ready.is_set():
            try:
                child.ask({"method": "close"}, self._timeout)
            except EngineError:
                logger.warning("the engine's driver did not close: %s", child.why)
        child.leave(2.0 if child.ready.is_set() else 0.0)

    def _attempts(self, method: str, attempts: Sequence[Attempt]) -> None:
        trees = [plain_attempt(attempt) for attempt in attempts]
        self._check_reconciled().send({"method": method, "attempts": trees})

    def _check_reconciled(self) -> Child:
        child = self._ready()
        failure = child.failure()
        if failure is not None:
            child.reconciled = False
            raise EngineError(failure)
        if not child.reconciled:
            raise EngineError("the engine's driver was started again: reconcile first")
        return child

    def _news(self) -> None:
        self._wake()

    def _ready(self) -> Child:
        """The child, if it is there and ready; starts another where it is time to."""
        with self._lock:
            if self._closed:
                raise EngineError("the engine is closed")
            child = self._child
            if child is None:
                child = self._start()
            if child.over.is_set():
                raise self._drop_child(child)
            if not child.ready.is_set():
                if self._clock() - child.started > self._start_timeout:
                    child.kill(f"it was not ready within {self._start_timeout:g} seconds")
                    raise self._drop_child(child)
                raise EngineError("the engine's driver is starting")
            if self._clock() - child.last_heard > self._timeout:
                child.kill(f"it has said nothing for {self._timeout:g} seconds")
                raise self._drop_child(child)
            if child.away:
                raise EngineError(child.away)
            return child

    def _start(self) -> Child:
        left = self._not_before - self._clock()
        if left > 0:
            raise EngineError(f"the engine's driver is started again in {left:.1f} seconds")
        self.restarts += 1
        self._child = Child(self._request, self._environment, self._news, self._clock)
        return self._child

    def abandon(self) -> None:
        """As if this process died: the driver hears the end of its pipe, and ends."""
        child = self._child
        if child is not None:
            child.hang_up()

    def _drop_child(self, child: Child) -> EngineError:
        """Drops a child that is over; the error that says so."""
        now = self._clock()
        if child.ready.is_set() and now - child.started > GOOD_SERVICE:
            self._wait = FIRST_WAIT
        self._not_before = now + self._wait
        self._wait = min(2 * self._wait, LONGEST_WAIT)
        self._child = None
        logger.warning("the engine's driver is gone: %s", child.why)
        return EngineError(f"the engine's driver is gone: {child.why}")

    def _until_ready(self, child: Child) -> Child:
        end = monotonic() + self._start_timeout
        while not child.ready.wait(0.02):
            if child.over.is_set() and child.killed and monotonic() < end:
                # That says nothing of the engine: as later, there is another driver then.
                logger.warning("the engine's driver is gone: %s", child.why)
                child = self._start()
            elif child.over.is_set():
                if child.refused:
                    raise InputError(child.why)
                raise EngineError(f"the engine does not start: {child.why}")
            elif monotonic() > end:
                child.kill(f"it was not ready within {self._start_timeout:g} seconds")
                raise EngineError(f"the engine does not start: {child.why}")
        end = monotonic() + self._timeout
        while child.nodes is None and not (child.away or child.over.is_set()):
            if monotonic() > end:
                break  # the first who asks it something hears of that
            child.over.wait(0.01)
        return child
