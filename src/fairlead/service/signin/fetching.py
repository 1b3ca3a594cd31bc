"""The issuer's public keys, fetched: discovery, then its key set. Blocks; called in threads."""

from __future__ import annotations

import json
import ssl
import time
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from fairlead.model.errors import FairleadError
from fairlead.service.signin.settings import SignInSettings, is_safe
from fairlead.version import __version__

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    PublicKey = RSAKey | ECKey | OKPKey

WELL_KNOWN = "/.well-known/openid-configuration"

MOST_BYTES = 2**20
"""Of what the issuer answers; a key set has a few thousand."""

MOST_KEYS = 100

LEAST_BITS = 2048
"""Of a key of RSA."""

TYPES = {"RSA": ("RS", "PS"), "EC": ("ES",), "OKP": ("Ed",)}
"""How the algorithms begin that a key of each type is for. One of the type `oct` is a secret that
is shared, and never taken."""

CURVES = {"RSA": (None,), "EC": ("P-256", "P-384", "P-521"), "OKP": ("Ed25519",)}


class IssuerError(FairleadError):
    """The issuer's keys cannot be had."""


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """A public key. `id`: its name in the set. `alg`: the only one that it is for, if it says."""

    id: str | None
    type: str
    alg: str | None
    key: PublicKey

    def fits(self, algorithm: str) -> bool:
        if self.alg is not None and self.alg != algorithm:
            return False
        return algorithm.startswith(TYPES[self.type])


Keys = tuple[IssuerKey, ...]


def fetch_keys(settings: SignInSettings) -> Keys:
    """The keys that the issuer signs with now. Raises IssuerError."""
    try:
        until = time.monotonic() + settings.timeout_seconds
        with httpx2.Client(
            headers={"User-Agent": f"fairlead/{__version__}", "Accept": "application/json"},
            timeout=settings.timeout_seconds,
            verify=_trust(settings),
            follow_redirects=False,  # what is asked is what was configured
            trust_env=urlsplit(settings.issuer).scheme == "https",
        ) as http:
            said = _tree(http, settings.issuer.rstrip("/") + WELL_KNOWN, until)
            if said.get("issuer") != settings.issuer:
                raise IssuerError(
                    f"{settings.issuer} calls itself {str(said.get('issuer'))[:100]!r}:"
                    " write that one as `issuer`, if it is right"
                )
            place = said.get("jwks_uri")
            if not isinstance(place, str) or not is_safe(place):
                raise IssuerError(f"{settings.issuer} names no safe place of its keys (jwks_uri)")
            keys = keys_of(_tree(http, place, until))
    except httpx2.TimeoutException as error:
        raise IssuerError(
            f"{settings.issuer} does not answer within {settings.timeout_seconds:g} s"
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise IssuerError(f"{settings.issuer} cannot be asked: {error}") from error
    if not keys:
        raise IssuerError(f"{settings.issuer} has no key that can be used: RSA, EC or OKP, to sign")
    return keys


def keys_of(tree: Mapping[str, Any]) -> Keys:
    """The keys of a key set that can be used; others (for encryption, secret, too short, of a kind
    that is not known) are left out."""
    from joserfc.errors import JoseError
    from joserfc.jwk import import_key

    listed = tree.get("keys")
    found = []
    for each in (listed if isinstance(listed, list) else [])[:MOST_KEYS]:
        if not isinstance(each, dict) or each.get("kty") not in TYPES:
            continue
        if each.get("use", "sig") != "sig" or each.get("crv") not in CURVES[each["kty"]]:
            continue
        name, alg = each.get("kid"), each.get("alg")
        if not isinstance(name, str | None) or not isinstance(alg, str | None):
            continue
        public = {key: value for key, value in each.items() if key not in ("d", "key_ops")}
        try:
            if each["kty"] == "RSA" and _bits(each["n"]) < LEAST_BITS:
                continue
            key: Any = import_key(public)
        except (JoseError, ValueError, TypeError, KeyError):
            continue
        found.append(IssuerKey(name, each["kty"], alg, key))
    return tuple(found)


def _bits(number: str) -> int:
    """How long a number of a key is, as key sets write it."""
    return int.from_bytes(urlsafe_b64decode(number + "=" * (-len(number) % 4))).bit_length()


def _tree(http: httpx2.Client, url: str, until: float) -> dict[str, Any]:
    """The JSON object that is there, read within the time and no longer than is sensible."""
    body = b""
    with http.stream("GET", url) as answer:
        if answer.status_code != 200:
            raise IssuerError(f"{url} answers with status {answer.status_code}")
        for part in answer.iter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                raise IssuerError(f"{url} answers with more than {MOST_BYTES} bytes")
            if time.monotonic() > until:  # a byte now and then holds no time limit of a read up
                raise httpx2.ReadTimeout("it sends too slowly")
    try:
        tree = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise IssuerError(f"{url} does not answer with JSON") from error
    if not isinstance(tree, dict):
        raise IssuerError(f"{url} does not answer with an object of JSON")
    return tree


def _trust(settings: SignInSettings) -> ssl.SSLContext | bool:
    """The certificates that are believed. Without TLS nothing is loaded: that takes long."""
    if not settings.issuer.startswith("https:"):
        return False
    return ssl.create_default_context(cafile=settings.ca)
