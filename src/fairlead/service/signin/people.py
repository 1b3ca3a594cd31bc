"""People who sign in: from the text of a JWT to whose it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from joserfc import jws
from joserfc.errors import JoseError

from fairlead.service.signin.claims import UntrustedError, check_addressed, check_times, read_claims
from fairlead.service.signin.fetching import IssuerKey, Keys, fetch_keys
from fairlead.service.signin.key_cache import KeyCache
from fairlead.service.signin.settings import SignInSettings
from fairlead.wire.kinds import Role

LONGEST = 16 * 1024
"""Characters of a JWT that is looked at at all."""

LONGEST_HEADER = 4096
"""Of its header: some issuers put their certificates into it."""

TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt", "application/jwt"})
"""The kinds of JWT that are taken. One for something else (a logout, an event) is signed by the
same keys."""

MICROSECONDS = 1_000_000


class KeysUnknownError(Exception):
    """The issuer's keys cannot be had, so nothing can be said of its JWTs."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who signed in. `until`: when that ends, in seconds since 1970. `key`: that signed
    for him."""

    name: str
    role: Role
    tenant: str | None
    until: float
    key: IssuerKey


class People:
    """Knows people by their JWTs. `wall`: microseconds since 1970."""

    def __init__(
        self,
        settings: SignInSettings,
        clock: Callable[[], float],
        wall: Callable[[], int],
        say: Callable[[str | None, float], None] = lambda _, __: None,
        fetch: Callable[[SignInSettings], Keys] = fetch_keys,
    ) -> None:
        self.settings = settings
        self.keys = KeyCache(settings, clock, say, fetch)
        self._wall = wall
        self._registry = jws.JWSRegistry(algorithms=settings.algorithms, strict_check_header=False)
        self._registry.max_header_length = LONGEST_HEADER

    async def person(self, text: str) -> Person:
        """Whose JWT this is. Raises UntrustedError, NotWelcomeError and KeysUnknownError."""
        if len(text) > LONGEST:
            raise UntrustedError(f"the JWT is longer than {LONGEST} characters")
        try:
            parsed = jws.extract_compact(text.encode("ascii"), registry=self._registry)
        except (JoseError, ValueError) as error:
            raise UntrustedError("the JWT cannot be read") from error
        header = parsed.headers()
        algorithm, name = header.get("alg"), header.get("kid")
        if algorithm not in self.settings.algorithms:
            raise UntrustedError("the JWT is not signed with an algorithm that is allowed here")
        if not isinstance(name, str | None):
            raise UntrustedError("the JWT cannot be read")
        if "crit" in header:  # also where it names none (RFC 7515, 4.1.11)
            raise UntrustedError("the JWT asks for extensions that are not known here (crit)")
        kind = header.get("typ", "JWT")
        if not isinstance(kind, str) or kind.lower() not in TYPES:
            raise UntrustedError("the JWT is for something else (typ)")
        signed_by = self._signed_by(parsed, self.keys.keys(name, algorithm))
        if signed_by is None or self.keys.trouble:
            await self.keys.refresh()
            signed_by = self._signed_by(parsed, self.keys.keys(name, algorithm))
        if self.keys.trouble:
            raise KeysUnknownError(f"the issuer's keys are not known: {self.keys.trouble}")
        if signed_by is None:
            raise UntrustedError("the JWT is not signed by a key that the issuer has now")
        try:
            claims = json.loads(parsed.payload)
        except (ValueError, RecursionError) as error:
            raise UntrustedError("the JWT cannot be read") from error
        if not isinstance(claims, dict):
            raise UntrustedError("the JWT has no claims")
        check_addressed(claims, self.settings)
        until = check_times(claims, self.settings, self.now())
        found = read_claims(claims, self.settings, until)
        return Person(found.name, found.role, found.tenant, found.until, signed_by)

    def is_good(self, person: Person) -> bool:
        """Whether what he signed in with still is: not at its end, and of a key that is still
        believed."""
        return self.now() < person.until and self.keys.has(person.key)

    def now(self) -> float:
        """Seconds since 1970."""
        return self._wall() / MICROSECONDS

    def _signed_by(self, parsed: jws.CompactSignature, keys: Keys) -> IssuerKey | None:
        """The key that signed it. Only keys are tried that are for its algorithm."""
        for each in keys:
            try:
                if jws.validate_compact(
                    parsed, each.key, list(self.settings.algorithms), self._registry
                ):
                    return each
            except (JoseError, ValueError):
                continue
        return None
