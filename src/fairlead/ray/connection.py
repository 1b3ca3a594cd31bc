"""Connects a script and the service: submissions together, results as they come."""

from __future__ import annotations

import atexit
import base64
import json
import logging
import secrets
import threading
import time
from collections.abc import Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakSet

from ray import cloudpickle

from fairlead.client import Client, RefusedError, ServiceError, find_place
from fairlead.client.waiting import find_rows
from fairlead.model.errors import InputError
from fairlead.ray import store
from fairlead.ray.errors import CallError
from fairlead.ray.future import Future
from fairlead.ray.options import Options, job_tree, plain_word
from fairlead.ray.portions import Portions, Submitter, worthwhile
from fairlead.ray.results import End, Job, Results
from fairlead.wire.events import EventKind, ServerEvent
from fairlead.wire.jobs import JobRow, TaskState
from fairlead.wire.kinds import JobState

GATHER = 0.003
"""Seconds in which submissions are gathered for one request."""

MOST_JOBS, MOST_BYTES = 1000, 6_000_000
"""Of one request."""

FIRST_LOOK, LAST_LOOK = 0.02, 0.5
"""Seconds between two looks at the jobs: longer while nothing ends."""

LISTED = 20_000
"""Tasks a second that are listed at most."""

LOOK_AT_ALL = 5.0
"""Seconds between two looks at jobs whose events are heard."""

IDLE = 30.0
"""Seconds after which a script that waits for nothing hears events no more."""

FOLLOWS = "fairlead _follow"

LEAVE = 60.0
"""Seconds in which the service has to take what is not submitted yet when a script ends: as long as
a service may be away that is asked for something else."""

PATIENCE = 60.0
"""Seconds in which a service that does not answer may come back."""

logger = logging.getLogger(__name__)


class Connection:
    """A service, and the calls that this script waits for. Its threads end with the script."""

    def __init__(self, url: str | None, token: str | None, ca: str | None) -> None:
        self._place = find_place(url, token, ca)
        self._mine = threading.local()
        self._clients: list[Client] = []
        self._lock = threading.RLock()
        self._unsent = 0  # jobs that the service has not answered
        self._portions: WeakSet[Portions] = WeakSet()
        self._new: SimpleQueue[Job] = SimpleQueue()
        self._open: dict[str, Job] = {}
        self._warned: set[str] = set()  # what was said once of calls that can never run
        self._wake = threading.Event()
        self._submitted = threading.Event()
        self._results = Results(self._client, self._drop_done)
        self._closed = False
        self._threads = [
            threading.Thread(target=loop, name=f"fairlead {loop.__name__}", daemon=True)
            for loop in (self._submit_all, self._follow, self._watch)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.finish)  # a script that ends has submitted what it said

    def submit(
        self,
        function: bytes,
        name: str,
        options: Options,
        calls: Sequence[tuple[Any, Any]],
        together: int | None = 1,
    ) -> list[Future]:
        """Submits a job with a task for each call (arguments, keywords), or for so many; None: as
        `Portions` finds. Raises InputError, and CallError where it is too large."""
        put = partial(self._put, function, name, options)
        several = together or 1
        tasks = [calls[begin : begin + several] for begin in range(0, len(calls), several)]
        # Arguments are as they are now, whenever the calls are made.
        items = [cloudpickle.dumps(list(each) if several > 1 else each[0]) for each in tasks]
        if together is None and worthwhile(options, function, items):
            portions = Portions(f"{name}()", items, Submitter(put, self._cancel, self._lock))
            self._portions.add(portions)
            return portions.futures
        futures = [Future(f"{name}()", self._cancel) for _ in calls]
        put(items, futures, several, None)
        return futures

    def _put(
        self,
        function: bytes,
        name: str,
        options: Options,
        items: Sequence[bytes],
        futures: list[Future],
        together: int,
        of: Portions | None,
    ) -> None:
        """Submits a job with a task for each item, which so many of these futures wait for."""
        text = json.dumps(
            {
                "fairlead.ray": 1,
                "function": base64.b64encode(function).decode("ascii"),
                "name": name,
                "items": store.carry(items, function),
            }
        )
        job = f"{options.name or plain_word(name)}-{secrets.token_hex(6)}"
        tree = job_tree(options, job, len(items), text)
        left = {
            task: futures[task * together : (task + 1) * together] for task in range(len(items))
        }
        for task, several in left.items():
            for future in several:
                future.task = task
        with self._lock:
            self._unsent += 1
        self._new.put(Job(tree, len(text), futures, left=left, of=of))

    def finish(self) -> None:
        """Submits all that is not submitted yet, and waits for that, but not for ever."""
        for portions in list(self._portions):
            portions.submit_rest()
        end = time.monotonic() + LEAVE
        while self._unsent and time.monotonic() < end:
            time.sleep(GATHER)

    def close(self) -> None:
        """Ends the threads and the connections. Futures that are not over stay so."""
        self.finish()
        atexit.unregister(self.finish)
        self._closed = True
        self._wake.set()
        self._submitted.set()
        for thread in self._threads:
            if thread.name != FOLLOWS:  # it may wait for the service, and ends with the script
                thread.join()
        self._results.close()
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
        waiting: Job | None = None
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

    def _submit(self, batch: list[Job]) -> None:
        with self._lock:
            self._open.update((job.name, job) for job in batch)
        self._submitted.set()
        try:
            answer = self._client().submit(*(job.tree for job in batch))
        except RefusedError as error:
            if len(batch) == 1:
                self._refuse(batch[0], CallError(str(error)))
                return
            # All or none: one that is mistaken takes no other with it.
            for job in batch:
                self._submit([job])
            return
        except (ServiceError, InputError) as error:
            for job in batch:
                self._refuse(job, CallError(f"it could not be submitted: {error}"))
            return
        for each in answer.warnings:
            if each.sentence not in self._warned:
                self._warned.add(each.sentence)
                logger.warning("job %s: %s", each.job, each.sentence)
        with self._lock:
            self._unsent -= len(batch)
            for job, row in zip(batch, answer.jobs, strict=True):
                for future in job.futures:
                    future.job = row.name
                job.accept(row.id, self._results)
        self._wake.set()

    def _refuse(self, job: Job, error: Exception) -> None:
        self._drop(job, None)
        with self._lock:
            self._unsent -= 1
        for future in job.futures:
            future.settle(error=error)

    # Hearing what ends.

    def _follow(self) -> None:
        """Reads what happens as the service tells it. What is not heard, `_watch` finds."""
        since: int | None = None
        while not self._closed:
            if not self._open:
                self._submitted.wait(0.5)
                self._submitted.clear()
                continue
            try:
                since = self._read_events(since)
            except ServiceError as error:
                logger.info("no events are heard: %s", error)
            with self._lock:
                for job in self._open.values():
                    job.followed = False
            if not self._closed:
                time.sleep(LAST_LOOK)

    def _read_events(self, since: int | None) -> int | None:
        """Reads one stream to its end; from where on to read the next. Raises ServiceError."""
        quiet = time.monotonic()
        for happened in self._client().events(since):
            since = happened.since
            if self._closed or happened.gone:
                return since
            with self._lock:
                event = happened.event
                job = None if event is None or event.job is None else self._open.get(event.job)
                if job is not None and event is not None:
                    quiet = time.monotonic()
                    self._apply_event(job, event)
                elif self._open:
                    quiet = time.monotonic()
            if time.monotonic() - quiet > IDLE:
                return None
        return since

    def _apply_event(self, job: Job, event: ServerEvent) -> None:
        if event.kind is EventKind.JOB_SUBMITTED:
            job.followed = True  # all that comes after it is heard, too
        elif event.kind is EventKind.TASK_STARTED and job.of is not None:
            job.of.mark_started()
        elif event.kind in (EventKind.JOB_CANCELLED, EventKind.JOB_REJECTED):
            job.followed = False
            self._wake.set()
        elif event.kind in (EventKind.TASK_FINISHED, EventKind.TASK_FAILED):
            finished = event.kind is EventKind.TASK_FINISHED
            if event.task is not None and event.attempt is not None:
                cause = "" if finished else event.cause or "lost"
                job.add_end(End(job, event.task, event.attempt, cause), self._results)

    # Looking.

    def _watch(self) -> None:
        pause, all_seen = FIRST_LOOK, time.monotonic()
        while not self._closed:
            if self._wake.wait(pause if self._open else LAST_LOOK):
                self._wake.clear()
                pause = FIRST_LOOK
                time.sleep(FIRST_LOOK)
            everything = time.monotonic() - all_seen > LOOK_AT_ALL
            all_seen = time.monotonic() if everything else all_seen
            with self._lock:
                jobs = [
                    j for j in self._open.values() if j.number and (everything or not j.followed)
                ]
            if not jobs:
                pause = LAST_LOOK
                continue
            try:
                moved = self._look(jobs)
            except ServiceError as error:
                logger.warning("the service does not answer: %s", error)
                moved = False
            # Looking at a job that moved lists all its tasks.
            listed = sum(len(job.futures) for job in jobs) / LISTED
            pause = max(FIRST_LOOK if moved else min(LAST_LOOK, 1.5 * pause), listed)

    def _look(self, jobs: list[Job]) -> bool:
        """Finds what is over; whether anything was."""
        client = self._client()
        rows = find_rows(client, [job.name for job in jobs])
        moved = False
        for job in jobs:
            row = rows.get(job.name)
            if row is None:
                if client.age is None:  # one that follows may not have heard of it yet
                    sentence = f"the service knows nothing of job {job.name} any more"
                    self._drop(job, CallError(sentence))
                continue
            counts = row.tasks
            over = counts.finished + counts.failed + counts.dropped
            if over > max(job.seen, len(job.ended_tasks)):
                job.seen, moved = over, True
                self._find_ends(job, row)
            if counts.running and job.of is not None:
                job.of.mark_started()
            if row.state in (JobState.FAILED, JobState.CANCELLED):
                self._rest(job, row)
        return moved

    def _find_ends(self, job: Job, row: JobRow) -> None:
        """Lists the tasks that are newly over."""
        for state in (TaskState.FINISHED, TaskState.FAILED):
            if not getattr(row.tasks, state.value):
                continue
            for task in self._client().tasks(job.name, state):
                if task.task in job.left:
                    last = task.attempts[-1] if task.attempts else None
                    cause, said = (last.cause or "lost", last.message) if last else ("lost", "")
                    number = last.number if last else 1
                    cause = "" if state is TaskState.FINISHED else cause
                    self._results.add(End(job, task.task, number, cause, said))

    def _rest(self, job: Job, row: JobRow) -> None:
        """The job is over: tasks of it that never ran get their error, after those that ended."""
        counts = row.tasks
        if counts.waiting or counts.launched or counts.running or counts.stopping:
            return
        cause = "cancelled" if row.state is JobState.CANCELLED else "rejected"
        reason = self._client().job(job.name).reason or ""
        for task in list(job.left):
            self._results.add(End(job, task, 0, cause, reason))

    def _drop_done(self, job: Job) -> None:
        self._drop(job, None)

    def _drop(self, job: Job, error: Exception | None) -> None:
        with self._lock:
            self._open.pop(job.name, None)
        if error is not None:
            for future in [each for task in list(job.left.values()) for each in task]:
                future.settle(error=error)
