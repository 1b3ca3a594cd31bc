"""The launcher: a detached actor on the head that owns the tasks, whoever drives it.

It starts each attempt once, keeps what became of it until that is acknowledged, and tells of nodes.
It is found by its name, so tasks go on while the service or its driver is away. One driver at a
time: each new one gets a number, and calls of the ones before it are refused.
"""

from __future__ import annotations

import gc
import heapq
import sys
import threading
import time
import uuid
from collections import deque
from queue import SimpleQueue
from typing import Any

import ray

from fairlead.engines.ray.launcher.book import Book, KnownAttempt, mark_of
from fairlead.engines.ray.launcher.driver_api import AT_ONCE, DriverApi
from fairlead.engines.ray.launcher.exchange import Exchange, Handlers
from fairlead.engines.ray.launcher.leases import Leases
from fairlead.engines.ray.launcher.node_names import NodeNames
from fairlead.engines.ray.launcher.pinning import Pins
from fairlead.engines.ray.launcher.probing import Probes
from fairlead.engines.ray.launcher.threads import all_of, follow, go_first, go_on
from fairlead.engines.ray.launcher.verdict import (
    Key,
    Tree,
    build_ended,
    build_lost,
    read_error,
    read_result,
)
from fairlead.engines.ray.launcher.worker_api import WorkerApi
from fairlead.engines.ray.line import DRIVER, WORKER
from fairlead.engines.ray.node.command import run_command, sweep
from fairlead.engines.ray.node.function import run_calls

GRACE = 5.0
"""Seconds between asking a task to end and forcing it."""

LOOK = 0.5
"""Seconds between two looks at the nodes."""

TICK = 0.1
"""Seconds between two looks at what is due."""


class Launcher(WorkerApi, DriverApi):
    """See above. Keys are (job, task, number); everything told and heard is plain data."""

    def __init__(self, name: str, namespace: str, kept: float) -> None:
        self._name = name
        self._namespace = namespace
        self._pins = Pins()
        self._incarnation = uuid.uuid4().hex
        self._last_call = time.monotonic()
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)  # there is something to submit
        self._news = threading.Condition(self._lock)  # there may be something to tell
        self._book = Book()
        self._queue: deque[KnownAttempt] = deque()
        self._live: dict[Any, tuple[KnownAttempt, Tree | None]] = {}
        self._exchange = Exchange(self._lock, ray.util.get_node_ip_address())
        self._leases = Leases(self._exchange.place(WORKER), self._take_end, kept)
        self._over: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        self._due: list[tuple[float, Key, str, int]] = []
        self._node_names = NodeNames()
        self._probes = Probes(self._pins, self._node_names)
        self._node_names.look(ray.nodes())
        go_first()
        gc.freeze()  # Ray's modules stay: nobody need go through them for what may be freed
        go_on(self._submit_all, self._collect_all, self._watch_all)
        if self._exchange.listens:
            go_on(self._listen)

    # What workers and `fairlead.ray` call.

    def started(self, key: Key, moment: int) -> None:
        with self._lock:
            attempt = self._book.attempts.get(key)
            if attempt is None or attempt.end is not None or attempt.started is not None:
                return
            attempt.started = moment
            self._leases.mark_begun(attempt)
            self._book.report(attempt, {"is": "started", "time": moment})
            self._tell()
            limit = attempt.spec["limit"]
            if limit is not None:
                # A command is watched on its node: this is for functions, and for what hangs.
                extra = 2 * GRACE if attempt.kind == "command" else 0.0
                self._when(limit + extra, attempt, "time_limit")

    # Attempts.

    def _about(self) -> Tree:
        """A worker needs these facts of this launcher."""
        about: Tree = {"service": self._service, "grace": GRACE, "incarnation": self._incarnation}
        return {**about, "launcher": self._name, "namespace": self._namespace}

    def _stop(self, attempt: KnownAttempt, why: str) -> None:
        if attempt.end is not None or attempt.stopping:
            return
        attempt.stopping = why
        if not attempt.refs:
            self._book.end(attempt, build_lost("it was stopped before it started", False, False))
            return
        ray.cancel(attempt.refs[0], force=False)
        self._when(1.0, attempt, "again")
        # A command is given its grace on the node, and then some time to be reaped.
        self._when(GRACE + (2.0 if attempt.kind == "command" else 0.0), attempt, "force")

    def _when(self, seconds: float, attempt: KnownAttempt, what: str) -> None:
        due = time.monotonic() + seconds
        heapq.heappush(self._due, (due, attempt.key, what, attempt.serial))

    # What goes on by itself: a thread each.

    def _listen(self) -> None:
        workers = Handlers(self._leases.take_end, self._leases.drop_line)
        driver = Handlers(self._answer, self._forget_line)
        self._exchange.listen({WORKER: workers, DRIVER: driver}, self._tell)

    def _submit_all(self) -> None:
        while True:
            with self._work:
                self._work.wait_for(lambda: self._queue)
                self._submit_some()
                self._tell()  # of those that could not be started

    def _submit_some(self) -> None:
        """A few at a time: calls and ends come in between."""
        for _ in range(min(AT_ONCE, len(self._queue))):
            self._submit(self._queue.popleft())

    def _submit(self, attempt: KnownAttempt) -> None:
        if attempt.end is not None:
            return
        node = self._node_names.id_of(attempt.spec["machine"])
        moment = time.time_ns() // 1000
        if node is None:
            self._book.end(
                attempt, build_lost(f"there is no node {attempt.spec['machine']}", False)
            )
        elif attempt.spec.get("problem"):
            problem = attempt.spec["problem"]
            self._book.end(attempt, build_ended("not_started", 127, moment, None, problem))
        elif attempt.kind == "nothing":
            self._book.end(attempt, build_ended("exited", 0, moment, moment))
        else:
            attempt.node = node
            try:
                if not self._leases.hand_over(attempt, node):
                    self._submit_to_ray(attempt, node)
            except (TypeError, ValueError) as error:
                why = f"Ray cannot run it with {attempt.options}: {error}"
                self._book.end(attempt, build_ended("not_started", 127, moment, None, why[:500]))

    def _submit_to_ray(self, attempt: KnownAttempt, node: str) -> None:
        if attempt.kind == "command":
            attempt.refs = [self._pins.on(node, run_command, attempt.options).remote(attempt.spec)]
            self._follow(attempt.refs[0], attempt, None)
            return
        remote = self._pins.on(node, run_calls, attempt.options, returns=2)
        self._leases.begin(attempt, node, remote)
        follow(attempt.refs[0], self._over.put)

    def _follow(self, reference: Any, attempt: KnownAttempt, end: Tree | None) -> None:
        """Hears of the end of a Ray task: of the attempt, or of what is to be over before `end`."""
        self._live[reference] = (attempt, end)
        follow(reference, self._over.put)

    def _collect_all(self) -> None:
        while True:
            over = all_of(self._over)
            with self._news:
                for reference, result in over:
                    self._collect(reference, result)
                self._tell()

    def _collect(self, reference: Any, result: Any) -> None:
        lease = self._leases.remove(reference)
        attempt, pending = self._live.pop(reference, (lease.attempt if lease else None, None))
        if attempt is None or attempt.end is not None:
            return
        moment = time.time_ns() // 1000
        if pending is not None:
            self._book.end(attempt, pending)
        elif isinstance(result, BaseException):
            self._fail(attempt, result, moment)
        elif lease is not None and (result is None or tuple(result["key"]) != attempt.key):
            self._requeue(attempt)
        else:
            self._take_end(attempt, result)

    def _take_end(self, attempt: KnownAttempt, result: Tree) -> None:
        """Takes the end that its worker told."""
        attempt.result = result
        if result["started"] is None and result["cause"] == "not_started":
            attempt.result = None
        self._book.end(attempt, read_result(result, time.time_ns() // 1000, attempt.stopping))

    def _requeue(self, attempt: KnownAttempt) -> None:
        """The worker to which it was handed is over, and had not heard of it."""
        attempt.refs, attempt.node = [], None
        if attempt.stopping:
            self._book.end(attempt, build_lost("it was stopped before it started", False, False))
        else:
            self._queue.append(attempt)
            self._work.notify()

    def _fail(self, attempt: KnownAttempt, error: BaseException, moment: int) -> None:
        tree, suspicious = read_error(error, moment, attempt.started, attempt.stopping)
        if tree["is"] == "lost":  # its reason is a line: here, in Ray's logs, is where that arose
            sys.stderr.write(f"attempt {attempt.key} is lost: {error}\n")
        node = attempt.node or ""
        if suspicious and node in self._node_names.alive:
            self._node_names.troubles[node] = tree.get("why", "")[:300]
        attempt.result = {}
        if attempt.kind == "command" and not suspicious:
            # Its worker is gone; what it ran may not be, for a moment.
            mark = mark_of(self._service or "", attempt.key)
            sweeping = self._pins.on(node, sweep).remote(mark)
            self._follow(sweeping, attempt, tree)
        else:
            self._book.end(attempt, tree)

    def _watch_all(self) -> None:
        looked = 0.0
        while True:
            time.sleep(TICK)
            with self._news:
                self._leases.look()
                self._do_due()
                self._tell()
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                try:
                    found = ray.nodes()
                except ray.exceptions.RayError as error:
                    sys.stderr.write(f"the nodes cannot be rows now: {error}\n")
                    continue
                with self._lock:
                    self._look(found)
                    self._tell()

    def _do_due(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, key, what, serial = heapq.heappop(self._due)
            attempt = self._book.attempts.get(key)
            if attempt is None or attempt.serial != serial:  # another one has its name by now
                continue
            if attempt.end is not None or not attempt.refs:
                continue
            if what == "time_limit":
                self._stop(attempt, what)
            else:
                ray.cancel(attempt.refs[0], force=what == "force")
                self._when(1.0, attempt, what)

    def _look(self, found: list[Tree]) -> None:
        for node in self._node_names.look(found):
            self._probes.forget(node)
            self._leases.drop_node(node)
            for attempt in list(self._book.attempts.values()):
                if attempt.node == node and attempt.end is None:
                    # Whatever Ray says of its reference: that of a frozen node pends for ever.
                    self._live.pop(attempt.refs[0], None)
                    attempt.result = {}
                    self._book.end(attempt, build_lost("its node is gone", True))
        self._probes.look()
