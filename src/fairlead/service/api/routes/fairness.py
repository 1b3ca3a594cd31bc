"""Shares now and over time, reasons, what-if, and the live audit."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.scheduling.core import Core
from fairlead.service.api.keys import may_see
from fairlead.service.api.live import ServiceView
from fairlead.service.api.queries import LAST, Filter, Name
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.routes.jobs import own
from fairlead.service.api.solving import changes_of
from fairlead.service.api.visit import Enter
from fairlead.service.fairness import to_wire
from fairlead.service.fairness.causes import CauseKind
from fairlead.service.requests import Caller, Role
from fairlead.service.why.answer import Taken, explained, take
from fairlead.service.why.to_wire import to_wire as why_told
from fairlead.service.why.whatif import Present, answer_what_if, input_of, take_present
from fairlead.wire.errors import ErrorKind
from fairlead.wire.fairness import LiveAudit, Shares, SharesHistory, WhatIfAsked

HIDDEN = "no machine can run its job any more"
"""Of others: the whole sentence quotes the constraint, which is its owner's."""


async def shares(
    visit: Enter, jobs: Annotated[bool, Query(description="of each job too")] = False
) -> Response:
    """What each tenant has, and what would be fair."""
    now = visit.api.wall()
    if jobs:
        visit.slow_down_heavy()

    def look(live: ServiceView) -> Shares:
        return to_wire.shares(_time(live, now), _core(live), live.watch, jobs=jobs)

    return visit.answer(await visit.read(look))


async def shares_history(
    visit: Enter,
    since: Annotated[int | None, Query(ge=0, le=LAST)] = None,
    until: Annotated[int | None, Query(ge=0, le=LAST)] = None,
    points: Annotated[int, Query(ge=1, le=1000)] = 100,
    tenant: Filter = None,
) -> Response:
    """Shares over time."""
    now = visit.api.wall()

    def look(live: ServiceView) -> SharesHistory:
        time = _time(live, now)
        return to_wire.history(
            time, live.watch, since=since, until=until, points=points, tenant=tenant
        )

    return visit.answer(await visit.read(look))


async def why(visit: Enter, job: Name) -> Response:
    """Why a job waits."""
    visit.slow_down_heavy()
    async with visit.api.heavy_room:
        now = visit.api.wall()
        taken = await visit.read(lambda live: _taken(live, visit.caller, job, now))
        if visit.api.settings.threads:
            found = await asyncio.to_thread(explained, taken)
        else:
            found = explained(taken)
    return visit.answer(why_told(found))


async def whatif(visit: Enter) -> Response:
    """Who would gain and who would lose."""
    visit.slow_down_heavy()
    asked = await visit.asked(WhatIfAsked)
    changes = changes_of(asked)
    async with visit.api.heavy_room:
        now = visit.api.wall()
        present, policy = await visit.read(lambda live: _given(live, visit.caller, asked))
        if visit.api.settings.threads:
            given = await asyncio.to_thread(input_of, present)
        else:
            given = input_of(present)
        found = await visit.api.solving.solve(answer_what_if, now, given, changes, policy)
    return visit.answer(found)


async def audit(visit: Enter) -> Response:
    """Who has less than is guaranteed."""
    now = visit.api.wall()
    return visit.answer(await visit.read(lambda live: _audit(live, visit.caller, now)))


def _taken(live: ServiceView, caller: Caller, job: str, now: int) -> Taken:
    record = own(live, caller, job)
    return take(_time(live, now), live.records, live.core, live.watch, record.id)


def _given(live: ServiceView, caller: Caller, asked: WhatIfAsked) -> tuple[Present, str]:
    """What is present, and the policy. Raises RefusalError where the constraint or the demand of a
    job of others would be tried: the answer could tell what they are."""
    core = _core(live)
    if caller.role is not Role.ADMIN:
        texts = [*asked.drop_constraint, *asked.set_demand]
        for record in live.records.jobs.values() if texts else ():
            beginning = record.name + ":"
            named = any(text == record.name or text.startswith(beginning) for text in texts)
            if named and not may_see(live, caller, record.tenant):
                raise RefusalError(
                    ErrorKind.FORBIDDEN, f'job "{record.name}" belongs to "{record.tenant}"'
                )
    return take_present(core), core.book.scaler.spec


def _audit(live: ServiceView, caller: Caller, now: int) -> LiveAudit:
    resting = {name for name, one in live.records.machines.items() if one.quarantine is not None}
    found = to_wire.live_audit(_time(live, now), _core(live), live.watch, frozenset(resting))
    shown = [
        short
        if short.cause != CauseKind.NOWHERE.value or may_see(live, caller, short.tenant)
        else short.model_copy(update={"sentence": HIDDEN})
        for short in found.shortfalls
    ]
    return found.model_copy(update={"shortfalls": shown})


def _core(live: ServiceView) -> Core:
    if live.core is None:
        raise RefusalError(ErrorKind.UNAVAILABLE, live.trouble or "the service has not begun")
    return live.core


def _time(live: ServiceView, now: int) -> int:
    return max(now, live.records.time)
