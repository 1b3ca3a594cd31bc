"""Tokens: made, hashed, verified. Only a salted hash of a token is ever kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass

from fairlead.model.errors import InputError
from fairlead.service.records.people import TokenRecord

BYTES = 32
"""Of randomness in a token's secret. A secret that nobody can guess needs no slow hash."""

FIRST = "admin"
"""The name of the token that the first start makes."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")

LONGEST = 256
"""Characters of a token that is looked at at all."""

PREFIX = "fl_"
"""Of the text of every token."""

_NOBODY = ("", "0" * 64)


@dataclass(frozen=True, slots=True)
class Secret:
    """A new token: `text` is for whom it is made for, the others for the journal."""

    text: str
    salt: str
    hash: str


def make(name: str, draw: Callable[[int], bytes] = secrets.token_bytes) -> Secret:
    """A new token of that name. Raises InputError where the name is none."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} is not the name of a token",
            "write up to 64 small letters, digits and -, as in ada-laptop",
        )
    secret = urlsafe_b64encode(draw(BYTES)).decode().rstrip("=")
    salt = draw(16).hex()
    return Secret(f"{PREFIX}{name}_{secret}", salt, hash_secret(salt, secret))


def hash_secret(salt: str, secret: str) -> str:
    return hashlib.sha256(f"{salt}:{secret}".encode(errors="surrogatepass")).hexdigest()


def verify(text: str, find: Callable[[str], TokenRecord | None]) -> TokenRecord | None:
    """The token whose text this is; None if there is none. As long is spent on a name that nobody
    has as on a wrong secret."""
    if len(text) > LONGEST or not text.startswith(PREFIX):
        return None
    name, found, secret = text.removeprefix(PREFIX).partition("_")
    known = find(name) if found else None
    salt, expected = (known.salt, known.hash) if known else _NOBODY
    same = hmac.compare_digest(hash_secret(salt, secret), expected)
    return known if same and known is not None else None
