"""A small OpenID Connect issuer of the tests' own: discovery, keys, devices, tokens over HTTP."""

from __future__ import annotations

import hmac
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.http_server import Quiet, serving_http

Key = RSAKey | ECKey | OKPKey

CLIENT = "fairlead-cli"

ALL = jws.JWSRegistry(algorithms=["RS256", "PS256", "ES256", "Ed25519"], strict_check_header=False)


@cache
def rsa(number: int) -> RSAKey:
    """One of the issuer's two keys. Made once, and where it is asked for: a key of RSA takes a
    while."""
    return RSAKey.generate_key(2048, {"kid": f"rsa-{number}"})


def signed(claims: object, key: Any, algorithm: str = "RS256", **header: object) -> str:
    """A JWS over the claims."""
    said = {"alg": algorithm, "typ": "JWT"} | header
    said = {name: value for name, value in said.items() if value is not None}
    body = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    return jws.serialize_compact(said, body, key, registry=ALL)


def by_hand(header: dict[str, Any], claims: dict[str, Any], secret: bytes | None = None) -> str:
    """A JWS as no library makes one: signed with HMAC, or (None) not at all."""
    parts = [_encoded(json.dumps(each).encode()) for each in (header, claims)]
    text = ".".join(parts)
    sign = b"" if secret is None else hmac.digest(secret, text.encode(), "sha256")
    return f"{text}.{_encoded(sign)}"


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


class Issuer:
    """What it answers can be changed while it runs. `asked`: how often, by path."""

    def __init__(self, url: str = "") -> None:
        self.asked: Counter[str] = Counter()
        self.keys: list[Key] = [rsa(0)]
        self.more: list[dict[str, Any]] = []  # keys that are written as they are
        self.down = False
        self.calls_itself: str | None = None
        self.offers_device = True
        self.slow: threading.Event | None = None  # answers wait for it
        self.waiting = threading.Event()  # one does
        self.typed = False  # the person typed the code
        self.answers: list[dict[str, Any]] = []  # of the token endpoint, before any other
        self.refreshes: list[str] = []  # refresh tokens that were shown
        self.lives = 300.0
        self.claims: dict[str, Any] = {"roles": ["admins"]}
        self.url = url
        self.now: Callable[[], float] = time.time

    def claimed(self, **claims: Any) -> dict[str, Any]:
        """Claims that are good, but for those that are named. None: without that claim."""
        now = self.now()
        said = {
            "iss": self.url,
            "aud": "fairlead",
            "sub": "ada",
            "iat": now,
            "exp": now + self.lives,
        }
        said = said | self.claims | claims
        return {name: value for name, value in said.items() if value is not None}

    def jwt(self, key: Key | None = None, algorithm: str = "RS256", **claims: Any) -> str:
        """A JWT with such claims, by its first key or the one that is given."""
        by = key or self.keys[0]
        return signed(self.claimed(**claims), by, algorithm, kid=by.kid)

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """The status and the object that is there."""
        self.asked[path] += 1
        if self.slow is not None:
            self.waiting.set()
            self.slow.wait(120)
        if self.down:
            return 503, {}
        match path:
            case "/.well-known/openid-configuration":
                tree = {
                    "issuer": self.calls_itself or self.url,
                    "jwks_uri": f"{self.url}/keys",
                    "token_endpoint": f"{self.url}/token",
                }
                if self.offers_device:
                    tree["device_authorization_endpoint"] = f"{self.url}/device"
                return 200, tree
            case "/keys":
                return 200, {
                    "keys": [*(key.as_dict(private=False) for key in self.keys), *self.more]
                }
            case "/device" if form.get("client_id") == CLIENT:
                return 200, {
                    "device_code": "device-1",
                    "user_code": "WDJB-MJHT",
                    "verification_uri": f"{self.url}/activate",
                    "verification_uri_complete": f"{self.url}/activate?code=WDJB-MJHT",
                    "expires_in": 600,
                    "interval": 0.01,
                }
            case "/token":
                return self._token(form)
        return 404, {"error": "invalid_request"}

    def _token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if self.answers:
            said = self.answers.pop(0)
            return (400 if "error" in said else 200), said
        if form["grant_type"] == "refresh_token":
            self.refreshes.append(form["refresh_token"])
            if form["refresh_token"] != f"refresh-{len(self.refreshes)}":  # good for one use alone
                return 400, {"error": "invalid_grant", "error_description": "used before"}
        elif form.get("device_code") != "device-1" or not self.typed:
            return 400, {"error": "authorization_pending"}
        return 200, {
            "access_token": self.jwt(),
            "id_token": self.jwt(aud=CLIENT),
            "refresh_token": f"refresh-{len(self.refreshes) + 1}",
            "expires_in": self.lives,
            "token_type": "Bearer",
        }


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer that listens."""
    issuer = Issuer()

    class Handler(Quiet, BaseHTTPRequestHandler):
        """One connection."""

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            self._answer({name: values[0] for name, values in parse_qs(body).items()})

        def _answer(self, form: dict[str, str]) -> None:
            status, tree = issuer.answer(self.path, form)
            body = json.dumps(tree).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving_http(Handler) as issuer.url:
        try:
            yield issuer
        finally:
            if issuer.slow is not None:
                issuer.slow.set()
