"""The child process that holds an engine: it does what it is told over a pipe, and tells what the
engine says.

Run as `python -m fairlead.engines.supervised.driver`. It ends when the pipe does, at once
and whatever it is doing: who started it is gone, and everything asked of an engine may be asked
again.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import IO, Any

from fairlead.engines.interface import (
    Attempt,
    Engine,
    EngineError,
    LimitsOutputs,
    NotifiesNews,
    Report,
    Stream,
)
from fairlead.engines.supervised.frames import read_frame, write_frame
from fairlead.engines.supervised.messages import (
    Tree,
    assignments_of,
    attempt_of,
    plain_attempt,
    plain_node,
    plain_output,
    plain_report,
    report_of,
)
from fairlead.model.errors import InputError

READERS = 4
"""Outputs that are read at the same time."""

LOOK = 0.01
"""Seconds between two looks for news of an engine that does not say when it has some."""

MACHINES = 1.0
"""Seconds between two looks at its machines, which also say that this process lives."""

NEWS: Tree = {"method": "news"}
"""A request of the engine itself, which has news."""


class Server:
    """Does with one engine what it is asked and told, and tells what the engine has to say.

    A request with an `id` is answered. One without it is not: where it fails, everything does
    until the engine is reconciled, which is said once, with the number of the last reconciliation.
    """

    def __init__(self, engine: Engine, tell: Callable[[Tree], None]) -> None:
        self._engine = engine
        self._tell = tell
        self._calls: dict[str, str] = {}
        self._round = 0
        self._good = False  # it is reconciled, and nothing failed since
        self._reported: set[tuple[Attempt, type[Report]]] = set()  # and not acknowledged
        self._nodes: list[Tree] | None = None  # as they were told

    def do(self, request: Tree) -> None:
        """Does it, and answers where an answer is waited for."""
        number = request.get("id")
        try:
            value = self._answer(request)
        except EngineError as error:
            if number is not None:
                self._tell({"id": number, "error": str(error)})
            if request["method"] not in APART and self._good:
                self._good = False
                self._tell({"lost": str(error), "round": self._round})
        else:
            if number is not None:
                self._tell({"id": number, "value": value})

    def look(self) -> None:
        """Tells which machines there are (null: those of before), or that nobody can say."""
        try:
            nodes = [plain_node(node) for node in self._engine.nodes()]
        except EngineError as error:
            self._nodes = None
            self._tell({"away": str(error)})
        else:
            self._tell({"nodes": None if nodes == self._nodes else nodes})
            self._nodes = nodes

    @property
    def lost(self) -> bool:
        """Whether it failed since it was reconciled."""
        return self._round > 0 and not self._good

    def _answer(self, request: Tree) -> Any:
        engine = self._engine
        match request["method"]:
            case "news":
                if self._good:
                    self._news()
            case "reconcile":
                return self._reconcile(request)
            case "output":
                attempt, stream = attempt_of(request["attempt"]), Stream(request["stream"])
                return plain_output(
                    engine.output(attempt, stream, request["offset"], request["most"])
                )
            case "close":
                engine.close()
            case _ if self._good:
                self._apply(request)
        return None

    def _apply(self, request: Tree) -> None:
        engine = self._engine
        match request["method"]:
            case "launch":
                if request["fresh"]:
                    self._calls.clear()
                self._calls.update(request["calls"])
                engine.launch(assignments_of(request["batch"], self._calls))
            case "acknowledge":
                reports = [report_of(tree) for tree in request["reports"]]
                self._reported.difference_update((each.attempt, type(each)) for each in reports)
                engine.acknowledge(reports)
            case "cancel":
                engine.cancel([attempt_of(tree) for tree in request["attempts"]])
            case "forget":
                engine.forget([attempt_of(tree) for tree in request["attempts"]])
            case "limit_outputs":
                if isinstance(engine, LimitsOutputs):
                    engine.limit_outputs(request["most"])
            case method:
                raise EngineError(f"the engine's driver knows no {method!r}")

    def _reconcile(self, request: Tree) -> list[list[int]]:
        self._round, self._good = request["round"], False
        self._calls = dict(request["calls"])
        batch = assignments_of(request["batch"], self._calls)
        never = self._engine.reconcile(batch, request["owner"])
        self._good = True
        self._reported.clear()
        self._news()
        return [plain_attempt(each) for each in never]

    def _news(self) -> None:
        """Tells what the engine says and was not told yet."""
        reports = []
        for report in self._engine.poll():
            key = (report.attempt, type(report))
            if key not in self._reported:
                self._reported.add(key)
                reports.append(plain_report(report))
        if reports:
            self._tell({"reports": reports, "round": self._round})


APART = ("output", "close")
"""Methods that may fail while all else goes on."""


def serve(engine: Engine, asked: SimpleQueue[Tree], tell: Callable[[Tree], None]) -> None:
    """Does one request after the other, and reads outputs beside them, until asked to close."""
    server = Server(engine, tell)
    heralding = isinstance(engine, NotifiesNews)
    if isinstance(engine, NotifiesNews):
        engine.listen(lambda: asked.put(NEWS))
    looked, lost = float("-inf"), False
    with ThreadPoolExecutor(READERS, "output") as readers:
        while True:
            due = looked + MACHINES - monotonic()
            if due <= 0 or server.lost > lost:
                lost = server.lost
                server.look()
                looked, due = monotonic(), MACHINES
            lost = server.lost
            try:
                request = asked.get(timeout=due if heralding else min(due, LOOK))
            except Empty:
                request = NEWS
            if request["method"] == "output":
                readers.submit(_guard, partial(server.do, request))
                continue
            server.do(request)
            if request["method"] == "close":
                return


def _guard(work: Callable[[], None]) -> None:
    """An engine that fails in a way of which nothing is known cannot be trusted: this process
    ends, and another one begins with what is durable."""
    try:
        work()
    except BaseException:  # noqa: BLE001 - whatever it was, this process ends by it
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(70)


def _listen(pipe: IO[bytes], asked: SimpleQueue[Tree]) -> None:
    while (request := read_frame(pipe)) is not None:
        asked.put(request)
    os._exit(0)


def _open(request: Tree) -> Engine:
    module, _, function = request["opener"].partition(":")
    engine: Engine = getattr(importlib.import_module(module), function)(**request["settings"])
    return engine


def main() -> None:
    """Serves one engine over standard input and what was standard output."""
    asking = os.fdopen(os.dup(0), "rb")
    telling = os.fdopen(os.dup(1), "wb")
    # What a library prints must not end up between frames.
    os.dup2(2, 1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    lock = Lock()

    def tell(tree: Tree) -> None:
        with lock:
            write_frame(telling, tree)

    first = read_frame(asking)
    if first is None:
        return
    asked: SimpleQueue[Tree] = SimpleQueue()
    Thread(target=_guard, args=(lambda: _listen(asking, asked),), daemon=True).start()
    try:
        engine = _open(first)
    except InputError as error:
        tell({"refused": str(error)})
        os._exit(2)
    except EngineError as error:
        tell({"failed": str(error)})
        os._exit(1)
    known = engine.knows(None)
    tell({"ready": {"name": engine.name, "identity": engine.identity, "known": known}})
    serve(engine, asked, tell)
    os._exit(0)


if __name__ == "__main__":
    _guard(main)
