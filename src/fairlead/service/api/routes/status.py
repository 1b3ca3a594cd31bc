"""Which service this is, how it is, and what its API looks like."""

from __future__ import annotations

import asyncio

from starlette.responses import JSONResponse, Response

from fairlead.service.api.live import ServiceView
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.visit import Enter
from fairlead.version import __version__
from fairlead.wire.status import Health, Ready, Version

READY_SECONDS = 5.0
"""Within which a service that is ready says so."""


async def version(visit: Enter) -> Response:
    """The service's version."""
    return visit.answer(Version(version=__version__))


async def health(visit: Enter) -> Response:
    """The process answers."""
    return visit.answer(Health())


async def ready(visit: Enter) -> Response:
    """Whether new work is accepted."""
    told = await _ready(visit)
    if told.ready:
        return visit.answer(told)
    body = told.model_dump_json().encode()
    return Response(body, 503, {"Retry-After": "2"}, "application/json")


async def openapi(visit: Enter) -> Response:
    """This API as OpenAPI."""
    return JSONResponse(visit.request.app.openapi())


async def _ready(visit: Enter) -> Ready:
    if visit.api.stopping:
        return Ready(ready=False, why="the service is stopping")
    try:
        async with asyncio.timeout(READY_SECONDS):
            return await visit.api.read(_state)
    except TimeoutError:
        return Ready(ready=False, why=f"the loop did not answer within {READY_SECONDS:g} seconds")
    except RefusalError as refusal:
        return Ready(ready=False, why=str(refusal))


def _state(live: ServiceView) -> Ready:
    return Ready(ready=live.ready, why=None if live.ready else live.trouble)
