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
from fairlead.service.api.entering import Enter
from fairlead.service.api.queries import LAST, SCANNED, Cursor, JobName, Limit, Number, page
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.request_context import RequestContext
from fairlead.service.api.routes.jobs import own
from fairlead.service.api.service_view import Outputs, ServiceView
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
    context: Enter,
    job: JobName,
    state: TaskState | None = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response:
    """A page of tasks. It may be short though more follow: the last page has no `next`."""
    most = page(limit, context.api.settings)
    wanted = None if state is None else State[state.name]
    rows, following = await context.read(
        lambda view: _rows(view, context.caller, job, wanted, cursor or 0, most)
    )
    tasks = [
        Task(
            task=task.task,
            state=TaskState[task.state.name],
            attempts=[*map(_attempt, past), *([_attempt(task)] if task.attempt else [])],
        )
        for task, past in rows
    ]
    after = None if following is None else str(following)
    return context.answer(Tasks(job=job, tasks=tasks, next=after))


@dataclass(frozen=True, slots=True)
class _Source:
    """The place of an output; no `attempt`: none was made so far."""

    engine: Outputs
    attempt: Attempt | None
    over: bool  # nothing more will be tried


async def read_output(
    context: Enter,
    job: JobName,
    task: Number,
    stream: Stream = Stream.OUT,
    attempt: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="the last one")] = None,
    offset: Annotated[int, Query(ge=-LAST, le=LAST)] = 0,
    limit: Annotated[int | None, Query(ge=0, le=LAST, description="bytes at most")] = None,
    follow: bool = False,
) -> Response:
    """A part of what an attempt wrote, or all of it as it is written."""
    most = context.api.settings.output_bytes
    if follow:
        return await _follow(context, job, task, stream, attempt, offset, limit)
    source = await context.read(lambda view: _source(view, context.caller, job, task, attempt))
    output = await _read(
        context, source, stream, offset, most if limit is None else min(limit, most)
    )
    headers = {
        OFFSET_HEADER: str(output.offset),
        SIZE_HEADER: str(output.size),
        OVER_HEADER: str(output.over).lower(),
        "Cache-Control": "no-store",
    }
    return Response(output.data, 200, headers, context.route.media)


async def _follow(
    context: RequestContext,
    job: str,
    task: int,
    stream: Stream,
    attempt: int | None,
    offset: int,
    limit: int | None,
) -> Response:
    """The output as it is written, until the attempt is over or so many bytes were sent."""

    def look(view: ServiceView) -> _Source:
        return _source(view, context.caller, job, task, attempt)

    source = await context.read(look)
    begin = offset if offset >= 0 else (await _read(context, source, stream, offset, 0)).offset

    async def parts() -> AsyncIterator[bytes]:
        nonlocal source
        settings = context.api.settings
        at, left = begin, LAST if limit is None else limit
        while left > 0 and await context.may_go_on():
            if source.attempt is None and not source.over:
                found = await context.read_on(look)
                if found is None:
                    return
                source = found
            try:
                part = await _read(context, source, stream, at, min(left, settings.output_bytes))
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

    return context.ongoing(parts(), {OFFSET_HEADER: str(begin)})


async def _read(
    context: RequestContext, source: _Source, stream: Stream, offset: int, most: int
) -> Output:
    if source.attempt is None:
        return Output(b"", max(0, offset), 0, source.over)
    wanted = source.attempt
    try:
        return await context.api.fetch(lambda: source.engine.output(wanted, stream, offset, most))
    except EngineError as error:
        raise RefusalError(ErrorKind.UNAVAILABLE, str(error)) from error


def _source(
    view: ServiceView, caller: Caller, name: str, task: int, attempt: int | None
) -> _Source:
    record = own(view, caller, name)
    if task >= record.tasks:
        raise RefusalError(
            ErrorKind.NOT_FOUND, f'job "{name}" has the tasks 0 to {record.tasks - 1}, not {task}'
        )
    last = view.records.task(record, task).attempt
    if attempt is not None and attempt > last:
        raise RefusalError(ErrorKind.NOT_FOUND, f"there were {last} attempts at this task so far")
    number = attempt or last
    found = Attempt(record.id, task, number) if number else None
    return _Source(view.engine, found, record.over)


def _rows(
    view: ServiceView, caller: Caller, name: str, state: State | None, first: int, most: int
) -> tuple[Rows, int | None]:
    """Tasks from that number on, and where the next page begins."""
    records = view.records
    record = own(view, caller, name)
    rows: Rows = []
    last = min(record.tasks, first + SCANNED)
    for number in range(first, last):
        if state is None or records.state(record, number) is state:
            rows.append((records.task(record, number), records.attempts(record, number)))
            if len(rows) == most:
                last = number + 1
                break
    return rows, last if last < record.tasks else None


def _attempt(record: TaskRecord | AttemptRecord) -> TaskAttempt:
    """An earlier attempt, or a task's last one, which has no outcome until it is over."""
    over = record.outcome is not Outcome.NONE
    return TaskAttempt(
        number=record.attempt,
        machine=record.machine,
        launched=record.launched,
        started=record.started,
        ended=record.ended,
        cause=record.outcome.name.lower() if over else None,
        code=record.code if over else None,
        message=record.why,
    )
