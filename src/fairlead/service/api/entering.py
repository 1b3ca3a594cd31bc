"""A request comes in: who sent it, whether it may be answered, and how soon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from fairlead.service.api.bodies import CLOSE
from fairlead.service.api.keys import NOBODY_ASKED, caller_of
from fairlead.service.api.neighbours.limits import neighbourhood
from fairlead.service.api.neighbours.places import KNOWN, who_of
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.request_context import Api, RequestContext, slow_down
from fairlead.service.api.session import token_text
from fairlead.service.requests import Caller
from fairlead.wire.errors import ErrorKind
from fairlead.wire.kinds import Role
from fairlead.wire.route import Access, Route
from fairlead.wire.routes import BY_NAME

if TYPE_CHECKING:
    from fairlead.service.api.keys import Holder

CALLER = "fairlead.caller"
"""In the scope of a request that is answered: who sent it."""

GONE = Caller(None, Role.VIEWER, None)
"""Caller of a public route; no token is checked."""


async def enter(request: Request) -> RequestContext:
    """The request, if it may be answered. Raises RefusalError."""
    api: Api = request.app.state.api
    route = BY_NAME[request.scope["route"].name]
    address = neighbourhood(request.client.host if request.client else "")
    now = api.clock()
    # A neighbour behind the same address takes nothing from who has a token.
    try:
        holder = await _holder(api, request, route, address)
    except RefusalError:
        api.owners.forget(request.scope["headers"])
        await slow_down(api, api.by_address.take(address, now), "come from this address")
        raise
    caller = _caller(route, holder)
    request.scope[CALLER] = caller
    if holder is None:
        await slow_down(api, api.by_address.take(address, now), "come from this address")
    else:
        who = who_of(caller, address)
        api.owners.learn(request.scope["headers"], who)
        wait = api.by_token.take(who, now)
        await slow_down(api, wait, "are sent with this token or others of its tenant")
        known = request.scope.get("state", {}).get(KNOWN)
        if known is not None:
            known(who)
    if route.access is Access.ADMIN and caller.role is not Role.ADMIN:
        raise RefusalError(
            ErrorKind.FORBIDDEN, "only an admin may do this", "ask one, or show an admin's token"
        )
    if route.access is Access.OWN and caller.role is Role.VIEWER:
        raise RefusalError(ErrorKind.FORBIDDEN, "a viewer may not do this")
    for name in request.query_params:
        if name not in route.query:
            known = f"known are {', '.join(route.query)}" if route.query else "there is none here"
            raise RefusalError(ErrorKind.INVALID, f"there is no parameter {name[:60]!r}", known)
        if len(request.query_params.getlist(name)) > 1:
            raise RefusalError(ErrorKind.INVALID, f"the parameter {name} is written twice")
    if route.body is None and _has_body(request):
        raise RefusalError(ErrorKind.BAD_REQUEST, "nothing is read of a body here", headers=CLOSE)
    return RequestContext(api, request, route, caller, address, holder)


Enter = Annotated[RequestContext, Depends(enter)]
"""Every handler's first parameter."""


async def _holder(api: Api, request: Request, route: Route, address: str) -> Holder | None:
    if route.access is Access.PUBLIC or api.no_auth:
        return None
    return await api.keys.holder(token_text(request), address)


def _caller(route: Route, holder: Holder | None) -> Caller:
    if holder is not None:
        return caller_of(holder)
    return GONE if route.access is Access.PUBLIC else NOBODY_ASKED


def _has_body(request: Request) -> bool:
    headers = request.headers
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip() != "0"
