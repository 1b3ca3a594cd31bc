"""The launcher: a detached actor on the head that owns the tasks, whoever drives it.

It starts each attempt once, keeps what became of it until that is acknowledged, and tells of nodes.
It is found by its name, so tasks go on while the service or its driver is away. One driver at a
time: each new one gets a number, and calls of the ones before it are refused.
"""

from __future__ import annotations

import heapq
import sys
import threading
import time
import uuid
from collections import deque
from queue import SimpleQueue
from typing import Any

import ray

from fairlead.engines.ray.book import Book, KnownAttempt, mark_of
from fairlead.engines.ray.command import run_command, sweep
from fairlead.engines.ray.desk import Desk
from fairlead.engines.ray.files import remove
from fairlead.engines.ray.function import run_calls
from fairlead.engines.ray.leases import Leases
from fairlead.engines.ray.looping import DRIVE, HEAR, all_of, follow, go_first, go_on, in_group
from fairlead.engines.ray.pinning import Pins
from fairlead.engines.ray.probing import Probes
from fairlead.engines.ray.sightings import Sightings
from fairlead.engines.ray.verdict import Key, Tree, ended, lost, of_error, of_result

GRACE = 5.0
"""Seconds between asking a task to end and forcing it."""

LOOK = 0.5
"""Seconds between two looks at the nodes."""

TICK = 0.1
"""Seconds between two looks at what is due."""

AT_ONCE = 50
"""Tasks that are handed to Ray before anybody else is heard."""


class Launcher(Desk):
    """See above. Keys are (job, task, number); everything told and heard is plain data."""

    def __init__(self, name: str, namespace: str, pinning: str, kept: float) -> None:
        self._name = name
        self._namespace = namespace
        self._pins = Pins(pinning)
        self._incarnation = uuid.uuid4().hex
        self._service: str | None = None
        self._epoch = 0
        self._heard = time.monotonic()
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)  # there is something to submit
        self._news = threading.Condition(self._lock)  # there may be something to tell
        self._book = Book()
        self._queue: deque[KnownAttempt] = deque()
        self._live: dict[Any, tuple[KnownAttempt, Tree | None]] = {}
        self._leases = Leases(self._news, self._told_end, ray.util.get_node_ip_address(), kept)
        self._over: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        self._round = 0
        self._due: list[tuple[float, Key, str]] = []
        self._sightings = Sightings()
        self._probes = Probes(self._pins, self._sightings)
        self._sightings.look(ray.nodes())
        go_first()
        go_on(self._submit_all, self._collect_all, self._watch_all)
        if self._leases.listens:
            go_on(self._leases.listen)

    # What drivers call.

    @in_group(DRIVE)
    def hello(self, service: str) -> Tree:
        """A new driver of that service. Refused while another service's driver is there."""
        with self._lock:
            quiet = time.monotonic() - self._heard
            if self._service not in (None, service):
                return {"taken": self._service, "quiet": quiet}
            self._service = service
            self._epoch += 1
            self._heard = time.monotonic()
            self._news.notify_all()
            return {"incarnation": self._incarnation, "epoch": self._epoch}

    @in_group(HEAR)
    def nodes(self, epoch: int) -> list[Tree]:
        """The nodes that are alive."""
        with self._lock:
            self._check(epoch)
            return self._sightings.listed()

    @in_group(DRIVE)
    def turn(self, epoch: int, told: list[tuple[str, Any]]) -> list[int]:
        """Does what it is told, in that order: ("launch", (batch, calls)), ("acknowledge", reports
        by key and kind), ("cancel", keys), ("forget", keys). The jobs whose calls are not known:
        their batch was not launched then."""
        missing: list[int] = []
        with self._lock:
            self._check(epoch)
            for what, about in told:
                match what:
                    case "launch":
                        missing += self._launch(*about)
                    case "acknowledge":
                        self._acknowledge(about)
                    case "cancel":
                        self._cancel(about)
                    case "forget":
                        self._forget(about)
            self._news.notify_all()
        return missing

    @in_group(HEAR)
    def news(self, epoch: int, turn: int, seen: int, patience: float) -> tuple[int, list[Tree]]:
        """The reports after number `seen`, as soon as there are any, and the number of the last.
        Waits so long at most, and no longer than until the next reconciliation."""
        with self._news:
            self._check(epoch)

            def worth() -> bool:
                return self._book.said > seen or (epoch, turn) != (self._epoch, self._round)

            self._news.wait_for(worth, patience)
            self._check(epoch)
            return self._book.said, self._book.since(seen)

    def _launch(self, batch: list[Tree], calls: dict[int, str]) -> list[int]:
        """Starts attempts that are not known."""
        missing = self._book.learn(batch, calls)
        if missing:
            return missing
        for tree in batch:
            key: Key = tree["key"]
            if key not in self._book.attempts and key not in self._book.over:
                self._queue.append(self._book.begin(tree, self._about()))
        if len(self._queue) <= AT_ONCE:
            self._submit_some()
        if self._queue:
            self._work.notify()
        return []

    def _acknowledge(self, told: list[tuple[Key, str]]) -> None:
        for key, kind in told:
            if self._book.reports.pop((key, kind), None) and kind != "started":
                self._book.put_away(key)

    def _cancel(self, keys: list[Key]) -> None:
        """Stops attempts; one that is not known is lost before it began."""
        for key in keys:
            attempt = self._book.attempts.get(key)
            if attempt is None:
                attempt = self._book.remember(KnownAttempt(key, {}, "nothing", None, {}))
                self._book.end(attempt, lost("it was cancelled before it started", False, False))
            else:
                self._stop(attempt, "stopped")

    def _forget(self, keys: list[Key]) -> None:
        """Nobody asks for the outputs of these any more."""
        places: dict[str, list[Key]] = {}
        for key in keys:
            attempt = self._book.drop_outputs(key)
            if attempt is not None and attempt.node in self._sightings.alive:
                places.setdefault(str(attempt.node), []).append(key)
        for job in sorted({key[0] for key in keys}):
            self._book.free(job)
        for node, there in sorted(places.items()):
            self._pins.on(node, remove).remote(self._service, there)

    @in_group(DRIVE)
    def reconcile(self, epoch: int, batch: list[Tree], sure: bool) -> Tree:
        """Only these should be there. `sure`: what is not known was never launched; otherwise an
        earlier launcher may have started it, and it is lost."""
        with self._lock:
            self._check(epoch)
            expected = {tree["key"] for tree in batch}
            never: list[Key] = []
            for key, attempt in list(self._book.attempts.items()):
                if key not in expected:
                    self._abandon(attempt)
            for tree in batch:
                known = self._book.attempts.get(tree["key"])
                if known is not None:
                    self._book.expect(known)
                elif sure:
                    never.append(tree["key"])
                else:
                    missed = self._book.remember(KnownAttempt(tree["key"], {}, "nothing", None, {}))
                    self._book.end(missed, lost("its launcher in Ray is gone", True, False))
            self._round += 1
            self._news.notify_all()
            said = self._book.said
            reports = self._book.since(0)
            return {"never": never, "round": self._round, "seen": said, "reports": reports}

    # What workers and `fairlead.ray` call.

    def started(self, key: Key, moment: int) -> None:
        """An attempt runs."""
        with self._lock:
            attempt = self._book.attempts.get(key)
            if attempt is None or attempt.end is not None or attempt.started is not None:
                return
            attempt.started = moment
            self._leases.begun(attempt)
            self._book.report(attempt, {"is": "started", "time": moment})
            self._news.notify_all()
            limit = attempt.spec["limit"]
            if limit is not None:
                # A command is watched on its node: this is for functions, and for what hangs.
                extra = 2 * GRACE if attempt.kind == "command" else 0.0
                self._when(limit + extra, attempt.key, "time_limit")

    # Attempts.

    def _check(self, epoch: int) -> None:
        if epoch != self._epoch:
            raise PermissionError("another driver has taken over")
        self._heard = time.monotonic()

    def _about(self) -> Tree:
        """What workers are told of this launcher."""
        about: Tree = {"service": self._service, "grace": GRACE, "incarnation": self._incarnation}
        return {**about, "launcher": self._name, "namespace": self._namespace}

    def _abandon(self, attempt: KnownAttempt) -> None:
        """Nobody expects it: it is stopped and not reported."""
        attempt.unwanted = True
        for kind in ("started", "end"):
            self._book.reports.pop((attempt.key, kind), None)
        if attempt.end is not None:
            self._book.put_away(attempt.key)
        else:
            self._stop(attempt, "stopped")

    def _stop(self, attempt: KnownAttempt, why: str) -> None:
        if attempt.end is not None or attempt.stopping:
            return
        attempt.stopping = why
        if not attempt.refs:
            self._book.end(attempt, lost("it was stopped before it started", False, False))
            return
        ray.cancel(attempt.refs[0], force=False)
        self._when(1.0, attempt.key, "again")
        # A command is given its grace on the node, and then some time to be reaped.
        self._when(GRACE + (2.0 if attempt.kind == "command" else 0.0), attempt.key, "force")

    def _when(self, seconds: float, key: Key, what: str) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, key, what))

    # What goes on by itself: three threads.

    def _submit_all(self) -> None:
        while True:
            with self._work:
                self._work.wait_for(lambda: self._queue)
                self._submit_some()
                self._news.notify_all()  # of those that could not be started

    def _submit_some(self) -> None:
        """A few at a time: calls and ends come in between."""
        for _ in range(min(AT_ONCE, len(self._queue))):
            self._submit(self._queue.popleft())

    def _submit(self, attempt: KnownAttempt) -> None:
        if attempt.end is not None:
            return
        node = self._sightings.id_of(attempt.spec["machine"])
        moment = time.time_ns() // 1000
        if node is None:
            self._book.end(attempt, lost(f"there is no node {attempt.spec['machine']}", False))
        elif attempt.spec.get("problem"):
            problem = attempt.spec["problem"]
            self._book.end(attempt, ended("not_started", 127, moment, None, problem))
        elif attempt.kind == "nothing":
            self._book.end(attempt, ended("exited", 0, moment, moment))
        else:
            attempt.node = node
            try:
                if not self._leases.hand_over(attempt, node):
                    self._submit_to_ray(attempt, node)
            except (TypeError, ValueError) as error:
                why = f"Ray cannot run it with {attempt.options}: {error}"
                self._book.end(attempt, ended("not_started", 127, moment, None, why[:500]))

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
                    self._collected(reference, result)
                self._news.notify_all()

    def _collected(self, reference: Any, result: Any) -> None:
        lease = self._leases.over(reference)
        attempt, pending = self._live.pop(reference, (lease.attempt if lease else None, None))
        if attempt is None or attempt.end is not None:
            return
        moment = time.time_ns() // 1000
        if pending is not None:
            self._book.end(attempt, pending)
        elif isinstance(result, BaseException):
            self._failed(attempt, result, moment)
        elif lease is not None and (result is None or tuple(result["key"]) != attempt.key):
            self._never_got(attempt)
        else:
            self._told_end(attempt, result)

    def _told_end(self, attempt: KnownAttempt, result: Tree) -> None:
        """Who ran it says how it ended."""
        attempt.result = result
        if result["started"] is None and result["cause"] == "not_started":
            attempt.result = None
        self._book.end(attempt, of_result(result, time.time_ns() // 1000, attempt.stopping))
        self._news.notify_all()

    def _never_got(self, attempt: KnownAttempt) -> None:
        """The worker to which it was handed is over, and had not heard of it."""
        attempt.refs, attempt.node = [], None
        if attempt.stopping:
            self._book.end(attempt, lost("it was stopped before it started", False, False))
        else:
            self._queue.append(attempt)
            self._work.notify()

    def _failed(self, attempt: KnownAttempt, error: BaseException, moment: int) -> None:
        tree, suspicious = of_error(error, moment, attempt.started, attempt.stopping)
        node = attempt.node or ""
        if suspicious and node in self._sightings.alive:
            self._sightings.troubles[node] = tree.get("why", "")[:300]
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
                self._news.notify_all()
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                try:
                    found = ray.nodes()
                except ray.exceptions.RayError as error:
                    sys.stderr.write(f"the nodes cannot be listed now: {error}\n")
                    continue
                with self._lock:
                    self._look(found)
                    self._news.notify_all()

    def _do_due(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, key, what = heapq.heappop(self._due)
            attempt = self._book.attempts.get(key)
            if attempt is None or attempt.end is not None or not attempt.refs:
                continue
            if what == "time_limit":
                self._stop(attempt, what)
            else:
                ray.cancel(attempt.refs[0], force=what == "force")
                self._when(1.0, key, what)

    def _look(self, found: list[Tree]) -> None:
        for node in self._sightings.look(found):
            self._probes.forget(node)
            self._leases.gone(node)
            for attempt in list(self._book.attempts.values()):
                if attempt.node == node and attempt.end is None:
                    # Whatever Ray says of its reference: that of a frozen node pends for ever.
                    self._live.pop(attempt.refs[0], None)
                    attempt.result = {}
                    self._book.end(attempt, lost("its node is gone", True))
        self._probes.look()
