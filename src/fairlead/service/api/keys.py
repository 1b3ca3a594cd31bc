"""The senders of requests: tokens as they were last read, and the look at one."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.service.api.limits import Buckets
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.service_view import Entrance, ServiceView
from fairlead.service.api.settings import ApiSettings
from fairlead.service.records.people import TokenRecord
from fairlead.service.requests import Caller, Role
from fairlead.service.tokens import verify
from fairlead.wire.errors import ErrorKind

CHALLENGE = {"WWW-Authenticate": "Bearer"}

NOBODY_ASKED = Caller()
"""The caller where no token is needed: an admin without a name."""


class Keys:
    """The tokens. They are read anew when they are older than a moment, and at once after this
    API made or revoked one."""

    def __init__(self, door: Entrance, settings: ApiSettings, clock: Callable[[], float]) -> None:
        self._door, self._clock = door, clock
        self._for = settings.tokens_seconds
        self._guesses = Buckets(settings.guess_rate, settings.guess_burst)
        self._tokens: dict[str, TokenRecord] = {}
        self._until: float | None = None

    def expire(self) -> None:
        """Has the tokens read again before the next look."""
        self._until = None

    async def caller(self, header: str | None, address: str) -> Caller:
        """Finds the caller by the header Authorization. Raises RefusalError."""
        now = self._clock()
        scheme, _, text = (header or "").partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            raise RefusalError(
                ErrorKind.UNAUTHENTICATED,
                "the request has no token",
                "send the header Authorization: Bearer fl_...",
                headers=CHALLENGE,
            )
        if self._until is None or now >= self._until:
            self._tokens = await self._door.read(_tokens)
            self._until = now + self._for
        known = verify(text.strip(), self._tokens.get)
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
        return Caller(known.name, known.role, known.tenant)


def _tokens(view: ServiceView) -> dict[str, TokenRecord]:
    return dict(view.records.tokens)


def may_see(view: ServiceView, caller: Caller, tenant: str) -> bool:
    """Whether the caller may see, of what belongs to the tenant, what its owner alone may."""
    if caller.role is Role.ADMIN:
        return True
    above = caller.tenant
    return caller.role is Role.TENANT and above is not None and is_below(view, tenant, above)


def is_below(view: ServiceView, tenant: str, above: str) -> bool:
    """Whether a tenant is that one, or below it. A job without a tenant is its own."""
    return tenant == above or view.records.is_below(tenant, above)
