"""The results of calls that are over: fetched together, and each given to its future."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from ray import cloudpickle, exceptions

from fairlead.client import Client, ServiceError
from fairlead.engines.ray.launcher.threads import rest_of
from fairlead.model.plain import Plain
from fairlead.ray import store
from fairlead.ray.errors import CallError, build_error
from fairlead.ray.future import Future
from fairlead.ray.portions import Portions
from fairlead.wire.jobs import TaskState

APART = 0.01
"""Seconds between two questions for results: what ends meanwhile is asked for together."""

READERS = 8
"""Results that are fetched through the service at the same time."""

logger = logging.getLogger(__name__)


@dataclass
class Job:
    """A job that was submitted, with the futures of the calls of each task that is not over."""

    tree: Plain
    size: int
    futures: list[Future]
    number: int = 0  # once it is accepted
    left: dict[int, list[Future]] = field(default_factory=dict)
    of: Portions | None = None  # that asks to be told of it
    seen: int = 0  # tasks that were over at the last look
    followed: bool = False  # events tell all that happens to it
    early: list[End] = field(default_factory=list)  # what was told before its number
    ended_tasks: set[int] = field(default_factory=set)  # that events told of

    @property
    def name(self) -> str:
        """The name, which is nobody else's."""
        return str(self.tree["name"])

    # Both under the connection's lock.

    def accept(self, number: int, results: Results) -> None:
        self.number = number
        for end in self.early:
            results.add(end)
        self.early.clear()

    def add_end(self, end: End, results: Results) -> None:
        """A task of it is over."""
        self.ended_tasks.add(end.task)
        if self.number:
            results.add(end)
        else:
            self.early.append(end)


@dataclass
class End:
    """A task that is over for good. `attempt` 0: none was made. `cause`: why it failed, empty where
    it did not; `message`: the service's words for it, as far as they were told."""

    job: Job
    task: int
    attempt: int
    cause: str
    message: str = ""


class Results:
    """Settles futures, in a thread of its own. `client` is the calling thread's; `done` is told of
    jobs of which nothing is left."""

    def __init__(self, client: Callable[[], Client], done: Callable[[Job], None]) -> None:
        self._client, self._done = client, done
        self._ends: SimpleQueue[End | None] = SimpleQueue()
        self._keeper: Any = None
        self._readers = ThreadPoolExecutor(READERS, "fairlead results")
        self._thread = threading.Thread(target=self._settle_all, name="fairlead ends", daemon=True)
        self._thread.start()

    def add(self, end: End) -> None:
        """This is over; one that was added already is not looked at again."""
        self._ends.put(end)

    def close(self) -> None:
        """Fetches nothing more."""
        self._ends.put(None)
        self._thread.join()
        self._readers.shutdown(cancel_futures=True)

    def _settle_all(self) -> None:
        asked = 0.0
        while True:
            found = [self._ends.get()]
            time.sleep(max(0.0, asked + APART - time.monotonic()))
            asked = time.monotonic()
            found += rest_of(self._ends)
            ends = [end for end in found if end is not None]
            if len(ends) < len(found):
                return
            waiting: list[tuple[End, list[Future]]] = []
            for end in ends:
                futures = end.job.left.pop(end.task, None)
                if futures is None:
                    continue
                if end.attempt:
                    waiting.append((end, futures))
                else:
                    _fail(futures, build_error(end.cause, end.message, futures[0].what))
                if not end.job.left:
                    self._done(end.job)
            if waiting and self._keeper is None:
                self._keeper = store.launcher()
            if waiting and self._keeper is not None:
                waiting = self._directly(self._keeper, waiting)
            for end, futures in waiting:
                with suppress(RuntimeError):  # the script is over: nobody waits for them
                    self._readers.submit(self._read, end, futures)

    def _directly(
        self, keeper: Any, ended: list[tuple[End, list[Future]]]
    ) -> list[tuple[End, list[Future]]]:
        """Takes results from the object store; what is not there is left for the service."""
        keys = [(end.job.number, end.task, end.attempt) for end, _ in ended]
        try:
            results = store.fetch(keeper, keys)
        except exceptions.RayError as error:
            logger.warning("results are fetched through the service: %s", error)
            self._keeper = None  # there may be another one by now
            return ended
        left = []
        for (end, futures), data in zip(ended, results, strict=True):
            if data is None:
                left.append((end, futures))
            else:
                _settle(end.job, futures, data)
        return left

    def _read(self, end: End, futures: list[Future]) -> None:
        """Fetches one result through the service."""
        name = end.job.name
        try:
            pieces = self._client().outputs(name, end.task, stream="result", attempt=end.attempt)
            data = b"".join(pieces)
            said = end.message
            if not data and end.cause and not said:
                said = self._read_message(name, end.task)
        except ServiceError as error:
            _fail(futures, CallError(f"the result cannot be fetched: {error}"))
            return
        what = futures[0].what
        if data:
            _settle(end.job, futures, data)
        elif not end.cause:
            _fail(futures, CallError(f"the result of {what} is gone with the machine that had it"))
        elif end.job.of is None or not end.job.of.apart(futures, end.cause):
            _fail(futures, build_error(end.cause, said, what))

    def _read_message(self, job: str, number: int) -> str:
        """Reads the service's words for a task that failed."""
        for task in self._client().tasks(job, TaskState.FAILED):
            if task.task == number and task.attempts:
                return task.attempts[-1].message or ""
        return ""


def _settle(job: Job, futures: list[Future], data: bytes) -> None:
    """Gives the result of a task to the future of each of its calls."""
    parts = [data]
    if data[:1] == b"m":
        seconds, parts = cloudpickle.loads(data[1:])
        if job.of is not None:
            job.of.add_seconds(seconds / len(parts))
    for future, part in zip(futures, parts, strict=True):
        if part:
            future.settle(part)
        else:
            future.settle(error=build_error("exited", "it called exit", future.what))


def _fail(futures: list[Future], error: Exception) -> None:
    for future in futures:
        future.settle(error=error)
