"""The settings of the issuer whose JWTs are believed: the section `oidc` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from fairlead.wire.kinds import Role

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519"),
)
"""Those that may be allowed: all have a public key. With a shared secret (HS256) whoever checks
JWTs could make them."""


@dataclass(frozen=True, slots=True)
class SignInSettings:
    """An issuer, and what its claims mean here. Times are in seconds."""

    issuer: str
    """Its URL, as in the claim `iss`."""
    audience: str
    """A JWT is for this service if its claim `aud` says so."""
    client: str | None = None
    """The client id with which `fairlead login` asks; without it there is no such login."""
    scopes: tuple[str, ...] = ("openid", "profile", "offline_access")
    """That `fairlead login` asks for."""
    name: str = "sub"
    """The claim that names the person, of whom the issuer has only one by that name, ever."""
    tenant: str = "tenant"
    """The claim with the tenant of somebody of the role tenant."""
    role: str = "roles"
    """The claim with one text or a list, of which `roles` says what each means."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """By a text in that claim. Of several that are there, the one with most rights counts."""
    algorithms: tuple[str, ...] = ("RS256", "PS256", "ES256", "Ed25519")
    """With which JWTs may be signed."""
    ca: str | None = None
    """File with the certificates that are believed of the issuer; None: those of the system."""
    leeway_seconds: float = 60.0
    """That the issuer's clock and this one may be apart."""
    longest_seconds: float = 86_400.0
    """For which a JWT is good at most: one that lives longer is not believed at all, because
    nothing but its end revokes it."""
    refresh_seconds: float = 600.0
    """After which the issuer's keys are fetched again."""
    unknown_seconds: float = 10.0
    """Between two fetches at least, however many JWTs name keys that are not known."""
    stale_seconds: float = 86_400.0
    """For which the keys that were fetched last are believed while the issuer is away."""
    timeout_seconds: float = 10.0
    """That one fetch may take."""


def is_safe(url: str) -> bool:
    """Whether nobody on the way can change what comes from there: TLS, or this machine itself."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.username or parts.password or parts.fragment or not host:
        return False
    return parts.scheme == "https" or (
        parts.scheme == "http" and host in ("localhost", "127.0.0.1", "::1")
    )
