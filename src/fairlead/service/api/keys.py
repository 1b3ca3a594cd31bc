"""The senders of requests: tokens as they were last read, and the look at one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.service.api.limits import Buckets
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.service_view import Entrance, ServiceView
from fairlead.service.api.settings import ApiSettings
from fairlead.service.journal.entry import Entry
from fairlead.service.records.people import TokenRecord
from fairlead.service.requests import Caller, Role
from fairlead.service.tokens import verify
from fairlead.wire.errors import ErrorKind

CHALLENGE = {"WWW-Authenticate": "Bearer"}

NOBODY_ASKED = Caller()
"""The caller where no token is needed: an admin without a name."""


KINDS = ("token_made", "token_revoked")
"""Entries after which other tokens are good."""


class Keys:
    """The tokens. They are read anew when they are older than a moment, and at once after one was
    made or revoked."""

    def __init__(self, door: Entrance, settings: ApiSettings, clock: Callable[[], float]) -> None:
        self._door, self._clock = door, clock
        self._for = settings.tokens_seconds
        self._guesses = Buckets(settings.guess_rate, settings.guess_burst)
        self._tokens: dict[str, TokenRecord] = {}
        self._until: float | None = None
        self._changes = self._read_at = 0

    def took(self, entries: Sequence[Entry]) -> None:
        """These are durable. In the loop's thread."""
        if any(entry.kind in KINDS for entry in entries):
            self._changes += 1

    async def is_good(self, token: TokenRecord) -> bool:
        """Whether this very token still is: neither revoked, nor another one of its name."""
        await self._refresh(self._clock())
        return self._tokens.get(token.name) == token

    async def _refresh(self, now: float) -> None:
        if self._until is None or now >= self._until or self._read_at != self._changes:
            changes = self._changes
            self._tokens = await self._door.read(_tokens)
            self._until, self._read_at = now + self._for, changes

    async def token(self, text: str | None, address: str) -> TokenRecord:
        """Finds the token by its text. Raises RefusalError."""
        now = self._clock()
        if not text:
            raise RefusalError(
                ErrorKind.UNAUTHENTICATED,
                "the request has no token",
                "send the header Authorization: Bearer fl_...",
                headers=CHALLENGE,
            )
        await self._refresh(now)
        known = verify(text, self._tokens.get)
        if known is None:
            wait = self._guesses.take(address, now)
            if wait > 0:
                raise RefusalError(
                    ErrorKind.TOO_MANY,
                    "too many wrong tokens come from this address",
                    retry=wait,
                )
            raise RefusalError(
                ErrorKind.UNAUTHENTICATED,
                "the token is not valid",
                "ask an admin for one (fairlead token create)",
                headers=CHALLENGE,
            )
        return known


def _tokens(view: ServiceView) -> dict[str, TokenRecord]:
    return dict(view.records.tokens)


def may_see(view: ServiceView, caller: Caller, tenant: str | None) -> bool:
    """Whether the caller may see, of what belongs to the tenant (None: to none), what its owner
    alone may. A job without a tenant is of admins, though a tenant be called as it is."""
    if caller.role is Role.ADMIN:
        return True
    above = caller.tenant
    return caller.role is Role.TENANT and above is not None and view.records.is_below(tenant, above)


def is_below(view: ServiceView, tenant: str, above: str) -> bool:
    """Whether a tenant is that one, or below it. A job without a tenant is its own."""
    return tenant == above or view.records.is_below(tenant, above)
