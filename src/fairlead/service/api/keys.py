"""The senders of requests: tokens as they were last read, people who signed in, and the look at
what one shows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from fairlead.service.api.neighbours.limits import Buckets
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.service_view import ServiceView
from fairlead.service.api.settings import ApiSettings
from fairlead.service.journal.entry import Entry
from fairlead.service.records.people import TokenRecord
from fairlead.service.requests import Caller
from fairlead.service.tokens import PREFIX, verify
from fairlead.wire.errors import ErrorKind
from fairlead.wire.kinds import Role

if TYPE_CHECKING:  # who signs in by tokens alone needs no cryptography
    from fairlead.service.signin.people import People, Person

    Holder = TokenRecord | Person

T = TypeVar("T")

CHALLENGE = {"WWW-Authenticate": "Bearer"}

WRONG_JWT = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
"""As RFC 6750 has it, so that a client knows that another one may do."""

NOBODY_ASKED = Caller()
"""The caller where no token is needed: an admin without a name."""


KINDS = ("token_made", "token_revoked")
"""Entries after which other tokens are good."""


class Reads(Protocol):
    """Reads the service, and refuses where nobody answers in time."""

    def read(self, function: Callable[[ServiceView], T]) -> Awaitable[T]:
        """Gives the function's result."""


class Keys:
    """The tokens. They are read anew when they are older than a moment, and at once after one was
    made or revoked."""

    def __init__(
        self,
        api: Reads,
        settings: ApiSettings,
        clock: Callable[[], float],
        people: People | None = None,
    ) -> None:
        self._api, self._clock, self._people = api, clock, people
        self._for = settings.tokens_seconds
        self._guesses = Buckets(settings.guess_rate, settings.guess_burst)
        self._tokens: dict[str, TokenRecord] = {}
        self._tenants: set[str] = set()  # of people, that were there a moment ago
        self._until: float | None = None
        self._changes = self._read_at = 0

    def took(self, entries: Sequence[Entry]) -> None:
        """These are durable. In the loop's thread."""
        if any(entry.kind in KINDS for entry in entries):
            self._changes += 1

    async def is_good(self, holder: Holder) -> bool:
        """Whether this very token still is: neither revoked, nor another one of its name; and of
        who signed in, whether that has not ended."""
        if not isinstance(holder, TokenRecord):
            return self._people is not None and self._people.is_good(holder)
        await self._refresh(self._clock())
        return self._tokens.get(holder.name) == holder

    def seconds_left(self, holder: Holder | None) -> float:
        """The seconds after which it is no longer good, if nobody revokes it."""
        if self._people is None or holder is None or isinstance(holder, TokenRecord):
            return float("inf")
        return max(0.0, holder.until - self._people.now())

    async def _refresh(self, now: float) -> None:
        if not self._are_new(now):
            changes = self._changes
            self._tokens = await self._api.read(_tokens)
            self._until, self._read_at = now + self._for, changes
            self._tenants.clear()

    def _are_new(self, now: float) -> bool:
        return self._until is not None and now < self._until and self._read_at == self._changes

    def find(self, text: str) -> TokenRecord | None:
        """The token, where that is known without asking anybody."""
        return verify(text, self._tokens.get) if self._are_new(self._clock()) else None

    def refuse(self, text: str | None, address: str) -> RefusalError | None:
        """Why this one is refused, as `holder` has it, where that is known without asking anybody;
        None otherwise."""
        if not text:
            return _none_shown(self._people)
        a_token = self._people is None or text.startswith(PREFIX)
        if not a_token or not self._tokens or not self._are_new(self._clock()):
            return None
        return None if self.find(text) is not None else self._wrong(address)

    async def holder(self, text: str | None, address: str) -> Holder:
        """Finds the token, or the person, by the text of what was shown. Raises RefusalError."""
        now = self._clock()
        if not text:
            raise _none_shown(self._people)
        await self._refresh(now)
        if self._people is not None and not text.startswith(PREFIX):
            return await self._person(self._people, text, address)
        known = verify(text, self._tokens.get)
        if known is None:
            refusal = self._wrong(address)
            if not self._tokens and refusal.kind is ErrorKind.UNAUTHENTICATED:
                raise RefusalError(  # as where the engine of a new service is away
                    ErrorKind.UNAVAILABLE,
                    f"no token is good yet: {await self._api.read(_why_none)}",
                    "ask again once the administrator's is made",
                )
            raise refusal
        return known

    async def _person(self, people: People, text: str, address: str) -> Person:
        """Whose JWT it is. No word of it is in any sentence."""
        from fairlead.service.signin.claims import NotWelcomeError, UntrustedError
        from fairlead.service.signin.people import KeysUnknownError

        try:
            person = await people.person(text)
        except UntrustedError as error:
            wrong = RefusalError(
                ErrorKind.UNAUTHENTICATED, str(error), error.right, headers=WRONG_JWT
            )
            raise self._too_many(address) or wrong from error
        except NotWelcomeError as error:
            raise RefusalError(ErrorKind.FORBIDDEN, str(error), error.right) from error
        except KeysUnknownError as error:
            raise RefusalError(
                ErrorKind.UNAVAILABLE, str(error), "ask again later; tokens are good meanwhile"
            ) from error
        tenant = person.tenant
        if tenant is not None and tenant not in self._tenants:
            if not await self._api.read(lambda view: tenant in view.records.tenants):
                raise RefusalError(
                    ErrorKind.FORBIDDEN,
                    f"you are signed in for the tenant {tenant[:60]!r}, and there is none of that"
                    " name here",
                    "ask an admin to make it (fairlead tenants)",
                )
            self._tenants.add(tenant)
        return person

    def _wrong(self, address: str) -> RefusalError:
        """The refusal of one that is no token."""
        return self._too_many(address) or RefusalError(
            ErrorKind.UNAUTHENTICATED,
            "the token is not valid",
            "ask an admin for one (fairlead token create)",
            headers=CHALLENGE,
        )

    def _too_many(self, address: str) -> RefusalError | None:
        """One more wrong one; the refusal of too many of them that come from there."""
        wait = self._guesses.take(address, self._clock())
        if wait > 0:
            return RefusalError(
                ErrorKind.TOO_MANY, "too many wrong tokens come from this address", retry=wait
            )
        return None


def _none_shown(people: People | None) -> RefusalError:
    right = "send the header Authorization: Bearer fl_..."
    return RefusalError(
        ErrorKind.UNAUTHENTICATED,
        "the request has no token",
        right if people is None else f"{right}, or sign in: `fairlead login`",
        headers=CHALLENGE,
    )


def caller_of(holder: Holder) -> Caller:
    """The sender of a request with this token, or of one that signed in."""
    return Caller(holder.name, holder.role, holder.tenant)


def _tokens(view: ServiceView) -> dict[str, TokenRecord]:
    return dict(view.records.tokens)


def _why_none(view: ServiceView) -> str:
    return (
        view.trouble
        or "the service has not begun, or the last one was revoked (then start it again)"
    )


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
