"""Reasons, what-if, can-run, and the allocation of what is present."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.engines.interface import EngineError
from fairlead.engines.observing import Prioritizes
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.scheduling.reading.core_copy import FrozenCore, Spares, freeze
from fairlead.service.api.drawings import LONGEST
from fairlead.service.api.entering import Enter
from fairlead.service.api.keys import may_see
from fairlead.service.api.queries import JobName
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.routes.jobs import own
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.solving import changes_of
from fairlead.service.api.streams.standing import get_core
from fairlead.service.api.submission import job_tried
from fairlead.service.fairness.causes import DisplayName
from fairlead.service.records.lookup import display_name, display_names, find
from fairlead.service.records.names import LONGEST_FULL
from fairlead.service.requests import Caller
from fairlead.service.why.allocation import draw_present
from fairlead.service.why.answer import Taken, apart, explain_taken, take
from fairlead.service.why.can_run import can_run as try_job
from fairlead.service.why.to_wire import to_wire as why_told
from fairlead.service.why.whatif import Present, answer_what_if, live_input_of, take_present
from fairlead.wire.errors import ErrorKind
from fairlead.wire.fairness import CanRunAsked, LiveAllocation, WhatIfAsked, WhyAnswer, WhyPriority

OF_JOBS = ("drop_constraint", "set_demand")
"""Changes that are about a job."""


async def why(
    context: Enter,
    job: JobName,
    priority: Annotated[
        bool,
        Query(description="also its priority's parts, by the scheduler that places it"),
    ] = False,
) -> Response:
    """Why a job waits."""
    await context.slow_down_heavy()
    async with context.api.heavy_places.place(context.who):
        now, spares = context.api.wall(), context.api.spares
        taken = await context.read(
            lambda view: _get_picture(view, context.caller, job, now, spares), long=True
        )
        found = await context.api.aside(explain_taken, taken, spares)
        spares.put(taken.copy)
        answer = why_told(found)
        if priority:
            engine = await context.read(lambda view: view.engine)
            answer = await asyncio.to_thread(_with_priority, answer, engine, taken.job)
    return context.answer(answer)


def _with_priority(answer: WhyAnswer, engine: object, job: str) -> WhyAnswer:
    """The answer with what another scheduler says of the job's priority, or why it says nothing.
    Raises RefusalError where there is none."""
    if not isinstance(engine, Prioritizes):
        raise RefusalError(
            ErrorKind.CONFLICT, "the order of jobs is decided here, and by no other scheduler"
        )
    try:
        found = engine.priority(job)
    except EngineError as error:
        return answer.model_copy(update={"sentences": [*answer.sentences, str(error)]})
    update = {
        "sentences": [*answer.sentences, found.said],
        "priority": WhyPriority(total=found.total, parts=dict(found.parts)),
    }
    return answer.model_copy(update=update)


async def whatif(context: Enter) -> Response:
    """Answers who would gain and who would lose."""
    await context.slow_down_heavy()
    asked = changes_of(await context.read_body(WhatIfAsked))
    async with context.api.heavy_places.place(context.who):
        now = context.api.wall()
        present, others, policy, changes = await context.read(
            lambda view: _get_input(view, context.caller, asked), long=True
        )
        given = await context.api.aside(live_input_of, present)
        found = await context.api.solving.solve(answer_what_if, now, given, changes, policy, others)
    return context.answer(found)


async def can_run(context: Enter) -> Response:
    """Whether a job would start if it came now."""
    await context.slow_down_heavy()
    asked = await context.read_body(CanRunAsked)
    async with context.api.heavy_places.place(context.who):
        job = job_tried(asked, context.caller.tenant, context.api.settings)
        copy, display_name = await context.read(
            lambda view: _get_copy(view, context.caller, job), long=True
        )
        found = await context.api.aside(try_job, copy, job, display_name)
    return context.answer(found)


async def allocation(context: Enter) -> Response:
    """The exact allocation of what is present, as it is drawn."""
    names = await context.read(lambda view: display_names(view.records, context.caller))
    found = await context.api.drawings.newest(names, lambda: _draw(context, names))
    return context.answer(found)


async def _draw(context: Enter, names: Mapping[str, str]) -> LiveAllocation:
    """Draws the present with these names of jobs. Raises RefusalError."""
    await context.slow_down_heavy()
    async with context.api.heavy_places.place(context.who):
        now = context.api.wall()

        def look(view: ServiceView) -> tuple[Present, str, int]:
            core = get_core(view)
            return take_present(core, names), core.book.scaler.spec, _time(view, now)

        try:
            present, policy, time = await context.read(look, long=True)
            given = await context.api.aside(live_input_of, present)
            return await context.api.solving.solve(
                draw_present, time, given, policy, seconds=LONGEST
            )
        except InputError as error:  # a page shows what is there, and why there is no more
            return LiveAllocation(time=now, problem=str(error))


def _get_copy(view: ServiceView, caller: Caller, job: Job) -> tuple[FrozenCore, DisplayName]:
    """A copy of the core to try the job on, and what the caller is told of jobs' names. Raises
    RefusalError where the caller may not ask for the tenant, of whose limits the answer tells."""
    core, tenant = get_core(view), job.tenant
    if tenant is not None and not may_see(view, caller, tenant):
        raise RefusalError(ErrorKind.FORBIDDEN, "this token may not ask for that tenant")
    if tenant is not None and tenant not in view.records.tenants:
        raise InputError(f'there is no tenant "{tenant}"')
    otherwise = display_names(view.records, caller)  # the records go on, and this is for a thread
    return freeze(core), lambda name: otherwise.get(name, name)


def _get_picture(view: ServiceView, caller: Caller, job: str, now: int, spares: Spares) -> Taken:
    array = job.partition("_")[0]
    whole = view.records.names.get(array)
    theirs = array in view.apart or (whole is not None and whole.parts is not None)
    if theirs or not view.places:
        job = array  # of an element, as Slurm has it, the array
    held = view.apart.get(job)
    if held is not None and may_see(view, caller, held.tenant):
        return apart(_time(view, now), job, held)
    trouble = "" if view.following else view.trouble  # a follower's leader starts what it does not
    later = f", nor one that came since the service is in trouble: {trouble}" if trouble else ""
    record = own(view, caller, job, later)
    said, time = view.scheduler_reason(record.name), _time(view, now)
    if trouble and not (record.over or record.cancelled):
        said = f"{said + '; ' if said else ''}nothing new starts now: {trouble}"

    def frozen() -> FrozenCore | None:
        return view.frozen(spares.pop())

    return take(time, view.records, frozen, view.watch, record.id, caller=caller, beside=said)


def _get_input(
    view: ServiceView, caller: Caller, asked: Mapping[str, Sequence[str]]
) -> tuple[Present, frozenset[str], str, Mapping[str, Sequence[str]]]:
    """Reads what is present, which of its jobs are others', and the policy; and the changes, about
    jobs by the names that the caller is told. Raises RefusalError where the constraint or the
    demand of a job of others would be tried: the answer could tell what they are."""
    core = get_core(view)
    changes = {
        kind: [_about_job(view, caller, text) for text in texts] if kind in OF_JOBS else texts
        for kind, texts in asked.items()
    }
    otherwise = display_names(view.records, caller)
    present = take_present(core, otherwise)
    tenants = {job.tenant for job in present.jobs}
    mine = {tenant: may_see(view, caller, tenant) for tenant in tenants}
    others = frozenset(
        otherwise.get(job.name, job.name) for job in present.jobs if not mine[job.tenant]
    )
    return present, others, core.book.scaler.spec, changes


def _about_job(view: ServiceView, caller: Caller, text: str) -> str:
    """A change, `JOB` or `JOB:WHAT`, with the name of its job that the caller is told. Names may
    have colons, so whatever stands before one has to be no job of others. Raises RefusalError, and
    InputError where it may be several jobs."""
    for job, what in _parts(text):
        record = find(view.records, caller, job)
        if record is not None:
            text = display_name(view.records, caller, record) + what
            break
    for job, _ in _parts(text):
        with suppress(InputError):  # nobody is told a name that may be several jobs
            record = find(view.records, caller, job)
            if record is not None and not may_see(view, caller, record.job.tenant):
                raise RefusalError(ErrorKind.FORBIDDEN, f'job "{job}" belongs to "{record.tenant}"')
    return text


def _parts(text: str) -> list[tuple[str, str]]:
    """The ways to part a text before a colon, the longest job first."""
    colons = (at for at in range(min(len(text), LONGEST_FULL), -1, -1) if text[at : at + 1] == ":")
    cuts = [len(text), *colons]
    return [(text[:cut], text[cut:]) for cut in cuts]


def _time(view: ServiceView, now: int) -> int:
    return max(now, view.records.time)
