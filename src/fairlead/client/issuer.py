"""Asks an OpenID Connect issuer as a program without a browser does (RFC 8628)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from fairlead.client.errors import NotAllowedError
from fairlead.client.loopback import loopback
from fairlead.model.errors import FairleadError
from fairlead.version import __version__

TIMEOUT = 30.0

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"

INTERVAL, MORE = 5.0, 5.0
"""Seconds between two looks where the issuer says nothing, and by how many more it may ask."""


class IssuerAnswerError(FairleadError):
    """The issuer does not do what it was asked. `code`: its own word for why, as in
    `invalid_grant`; empty where it gave none."""

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True)
class Endpoints:
    """The addresses of an issuer. `device`: None where it knows no sign-in by code."""

    token: str
    device: str | None


@dataclass(frozen=True)
class Code:
    """The code that a person types at the issuer's page. `whole`: the page with the code in it."""

    page: str
    user_code: str
    whole: str | None
    device_code: str
    interval: float
    lasts: float


def discover(issuer: str) -> Endpoints:
    """The issuer's endpoints. Raises IssuerAnswerError."""
    tree = _ask("GET", issuer.rstrip("/") + "/.well-known/openid-configuration")
    if tree.get("issuer") != issuer:
        raise IssuerAnswerError(f"{issuer} calls itself {str(tree.get('issuer'))[:100]!r}")
    token, device = tree.get("token_endpoint"), tree.get("device_authorization_endpoint")
    if not isinstance(token, str):
        raise IssuerAnswerError(f"{issuer} does not say where it gives tokens")
    return Endpoints(token, device if isinstance(device, str) else None)


def ask_code(endpoint: str, client: str, scopes: list[str]) -> Code:
    """A code to type. Raises IssuerAnswerError."""
    tree = post(endpoint, {"client_id": client, "scope": " ".join(scopes)})
    texts = [tree.get(name) for name in ("verification_uri", "user_code", "device_code")]
    if not all(isinstance(each, str) for each in texts):
        raise IssuerAnswerError(f"{endpoint} answers without a code")
    page, user_code, device_code = map(str, texts)
    whole = tree.get("verification_uri_complete")
    return Code(
        page,
        user_code,
        whole if isinstance(whole, str) else None,
        device_code,
        _seconds(tree.get("interval"), INTERVAL),
        _seconds(tree.get("expires_in"), 600.0),
    )


def wait_for_tokens(
    endpoint: str, client: str, code: Code, sleep: Callable[[float], None] = time.sleep
) -> Mapping[str, Any]:
    """The token endpoint's answer once the code was typed. Raises IssuerAnswerError, and
    NotAllowedError where it was turned down or too late."""
    form = {"grant_type": DEVICE, "device_code": code.device_code, "client_id": client}
    pause, waited = code.interval, 0.0
    while waited < code.lasts:
        sleep(pause)
        waited += pause
        try:
            return post(endpoint, form)
        except IssuerAnswerError as error:
            if error.code == "slow_down":
                pause += MORE
            elif error.code == "access_denied":
                raise NotAllowedError("the sign-in was turned down at the issuer") from error
            elif error.code == "expired_token":
                break
            elif error.code != "authorization_pending":
                raise
    raise NotAllowedError("nobody typed the code in time; `fairlead login` makes another one")


def post(url: str, form: Mapping[str, str]) -> dict[str, Any]:
    """The object that the issuer answers to a form. Raises IssuerAnswerError."""
    return _ask("POST", url, form)


def _ask(method: str, url: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
    secure = urlsplit(url).scheme == "https"
    if not secure and not loopback(url):
        raise IssuerAnswerError(f"{url[:200]} is not https: what comes from there proves nothing")
    headers = {"User-Agent": f"fairlead/{__version__}", "Accept": "application/json"}
    try:
        with httpx2.Client(
            headers=headers,
            timeout=TIMEOUT,
            verify=secure,  # without TLS no certificates are loaded: that takes long
            follow_redirects=False,
            trust_env=not loopback(url),
        ) as http:
            answer = http.request(method, url, data=None if form is None else dict(form))
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise IssuerAnswerError(f"{url} cannot be asked: {error}") from error
    try:
        tree = json.loads(answer.content)
    except ValueError:
        tree = None
    if answer.status_code == 200 and isinstance(tree, dict):
        return tree
    if isinstance(tree, dict) and isinstance(tree.get("error"), str):
        said = tree.get("error_description")
        more = f": {said[:200]}" if isinstance(said, str) else ""
        raise IssuerAnswerError(f"{tree['error'][:60]}{more}", tree["error"])
    raise IssuerAnswerError(f"{url} answers with status {answer.status_code}")


def _seconds(value: object, default: float) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if good else default  # type: ignore[arg-type]  # `good` says so
