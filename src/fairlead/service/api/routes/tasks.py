"""Tasks of a job, and their outputs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.engines.interface import Attempt, EngineError, Output, Stream
from fairlead.scheduling.transitions import TaskState as State
from fairlead.service.api.live import Outputs, ServiceView
from fairlead.service.api.queries import LAST, SCANNED, Cursor, Limit, Name, Number, page
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.routes.jobs import own
from fairlead.service.api.visit import Enter, RequestContext
from fairlead.service.records.tasks import AttemptRecord, Outcome, TaskRecord
from fairlead.service.requests import Caller
from fairlead.wire.errors import ErrorKind
from fairlead.wire.jobs import (
    OFFSET_HEADER,
    OVER_HEADER,
    SIZE_HEADER,
    Task,
    TaskAttempt,
    Tasks,
    TaskState,
)

Rows = list[tuple[TaskRecord, tuple[AttemptRecord, ...]]]


async def list_tasks(
    visit: Enter,
    job: Name,
    state: TaskState | None = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response:
    """A page of tasks. It may be short though more follow: the last page has no `next`."""
    most = page(limit, visit.api.settings)
    wanted = None if state is None else State[state.name]
    rows, following = await visit.read(
        lambda live: _rows(live, visit.caller, job, wanted, cursor or 0, most)
    )
    tasks = [
        Task(
            task=task.task,
            state=TaskState[task.state.name],
            attempts=[*map(_past, past), *([_last(task)] if task.attempt else [])],
        )
        for task, past in rows
    ]
    after = None if following is None else str(following)
    return visit.answer(Tasks(job=job, tasks=tasks, next=after))


@dataclass(frozen=True, slots=True)
class _Source:
    """Where an output is read; no `attempt`: none was made so far."""

    engine: Outputs
    attempt: Attempt | None
    over: bool  # nothing more will be tried


async def read_output(
    visit: Enter,
    job: Name,
    task: Number,
    stream: Stream = Stream.OUT,
    attempt: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="the last one")] = None,
    offset: Annotated[int, Query(ge=-LAST, le=LAST)] = 0,
    limit: Annotated[int | None, Query(ge=0, le=LAST, description="bytes at most")] = None,
    follow: bool = False,
) -> Response:
    """A part of what an attempt wrote, or all of it as it is written."""
    most = visit.api.settings.output_bytes
    if follow:
        return await _followed(visit, job, task, stream, attempt, offset, limit)
    source = await visit.read(lambda live: _source(live, visit.caller, job, task, attempt))
    output = await _read(visit, source, stream, offset, most if limit is None else min(limit, most))
    headers = {
        OFFSET_HEADER: str(output.offset),
        SIZE_HEADER: str(output.size),
        OVER_HEADER: str(output.over).lower(),
        "Cache-Control": "no-store",
    }
    return Response(output.data, 200, headers, visit.route.media)


async def _followed(
    visit: RequestContext,
    job: str,
    task: int,
    stream: Stream,
    attempt: int | None,
    offset: int,
    limit: int | None,
) -> Response:
    """The output as it is written, until the attempt is over or so many bytes were sent."""

    def look(live: ServiceView) -> _Source:
        return _source(live, visit.caller, job, task, attempt)

    source = await visit.read(look)
    begin = offset if offset >= 0 else (await _read(visit, source, stream, offset, 0)).offset

    async def parts() -> AsyncIterator[bytes]:
        nonlocal source
        settings = visit.api.settings
        at, left = begin, LAST if limit is None else limit
        while left > 0 and not visit.api.stopping:
            if source.attempt is None and not source.over:
                found = await visit.read_on(look)
                if found is None:
                    return
                source = found
            try:
                part = await _read(visit, source, stream, at, min(left, settings.output_bytes))
            except RefusalError:  # the engine cannot be reached now
                await asyncio.sleep(4 * settings.poll_seconds)
                continue
            at, left = part.offset + len(part.data), left - len(part.data)
            if part.data:
                yield part.data
            elif part.over:
                return
            else:
                await asyncio.sleep(settings.poll_seconds)

    return visit.ongoing(parts(), {OFFSET_HEADER: str(begin)})


async def _read(
    visit: RequestContext, source: _Source, stream: Stream, offset: int, most: int
) -> Output:
    if source.attempt is None:
        return Output(b"", max(0, offset), 0, source.over)
    wanted = source.attempt
    try:
        return await visit.api.fetch(lambda: source.engine.output(wanted, stream, offset, most))
    except EngineError as error:
        raise RefusalError(ErrorKind.UNAVAILABLE, str(error)) from error


def _source(
    live: ServiceView, caller: Caller, name: str, task: int, attempt: int | None
) -> _Source:
    record = own(live, caller, name)
    if task >= record.tasks:
        raise RefusalError(
            ErrorKind.NOT_FOUND, f'job "{name}" has the tasks 0 to {record.tasks - 1}, not {task}'
        )
    last = live.records.task(record, task).attempt
    if attempt is not None and attempt > last:
        raise RefusalError(ErrorKind.NOT_FOUND, f"there were {last} attempts at this task so far")
    number = attempt or last
    found = Attempt(record.id, task, number) if number else None
    return _Source(live.engine, found, record.over)


def _rows(
    live: ServiceView, caller: Caller, name: str, state: State | None, first: int, most: int
) -> tuple[Rows, int | None]:
    """Tasks from that number on, and where the next page begins."""
    records = live.records
    record = own(live, caller, name)
    rows: Rows = []
    column, at = records.table.state, record.first
    last = min(record.tasks, first + SCANNED)
    for number in range(first, last):
        if state is None or column[at + number] == state:
            rows.append((records.task(record, number), records.attempts(record, number)))
            if len(rows) == most:
                last = number + 1
                break
    return rows, last if last < record.tasks else None


def _last(task: TaskRecord) -> TaskAttempt:
    over = task.outcome is not Outcome.NONE
    return TaskAttempt(
        number=task.attempt,
        machine=task.machine,
        launched=task.launched,
        started=task.started,
        ended=task.ended,
        cause=task.outcome.name.lower() if over else None,
        code=task.code if over else None,
        message=task.why,
    )


def _past(attempt: AttemptRecord) -> TaskAttempt:
    return TaskAttempt(
        number=attempt.attempt,
        machine=attempt.machine,
        launched=attempt.launched,
        started=attempt.started,
        ended=attempt.ended,
        cause=attempt.outcome.name.lower(),
        code=attempt.code,
        message=attempt.why,
    )
