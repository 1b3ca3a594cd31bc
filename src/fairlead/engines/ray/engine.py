"""The engine on Ray: one driver's connection to the launcher that owns the tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import ray
from ray import cloudpickle
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fairlead.engines.interface import (
    MOST_OUTPUT,
    Assignment,
    Attempt,
    EngineError,
    Node,
    Output,
    Report,
    Started,
    Stream,
    first_byte,
    overtaken,
)
from fairlead.engines.local import outputs, processes
from fairlead.engines.ray import line
from fairlead.engines.ray.cluster import node_of_row, options_of
from fairlead.engines.ray.launcher import (
    book,
    driver_api,
    exchange,
    launcher,
    leases,
    node_names,
    pinning,
    probing,
    threads,
    verdict,
    worker_api,
)
from fairlead.engines.ray.node import command, files, function
from fairlead.engines.ray.reports_inbox import ReportsInbox
from fairlead.engines.ray.transport import Transport, get_within, open_transport
from fairlead.whole_file import write_private

BY_VALUE = (
    *(book, command, driver_api, exchange, files, function, launcher, leases, line, node_names),
    *(outputs, pinning, probing, processes, threads, verdict, worker_api),
)
"""Modules that go to the nodes as they are: those need not have Fairlead."""

NAMESPACE = "fairlead"

LAUNCHER = "fairlead-launcher"

PATIENCE = 10.0
"""Seconds in which the launcher has to answer."""

FIRST_PATIENCE = 60.0
"""The same when this process begins: a launcher that is not there yet has to be started first."""

PREFIX = "ray:"
"""So begin identities of engines on Ray."""

ELSEWHERE = "of a service on another machine"
"""Stands for the launcher in an identity that was not kept here."""

QUIET = 30.0
"""Seconds after which a service that has not been heard of may be replaced by another one."""

Tree = dict[str, Any]


@dataclass(frozen=True)
class Identity:
    """The service's name, and the launcher that knows all that it ever launched."""

    service: str
    launcher: str | None = None


def read_identity(path: Path) -> Identity:
    """The identity that is kept there; a new one, kept from now on, where there is none. Raises
    EngineError where it is damaged."""
    if path.exists():
        try:
            tree = json.loads(path.read_text(encoding="utf-8"))
            return Identity(tree["service"], tree["launcher"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EngineError(
                f"{path} does not say who drives Ray: put back the last good copy, or remove it;"
                " what runs then counts as lost, perhaps started"
            ) from error
    identity = Identity(uuid4().hex)
    write_identity(path, identity)
    return identity


def write_identity(path: Path, identity: Identity) -> None:
    """Keeps the identity, durably."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, json.dumps(asdict(identity)))


class RayEngine:
    """Runs attempts as Ray tasks that are owned by a launcher. Ray must be connected already.

    `state`: a folder that outlives this process; the service's own. `identity`: under which the
    attempts of the journal were launched, perhaps from another machine. `kept`: seconds for which a
    worker waits for a call. `most_output`: bytes that are kept of what an attempt writes."""

    name = "ray"

    def __init__(
        self,
        state: Path,
        *,
        namespace: str = NAMESPACE,
        patience: float = PATIENCE,
        kept: float = leases.KEPT,
        identity: str | None = None,
        most_output: int = MOST_OUTPUT,
    ) -> None:
        self._path = state / "ray.json"
        self._namespace = namespace
        self._patience = patience
        self._kept = kept
        self._most_output = most_output
        self._owner = 0
        self._kept_before = self._path.exists()
        self._identity = read_identity(self._path)
        if identity is not None and identity.startswith(PREFIX) and not self.knows(identity):
            # Which launchers it had is not known here: what the present one does not know may
            # have started.
            self._identity = Identity(identity.removeprefix(PREFIX), ELSEWHERE)
            write_identity(self._path, self._identity)
        self.identity = f"{PREFIX}{self._identity.service}"
        self._launcher: Any = None
        self._transport: Transport | None = None
        self._incarnation = ""
        self._read_lock = Lock()
        self._last_read: tuple[Attempt, bytes] | None = None
        self._closed = False
        self._sent_calls: set[int] = set()
        self._pending: list[tuple[str, Any]] = []
        self._wake: Callable[[], None] = lambda: None
        self._inbox: ReportsInbox | None = None
        self._connect(max(patience, FIRST_PATIENCE))

    def knows(self, identity: str | None) -> bool:
        if identity is None:
            return self._kept_before
        return identity.removeprefix(PREFIX) == self._identity.service  # older ones have none

    def nodes(self) -> Sequence[Node]:
        rows = self._call("nodes")
        return [node for node in map(node_of_row, rows) if node is not None]

    def listen(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def launch(self, batch: Sequence[Assignment]) -> None:
        self._check()
        jobs = {a.attempt.job: a.call for a in batch if a.call is not None}
        new = {job: call for job, call in jobs.items() if job not in self._sent_calls}
        self._sent_calls.update(new)
        self._send("launch", ([_tree(each, self._most_output) for each in batch], new))

    def poll(self) -> Sequence[Report]:
        inbox = self._check()
        if self._pending:
            self._send()
        return inbox.reports.all()

    def acknowledge(self, reports: Sequence[Report]) -> None:
        inbox = self._check()
        inbox.reports.drop(reports)
        keys = [(_key(r.attempt), "started" if isinstance(r, Started) else "end") for r in reports]
        self._pending.append(("acknowledge", keys))

    def cancel(self, batch: Sequence[Attempt]) -> None:
        self._check()
        self._send("cancel", [_key(attempt) for attempt in batch])

    def reconcile(self, expected: Sequence[Assignment], owner: int = 0) -> Sequence[Attempt]:
        self._owner = max(owner, self._owner)
        self._find_transport()
        # Another launcher than the one we knew: what it does not know, that one may have started.
        sure = self._identity.launcher in (None, self._incarnation)
        trees = [{"key": _key(a.attempt)} for a in expected]
        if self._inbox is not None:
            self._inbox.close()
        if self._pending:
            self._send()
        answer = self._call("reconcile", trees, sure, self._owner)
        self._check_owner(answer)
        if self._identity.launcher != self._incarnation:
            self._identity = replace(self._identity, launcher=self._incarnation)
            write_identity(self._path, self._identity)
        self._inbox = ReportsInbox(self._find_transport(), answer, self._wake)
        return [Attempt(*key) for key in answer["never"]]

    def output(self, attempt: Attempt, stream: Stream, offset: int, most: int) -> Output:
        launcher_ = self._launcher
        if launcher_ is None:
            raise EngineError("the launcher in Ray is gone")
        key = _key(attempt)
        found = self._get(launcher_.locate.remote(key, stream.value))
        if found is None:
            return Output(b"", 0, 0, True)
        if found["ref"]:
            return Output.part_of(self._result(attempt, found["ref"][0]), offset, most, True)
        size, tail = found["size"], found["tail"]
        if found["over"]:
            # What is kept of an output is its end; the node may be gone with the rest.
            at = size - len(tail)
            if first_byte(offset, size) >= at or found["node"] is None:
                return Output.part_of(tail, offset, most, True, at)
        if found["node"] is None:
            return Output(b"", 0, 0, found["over"])
        data, begin, size = self._get(
            ray.remote(files.read_part)
            .options(
                num_cpus=0,
                max_retries=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(found["node"], soft=False),
            )
            .remote(self._identity.service, key, stream.value, offset, most)
        )
        return Output(data, begin, size, found["over"])

    def forget(self, attempts: Sequence[Attempt]) -> None:
        self._check()
        requests = [*self._pending, ("forget", [_key(attempt) for attempt in attempts])]
        self._pending.clear()
        self._call("turn", requests)  # waits: outputs are asked for in other ways

    def limit_outputs(self, most: Mapping[str, int]) -> None:
        self._check()
        self._send("limit_outputs", dict(most))

    def close(self) -> None:
        if self._pending and self._inbox is not None and not self._inbox.trouble:
            self._send()
        self._disconnect()
        self._closed = True

    def _result(self, attempt: Attempt, reference: Any) -> bytes:
        """Reads an attempt's result; the last one is kept, as it is read in parts."""
        with self._read_lock:
            if self._last_read is not None and self._last_read[0] == attempt:
                return self._last_read[1]
        data: bytes = self._get(reference)
        with self._read_lock:
            self._last_read = (attempt, data)
        return data

    def _check(self) -> ReportsInbox:
        if self._inbox is None:
            raise EngineError("reconcile comes first")
        if self._inbox.trouble:
            trouble = self._inbox.trouble
            self._disconnect()
            raise EngineError(trouble)
        return self._inbox

    def _disconnect(self) -> None:
        """Lets go of the launcher: requests may or may not have been done, and the next one may be
        another."""
        if self._inbox is not None:
            self._inbox.close()
        if self._transport is not None:
            self._transport.close()
        self._inbox = self._launcher = self._transport = None
        self._pending.clear()

    def _send(self, *request: Any) -> None:
        """Tells the launcher, with what could wait until now, and does not wait for its answer."""
        messages = [*self._pending, request] if request else list(self._pending)
        self._pending.clear()
        self._find_transport().send(messages)

    def _find_transport(self) -> Transport:
        """The connection with the launcher, which is found, or made, where there is none."""
        if self._transport is None:
            self._connect(self._patience)
        assert self._transport is not None
        return self._transport

    def _connect(self, patience: float) -> None:
        """Finds the launcher, or makes it; this is its driver from now on."""
        if self._closed:
            raise EngineError("the engine is closed")
        handle = self._find_or_create()
        hello = get_within(handle.hello.remote(self._identity.service, self._owner), patience)
        self._check_owner(hello)
        if "taken" in hello:
            if hello["quiet"] < QUIET:
                raise EngineError(
                    "another Fairlead service drives this Ray cluster; stop it, or wait"
                    f" {QUIET:g} seconds after it has ended"
                )
            self._end(handle, patience)
            handle = self._find_or_create()
            hello = get_within(handle.hello.remote(self._identity.service, self._owner), patience)
        self._launcher, self._transport = handle, open_transport(handle, hello, self._patience)
        self._incarnation = hello["incarnation"]
        self._sent_calls.clear()

    def _check_owner(self, answer: Tree) -> None:
        """Raises EngineError where the launcher knows a newer owner of the journal."""
        if "overtaken" in answer:
            self._disconnect()
            newest = answer["overtaken"]
            raise EngineError(overtaken("this Ray cluster", newest, self._owner))

    def _end(self, launcher_: Any, patience: float) -> None:
        """Ends the launcher of a service that is gone, and waits until its name is free."""
        ray.kill(launcher_)
        end = monotonic() + patience
        while monotonic() < end:
            try:
                ray.get_actor(LAUNCHER, namespace=self._namespace)
            except ValueError:
                return
            sleep(0.1)
        raise EngineError("the launcher of another service does not end")

    def _find_or_create(self) -> Any:
        for module in BY_VALUE:
            cloudpickle.register_pickle_by_value(module)
        try:
            head = node_names.head_of(ray.nodes())
            if head is None:
                raise EngineError("Ray's head is not there")
            return (
                ray.remote(concurrency_groups=threads.GROUPS)(launcher.Launcher)
                .options(
                    name=LAUNCHER,
                    namespace=self._namespace,
                    get_if_exists=True,
                    lifetime="detached",
                    num_cpus=0,
                    max_restarts=0,
                    max_concurrency=16,
                    scheduling_strategy=NodeAffinitySchedulingStrategy(head, soft=False),
                )
                .remote(LAUNCHER, self._namespace, self._kept)
            )
        except (ray.exceptions.RayError, ValueError, RuntimeError) as error:
            raise EngineError(f"the launcher in Ray cannot be reached: {error}") from error

    def _call(self, method: str, *args: Any) -> Any:
        try:
            return self._find_transport().ask(method, *args)
        except EngineError:
            self._disconnect()
            raise

    def _get(self, reference: Any) -> Any:
        return get_within(reference, self._patience)


def _key(attempt: Attempt) -> tuple[int, int, int]:
    return attempt.job, attempt.task, attempt.number


def _tree(assignment: Assignment, most_output: int) -> Tree:
    """The part of an assignment that the launcher needs."""
    attempt = assignment.attempt
    kind = "nothing"
    if assignment.command is not None:
        kind = "command"
    elif assignment.call is not None:
        kind = "function"
    limit = assignment.time_limit
    spec: Tree = {
        "machine": assignment.machine,
        "command": assignment.command,
        "env": {**assignment.env, **assignment.variables()},
        "cwd": assignment.cwd,
        "limit": None if limit is None else float(limit),
        "user": assignment.user,
        "tenant": assignment.tenant,
        "most_output": assignment.most_output(most_output),
    }
    if kind == "function" and assignment.user is not None:
        spec["problem"] = (
            f"functions run as Ray's user, and those of tenant {assignment.tenant} are to run as"
            f" {assignment.user}: submit a command instead"
        )
    options = {**options_of(assignment.demand), "name": assignment.name}
    return {"key": _key(attempt), "kind": kind, "spec": spec, "options": options}
