"""The launcher: a detached actor on the head that owns the tasks, whoever drives it.

It starts each attempt once, keeps what became of it until that is acknowledged, and tells of nodes.
It is found by its name, so tasks go on while the service or its driver is away. One driver at a
time: each new one gets a number, and calls of the ones before it are refused.
"""

from __future__ import annotations

import heapq
import json
import threading
import time
import uuid
from collections import deque
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fairlead.engines.ray.command import run_command, sweep
from fairlead.engines.ray.files import remove
from fairlead.engines.ray.function import run_function
from fairlead.engines.ray.sightings import Sightings
from fairlead.engines.ray.verdict import ended, lost, of_error, of_result

Key = tuple[int, int, int]
Tree = dict[str, Any]

GRACE = 5.0
"""Seconds between asking a task to end and forcing it."""

LOOK = 0.5
"""Seconds between two looks at the nodes."""

TICK = 0.1
"""Seconds between two looks at what is due."""

NAP = 0.002
"""Seconds to wait for more ends after the first one: they are then fetched together."""


class _Attempt:
    """An attempt that was launched and whose end was not acknowledged."""

    __slots__ = (
        "end", "item", "key", "kind", "node", "options", "refs", "result", "spec", "started",
        "stopping", "unwanted",
    )  # fmt: skip

    def __init__(self, key: Key, spec: Tree, kind: str, item: Any, options: Tree) -> None:
        self.key = key
        self.spec = spec
        self.kind = kind  # "command", "function", or "nothing"
        self.item = item
        self.options = options
        self.node: str | None = None
        self.refs: list[Any] = []
        self.started: int | None = None
        self.stopping: str | None = None
        self.unwanted = False
        self.end: Tree | None = None
        self.result: Tree | None = None


class Launcher:
    """See above. Keys are (job, task, number); everything told and heard is plain data."""

    def __init__(self, name: str, namespace: str, pinning: str) -> None:
        self._name = name
        self._namespace = namespace
        self._pinning = pinning
        self._incarnation = uuid.uuid4().hex
        self._service: str | None = None
        self._epoch = 0
        self._heard = time.monotonic()
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)
        self._attempts: dict[Key, _Attempt] = {}
        self._over: dict[Key, _Attempt] = {}  # acknowledged; kept for their outputs
        self._reports: dict[tuple[Key, str], Tree] = {}
        self._calls: dict[int, Tree] = {}
        self._jobs: dict[int, int] = {}  # attempts of each that are known
        self._kept: dict[str, Any] = {}
        self._queue: deque[_Attempt] = deque()
        self._live: dict[Any, tuple[_Attempt, Tree | None]] = {}
        self._due: list[tuple[float, Key, str]] = []
        self._probes: dict[str, Any] = {}
        self._functions: dict[str, Any] = {}
        self._sightings = Sightings()
        self._sightings.look(ray.nodes())
        self._busy_until = 0.0
        for loop in (self._submit_all, self._collect_all, self._watch_all):
            threading.Thread(target=loop, name=loop.__name__, daemon=True).start()

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
            missing = self._learn(batch, calls)
            if missing:
                return missing
            for tree in batch:
                key: Key = tree["key"]
                if key not in self._attempts and key not in self._over:
                    self._queue.append(self._new(tree))
            self._busy()
            self._work.notify_all()
            return []

    def poll(self, epoch: int) -> list[Tree]:
        """Reports that were not acknowledged, oldest first."""
        with self._lock:
            self._check(epoch)
            return list(self._reports.values())

    def acknowledge(self, epoch: int, told: list[tuple[Key, str]]) -> None:
        """These reports are durable."""
        with self._lock:
            self._check(epoch)
            for key, kind in told:
                if self._reports.pop((key, kind), None) and kind != "started":
                    self._put_away(key)

    def cancel(self, epoch: int, keys: list[Key]) -> None:
        """Stops attempts; one that is not known is lost before it began."""
        with self._lock:
            self._check(epoch)
            for key in keys:
                attempt = self._attempts.get(key)
                if attempt is None:
                    attempt = self._remember(_Attempt(key, {}, "nothing", None, {}))
                    self._end(attempt, lost("it was cancelled before it started", False, False))
                else:
                    self._stop(attempt, "stopped")

    def reconcile(self, epoch: int, batch: list[Tree], sure: bool) -> Tree:
        """Only these should be there. `sure`: what is not known was never launched; otherwise an
        earlier launcher may have started it, and it is lost."""
        with self._lock:
            self._check(epoch)
            expected = {tree["key"] for tree in batch}
            never: list[Key] = []
            for key, attempt in list(self._attempts.items()):
                if key not in expected:
                    self._abandon(attempt)
            for tree in batch:
                known = self._attempts.get(tree["key"])
                if known is not None:
                    self._expect(known)
                elif sure:
                    never.append(tree["key"])
                else:
                    missed = self._remember(_Attempt(tree["key"], {}, "nothing", None, {}))
                    self._end(missed, lost("the launcher in Ray that had it is gone", True))
            return {"never": never}

    def forget(self, epoch: int, keys: list[Key]) -> None:
        """Nobody asks for the outputs of these any more."""
        with self._lock:
            self._check(epoch)
            places: dict[str, list[Key]] = {}
            for key in keys:
                attempt = self._over.pop(key, None)
                if attempt is None:
                    attempt = self._attempts.get(key)
                    if attempt is not None:
                        attempt.result = None
                        attempt.refs = attempt.refs[:1]
                else:
                    self._fewer(key[0])
                if attempt is not None and attempt.node in self._sightings.alive:
                    places.setdefault(str(attempt.node), []).append(key)
            for node, there in sorted(places.items()):
                self._on_node(remove, node).remote(self._service, there)

    def locate(self, key: Key, stream: str) -> Tree | None:
        """Where an output of an attempt is: its end, its size, its node, or a reference to it."""
        with self._lock:
            attempt = self._attempts.get(key) or self._over.get(key)
            if attempt is None:
                return None
            over = attempt.end is not None
            found: Tree = {"over": over, "size": 0, "tail": b"", "node": None, "ref": []}
            if over:
                result = attempt.result or {}
                if stream == "result":
                    inline = result.get("result", b"")
                    size = result.get("result_size", len(inline))
                    ref = attempt.refs[1:] if "result_size" in result else []
                    return {**found, "size": size, "tail": inline, "ref": ref}
                told = result.get(stream)
                if told is not None:
                    found |= told
            if stream != "result" and attempt.node in self._sightings.alive:
                found["node"] = attempt.node
            return found

    # What workers and `fairlead.ray` call.

    def started(self, key: Key, moment: int) -> None:
        """An attempt runs."""
        with self._lock:
            attempt = self._attempts.get(key)
            if attempt is None or attempt.end is not None or attempt.started is not None:
                return
            attempt.started = moment
            self._report(attempt, {"is": "started", "time": moment})
            limit = attempt.spec["limit"]
            if limit is not None:
                # A command is watched on its node: this is for functions, and for what hangs.
                extra = 2 * GRACE if attempt.kind == "command" else 0.0
                self._when(limit + extra, attempt.key, "time_limit")

    def function(self, job: int) -> str:
        """The function of a job's call, pickled, as text."""
        with self._lock:
            return str(self._calls[job]["function"])

    def keep(self, data: bytes) -> str:
        """Keeps data in the object store until the job that names it is forgotten."""
        name = uuid.uuid4().hex
        # Owned by this actor from here on, not by the script that sent it.
        reference = ray.put(data)
        with self._lock:
            self._kept[name] = reference
        return name

    def kept(self, name: str) -> list[Any]:
        """A reference to what is kept."""
        with self._lock:
            return [self._kept[name]]

    def results(self, keys: list[Key]) -> list[Tree | None]:
        """What these attempts returned, as `locate` has it."""
        return [self.locate(key, "result") for key in keys]

    # Attempts.

    def _check(self, epoch: int) -> None:
        if epoch != self._epoch:
            raise PermissionError("another driver has taken over")
        self._heard = time.monotonic()

    def _learn(self, batch: list[Tree], calls: dict[int, str]) -> list[int]:
        for job, text in calls.items():
            self._calls[int(job)] = _parsed(text)
        asked = {tree["key"][0] for tree in batch if tree["kind"] == "function"}
        return sorted(asked - self._calls.keys())

    def _new(self, tree: Tree) -> _Attempt:
        key: Key = tuple(tree["key"])
        service = self._service or ""
        spec = {**tree["spec"], "key": key, "service": service, "grace": GRACE}
        spec |= {"launcher": self._name, "namespace": self._namespace}
        item = None
        if tree["kind"] == "function":
            call = self._calls[key[0]]
            spec["function"] = call.get("name", "")
            items = call.get("items", ())
            item = items[key[1]] if key[1] < len(items) else None
            problem = call.get("problem") or ("" if item is not None else "the call has no item")
            if problem:
                spec["problem"] = f"{problem} for task {key[1]}"
        else:
            spec["env"] = {**spec["env"], "FAIRLEAD_MARK": _mark(service, key)}
        return self._remember(_Attempt(key, spec, tree["kind"], item, tree["options"]))

    def _remember(self, attempt: _Attempt) -> _Attempt:
        self._attempts[attempt.key] = attempt
        self._jobs[attempt.key[0]] = self._jobs.get(attempt.key[0], 0) + 1
        return attempt

    def _report(self, attempt: _Attempt, tree: Tree) -> None:
        kind = "started" if tree["is"] == "started" else "end"
        self._reports[attempt.key, kind] = {**tree, "attempt": list(attempt.key)}

    def _end(self, attempt: _Attempt, tree: Tree) -> None:
        """Nothing of the attempt runs any more."""
        if attempt.end is not None:
            return
        attempt.end = tree
        if attempt.unwanted:
            self._put_away(attempt.key)
        else:
            self._report(attempt, tree)

    def _put_away(self, key: Key) -> None:
        """Forgets an attempt but for its outputs."""
        attempt = self._attempts.pop(key, None)
        self._reports.pop((key, "started"), None)
        if attempt is None:
            return
        if attempt.result is None:
            self._fewer(key[0])
            return
        attempt.spec, attempt.item, attempt.options = {}, None, {}
        attempt.refs = [None, *attempt.refs[1:]] if "result_size" in attempt.result else []
        self._over[key] = attempt

    def _fewer(self, job: int) -> None:
        """One attempt of the job is not known any more; with the last one its call goes."""
        self._jobs[job] -= 1
        if not self._jobs[job]:
            del self._jobs[job]
            call = self._calls.pop(job, {})
            for item in call.get("items", ()):
                if isinstance(item, dict):
                    self._kept.pop(str(item.get("kept")), None)

    def _expect(self, attempt: _Attempt) -> None:
        """It is to be told of, again."""
        attempt.unwanted = False
        if attempt.end is not None:
            self._report(attempt, attempt.end)
        elif attempt.started is not None:
            self._report(attempt, {"is": "started", "time": attempt.started})

    def _abandon(self, attempt: _Attempt) -> None:
        """Nobody expects it: it is stopped and not reported."""
        attempt.unwanted = True
        for kind in ("started", "end"):
            self._reports.pop((attempt.key, kind), None)
        if attempt.end is not None:
            self._put_away(attempt.key)
        else:
            self._stop(attempt, "stopped")

    def _stop(self, attempt: _Attempt, why: str) -> None:
        if attempt.end is not None or attempt.stopping:
            return
        attempt.stopping = why
        if not attempt.refs:
            self._end(attempt, lost("it was stopped before it started", False, False))
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

    def _submit(self, attempt: _Attempt) -> None:
        if attempt.end is not None:
            return
        node = self._sightings.id_of(attempt.spec["machine"])
        moment = time.time_ns() // 1000
        if node is None:
            self._end(attempt, lost(f"there is no node {attempt.spec['machine']}", False))
        elif attempt.spec.get("problem"):
            problem = attempt.spec["problem"]
            self._end(attempt, ended("not_started", 127, moment, None, problem))
        elif attempt.kind == "nothing":
            self._end(attempt, ended("exited", 0, moment, moment))
        else:
            attempt.node = node
            function = run_function if attempt.kind == "function" else run_command
            rest = (attempt.item,) if attempt.kind == "function" else ()
            try:
                returned = self._on_node(function, node, attempt.options).remote(
                    attempt.spec, *rest
                )
            except (TypeError, ValueError) as error:
                why = f"Ray cannot run it with {attempt.options}: {error}"
                self._end(attempt, ended("not_started", 127, moment, None, why[:500]))
                return
            attempt.refs = list(returned) if attempt.kind == "function" else [returned]
            self._live[attempt.refs[0]] = (attempt, None)

    def _on_node(self, function: Any, node: str, options: Tree | None = None) -> Any:
        """The remote function on that node, and nowhere else."""
        key = json.dumps([function.__name__, node, options], sort_keys=True)
        if key not in self._functions:
            if len(self._functions) > 1000:
                self._functions.clear()
            chosen: Tree = {"num_cpus": 0, **(options or {}), "max_retries": 0}
            if function is run_function:
                chosen["num_returns"] = 2
            if self._pinning == "labels":
                chosen["label_selector"] = {"ray.io/node-id": node}
            else:
                chosen["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node, soft=False)
            self._functions[key] = ray.remote(function).options(**chosen)
        return self._functions[key]

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
            time.sleep(NAP)
            ready, _ = ray.wait(live, num_returns=len(live), timeout=0, fetch_local=False)
            self._busy()
            for reference in ready:
                self._collected(reference)

    def _collected(self, reference: Any) -> None:
        result: Tree | None = None
        error: BaseException | None = None
        try:
            result = ray.get(reference)
        except ray.exceptions.RayError as failure:
            error = failure
        with self._lock:
            attempt, pending = self._live.pop(reference, (None, None))
            if attempt is None or attempt.end is not None:
                return
            moment = time.time_ns() // 1000
            if pending is not None:
                self._end(attempt, pending)
            elif error is not None:
                self._failed(attempt, error, moment)
            elif result is not None:
                attempt.result = result
                if result["started"] is None and result["cause"] == "not_started":
                    attempt.result = None
                self._end(attempt, of_result(_stopped(attempt, result), moment))

    def _failed(self, attempt: _Attempt, error: BaseException, moment: int) -> None:
        tree, suspicious = of_error(error, moment, attempt.started, attempt.stopping)
        node = attempt.node or ""
        if suspicious and node in self._sightings.alive:
            self._sightings.troubles[node] = tree.get("why", "")[:300]
        attempt.result = {}
        if attempt.kind == "command" and not suspicious:
            # Its worker is gone; what it ran may not be, for a moment.
            mark = _mark(self._service or "", attempt.key)
            sweeping = self._on_node(sweep, node).remote(mark)
            self._live[sweeping] = (attempt, tree)
        else:
            self._end(attempt, tree)

    def _watch_all(self) -> None:
        looked = 0.0
        while True:
            time.sleep(TICK)
            with self._lock:
                self._do_due()
            if time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                found = ray.nodes()
                with self._lock:
                    self._look(found)

    def _do_due(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            _, key, what = heapq.heappop(self._due)
            attempt = self._attempts.get(key)
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
            for attempt in list(self._attempts.values()):
                if attempt.node == node and attempt.end is None:
                    # Whatever Ray says of its reference: that of a frozen node pends for ever.
                    self._live.pop(attempt.refs[0], None)
                    attempt.result = {}
                    self._end(attempt, lost("its node is gone", True))
        for node in sorted(self._sightings.troubles):
            probe = self._probes.get(node)
            if probe is None:
                self._probes[node] = self._on_node(_probed, node).remote()
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


def _stopped(attempt: _Attempt, result: Tree) -> Tree:
    """A function that was interrupted does not know why."""
    if attempt.stopping and result["cause"] == "stopped":
        return {**result, "cause": attempt.stopping}
    return result


def _mark(service: str, key: Key) -> str:
    return f"{service}/{key[0]}.{key[1]}.{key[2]}"


def _parsed(text: str) -> Tree:
    """What a call says, or what is wrong with it. Nothing of it is unpickled here."""
    try:
        call = json.loads(text)
        if call["fairlead.ray"] != 1:
            raise ValueError("another version")
        return {"function": str(call["function"]), "name": str(call["name"]),
                "items": list(call["items"])}  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        return {"problem": f"the call is not one of fairlead.ray ({type(error).__name__})"}
