"""Tokens: list, make, revoke, whose this one is, and where people sign in."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from fairlead.model.errors import InputError
from fairlead.model.values import plain_name
from fairlead.service.api.entering import Enter
from fairlead.service.api.queries import Name
from fairlead.service.api.service_view import ServiceView
from fairlead.service.records.people import TokenRecord
from fairlead.service.requests import Caller, RevokeToken
from fairlead.service.requests import MakeToken as Make
from fairlead.service.tokens import make
from fairlead.wire.kinds import Role
from fairlead.wire.tokens import MadeToken, MakeToken, Me, SignIn, TokenRow, Tokens


async def list_tokens(context: Enter) -> Response:
    """All tokens."""
    found = await context.read(_all)
    rows = [
        TokenRow(name=token.name, role=token.role, tenant=token.tenant, made=token.made)
        for token in found
    ]
    return context.answer(Tokens(tokens=rows))


async def make_token(context: Enter) -> Response:
    """Makes a token."""
    asked = await context.read_body(MakeToken)
    if (asked.role is Role.TENANT) != (asked.tenant is not None):
        raise InputError(
            "a token of the role tenant has a tenant, and no other has one",
            "say the tenant, or leave it out",
            about=("token", asked.name, "tenant"),
        )
    if asked.tenant is not None:
        plain_name(asked.tenant)
    secret = make(asked.name, context.api.draw)
    await context.ask(
        Make(
            context.caller,
            asked.name,
            asked.role,
            asked.tenant,
            secret.salt,
            secret.hash,
        )
    )
    made = MadeToken(name=asked.name, role=asked.role, tenant=asked.tenant, token=secret.text)
    return context.answer(made, {"Cache-Control": "no-store"})


async def revoke_token(
    context: Enter,
    token: Name,
    lock_out: Annotated[
        bool,
        Query(description="though it is the one that is asked with, or an administrator's last"),
    ] = False,
) -> Response:
    """Revokes a token."""
    await context.ask(RevokeToken(context.caller, token, lock_out))
    return Response(None, context.route.status)


async def me(context: Enter) -> Response:
    """Whose token this is."""
    return context.answer(await context.read(lambda view: describe_me(view, context.caller)))


def describe_me(view: ServiceView, caller: Caller) -> Me:
    """The description of a token for its owner."""
    tenant = caller.tenant
    tenants: list[str] | None = None
    if caller.role is not Role.ADMIN:
        tenants = [] if tenant is None else _below(view, tenant)
    return Me(name=caller.token, role=caller.role, tenant=tenant, tenants=tenants)


async def signin(context: Enter) -> Response:
    """Where people sign in."""
    people = context.api.people
    if people is None:
        return context.answer(SignIn())
    settings = people.settings
    return context.answer(
        SignIn(
            issuer=settings.issuer,
            audience=settings.audience,
            client=settings.client,
            scopes=list(settings.scopes),
        )
    )


def _all(view: ServiceView) -> list[TokenRecord]:
    return sorted(view.records.tokens.values(), key=lambda token: token.name)


def _below(view: ServiceView, tenant: str) -> list[str]:
    records = view.records
    return sorted({tenant, *(name for name in records.tenants if records.is_below(name, tenant))})
