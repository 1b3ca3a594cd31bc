"""Shares over time, and what changed them."""

from __future__ import annotations

from itertools import takewhile
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.service.api.entering import Enter
from fairlead.service.api.queries import LAST, Filter
from fairlead.service.api.service_view import ServiceView
from fairlead.service.fairness import to_wire
from fairlead.service.records.marks import Mark
from fairlead.wire import fairness as wire

Moment = Annotated[int | None, Query(ge=0, le=LAST, description="microseconds since 1970")]


async def shares_history(
    context: Enter,
    since: Moment = None,
    until: Moment = None,
    points: Annotated[int, Query(ge=1, le=1000)] = 100,
    tenant: Filter = None,
) -> Response:
    """Shares over time."""
    now = context.api.wall()

    def look(view: ServiceView) -> wire.SharesHistory:
        time = max(now, view.records.time)
        return to_wire.history(
            time, view.watch, since=since, until=until, points=points, tenant=tenant
        )

    return context.answer(await context.read(look, long=True))


async def shares_marks(
    context: Enter,
    since: Moment = None,
    until: Moment = None,
    tenant: Annotated[
        Filter, Query(description="what is about this tenant, and what is about none")
    ] = None,
) -> Response:
    """Lists what changed the shares."""
    now = context.api.wall()
    time, marks = await context.read(lambda view: (view.records.time, list(view.records.marks)))
    begin = marks[0].time if since is None and marks else since or 0
    end = max(now, time) if until is None else until
    chosen = [
        _to_wire(mark)
        for mark in takewhile(lambda mark: mark.time <= end, marks)
        if mark.last >= begin and (tenant is None or mark.tenant in (tenant, None))
    ]
    return context.answer(wire.SharesMarks(since=begin, until=end, marks=chosen))


def _to_wire(mark: Mark) -> wire.Mark:
    return wire.Mark(
        time=mark.time,
        last=mark.last,
        kind=mark.kind,
        count=mark.count,
        tenant=mark.tenant,
        machine=mark.machine,
        weight=mark.weight,
    )
