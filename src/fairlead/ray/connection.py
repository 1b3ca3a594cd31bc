"""What goes on between a script and the service: submissions together, results as they come."""

from __future__ import annotations

import base64
import json
import logging
import secrets
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from ray import cloudpickle, exceptions

from fairlead.client import Client, RefusedError, ServiceError, UnknownNameError, find_place
from fairlead.model.errors import InputError
from fairlead.model.plain import Plain
from fairlead.ray import store
from fairlead.ray.errors import CallError, failed
from fairlead.ray.future import Future
from fairlead.ray.options import Options, job_tree, plain_word
from fairlead.wire.jobs import JobRow, JobState, Task, TaskState

GATHER = 0.003
"""Seconds in which submissions are gathered for one request."""

MOST_JOBS, MOST_BYTES = 1000, 6_000_000
"""Of one request."""

FIRST_LOOK, LAST_LOOK = 0.02, 0.5
"""Seconds between two looks at the jobs: longer while nothing ends."""

LISTED = 20_000
"""Tasks a second that are listed at most."""

READERS = 8
"""Results that are fetched through the service at the same time."""

FEW = 20
"""So many jobs are looked at one by one; more in the list of all."""

PATIENCE = 60.0
"""Seconds in which a service that does not answer may come back."""

logger = logging.getLogger(__name__)


@dataclass
class _Job:
    """A job that was submitted, with the futures of its tasks that are not over."""

    tree: Plain
    size: int
    futures: list[Future]
    number: int = 0
    left: dict[int, Future] = field(default_factory=dict)
    seen: int = 0  # tasks that were over at the last look

    @property
    def name(self) -> str:
        return str(self.tree["name"])


class Connection:
    """A service, and the calls that this script waits for. Its threads end with the script."""

    def __init__(self, url: str | None, token: str | None, ca: str | None) -> None:
        self._place = find_place(url, token, ca)
        self._mine = threading.local()
        self._clients: list[Client] = []
        self._lock = threading.Lock()
        self._new: SimpleQueue[_Job] = SimpleQueue()
        self._open: dict[str, _Job] = {}
        self._wake = threading.Event()
        self._closed = False
        self._readers = ThreadPoolExecutor(READERS, "fairlead results")
        self._threads = [
            threading.Thread(target=loop, name=f"fairlead {loop.__name__}", daemon=True)
            for loop in (self._submit_all, self._watch)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self, function: bytes, name: str, options: Options, calls: Sequence[tuple[Any, Any]]
    ) -> list[Future]:
        """Submits a job with a task for each call (arguments, keywords). Raises InputError, and
        CallError where it is too large."""
        items = store.carried([cloudpickle.dumps(call) for call in calls], function)
        text = json.dumps(
            {
                "fairlead.ray": 1,
                "function": base64.b64encode(function).decode("ascii"),
                "name": name,
                "items": items,
            }
        )
        job = f"{options.name or plain_word(name)}-{secrets.token_hex(6)}"
        tree = job_tree(options, job, len(calls), text)
        futures = [Future(f"{name}()", task, self._cancel) for task in range(len(calls))]
        self._new.put(_Job(tree, len(text), futures, left=dict(enumerate(futures))))
        return futures

    def close(self) -> None:
        """Ends the threads and the connections. Futures that are not over stay so."""
        self._closed = True
        self._wake.set()
        for thread in self._threads:
            thread.join()
        self._readers.shutdown(cancel_futures=True)
        for client in self._clients:
            client.close()

    def _client(self) -> Client:
        """This thread's own: a client is for one."""
        if not hasattr(self._mine, "client"):
            self._mine.client = Client(place=self._place, patience=PATIENCE)
            with self._lock:
                self._clients.append(self._mine.client)
        found: Client = self._mine.client
        return found

    def _cancel(self, future: Future) -> bool:
        end = time.monotonic() + PATIENCE
        while future.job is None and not future.done():
            if time.monotonic() > end:
                return False
            time.sleep(GATHER)
        if future.job is None:
            return False
        with Client(place=self._place, patience=PATIENCE) as client:
            client.cancel(future.job)
        self._wake.set()
        return True

    # Submitting.

    def _submit_all(self) -> None:
        waiting: _Job | None = None
        while not self._closed:
            batch = [waiting] if waiting is not None else []
            waiting = None
            size = sum(job.size for job in batch)
            end = time.monotonic() + GATHER
            while len(batch) < MOST_JOBS:
                patience = 0.5 if not batch else max(0.0, end - time.monotonic())
                try:
                    job = self._new.get(timeout=patience) if patience else self._new.get_nowait()
                except Empty:
                    break
                if batch and size + job.size > MOST_BYTES:
                    waiting = job
                    break
                if not batch:
                    end = time.monotonic() + GATHER
                batch.append(job)
                size += job.size
            if batch:
                self._submit(batch)

    def _submit(self, batch: list[_Job]) -> None:
        try:
            told = self._client().submit(*(job.tree for job in batch))
        except RefusedError as error:
            if len(batch) == 1:
                self._refused(batch[0], CallError(str(error)))
                return
            # All or none: one that is mistaken takes no other with it.
            for job in batch:
                self._submit([job])
            return
        except (ServiceError, InputError) as error:
            for job in batch:
                self._refused(job, CallError(f"it could not be submitted: {error}"))
            return
        with self._lock:
            for job, row in zip(batch, told.jobs, strict=True):
                job.number = row.id
                for future in job.futures:
                    future.job = row.name
                self._open[row.name] = job
        self._wake.set()

    def _refused(self, job: _Job, error: Exception) -> None:
        for future in job.futures:
            future.settle(error=error)

    # Looking, and fetching.

    def _watch(self) -> None:
        pause = FIRST_LOOK
        while not self._closed:
            with self._lock:
                jobs = list(self._open.values())
            if not jobs:
                self._wake.wait(0.5)
                self._wake.clear()
                pause = FIRST_LOOK
                continue
            try:
                moved = self._look(jobs)
            except ServiceError as error:
                logger.warning("the service does not answer: %s", error)
                moved = False
            # Looking at a job that moved lists all its tasks.
            listed = sum(len(job.futures) for job in jobs) / LISTED
            pause = max(FIRST_LOOK if moved else min(LAST_LOOK, 1.5 * pause), listed)
            if self._wake.wait(pause):
                self._wake.clear()
                pause = FIRST_LOOK

    def _look(self, jobs: list[_Job]) -> bool:
        """Settles what is over; whether anything was."""
        rows = self._rows([job.name for job in jobs])
        moved = False
        for job in jobs:
            row = rows.get(job.name)
            if row is None:
                self._drop(job, CallError(f"the service knows nothing of job {job.name} any more"))
                continue
            counts = row.tasks
            over = counts.finished + counts.failed + counts.dropped
            if over > job.seen:
                job.seen, moved = over, True
                self._settle(job, row)
            if row.state in (JobState.FAILED, JobState.CANCELLED):
                self._rest(job, row)
        return moved

    def _rows(self, names: list[str]) -> dict[str, JobRow]:
        client = self._client()
        if len(names) > FEW:
            wanted = set(names)
            return {row.name: row for row in client.jobs(all=True) if row.name in wanted}
        found: dict[str, JobRow] = {}
        for name in names:
            try:
                found[name] = client.job(name)
            except UnknownNameError:
                continue
        return found

    def _settle(self, job: _Job, row: JobRow) -> None:
        """Fetches the results of tasks that are newly over."""
        ended: list[tuple[Task, Future]] = []
        for state in (TaskState.FINISHED, TaskState.FAILED):
            if getattr(row.tasks, state.value):
                ended += self._ended(job, state)
        if not ended:
            return
        keeper = store.launcher()
        if keeper is not None:
            ended = self._directly(keeper, job, ended)
        for task, future in ended:
            self._readers.submit(self._read, job.name, task, future)

    def _ended(self, job: _Job, state: TaskState) -> list[tuple[Task, Future]]:
        found = []
        for task in self._client().tasks(job.name, state):
            future = job.left.pop(task.task, None)
            if future is not None:
                found.append((task, future))
        if not job.left:
            with self._lock:
                self._open.pop(job.name, None)
        return found

    def _directly(
        self, keeper: Any, job: _Job, ended: list[tuple[Task, Future]]
    ) -> list[tuple[Task, Future]]:
        """Takes results from the object store; what is not there is left for the service."""
        keys = [(job.number, task.task, _last(task)) for task, _ in ended]
        try:
            results = store.fetched(keeper, keys)
        except exceptions.RayError as error:
            logger.warning("results are fetched through the service: %s", error)
            return ended
        left = []
        for (task, future), data in zip(ended, results, strict=True):
            if data is None:
                left.append((task, future))
            else:
                future.settle(data)
        return left

    def _read(self, name: str, task: Task, future: Future) -> None:
        """Fetches one result through the service."""
        number = _last(task)
        try:
            pieces = self._client().outputs(name, task.task, stream="result", attempt=number)
            data = b"".join(pieces)
        except ServiceError as error:
            future.settle(error=CallError(f"the result cannot be fetched: {error}"))
            return
        if data:
            future.settle(data)
            return
        last = task.attempts[-1] if task.attempts else None
        if task.state is TaskState.FINISHED:
            sentence = f"the result of {future.what} is gone with the machine that had it"
            future.settle(error=CallError(sentence))
        else:
            cause = (last.cause if last else None) or "lost"
            future.settle(error=failed(cause, last.message if last else "", future.what))

    def _rest(self, job: _Job, row: JobRow) -> None:
        """The job is over: tasks of it that never ran get their error."""
        if row.tasks.finished + row.tasks.failed < len(job.futures) - len(job.left):
            return
        counts = row.tasks
        if counts.waiting or counts.launched or counts.running or counts.stopping:
            return
        detail = self._client().job(job.name)
        cause = "cancelled" if row.state is JobState.CANCELLED else "rejected"
        for future in list(job.left.values()):
            future.settle(error=failed(cause, detail.reason or "", future.what))
        self._drop(job, None)

    def _drop(self, job: _Job, error: Exception | None) -> None:
        with self._lock:
            self._open.pop(job.name, None)
        if error is not None:
            for future in list(job.left.values()):
                future.settle(error=error)


def _last(task: Task) -> int:
    return task.attempts[-1].number if task.attempts else 1
