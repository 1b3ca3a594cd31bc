"""From the claims of a JWT to a person: is it for us and of now, and who may do what?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.model.errors import FairleadError
from fairlead.service.signin.settings import SignInSettings
from fairlead.wire.kinds import Role

PERSON = "person:"
"""Before the name of somebody who signed in. No token's name has a colon, so that the two are
never mistaken for each other."""

LONGEST_NAME = 255
"""Characters of a person's name; as OpenID Connect has it of `sub`."""

_MOST = (Role.ADMIN, Role.TENANT, Role.VIEWER)
"""Roles, the one with most rights first."""


class UntrustedError(FairleadError):
    """The JWT proves nothing. `right`: what its holder can do."""

    def __init__(self, what: str, right: str = "sign in again: `fairlead login`") -> None:
        super().__init__(what)
        self.right = right


class NotWelcomeError(FairleadError):
    """It proves who somebody is, and he has no rights here. `right`: what would give him some."""

    def __init__(self, what: str, right: str) -> None:
        super().__init__(what)
        self.right = right


@dataclass(frozen=True, slots=True)
class Claimed:
    """A person's identity, and until when it is believed (seconds since 1970)."""

    name: str
    role: Role
    tenant: str | None
    until: float


def check_times(claims: Mapping[str, Any], settings: SignInSettings, now: float) -> float:
    """Until when the JWT is good. Raises UntrustedError where it is not good now."""
    leeway = settings.leeway_seconds
    end = _moment(claims, "exp")
    if end is None:
        raise UntrustedError("the JWT does not say when it ends (exp)")
    if now >= end + leeway:
        raise UntrustedError("the JWT has expired")
    begin, made = _moment(claims, "nbf"), _moment(claims, "iat")
    if begin is not None and now < begin - leeway:
        raise UntrustedError("the JWT is not good yet (nbf)", "wait, or set the clocks right")
    if made is not None and now < made - leeway:
        raise UntrustedError("the JWT was made in the future (iat)", "set the clocks right")
    if end - (now if made is None else made) > settings.longest_seconds + leeway:
        raise UntrustedError(
            f"the JWT lives longer than {settings.longest_seconds:g} s",
            "have the issuer make shorter ones, or raise longest_seconds",
        )
    return end + leeway


def check_addressed(claims: Mapping[str, Any], settings: SignInSettings) -> None:
    """Raises UntrustedError where it is of another issuer, or for somebody else."""
    if claims.get("iss") != settings.issuer:
        raise UntrustedError("the JWT is of another issuer (iss)")
    audience = claims.get("aud")
    meant = audience if isinstance(audience, list) else [audience]
    if not any(isinstance(each, str) and each == settings.audience for each in meant):
        raise UntrustedError("the JWT is not for this service (aud)")


def read_claims(claims: Mapping[str, Any], settings: SignInSettings, until: float) -> Claimed:
    """The person, role and tenant that the claims mean. Raises UntrustedError where there is no
    name, and NotWelcomeError where nothing is allowed to him."""
    name = _at(claims, settings.name)
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise UntrustedError(
            f"the JWT has no name that can be used in its claim {settings.name!r}",
            "have the issuer put one in",
        )
    if settings.name == "email" and claims.get("email_verified", True) is not True:
        raise UntrustedError("the issuer has not seen whose address that is", "confirm it there")
    role = _role(_at(claims, settings.role), settings)
    tenant = _tenant(_at(claims, settings.tenant), settings) if role is Role.TENANT else None
    return Claimed(PERSON + name, role, tenant, until)


def _role(value: object, settings: SignInSettings) -> Role:
    said = value if isinstance(value, list) else [value]
    found = {
        settings.roles[each] for each in said if isinstance(each, str) and each in settings.roles
    }
    for role in _MOST:
        if role in found:
            return role
    raise NotWelcomeError(
        f"you are signed in, and nothing in your claim {settings.role!r} gives you a role here",
        "ask an administrator of the issuer for one",
    )


def _tenant(value: object, settings: SignInSettings) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str) or not value:
        raise NotWelcomeError(
            f"you are signed in, and your claim {settings.tenant!r} does not name one tenant",
            "have the issuer put the name of your tenant there, as text",
        )
    return value


def _at(claims: Mapping[str, Any], name: str) -> object:
    """The claim of that name; else what is there along its dots (`realm_access.roles`)."""
    if name in claims:
        return claims[name]
    value: object = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _moment(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UntrustedError(f"the JWT's {name} is no time")
    return float(value)
