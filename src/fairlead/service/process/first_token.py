"""The token of an admin that the first start makes: written down before it is good."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from fairlead.service.api.request_context import Api
from fairlead.service.api.service_view import Entrance, ServiceView
from fairlead.service.requests import Caller, Done, MakeToken
from fairlead.service.tokens import FIRST, make
from fairlead.wire.kinds import Role


class Kept(Protocol):
    """A place for its text, for whoever starts the service."""

    def exists(self) -> bool:
        """Whether one is there."""

    def write(self, text: str) -> None:
        """Writes it durably, in place of one that is there. Raises OutputError."""


async def make_first(
    mailbox: Entrance, api: Api, file: Kept, waits: Callable[[str], object] = lambda _: None
) -> None:
    """Makes a token for an admin where there is none, or where the file that held one was taken
    away. Tells `waits` why, whenever it cannot be made now. Raises MailboxClosedError and
    OutputError.

    Asked again after no clear answer, it is the same token: whichever of the requests is done, the
    file says what is good."""
    if file.exists() and await mailbox.read(_has_admin):
        return
    name, secret = "", None
    while True:
        known = await mailbox.read(_hashes)
        if secret is not None and known.get(name) == secret.hash:
            return
        if secret is None or name in known:
            name = next(n for n in (FIRST, *_numbered(len(known) + 2)) if n not in known)
            secret = make(name, api.draw)
            file.write(secret.text)
        reply = await mailbox.ask(
            MakeToken(Caller(), name, Role.ADMIN, None, secret.salt, secret.hash)
        )
        if isinstance(reply, Done):
            return
        waits(reply.what)
        await asyncio.sleep(1)  # the journal or the engine cannot be reached now


def _hashes(view: ServiceView) -> dict[str, str]:
    return {token.name: token.hash for token in view.records.tokens.values()}


def _numbered(count: int) -> list[str]:
    return [f"{FIRST}-{number}" for number in range(2, count + 2)]


def _has_admin(view: ServiceView) -> bool:
    return any(token.role is Role.ADMIN for token in view.records.tokens.values())
