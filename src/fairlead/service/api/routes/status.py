"""The service's version, its health, its metrics, and the description of its API."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, Response

from fairlead.service.api.entering import Enter
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.session import token_text
from fairlead.service.metrics import CONTENT_TYPE
from fairlead.version import __version__
from fairlead.wire.errors import ErrorKind
from fairlead.wire.status import Health, Ready, Version

READY_SECONDS = 5.0
"""Within which a service that is ready says so."""


UNTOLD = "the journal or the engine cannot be used now; who shows a token is told why"
"""What somebody without a token is told: the reason names addresses, users and folders."""


async def version(context: Enter) -> Response:
    """The service's version."""
    return context.answer(Version(version=__version__))


async def health(context: Enter) -> Response:
    """The process answers."""
    return context.answer(Health())


async def ready(context: Enter) -> Response:
    """Whether new work is accepted."""
    state = await _ready(context)
    if state.ready:
        return context.answer(state)
    body = state.model_dump_json().encode()
    return Response(body, 503, {"Retry-After": "2"}, "application/json")


async def metrics(context: Enter) -> Response:
    """All metrics of the service."""
    tell = context.api.tell_metrics
    if tell is None:
        raise RefusalError(ErrorKind.NOT_FOUND, "this service keeps no metrics")
    return Response(await tell(), 200, {"Cache-Control": "no-store"}, CONTENT_TYPE)


async def openapi(context: Enter) -> Response:
    """This API as OpenAPI."""
    return JSONResponse(context.request.app.openapi())


async def _ready(context: Enter) -> Ready:
    leads = context.api.following() is None
    if context.api.stopping:
        return Ready(ready=False, why="the service is stopping", leads=leads)
    try:
        async with asyncio.timeout(READY_SECONDS):
            state = await context.api.read(_state)
            if not state.why or await _is_known(context):
                return state
            return state.model_copy(update={"why": UNTOLD})
    except TimeoutError:
        why = f"the loop did not answer within {READY_SECONDS:g} seconds"
        return Ready(ready=False, why=why, leads=leads)
    except RefusalError as refusal:
        return Ready(ready=False, why=str(refusal), leads=leads)


async def _is_known(context: Enter) -> bool:
    """Whether who asks shows a token that is good."""
    if context.api.no_auth:
        return True
    try:
        await context.api.keys.holder(token_text(context.request), context.address)
    except RefusalError:  # whoever it is, it is told that the service is not ready
        return False
    return True


def _state(view: ServiceView) -> Ready:
    following, doubt = view.following, view.doubt()
    if following is not None:
        leader, age = following.leader or None, round(following.age, 3)
        return Ready(ready=False, why=doubt, leads=False, leader=leader, age=age)
    ready = view.ready and not doubt
    return Ready(ready=ready, why=None if ready else doubt or view.trouble)
