"""The token of an admin that the first start makes: written down before it is good."""

from __future__ import annotations

import asyncio
from typing import Protocol

from fairlead.service.api.live import Entrance, Live
from fairlead.service.api.visit import Api
from fairlead.service.requests import Caller, MakeToken, Refused, Role
from fairlead.service.tokens import FIRST, make


class Kept(Protocol):
    """Where its text is kept for whoever starts the service."""

    def exists(self) -> bool:
        """Whether one is there."""

    def write(self, text: str) -> None:
        """Writes it durably, in place of one that is there. Raises OutputError."""


async def make_first(door: Entrance, api: Api, file: Kept) -> None:
    """Makes a token for an admin where there is none, or where the file that held one was taken
    away. Raises DoorClosedError and OutputError."""
    needed = not file.exists()
    while needed or not await door.read(_has_admin):
        names = await door.read(_names)
        name = next(n for n in (FIRST, *_numbered(len(names) + 2)) if n not in names)
        secret = make(name, api.draw)
        file.write(secret.text)
        reply = await door.ask(
            MakeToken(Caller(), name, Role.ADMIN, None, secret.salt, secret.hash)
        )
        api.keys.expire()
        needed = isinstance(reply, Refused)
        if needed:  # the journal or the engine cannot be reached now
            await asyncio.sleep(1)


def _names(live: Live) -> set[str]:
    return set(live.records.tokens)


def _numbered(count: int) -> list[str]:
    return [f"{FIRST}-{number}" for number in range(2, count + 2)]


def _has_admin(live: Live) -> bool:
    return any(token.role is Role.ADMIN for token in live.records.tokens.values())
