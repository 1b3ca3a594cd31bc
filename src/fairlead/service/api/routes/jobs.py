"""Jobs: submit, list, show, grow, cancel, forget."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.model.plain import plain_job
from fairlead.scheduling.transitions import TaskState
from fairlead.service.api.entering import Enter
from fairlead.service.api.job_rows import (
    PART,
    Row,
    encode_cancelled,
    encode_page,
    encode_submitted,
    to_wire,
)
from fairlead.service.api.keys import is_below, may_see
from fairlead.service.api.queries import SCANNED, Cursor, Filter, JobName, Limit, page
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.submission import jobs_of, media_of
from fairlead.service.api.visibility import as_seen
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.lookup import display_name, find
from fairlead.service.requests import (
    Caller,
    CancelJob,
    CancelJobs,
    CancelledJobs,
    ChangeJob,
    ForgetJob,
    ForgetJobs,
    SubmitJobs,
    SubmittedJobs,
)
from fairlead.wire import jobs as wire
from fairlead.wire.errors import ErrorKind
from fairlead.wire.jobs import KEY, KEY_HEADER, LONGEST_KEY, Grow, JobDetail
from fairlead.wire.kinds import JobState


async def submit(
    context: Enter,
    strict: Annotated[
        bool, Query(description="accept nothing if one of the jobs can never run as things are now")
    ] = False,
) -> Response:
    """Takes jobs, all of them or none."""
    media = media_of(context.request.headers.get("content-type", ""))
    key = context.request.headers.get(KEY_HEADER)
    if key is not None and not (len(key) <= LONGEST_KEY and re.fullmatch(KEY, key)):
        raise RefusalError(
            ErrorKind.INVALID,
            f"the {KEY_HEADER} is not one to {LONGEST_KEY} printable ASCII characters, no space"
            " first or last",
        )
    body = await context.body()
    settings = context.api.settings
    jobs = await context.compute(len(body), lambda pause: jobs_of(body, media, settings, pause))
    done = await context.ask(SubmitJobs(context.caller, jobs, key, strict))
    accepted = done.value
    if not isinstance(accepted, SubmittedJobs):
        raise TypeError(f"jobs were submitted, and the reply is {accepted!r}")
    rows = await _rows_of(context, accepted.ids)
    there = {row.id for row in rows}
    names = zip(accepted.ids, accepted.names, strict=True)
    forgotten = [name for number, name in names if number not in there]
    return context.answer_text(await encode_submitted(rows, accepted, forgotten))


async def list_jobs(
    context: Enter,
    every: Annotated[bool, Query(alias="all", description="finished ones too")] = False,
    state: JobState | None = None,
    tenant: Annotated[Filter, Query(description="jobs of this tenant and those below it")] = None,
    prefix: Annotated[Filter, Query(description="names that begin so")] = None,
    waiting: Annotated[bool, Query(description="only those of which tasks wait")] = False,
    newest: Annotated[bool, Query(description="the newest first")] = False,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response:
    """A page of jobs. It may be short though more follow: the last page has no `next`."""
    over = every or (state is not None and state not in (JobState.PENDING, JobState.RUNNING))
    wanted = _Filter(over, state and state.value, tenant, prefix or "", waiting, newest)
    most = page(limit, context.api.settings)
    rows, following = await context.read(
        lambda view: _rows(view, context.caller, wanted, cursor, most)
    )
    after = None if following is None else str(following)
    return context.answer_text(await encode_page(rows, after))


async def show_job(context: Enter, job: JobName) -> Response:
    """One job."""
    return await _show(context, job)


async def grow_job(context: Enter, job: JobName) -> Response:
    """Gives a job another number of tasks."""
    asked = await context.read_body(Grow)
    await context.ask(ChangeJob(context.caller, job, asked.tasks))
    return await _show(context, job)


async def cancel_job(context: Enter, job: JobName) -> Response:
    """Cancels a job."""
    await context.ask(CancelJob(context.caller, job))
    return await _show(context, job)


async def cancel_jobs(context: Enter) -> Response:
    """Cancels several jobs, or all of a tenant."""
    asked = await context.read_body(wire.CancelJobs)
    if (asked.jobs is None) is (asked.tenant is None):
        raise RefusalError(
            ErrorKind.INVALID,
            "the jobs to cancel are named, or a tenant is",
            "write one of the two",
        )
    change = CancelJobs(context.caller, tuple(asked.jobs or ()), asked.tenant)
    value = (await context.ask(change)).value
    if not isinstance(value, CancelledJobs):
        raise TypeError(f"jobs were cancelled, and the reply is {value!r}")
    rows = await _rows_of(context, value.ids)
    return context.answer_text(await encode_cancelled(rows, value.cancelled))


async def forget_job(context: Enter, job: JobName) -> Response:
    """Forgets a job that is over."""
    await context.ask(ForgetJob(context.caller, job))
    return Response(None, context.route.status)


async def forget_jobs(context: Enter) -> Response:
    """Forgets several jobs that are over."""
    asked = await context.read_body(wire.ForgetJobs)
    await context.ask(ForgetJobs(context.caller, tuple(asked.jobs)))
    return context.answer(wire.Forgotten(jobs=list(dict.fromkeys(asked.jobs))))


def find_job(view: ServiceView, caller: Caller, name: str, beside: str = "") -> JobRecord:
    """The job that the caller means. Raises RefusalError, with what is said `beside` it, and
    InputError where it may be several. In the loop's thread."""
    record = find(view.records, caller, name)
    if record is None:
        hint = f"a job that is forgotten is not known{beside}"
        raise RefusalError(ErrorKind.NOT_FOUND, f'there is no job "{name}"', hint)
    return record


def own(view: ServiceView, caller: Caller, name: str, beside: str = "") -> JobRecord:
    """The job that the caller means, if he may see all of it. Raises as `find_job` does."""
    record = find_job(view, caller, name, beside)
    if not may_see(view, caller, record.job.tenant):
        raise RefusalError(
            ErrorKind.FORBIDDEN, f'job "{name}" belongs to tenant "{record.tenant}", not to yours'
        )
    return record


def row_of(view: ServiceView, caller: Caller, record: JobRecord) -> Row:
    """Copies what everybody may see of a job."""
    name = display_name(view.records, caller, record)
    return Row(
        record.id,
        name,
        record.job.tenant or name,
        record.state.value,
        tuple(record.counts),
        record.submitted,
        record.ended,
    )


@dataclass(frozen=True, slots=True)
class _Filter:
    over: bool
    state: str | None
    tenant: str | None
    prefix: str
    waiting: bool
    newest: bool


async def _show(context: Enter, name: str) -> Response:
    row = await context.read(lambda view: _detail(view, context.caller, name))
    detail = JobDetail(
        **to_wire(row).model_dump(), job=row.plain, reason=row.reason or None, by=row.by
    )
    return context.answer(as_seen(detail, context.caller, own=row.own))


def _detail(view: ServiceView, caller: Caller, name: str) -> Row:
    record = find_job(view, caller, name)
    return replace(
        row_of(view, caller, record),
        plain=plain_job(record.job) | {"name": record.called, "tasks": record.tasks},
        reason=_reason(record),
        by=record.by,
        own=may_see(view, caller, record.job.tenant),
    )


def _reason(record: JobRecord) -> str:
    """Why it was rejected, or what there is to say of the first task that failed."""
    if record.reason or not record.counts[TaskState.FAILED]:
        return record.reason
    first = min(record.why.items(), default=None) if record.why else None
    many = f"{record.counts[TaskState.FAILED]} of {record.tasks} tasks failed"
    return many if first is None else f"{many}; task {first[0]}: {first[1]}"


async def _rows_of(context: Enter, ids: Sequence[int]) -> list[Row]:
    """Copies of those of the jobs that are there; between its parts others have a turn."""
    rows: list[Row] = []
    for first in range(0, len(ids), PART):
        if first:
            await asyncio.sleep(0)
        part = ids[first : first + PART]
        rows += await context.read(partial(_rows_there, caller=context.caller, ids=part))
    return rows


def _rows_there(view: ServiceView, caller: Caller, ids: Sequence[int]) -> list[Row]:
    records = (view.records.jobs.get(number) for number in ids)
    return [row_of(view, caller, record) for record in records if record is not None]


def _rows(
    view: ServiceView, caller: Caller, wanted: _Filter, cursor: int | None, most: int
) -> tuple[list[Row], int | None]:
    """Rows of jobs whose numbers come after that one, and where the next page begins."""
    jobs, rows = view.records.jobs, list[Row]()
    numbers = _numbers(view, wanted, cursor)
    at = last = numbers[-1] if numbers else 0
    for at in numbers[:SCANNED]:
        record = jobs.get(at)
        if record is None or (record.over and not wanted.over):
            continue
        if wanted.waiting and not record.counts[TaskState.WAITING]:
            continue
        if wanted.state is not None and record.state.value != wanted.state:
            continue
        row = row_of(view, caller, record)
        if row.name.startswith(wanted.prefix) or record.called.startswith(wanted.prefix):
            rows.append(row)
        if len(rows) == most:
            break
    return rows, None if at == last else at


def _numbers(view: ServiceView, wanted: _Filter, cursor: int | None) -> Sequence[int]:
    """The numbers to look at, in their order: of all jobs, or of those of the tenant and of those
    below it alone, however many others there are."""
    end = view.records.next_id
    if wanted.tenant is None:
        if wanted.newest:
            return range((end if cursor is None else min(cursor, end)) - 1, 0, -1)
        return range((cursor or 0) + 1, end)
    names = view.records.names
    below = [each for each in names.tenants() if is_below(view, each, wanted.tenant)]
    found = sorted(chain.from_iterable(map(names.numbers, {*below, wanted.tenant})))
    if wanted.newest:
        return found[: bisect_left(found, end if cursor is None else cursor)][::-1]
    return found[bisect_right(found, cursor or 0) :]
