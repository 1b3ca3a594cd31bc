"""The child process that holds an engine: it does what it is asked over a pipe, and answers.

Run as `python -m fairlead.engines.driver`. It ends when the pipe does, at once and whatever it is
doing: who started it is gone, and everything asked of an engine may be asked again.
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
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, Any

from fairlead.engines.frames import read_frame, write_frame
from fairlead.engines.interface import Engine, EngineError, Stream
from fairlead.engines.messages import (
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


def missing_calls(request: Tree, known: dict[str, str]) -> list[str]:
    """The keys of the calls in a request that this process has not heard yet."""
    return sorted({t["call"] for t in request["batch"] if "call" in t} - known.keys())


class Server:
    """Answers requests to one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._calls: dict[str, str] = {}

    def answer(self, request: Tree) -> Tree:
        """The answer to a request, or what went wrong."""
        try:
            return {"id": request["id"], "value": self._does(request)}
        except EngineError as error:
            return {"id": request["id"], "error": str(error)}

    def _does(self, request: Tree) -> Any:
        engine = self._engine
        match request["method"]:
            case "nodes":
                return [plain_node(node) for node in engine.nodes()]
            case "launch" | "reconcile" as method:
                return self._assigned(method, request)
            case "poll":
                return [plain_report(report) for report in engine.poll()]
            case "acknowledge":
                engine.acknowledge([report_of(tree) for tree in request["reports"]])
            case "cancel":
                engine.cancel([attempt_of(tree) for tree in request["attempts"]])
            case "forget":
                engine.forget([attempt_of(tree) for tree in request["attempts"]])
            case "output":
                attempt, stream = attempt_of(request["attempt"]), Stream(request["stream"])
                return plain_output(
                    engine.output(attempt, stream, request["offset"], request["most"])
                )
            case "close":
                engine.close()
            case method:
                raise EngineError(f"the engine's driver knows no {method!r}")
        return None

    def _assigned(self, method: str, request: Tree) -> Tree:
        """Calls are told once in the life of this process, and again where it lacks one."""
        if request.get("fresh"):
            self._calls.clear()
        self._calls.update(request["calls"])
        missing = missing_calls(request, self._calls)
        if missing:
            return {"missing": missing}
        batch = assignments_of(request["batch"], self._calls)
        if method == "launch":
            self._engine.launch(batch)
            return {}
        return {"attempts": [plain_attempt(each) for each in self._engine.reconcile(batch)]}


def serve(engine: Engine, asked: SimpleQueue[Tree], answer: Callable[[Tree], None]) -> None:
    """Answers requests one after the other, and reads outputs beside them, until asked to close."""
    server = Server(engine)
    with ThreadPoolExecutor(READERS, "output") as readers:
        while True:
            request = asked.get()
            if request["method"] == "output":
                readers.submit(_guarded, partial(_answered, server, request, answer))
                continue
            answer(server.answer(request))
            if request["method"] == "close":
                return


def _answered(server: Server, request: Tree, answer: Callable[[Tree], None]) -> None:
    answer(server.answer(request))


def _guarded(work: Callable[[], None]) -> None:
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

    def answer(tree: Tree) -> None:
        with lock:
            write_frame(telling, tree)

    first = read_frame(asking)
    if first is None:
        return
    asked: SimpleQueue[Tree] = SimpleQueue()
    Thread(target=_guarded, args=(lambda: _listen(asking, asked),), daemon=True).start()
    try:
        engine = _open(first)
    except InputError as error:
        answer({"refused": str(error)})
        os._exit(2)
    except EngineError as error:
        answer({"failed": str(error)})
        os._exit(1)
    answer({"ready": engine.name})
    serve(engine, asked, answer)
    os._exit(0)


if __name__ == "__main__":
    _guarded(main)
