"""One driver process of an engine, from its start to its end, as the service sees it."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import IO, Any

from fairlead.engines.interface import EngineError, Node
from fairlead.engines.supervised.frames import BrokenFrameError, read_frame, write_frame
from fairlead.engines.supervised.messages import Tree, node_of, report_of
from fairlead.engines.supervised.unacknowledged import Unacknowledged

logger = logging.getLogger(__name__)


class Child:
    """One driver process, from its start to its end."""

    def __init__(
        self,
        request: Tree,
        environment: Mapping[str, str] | None,
        wake: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._clock = clock
        self.started = clock()
        self.ready = Event()
        self.over = Event()
        self.name = ""
        self.identity = ""
        self.known = False
        self.why = ""
        self.refused = False
        self.killed = False  # by somebody else
        self.reconciled = False
        self.round = 0  # of reconciliation
        self.calls: set[str] = set()  # that it has, by key
        self.calls_size = 0
        self._failure: tuple[int, str] | None = None
        self.reports = Unacknowledged()
        self._wake = wake
        self.last_heard = self.started
        self.away = ""  # why the engine cannot be reached now
        self.nodes: list[Node] | None = None  # as it last said
        self._numbers = count()
        self._waiting: dict[int, SimpleQueue[Tree | None]] = {}
        self._lock = Lock()
        self._process = subprocess.Popen(
            # -P: what lies in the folder where the service was started is none of its modules.
            [sys.executable, "-P", "-m", "fairlead.engines.supervised.driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=None if environment is None else {**os.environ, **environment},
            # Ctrl-C in a terminal is for the service, which then closes its engine.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        # A driver that hangs reads nothing: only a thread of its own may wait for it.
        self._outbox: SimpleQueue[Tree | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._write_all, name="to the engine's driver", daemon=True),
            Thread(target=self._read_all, name="from the engine's driver", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._outbox.put(request)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, request: Tree) -> None:
        """Tells it, if it is still there, and does not wait."""
        self._outbox.put(request)

    def begin(self) -> int:
        """The number of the reconciliation that begins: what was told and said before is void."""
        with self._lock:
            self.round += 1
            self.reconciled, self._failure = False, None
            self.reports.clear()
        return self.round

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

    def _write_all(self) -> None:
        while (request := self._outbox.get()) is not None:
            try:
                write_frame(self._input, request)
            except OSError:
                # It is gone, or going: `_read_all` hears the end and wakes who waits for an answer.
                break
        with suppress(OSError):
            self._input.close()

    def _read_all(self) -> None:
        why = ""
        try:
            while (frame := read_frame(self._output)) is not None:
                self.last_heard = self._clock()
                if "ready" in frame:
                    ready = frame["ready"]
                    self.name, self.identity = ready["name"], ready["identity"]
                    self.known = ready["known"]
                    self.ready.set()
                elif "id" in frame:
                    with self._lock:
                        waiting = self._waiting.get(frame["id"])
                    if waiting is not None:
                        waiting.put(frame)
                elif "round" in frame:
                    self._take_reports(frame)
                elif "nodes" in frame or "away" in frame:
                    self._take_nodes(frame)
                else:
                    self.refused = "refused" in frame
                    why = frame.get("refused") or frame.get("failed") or ""
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, that process ends by it
            broken = isinstance(error, BrokenFrameError)
            why = f"it wrote what nobody understands: {error if broken else repr(error)[:200]}"
            self._process.kill()
        self._output.close()
        code = self._process.wait()
        self.killed = code == -signal.SIGKILL and not (self.why or why)
        how = f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        self.why = self.why or why or how
        self._end()

    def _take_reports(self, frame: Tree) -> None:
        """Takes in what it says by itself."""
        reports = [report_of(tree) for tree in frame.get("reports", ())]
        with self._lock:
            if frame["round"] != self.round:
                return
            if "lost" in frame:
                self._failure = (self.round, frame["lost"])
                self.away = frame["lost"]  # until it can be asked again
                logger.warning("the engine cannot be reached: %s", self.away)
            self.reports.take(reports)
        self._wake()

    def _take_nodes(self, frame: Tree) -> None:
        """Takes in what it says of its machines; nothing new where `nodes` is null."""
        if frame.get("nodes") is not None:
            self.nodes = [node_of(tree) for tree in frame["nodes"]]
        before, self.away = self.away, frame.get("away", "")
        if self.away and not before:
            logger.warning("the engine cannot be reached: %s", self.away)
        elif before and not self.away:
            logger.warning("the engine is reached again")

    def _end(self) -> None:
        self.over.set()
        self._outbox.put(None)
        with self._lock:
            waiting = list(self._waiting.values())
        for answers in waiting:
            answers.put(None)
        self._wake()
