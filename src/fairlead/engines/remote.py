"""An engine in a supervised child process, behind the same interface.

A driver that dies, or that does not answer in time, is killed and started again after growing
waits; meanwhile every call raises EngineError. The first call to a new driver must be `reconcile`
(`nodes` and `output` may come before it): all others raise EngineError until then, so that no
restart goes unnoticed.

Only `nodes`, `reconcile` and `output` wait for the driver. What it is told otherwise may fail there
later, and the next call says so; its reports come by themselves.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import IO, Any

from fairlead.engines.frames import BrokenFrameError, read_frame, write_frame
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
from fairlead.engines.messages import (
    Tree,
    attempt_of,
    node_of,
    output_of,
    plain_assignments,
    plain_attempt,
    plain_report,
    report_of,
)
from fairlead.model.errors import InputError, Mistake

OPENERS = {
    "ray": "fairlead.engines.ray.opening:open_engine",
}
"""Engines that are named, and what opens each in the driver."""

CALLS_KEPT = 64 * 1024 * 1024
"""Characters of calls that a driver keeps. Beyond it, it begins anew with those it needs."""

FIRST_WAIT, LONGEST_WAIT = 0.1, 30.0
"""Seconds before a driver is started again; doubled each time."""

GOOD_SERVICE = 30.0
"""Seconds after which a driver that then dies is started again without long waits."""

logger = logging.getLogger(__name__)


class _Child:
    """One driver process, from its start to its end."""

    def __init__(
        self, request: Tree, environment: Mapping[str, str] | None, wake: Callable[[], None]
    ) -> None:
        self.started = monotonic()
        self.ready = Event()
        self.over = Event()
        self.name = ""
        self.why = ""
        self.refused = False
        self.reconciled = False
        self.round = 0  # of reconciliation
        self.calls: set[str] = set()  # that it has, by key
        self.calls_size = 0
        self._failure: tuple[int, str] | None = None
        self._reports: dict[tuple[Attempt, type[Report]], Report] = {}
        self._wake = wake
        self._numbers = count()
        self._waiting: dict[int, SimpleQueue[Tree | None]] = {}
        self._lock = Lock()
        self._process = subprocess.Popen(
            # -P: what lies in the folder where the service was started is none of its modules.
            [sys.executable, "-P", "-m", "fairlead.engines.driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=None if environment is None else {**os.environ, **environment},
            # Ctrl-C in a terminal is for the service, which then closes its engine.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._told: IO[bytes] = self._process.stdin
        self._heard: IO[bytes] = self._process.stdout
        # A driver that hangs reads nothing: only a thread of its own may wait for it.
        self._outbox: SimpleQueue[Tree | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._tell, name="to the engine's driver", daemon=True),
            Thread(target=self._listen, name="from the engine's driver", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._outbox.put(request)

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def tell(self, request: Tree) -> None:
        """Tells it, if it is still there, and does not wait."""
        self._outbox.put(request)

    def begin(self) -> int:
        """The number of the reconciliation that begins: what was told and said before is void."""
        with self._lock:
            self.round += 1
            self.reconciled, self._failure = False, None
            self._reports.clear()
        return self.round

    def reports(self) -> list[Report]:
        """What it said and nobody acknowledged."""
        with self._lock:
            return list(self._reports.values())

    def drop(self, reports: Sequence[Report]) -> None:
        """These are acknowledged."""
        with self._lock:
            for report in reports:
                self._reports.pop((report.attempt, type(report)), None)

    def failure(self) -> str | None:
        """Why what it was told since the last reconciliation was perhaps not done."""
        with self._lock:
            if self._failure is None or self._failure[0] != self.round:
                return None
            return self._failure[1]

    def ask(self, request: Tree, timeout: float) -> Any:
        """The value of the answer. Raises EngineError; the process is killed where it does not
        answer in time."""
        number = next(self._numbers)
        answers: SimpleQueue[Tree | None] = SimpleQueue()
        with self._lock:
            self._waiting[number] = answers
        if self.over.is_set():
            answers.put(None)
        else:
            self._outbox.put({**request, "id": number})
        try:
            answer = answers.get(timeout=timeout)
        except Empty:
            self.kill(f"it did not answer {request['method']} within {timeout:g} seconds")
            answer = None
        with self._lock:
            self._waiting.pop(number, None)
        if answer is None:
            raise EngineError(f"the engine's driver is gone: {self.why}")
        if "error" in answer:
            raise EngineError(answer["error"])
        return answer.get("value")

    def kill(self, why: str) -> None:
        """Ends the process now. Tasks that it started go on."""
        self.why = self.why or why
        self._process.kill()
        self._process.wait()
        self._end()

    def hang_up(self) -> None:
        """Tells nothing any more."""
        self._outbox.put(None)

    def leave(self, timeout: float) -> None:
        """Waits for the process to end by itself, then kills it."""
        self.over.wait(timeout)
        self.kill("it was closed")
        for thread in self._threads:
            thread.join()

    def _tell(self) -> None:
        while (request := self._outbox.get()) is not None:
            try:
                write_frame(self._told, request)
            except (OSError, ValueError):
                # It is gone, or going: `_listen` hears the end and wakes who waits for an answer.
                break
        with suppress(OSError):
            self._told.close()

    def _listen(self) -> None:
        why = ""
        try:
            while (frame := read_frame(self._heard)) is not None:
                if "ready" in frame:
                    self.name = frame["ready"]
                    self.ready.set()
                elif "id" in frame:
                    with self._lock:
                        waiting = self._waiting.get(frame["id"])
                    if waiting is not None:
                        waiting.put(frame)
                elif "round" in frame:
                    self._hear(frame)
                else:
                    self.refused = "refused" in frame
                    why = frame.get("refused") or frame.get("failed") or ""
        except BrokenFrameError as error:
            why = f"it wrote what nobody understands: {error}"
            self._process.kill()
        self._heard.close()
        code = self._process.wait()
        how = f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        self.why = self.why or why or how
        self._end()

    def _hear(self, frame: Tree) -> None:
        """Takes in what it says by itself."""
        reports = [report_of(tree) for tree in frame.get("reports", ())]
        with self._lock:
            if frame["round"] != self.round:
                return
            if "lost" in frame:
                self._failure = (self.round, frame["lost"])
            for report in reports:
                if not isinstance(report, Started):
                    self._reports.pop((report.attempt, Started), None)
                self._reports[report.attempt, type(report)] = report
        self._wake()

    def _end(self) -> None:
        self.over.set()
        self._outbox.put(None)
        with self._lock:
            waiting = list(self._waiting.values())
        for answers in waiting:
            answers.put(None)
        self._wake()


class RemoteEngine:
    """The engine that `opener` (a name of OPENERS, or module:function) opens with these settings,
    in a child process. Settings are plain data. Starts the child and waits until it is ready:
    raises InputError where the settings are refused, EngineError where it does not come up."""

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
        self._request = {"opener": OPENERS.get(opener, opener), "settings": dict(settings)}
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
        self._child: _Child | None = _Child(self._request, environment, self._news)
        self.name = self._until_ready(self._child)

    @property
    def pid(self) -> int | None:
        """The child process that is there now."""
        child = self._child
        return None if child is None or child.over.is_set() else child.pid

    def nodes(self) -> Sequence[Node]:
        value = self._ready().ask({"method": "nodes"}, self._timeout)
        return [node_of(tree) for tree in value]

    def listen(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def launch(self, batch: Sequence[Assignment]) -> None:
        child = self._reconciled()
        trees, calls = plain_assignments(batch)
        fresh = child.calls_size > CALLS_KEPT
        if fresh:
            child.calls, child.calls_size = set(), 0
        new = {key: call for key, call in calls.items() if key not in child.calls}
        child.calls.update(new)
        child.calls_size += sum(map(len, new.values()))
        child.tell({"method": "launch", "batch": trees, "calls": new, "fresh": fresh})

    def poll(self) -> Sequence[Report]:
        return self._reconciled().reports()

    def acknowledge(self, reports: Sequence[Report]) -> None:
        child = self._reconciled()
        child.drop(reports)
        trees = [plain_report(report) for report in reports]
        child.tell({"method": "acknowledge", "reports": trees})

    def cancel(self, batch: Sequence[Attempt]) -> None:
        self._attempts("cancel", batch)

    def forget(self, attempts: Sequence[Attempt]) -> None:
        self._attempts("forget", attempts)

    def reconcile(self, expected: Sequence[Assignment]) -> Sequence[Attempt]:
        child = self._ready()
        trees, calls = plain_assignments(expected)
        child.calls, child.calls_size = set(calls), sum(map(len, calls.values()))
        request: Tree = {"method": "reconcile", "batch": trees, "calls": calls}
        value = child.ask({**request, "round": child.begin()}, self._timeout)
        child.reconciled = True
        return [attempt_of(tree) for tree in value]

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        request: Tree = {"method": "output", "attempt": plain_attempt(attempt)}
        request |= {"stream": stream.value, "offset": offset, "most": most}
        return output_of(self._ready().ask(request, self._timeout))

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
        self._reconciled().tell({"method": method, "attempts": trees})

    def _reconciled(self) -> _Child:
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

    def _ready(self) -> _Child:
        """The child, if it is there and ready; starts another where it is time to."""
        with self._lock:
            if self._closed:
                raise EngineError("the engine is closed")
            child = self._child
            if child is None:
                child = self._start()
            if child.over.is_set():
                raise self._ended(child)
            if not child.ready.is_set():
                if self._clock() - child.started > self._start_timeout:
                    child.kill(f"it was not ready within {self._start_timeout:g} seconds")
                    raise self._ended(child)
                raise EngineError("the engine's driver is starting")
            return child

    def _start(self) -> _Child:
        left = self._not_before - self._clock()
        if left > 0:
            raise EngineError(f"the engine's driver is started again in {left:.1f} seconds")
        self.restarts += 1
        self._child = _Child(self._request, self._environment, self._news)
        return self._child

    def abandon(self) -> None:
        """As if this process died: the driver hears the end of its pipe, and ends."""
        child = self._child
        if child is not None:
            child.hang_up()

    def _ended(self, child: _Child) -> EngineError:
        """What to say of a child that is over; from now on there is none."""
        now = self._clock()
        if child.ready.is_set() and now - child.started > GOOD_SERVICE:
            self._wait = FIRST_WAIT
        self._not_before = now + self._wait
        self._wait = min(2 * self._wait, LONGEST_WAIT)
        self._child = None
        logger.warning("the engine's driver is gone: %s", child.why)
        return EngineError(f"the engine's driver is gone: {child.why}")

    def _until_ready(self, child: _Child) -> str:
        end = monotonic() + self._start_timeout
        while not child.ready.wait(0.02):
            if child.over.is_set():
                if child.refused:
                    raise InputError(Mistake(child.why))
                raise EngineError(f"the engine does not start: {child.why}")
            if monotonic() > end:
                child.kill(f"it was not ready within {self._start_timeout:g} seconds")
                raise EngineError(f"the engine does not start: {child.why}")
        return child.name
