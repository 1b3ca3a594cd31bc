"""Shares now, the live audit, and both again whenever they change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.service.api.entering import Enter
from fairlead.service.api.request_context import RequestContext
from fairlead.service.api.routes.events import HEADERS
from fairlead.service.api.streams.standing import (
    Standing,
    has_secrets,
    hide_audit,
    hide_shares,
    take_standing,
)
from fairlead.service.api.streams.updates import Audience, Frame
from fairlead.wire.fairness import LiveAudit


async def shares(
    context: Enter,
    jobs: Annotated[bool, Query(description="of each job too")] = False,
    own: Annotated[bool, Query(description="of each job without a tenant too")] = False,
) -> Response:
    """Answers with the share of each tenant, and the fair one."""
    if jobs:
        await context.slow_down_heavy()
    found = await _stand(context)
    told = await context.api.aside(partial(found.shares, jobs=jobs, own=own))
    if has_secrets(told, None):
        told = await context.read(lambda view: hide_shares(view, context.caller, told))
    return context.answer(told)


async def audit(context: Enter) -> Response:
    """Answers with the tenants that have less than is guaranteed."""
    found = await _stand(context)
    told = await context.api.aside(found.audit)
    if has_secrets(None, told):
        told = await context.read(lambda view: hide_audit(view, context.caller, told))
    return context.answer(told)


async def updates(
    context: Enter,
    shares: Annotated[
        bool, Query(description="with shares and the audit, each time what changed of them")
    ] = False,
) -> Response:
    """That something changed, and what of the shares did."""
    return context.ongoing(_stream(context, shares=shares), HEADERS)


async def _stream(context: RequestContext, *, shares: bool) -> AsyncIterator[bytes]:
    with context.api.updates.audience(context.caller, shares=shares) as audience:
        yield b": fairlead\n\n"  # so that a reader knows at once that it is connected
        async for part in _frames(context, audience):
            yield part


async def _frames(context: RequestContext, audience: Audience) -> AsyncIterator[bytes]:
    known: Frame | None = None
    while await context.may_go_on():
        frame = await audience.newest(
            lambda: _stand_on(context), lambda told: _hide_on(context, told)
        )
        if frame is None:
            return
        if frame is not known:
            yield frame.after(known)
            known = frame
        else:
            yield b": still here\n\n"
        heartbeat = context.until_looked_up(context.api.settings.heartbeat_seconds)
        await audience.wait_for_change(frame, heartbeat)


async def _stand(context: RequestContext) -> Standing:
    now = context.api.wall()
    return await context.read(lambda view: take_standing(view, context.caller, now))


async def _stand_on(context: RequestContext) -> Standing | None:
    now = context.api.wall()
    spares = context.api.spares
    return await context.read_on(lambda view: take_standing(view, context.caller, now, spares))


async def _hide_on(context: RequestContext, told: LiveAudit) -> LiveAudit | None:
    if not has_secrets(None, told):
        return told
    return await context.read_on(lambda view: hide_audit(view, context.caller, told))
