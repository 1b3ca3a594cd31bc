"""Telemetry of a running service: what happens goes into a queue, and a thread of its own makes
spans of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from queue import Full, Queue
from threading import Thread
from typing import Protocol, TypeVar

from opentelemetry.sdk.trace.export import SpanExporter

from fairlead.model.errors import InputError
from fairlead.scheduling.core import Core
from fairlead.scheduling.transitions import TaskState
from fairlead.service.journal.entry import Entry, Listener
from fairlead.service.mailbox import MailboxClosedError
from fairlead.service.records.book import Records
from fairlead.service.records.jobs import JobRecord
from fairlead.service.telemetry.happenings import (
    AskWaiting,
    Began,
    Happened,
    Happening,
    HeldAttempt,
    OpenJob,
    RequestAnswered,
    Waits,
)
from fairlead.service.telemetry.sending import make_provider
from fairlead.service.telemetry.spans import MOST_JOBS, Spans
from fairlead.wire.trace import TRACEPARENT

QUEUED = 10_000
"""Happenings that wait for the thread; more are not told."""

STOPPING = 3.0
"""Seconds that a stop waits for what is still to be sent."""

LOOK_EVERY = 10.0
"""Seconds between two looks at why jobs wait, at least."""

LOOK_AT = 20
"""Jobs of one look at most, each in its turn."""

LOOK_SECONDS = 0.005
"""Of the loop's time after which a look begins with no other job."""

SHARE = 200
"""A look that took long is followed by a pause of so many times that: half a percent of the loop's
time, whatever the size of the cluster."""


T = TypeVar("T")


class View(Protocol):
    """The service, as far as telemetry reads it, in the loop's thread."""

    @property
    def records(self) -> Records:
        """Jobs and tasks."""

    @property
    def core(self) -> Core | None:
        """The online core; None before the first step."""

    @property
    def listeners(self) -> list[Listener]:
        """Called with entries that are durable."""


class Reads(Protocol):
    """The mailbox, as far as telemetry reads by it."""

    def read(self, function: Callable[[View], T], *, long: bool = False) -> Awaitable[T]:
        """Runs the function on the service, between two steps."""


class Telemetry:
    """Nothing here waits: not the loop, nor a request. `lost`: happenings that were not told,
    because too many were waiting. `say` hears why the collector takes no spans, and None when it
    does again."""

    def __init__(
        self,
        say: Callable[[str | None], None] = lambda _: None,
        exporter: SpanExporter | None = None,
    ) -> None:
        self.lost = 0
        self._provider, ids = make_provider(say, exporter)
        self._spans = Spans(self._provider, ids)
        self._queue: Queue[Happening | None] = Queue(QUEUED)
        self._leads: Callable[[], bool] = lambda: True
        self._thread = Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def attach(self, view: View, leads: Callable[[], bool]) -> None:
        """From now on, and of what is under way. In the loop's thread."""
        self._leads = leads
        open_jobs = [job for job in view.records.jobs.values() if not job.over][:MOST_JOBS]
        self._put(Began(tuple(_open_job(view.records, job) for job in open_jobs)))
        view.listeners.append(self.took)

    def took(self, entries: Sequence[Entry]) -> None:
        """These are durable. In the loop's thread."""
        self._put(Happened(entries, self._leads()))

    def answered(self, request: RequestAnswered) -> None:
        self._put(request)

    async def watch_waiting(self, mailbox: Reads) -> None:
        """Adds to the spans of jobs why their tasks wait, whenever that changed. Ends never."""
        loop = asyncio.get_running_loop()
        pause = LOOK_EVERY
        while True:
            await asyncio.sleep(pause)
            asked: asyncio.Future[tuple[str, ...]] = loop.create_future()
            self._put(AskWaiting(LOOK_AT, partial(_tell, loop, asked)))
            try:
                names = await asyncio.wait_for(asked, LOOK_EVERY)
                found, spent = await mailbox.read(partial(look, names=names), long=True)
            except (TimeoutError, MailboxClosedError):
                continue
            for each in found:
                self._put(each)
            pause = max(LOOK_EVERY, SHARE * spent)

    def close(self) -> None:
        """Sends what is left, if the collector takes it soon."""
        self._put(None)
        self._thread.join(STOPPING)

    def _put(self, what: Happening | None) -> None:
        try:
            self._queue.put_nowait(what)
        except Full:
            self.lost += 1

    def _run(self) -> None:
        while (what := self._queue.get()) is not None:
            self._spans.take(what)
        self._provider.shutdown()


def look(
    view: View, names: Sequence[str], clock: Callable[[], float] = time.perf_counter
) -> tuple[list[Waits], float]:
    """Why the tasks of these jobs wait, of as many as there is time for, and the seconds that it
    took. In the loop's thread."""
    began, core = clock(), view.core
    found: list[Waits] = []
    for name in names:
        if core is None or clock() - began > LOOK_SECONDS:
            break
        try:
            said = core.why(name)
        except InputError:  # it is over by now
            continue
        if said.waiting:
            reasons = tuple(str(each) for each in said.reasons)
            found.append(Waits(name, view.records.time, reasons))
    return found, clock() - began


def _tell(
    loop: asyncio.AbstractEventLoop,
    asked: asyncio.Future[tuple[str, ...]],
    names: tuple[str, ...],
) -> None:
    def answer() -> None:
        if not asked.done():
            asked.set_result(names)

    loop.call_soon_threadsafe(answer)


def _open_job(records: Records, job: JobRecord) -> OpenJob:
    held = []
    for attempt in records.attempts_held(job):
        task = records.task(job, attempt.task)
        launched = job.submitted if task.launched is None else task.launched
        held.append(
            HeldAttempt(task.task, task.attempt, task.machine or "", launched, task.started)
        )
    done = sum(job.counts[state] for state in (TaskState.FINISHED, TaskState.FAILED))
    return OpenJob(
        name=job.name,
        id=job.id,
        tenant=job.job.tenant,
        submitted=job.submitted,
        tasks=job.tasks,
        done=done,
        cancelled=job.cancelled,
        parent=job.job.env.get(TRACEPARENT),
        held=tuple(held),
    )
