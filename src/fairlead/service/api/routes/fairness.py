"""Shares now and over time, reasons, what-if, and the live audit."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypeVar

from fastapi import Query
from starlette.responses import Response

from fairlead.scheduling.core import Core
from fairlead.service.api.keys import may_see
from fairlead.service.api.queries import LAST, Filter, Name
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.request_context import Enter
from fairlead.service.api.routes.jobs import own
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.solving import changes_of
from fairlead.service.fairness import to_wire
from fairlead.service.fairness.causes import CauseKind
from fairlead.service.requests import Caller, Role
from fairlead.service.why.answer import Taken, explained, take
from fairlead.service.why.to_wire import to_wire as why_told
from fairlead.service.why.whatif import Present, answer_what_if, input_of, take_present
from fairlead.wire.errors import ErrorKind
from fairlead.wire.fairness import (
    BelowFair,
    LiveAudit,
    Shares,
    SharesHistory,
    Shortfall,
    WhatIfAsked,
)

Row = TypeVar("Row", Shortfall, BelowFair)

HIDDEN = "no machine can run its job any more"
"""Of others: the whole sentence quotes the constraint, which is its owner's."""


async def shares(
    context: Enter, jobs: Annotated[bool, Query(description="of each job too")] = False
) -> Response:
    """What each tenant has, and what would be fair."""
    now = context.api.wall()
    if jobs:
        await context.slow_down_heavy()

    def look(view: ServiceView) -> Shares:
        return to_wire.shares(_time(view, now), _core(view), view.watch, jobs=jobs)

    return context.answer(await context.read(look))


async def shares_history(
    context: Enter,
    since: Annotated[int | None, Query(ge=0, le=LAST)] = None,
    until: Annotated[int | None, Query(ge=0, le=LAST)] = None,
    points: Annotated[int, Query(ge=1, le=1000)] = 100,
    tenant: Filter = None,
) -> Response:
    """Shares over time."""
    now = context.api.wall()

    def look(view: ServiceView) -> SharesHistory:
        time = _time(view, now)
        return to_wire.history(
            time, view.watch, since=since, until=until, points=points, tenant=tenant
        )

    return context.answer(await context.read(look))


async def why(context: Enter, job: Name) -> Response:
    """Why a job waits."""
    await context.slow_down_heavy()
    async with context.api.heavy_places.place(context.who):
        now = context.api.wall()
        taken = await context.read(lambda view: _get_picture(view, context.caller, job, now))
        if context.api.settings.threads:
            found = await asyncio.to_thread(explained, taken)
        else:
            found = explained(taken)
    return context.answer(why_told(found))


async def whatif(context: Enter) -> Response:
    """Who would gain and who would lose."""
    await context.slow_down_heavy()
    asked = await context.read_body(WhatIfAsked)
    changes = changes_of(asked)
    async with context.api.heavy_places.place(context.who):
        now = context.api.wall()
        present, others, policy = await context.read(
            lambda view: _get_input(view, context.caller, asked)
        )
        if context.api.settings.threads:
            given = await asyncio.to_thread(input_of, present)
        else:
            given = input_of(present)
        found = await context.api.solving.solve(answer_what_if, now, given, changes, policy, others)
    return context.answer(found)


async def audit(context: Enter) -> Response:
    """Who has less than is guaranteed."""
    now = context.api.wall()
    return context.answer(await context.read(lambda view: _audit(view, context.caller, now)))


def _get_picture(view: ServiceView, caller: Caller, job: str, now: int) -> Taken:
    record = own(view, caller, job)
    return take(_time(view, now), view.records, view.core, view.watch, record.id)


def _get_input(
    view: ServiceView, caller: Caller, asked: WhatIfAsked
) -> tuple[Present, frozenset[str], str]:
    """Reads what is present, which of its jobs are others', and the policy. Raises RefusalError
    where the constraint or the demand of a job of others would be tried: the answer could tell
    what they are."""
    core = _core(view)
    if caller.role is not Role.ADMIN:
        texts = [*asked.drop_constraint, *asked.set_demand]
        for record in view.records.jobs.values() if texts else ():
            beginning = record.name + ":"
            named = any(text == record.name or text.startswith(beginning) for text in texts)
            if named and not may_see(view, caller, record.tenant):
                raise RefusalError(
                    ErrorKind.FORBIDDEN, f'job "{record.name}" belongs to "{record.tenant}"'
                )
    present = take_present(core)
    mine: dict[str, bool] = {}
    for job in present.jobs:
        tenant = job.name if job.tenant is None else job.tenant
        if tenant not in mine:
            mine[tenant] = may_see(view, caller, tenant)
    others = frozenset(
        job.name for job in present.jobs if not mine[job.name if job.tenant is None else job.tenant]
    )
    return present, others, core.book.scaler.spec


def _audit(view: ServiceView, caller: Caller, now: int) -> LiveAudit:
    resting = {name for name, one in view.records.machines.items() if one.quarantine is not None}
    found = to_wire.live_audit(_time(view, now), _core(view), view.watch, frozenset(resting))

    def shown(rows: list[Row]) -> list[Row]:
        return [
            row
            if row.cause != CauseKind.NOWHERE.value or may_see(view, caller, row.tenant)
            else row.model_copy(update={"sentence": HIDDEN})
            for row in rows
        ]

    return found.model_copy(
        update={"shortfalls": shown(found.shortfalls), "below_fair": shown(found.below_fair)}
    )


def _core(view: ServiceView) -> Core:
    if view.core is None:
        raise RefusalError(ErrorKind.UNAVAILABLE, view.trouble or "the service has not begun")
    return view.core


def _time(view: ServiceView, now: int) -> int:
    return max(now, view.records.time)
