"""Attempts, reports and calls that the launcher knows.

Nothing here asks Ray or reads a clock; whoever calls holds the launcher's lock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from itertools import count
from typing import Any

from fairlead.engines.ray.launcher.verdict import Key, Tree

CARRIED = 16 * 1024
"""Letters of a function up to which it goes to the workers with each of its calls; they fetch those
that are longer."""


class KnownAttempt:
    """An attempt that was launched and whose end was not acknowledged."""

    __slots__ = (
        "behind",
        "cut",
        "end",
        "item",
        "key",
        "kind",
        "node",
        "options",
        "refs",
        "result",
        "serial",
        "spec",
        "started",
        "stopping",
        "unwanted",
        "written",
    )  # fmt: skip

    def __init__(self, key: Key, spec: Tree, kind: str, item: Any, options: Tree) -> None:
        self.key = key
        self.spec = spec
        self.kind = kind  # "command", "function", or "nothing"
        self.item = item
        self.options = options
        self.serial = 0
        self.node: str | None = None
        self.refs: list[Any] = []
        self.started: int | None = None
        self.stopping: str | None = None
        self.unwanted = False
        # Of one that is unwanted: what another one of its name, of a journal that began anew or was
        # restored, was told meanwhile: its launch, or how it ended before that.
        self.behind: Callable[[], None] | None = None
        self.end: Tree | None = None
        self.result: Tree | None = None
        self.written = 0  # bytes that are kept of its outputs, as far as its worker told
        self.cut = False  # nothing more of them is to be kept


class Book:
    """Attempts by key, the reports of them that nobody acknowledged, and the calls of jobs."""

    def __init__(self) -> None:
        self.attempts: dict[Key, KnownAttempt] = {}
        self.over: dict[Key, KnownAttempt] = {}  # acknowledged; kept for their outputs
        self.reports: dict[tuple[Key, str], tuple[int, Tree]] = {}
        self.last_number = 0  # the number of the last report
        self.calls: dict[int, Tree] = {}
        self.kept: dict[str, Any] = {}
        self._serials = count(1)
        self._jobs: dict[int, int] = {}  # attempts of each that are known
        self._written: dict[str, int] = {}  # bytes of attempts that are not put away, by tenant

    def learn(self, batch: list[Tree], calls: dict[int, str]) -> list[int]:
        """Takes in calls; the jobs in the batch whose calls are not known."""
        for job, text in calls.items():
            self.calls[int(job)] = _read_call(text)
        asked = {tree["key"][0] for tree in batch if tree["kind"] == "function"}
        return sorted(asked - self.calls.keys())

    def begin(self, tree: Tree, about: Tree) -> KnownAttempt:
        """An attempt that is to be started, known from now on. `about`: what its worker is told of
        the launcher."""
        key: Key = tree["key"]
        spec = {**tree["spec"], **about, "key": key}
        item = None
        if tree["kind"] == "function":
            call = self.calls[key[0]]
            spec["function"] = call.get("name", "")
            items = call.get("items", ())
            item = items[key[1]] if key[1] < len(items) else None
            # What a function does not need is not sent to it.
            spec["command"], spec["env"] = None, {}
            if len(call.get("function", "")) <= CARRIED:
                spec["code"] = call.get("function")
            problem = call.get("problem") or ("" if item is not None else "the call has no item")
            if problem:
                spec["problem"] = f"{problem} for task {key[1]}"
        else:
            spec["env"] = {**spec["env"], "FAIRLEAD_MARK": mark_of(about["service"], key)}
        return self.remember(KnownAttempt(key, spec, tree["kind"], item, tree["options"]))

    def remember(self, attempt: KnownAttempt) -> KnownAttempt:
        """The attempt, known from now on."""
        attempt.serial = next(self._serials)
        self.attempts[attempt.key] = attempt
        self._jobs[attempt.key[0]] = self._jobs.get(attempt.key[0], 0) + 1
        return attempt

    def note_written(self, attempt: KnownAttempt, kept: int) -> None:
        """So many bytes are kept of what it wrote."""
        tenant = attempt.spec["tenant"]
        self._written[tenant] = self._written.get(tenant, 0) + kept - attempt.written
        attempt.written = kept

    def limit_outputs(self, most: Mapping[str, int]) -> None:
        """Has no more kept of what attempts of a tenant write, where there is more of them."""
        over = {tenant for tenant, room in most.items() if self._written.get(tenant, 0) > room}
        for attempt in self.attempts.values() if over else ():
            if attempt.spec.get("tenant") in over:
                attempt.cut = True

    def report(self, attempt: KnownAttempt, tree: Tree) -> None:
        """Tells of the attempt until that is acknowledged."""
        kind = "started" if tree["is"] == "started" else "end"
        self.reports.pop((attempt.key, "started"), None)
        self.reports.pop((attempt.key, kind), None)  # so that it comes last
        self.last_number += 1
        self.reports[attempt.key, kind] = self.last_number, {**tree, "attempt": list(attempt.key)}

    def since(self, seen: int) -> list[Tree]:
        """The reports after that number, oldest first."""
        found = []
        for number, tree in reversed(self.reports.values()):
            if number <= seen:
                break
            found.append(tree)
        return found[::-1]

    def end(self, attempt: KnownAttempt, tree: Tree) -> None:
        """Nothing of the attempt runs any more."""
        if attempt.end is not None:
            return
        attempt.end = tree
        if attempt.unwanted:
            self.put_away(attempt.key)
            if attempt.behind is not None:
                self.drop_outputs(attempt.key)
                attempt.behind()
        else:
            self.report(attempt, tree)

    def put_away(self, key: Key) -> None:
        """Forgets an attempt but for its outputs."""
        attempt = self.attempts.pop(key, None)
        self.reports.pop((key, "started"), None)
        if attempt is None:
            return
        if attempt.written:
            self.note_written(attempt, 0)
            if not self._written[attempt.spec["tenant"]]:
                del self._written[attempt.spec["tenant"]]
        if attempt.result is None:
            self.fewer(key[0])
            return
        attempt.spec, attempt.item, attempt.options = {}, None, {}
        attempt.refs = [None, *attempt.refs[1:]] if "result_size" in attempt.result else []
        self.over[key] = attempt

    def fewer(self, job: int) -> None:
        """One attempt of the job is not known any more."""
        self._jobs[job] -= 1
        if not self._jobs[job]:
            del self._jobs[job]

    def drop_outputs(self, key: Key) -> KnownAttempt | None:
        """Forgets the outputs of an attempt, and it itself if its end is acknowledged; it, if it
        was known."""
        attempt = self.over.pop(key, None)
        if attempt is not None:
            self.fewer(key[0])
            return attempt
        attempt = self.attempts.get(key)
        if attempt is not None:
            attempt.result = None
            attempt.refs = attempt.refs[:1]
        return attempt

    def free(self, job: int) -> None:
        """Nobody asks for the job any more: its call goes, with what is kept for it, unless an
        attempt of it is known."""
        if job not in self._jobs:
            for item in self.calls.pop(job, {}).get("items", ()):
                if isinstance(item, dict):
                    self.kept.pop(str(item.get("kept")), None)

    def expect(self, attempt: KnownAttempt) -> None:
        """It is to be told of, again."""
        attempt.unwanted = False
        if attempt.end is not None:
            self.report(attempt, attempt.end)
        elif attempt.started is not None:
            self.report(attempt, {"is": "started", "time": attempt.started})

    def locate(self, key: Key, stream: str, alive: Collection[str]) -> Tree | None:
        """Finds an output of an attempt: whether it is over, its size, its last bytes, the node
        that has it, or a reference to it. None of an attempt that is not known."""
        attempt = self.attempts.get(key) or self.over.get(key)
        if attempt is None:
            return None
        found: Tree = {"over": attempt.end is not None, "size": 0, "tail": b"", "node": None}
        found["ref"] = []
        result = attempt.result or {}
        if stream == "result":
            if found["over"]:
                inline = result.get("result", b"")
                found |= {"size": result.get("result_size", len(inline)), "tail": inline}
                found["ref"] = attempt.refs[1:] if "result_size" in result else []
            return found
        if found["over"]:
            found |= result.get(stream) or {}
        if attempt.node in alive:
            found["node"] = attempt.node
        return found


def mark_of(service: str, key: Key) -> str:
    return f"{service}/{key[0]}.{key[1]}.{key[2]}"


def _read_call(text: str) -> Tree:
    """Reads a call, or its mistake. Nothing of it is unpickled here."""
    try:
        call = json.loads(text)
        if call["fairlead.ray"] != 1:
            raise ValueError("another version")
        return {"function": str(call["function"]), "name": str(call["name"]),
                "items": list(call["items"])}  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        return {"problem": f"the call is not one of fairlead.ray ({type(error).__name__})"}
