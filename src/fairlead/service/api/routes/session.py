"""Signing a browser in and out."""

from __future__ import annotations

from starlette.responses import Response

from fairlead.service.api.request_context import Enter
from fairlead.service.api.routes.tokens import told_me
from fairlead.service.api.session import begin, end, refuse_others
from fairlead.service.requests import Caller
from fairlead.wire.tokens import SignIn


async def sign_in(context: Enter) -> Response:
    """Gives the browser a cookie with the token."""
    refuse_others(context.request)
    asked = await context.read_body(SignIn)
    token = await context.api.keys.token(asked.token, context.address)
    caller = Caller(token.name, token.role, token.tenant)
    told = await context.read(lambda view: told_me(view, caller))
    headers = begin(context.request, asked.token) | {"Cache-Control": "no-store"}
    return context.answer(told, headers)


async def sign_out(context: Enter) -> Response:
    """Takes the cookie back."""
    refuse_others(context.request)
    return Response(None, context.route.status, end(context.request))
