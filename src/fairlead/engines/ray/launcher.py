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
from typing import Any

import ray

from fairlead.engines.ray.book import Book, KnownAttempt, mark_of
from fairlead.engines.ray.command import run_command, sweep
from fairlead.engines.ray.files import remove
from fairlead.engines.ray.function import run_function
from fairlead.engines.ray.looping import go_on, results_of
from fairlead.engines.ray.pinning import Pins
from fairlead.engines.ray.sightings import Sightings
from fairlead.engines.ray.verdict import Key, Tree, ended, lost, of_error, of_result

GRACE = 5.0
"""Seconds between asking a task to end and forcing it."""

LOOK = 0.5
"""Seconds between two looks at the nodes."""

TICK = 0.1
"""Seconds between two looks at what is due."""

NAP = 0.002
"""Seconds to wait for more ends after the first one: they are then fetched together."""

NAP_EACH = 50e-6
"""The same, for each task that is there: Ray looks at all of them whenever it is asked."""


class Launcher:
    """See above. Keys are (job, task, number); everything told and heard is plain data."""

    def __init__(self, name: str, namespace: str, pinning: str) -> None:
        self._name = name
        self._namespace = namespace
        self._pins = Pins(pinning)
        self._incarnation = uuid.uuid4().hex
        self._service: str | None = None
        self._epoch = 0
        self._heard = time.monotonic()
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)
        self._book = Book()
        self._queue: deque[KnownAttempt] = deque()
        self._live: dict[Any, tuple[KnownAttempt, Tree | None]] = {}
        self._due: list[tuple[float, Key, str]] = []
        self._probes: dict[str, Any] = {}
        self._sightings = Sightings()
        self._sightings.look(ray.nodes())
        self._busy_until = 0.0
        go_on(self._submit_all, self._collect_all, self._watch_all)

    # What drivers call.

    def hello(self, service: str) -> Tree:
        """A new driver of that service. Refused while another service's driver is there."""
        with self._lock:
            quiet = time.monotonic() - self._heard
            if self._service not in (None, service):
                return {"taken": self._service, "quiet": quiet}
            self._service = service
            self._epoch += 1
            self._heard = time.monotonic()
            return {"incarnation": self._incarnation, "epoch": self._epoch}

    def nodes(self, epoch: int) -> list[Tree]:
        """The nodes that are alive."""
        with self._lock:
            self._check(epoch)
            return self._sightings.listed()

    def launch(self, epoch: int, batch: list[Tree], calls: dict[int, str]) -> list[int]:
        """Starts attempts that are not known; the jobs whose calls are: then nothing was done."""
        with self._lock:
            self._check(epoch)
            missing = self._book.learn(batch, calls)
            if missing:
                return missing
            for tree in batch:
                key: Key = tree["key"]
                if key not in self._book.attempts and key not in self._book.over:
                    self._queue.append(self._book.begin(tree, self._about()))
            self._busy()
            self._work.notify_all()
            return []

    def poll(self, epoch: int) -> list[Tree]:
        """Reports that were not acknowledged, oldest first."""
        with self._lock:
            self._check(epoch)
            return list(self._book.reports.values())

    def acknowledge(self, epoch: int, told: list[tuple[Key, str]]) -> None:
        """These reports are durable."""
        with self._lock:
            self._check(epoch)
            for key, kind in told:
                if self._book.reports.pop((key, kind), None) and kind != "started":
                    self._book.put_away(key)

    def cancel(self, epoch: int, keys: list[Key]) -> None:
        """Stops attempts; one that is not known is lost before it began."""
        with self._lock:
            self._check(epoch)
            for key in keys:
                attempt = self._book.attempts.get(key)
                if attempt is None:
                    attempt = self._book.remember(KnownAttempt(key, {}, "nothing", None, {}))
                    self._book.end(
                        attempt, lost("it was cancelled before it started", False, False)
                    )
                else:
                    self._stop(attempt, "stopped")

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
                    self._book.end(missed, lost("the launcher in Ray that had it is gone", True))
            return {"never": never}

    def forget(self, epoch: int, keys: list[Key]) -> None:
        """Nobody asks for the outputs of these any more."""
        with self._lock:
            self._check(epoch)
            places: dict[str, list[Key]] = {}
            for key in keys:
                attempt = self._book.drop_outputs(key)
                if attempt is not None and attempt.node in self._sightings.alive:
                    places.setdefault(str(attempt.node), []).append(key)
            for job in sorted({key[0] for key in keys}):
                self._book.free(job)
            for node, there in sorted(places.items()):
                self._pins.on(node, remove).remote(self._service, there)

    def locate(self, key: Key, stream: str) -> Tree | None:
        """Where an output of an attempt is: see `Book.locate`."""
        with self._lock:
            return self._book.locate(key, stream, self._sightings.alive)

    # What workers and `fairlead.ray` call.

    def started(self, key: Key, moment: int) -> None:
        """An attempt runs."""
        with self._lock:
            attempt = self._book.attempts.get(key)
            if attempt is None or attempt.end is not None or attempt.started is not None:
                return
            attempt.started = moment
            self._book.report(attempt, {"is": "started", "time": moment})
            limit = attempt.spec["limit"]
            if limit is not None:
                # A command is watched on its node: this is for functions, and for what hangs.
                extra = 2 * GRACE if attempt.kind == "command" else 0.0
                self._when(limit + extra, attempt.key, "time_limit")

    def function(self, job: int) -> str:
        """The function of a job's call, pickled, as text."""
        with self._lock:
            return str(self._book.calls[job]["function"])

    def keep(self, data: bytes) -> str:
        """Keeps data in the object store until the job that names it is forgotten."""
        name = uuid.uuid4().hex
        # Owned by this actor from here on, not by the script that sent it.
        reference = ray.put(data)
        with self._lock:
            self._book.kept[name] = reference
        return name

    def kept(self, name: str) -> list[Any]:
        """A reference to what is kept."""
        with self._lock:
            return [self._book.kept[name]]

    def results(self, keys: list[Key]) -> list[Tree | None]:
        """What these attempts returned, as `locate` has it."""
        return [self.locate(key, "result") for key in keys]

    # Attempts.

    def _check(self, epoch: int) -> None:
        if epoch != self._epoch:
            raise PermissionError("another driver has taken over")
        self._heard = time.monotonic()

    def _about(self) -> Tree:
        """What workers are told of this launcher."""
        about: Tree = {"service": self._service, "grace": GRACE}
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

    def _busy(self) -> None:
        self._busy_until = time.monotonic() + 0.5

    # What goes on by itself: three threads.

    def _submit_all(self) -> None:
        while True:
            with self._work:
                while not self._queue:
                    self._work.wait()
                # Few at a time: calls and ends come in between.
                for _ in range(min(50, len(self._queue))):
                    self._submit(self._queue.popleft())
                self._busy()
                self._work.notify_all()

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
            function = run_function if attempt.kind == "function" else run_command
            rest, returns = ((attempt.item,), 2) if attempt.kind == "function" else ((), 1)
            try:
                returned = self._pins.on(node, function, attempt.options, returns).remote(
                    attempt.spec, *rest
                )
            except (TypeError, ValueError) as error:
                why = f"Ray cannot run it with {attempt.options}: {error}"
                self._book.end(attempt, ended("not_started", 127, moment, None, why[:500]))
                return
            attempt.refs = list(returned) if attempt.kind == "function" else [returned]
            self._live[attempt.refs[0]] = (attempt, None)

    def _collect_all(self) -> None:
        while True:
            with self._work:
                while not self._live:
                    self._work.wait()
                live = list(self._live)
            patience = 0.005 if time.monotonic() < self._busy_until else 0.02
            ready, _ = ray.wait(live, num_returns=1, timeout=patience, fetch_local=False)
            if not ready:
                continue
            # Asking for many takes long, so that many ends should come of it.
            time.sleep(max(NAP, len(live) * NAP_EACH))
            ready, _ = ray.wait(live, num_returns=len(live), timeout=0, fetch_local=False)
            self._busy()
            for reference, result in zip(ready, results_of(ready), strict=True):
                self._collected(reference, result)

    def _collected(self, reference: Any, result: Any) -> None:
        with self._lock:
            attempt, pending = self._live.pop(reference, (None, None))
            if attempt is None or attempt.end is not None:
                return
            moment = time.time_ns() // 1000
            if pending is not None:
                self._book.end(attempt, pending)
            elif isinstance(result, BaseException):
                self._failed(attempt, result, moment)
            else:
                attempt.result = result
                if result["started"] is None and result["cause"] == "not_started":
                    attempt.result = None
                self._book.end(attempt, of_result(result, moment, attempt.stopping))

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
            self._live[sweeping] = (attempt, tree)
        else:
            self._book.end(attempt, tree)

    def _watch_all(self) -> None:
        looked = 0.0
        while True:
            time.sleep(TICK)
            with self._lock:
                self._do_due()
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                try:
                    found = ray.nodes()
                except ray.exceptions.RayError as error:
                    sys.stderr.write(f"the nodes cannot be listed now: {error}\n")
                    continue
                with self._lock:
                    self._look(found)

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
            self._probes.pop(node, None)
            for attempt in list(self._book.attempts.values()):
                if attempt.node == node and attempt.end is None:
                    # Whatever Ray says of its reference: that of a frozen node pends for ever.
                    self._live.pop(attempt.refs[0], None)
                    attempt.result = {}
                    self._book.end(attempt, lost("its node is gone", True))
        for node in sorted(self._sightings.troubles):
            probe = self._probes.get(node)
            if probe is None:
                self._probes[node] = self._pins.on(node, _probed).remote()
            elif ray.wait([probe], timeout=0)[0]:
                del self._probes[node]
                try:
                    ray.get(probe)
                except ray.exceptions.RayError as error:
                    self._sightings.troubles[node] = str(error)[:300]
                else:
                    del self._sightings.troubles[node]


def _probed() -> bool:
    return True


def _stopped(attempt: KnownAttempt, result: Tree) -> Tree:
    """A function that was interrupted does not know why."""
    if attempt.stopping and result["cause"] == "stopped":
        return {**result, "cause": attempt.stopping}
    return result
