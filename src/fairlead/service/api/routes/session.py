"""Signing a browser in and out."""

from __future__ import annotations

from starlette.responses import Response

from fairlead.service.api.entering import Enter
from fairlead.service.api.keys import NOBODY_ASKED, caller_of
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.routes.tokens import describe_me
from fairlead.service.api.session import begin, end, refuse_others, token_text
from fairlead.wire.errors import ErrorKind
from fairlead.wire.tokens import Session, SessionToken


async def session(context: Enter) -> Response:
    """Says who is signed in."""
    caller = NOBODY_ASKED
    if not context.api.no_auth:
        text = token_text(context.request)
        try:
            holder = await context.api.keys.holder(text, context.address)
        except RefusalError as error:
            if error.kind is not ErrorKind.UNAUTHENTICATED:
                raise
            return context.answer(Session())
        caller = caller_of(holder)
    me = await context.read(lambda view: describe_me(view, caller))
    settings = context.api.settings
    others = list(settings.addresses)
    return context.answer(Session(me=me, graphs=settings.graphs or None, addresses=others))


async def sign_in(context: Enter) -> Response:
    """Gives the browser a cookie with the token."""
    refuse_others(context.request)
    asked = await context.read_body(SessionToken)
    holder = await context.api.keys.holder(asked.token, context.address)
    caller = caller_of(holder)
    told = await context.read(lambda view: describe_me(view, caller))
    headers = begin(context.request, asked.token) | {"Cache-Control": "no-store"}
    return context.answer(told, headers)


async def sign_out(context: Enter) -> Response:
    """Takes the cookie back."""
    refuse_others(context.request)
    return Response(None, context.route.status, end(context.request))
