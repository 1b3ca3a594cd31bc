"""What a request that came to nothing means: why no answer came, and the error that one is."""

from __future__ import annotations

from pathlib import Path

import httpx2

from fairlead.client.errors import (
    AnswerError,
    BusyError,
    FailedError,
    NotAllowedError,
    NotLeadingError,
    RefusedError,
    ServiceError,
    UnknownNameError,
)
from fairlead.client.places import ADMIN_TOKEN, RENEW_ADMIN, Place
from fairlead.model.errors import Mistake
from fairlead.wire.errors import STATUS, ErrorKind, from_wire

LOGIN = "fairlead login"
"""By what people sign in."""

DOTS = 2
"""In a JWT; a token has none."""

NOT_LEADING = STATUS[ErrorKind.NOT_LEADING]


def is_in_vain(error: httpx2.TransportError) -> bool:
    """Whether TLS failed, which it does again: by its certificate, or as there is none."""
    return isinstance(error, httpx2.ConnectError) and "[SSL" in str(error)


def unreachable(error: httpx2.TransportError, place: Place, timeout: float) -> str:
    """Why no answer came, and what to do."""
    text = str(error)
    there = f"{place.url} (from {place.said_by})"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        reason = text.partition("CERTIFICATE_VERIFY_FAILED]")[2].strip() or text
        return (
            f"the certificate of {there} is not believed: {reason}; name the file of the one who"
            " signed it with FAIRLEAD_CA, or as `ca:` in the client's file"
        )
    if "[SSL" in text or "WRONG_VERSION_NUMBER" in text:
        return f"TLS with {there} failed: {text}; without TLS the address begins with http://"
    if isinstance(error, httpx2.ConnectTimeout):
        return f"nothing answers at {there}; is the address right, and is a firewall in between?"
    if isinstance(error, httpx2.ReadTimeout):
        return f"{there} has not answered for {timeout:g} seconds; it is busy, or hangs"
    if isinstance(error, httpx2.ConnectError):
        if "Name or service not known" in text or "getaddrinfo" in text or "resolution" in text:
            return f"the name in {there} is not known; is it written right?"
        return (
            f"nothing listens at {there}; is the service running? `fairlead serve` starts one"
            f"{'' if 'refused' in text.lower() else f' ({text})'}"
        )
    if isinstance(error, httpx2.RemoteProtocolError):
        return (
            f"{there} hung up without an answer; if it wants TLS, the address begins with https://"
        )
    return f"the connection to {there} failed: {text or type(error).__name__}"


def error_of(status: int, tree: object, place: Place) -> ServiceError:
    """The error that an answer of this status is."""
    mistakes = _mistakes_in(tree)
    text = "; ".join(map(str, mistakes))
    if status == 401 and place.said_by == "--url":  # else the same is found by itself
        text = text.replace(LOGIN, f"{LOGIN} --url {place.url}")
    if status == 401 and place.login is not None:
        return NotAllowedError(
            f"{place.url} does not take the sign-in: {text or 'it does not say why'}", status
        )
    if status == 401 and place.token and place.token.count(".") == DOTS and text:
        return NotAllowedError(
            f"{place.url} does not take the JWT, which is from {place.token_by}: {text}, once that"
            " one is away, or put a new one there",
            status,
        )
    if status == 401:
        how = f"it is from {place.token_by}: check it, or ask for a new one"
        of_admin = place.token_by.endswith(f"/{ADMIN_TOKEN}")
        if place.token is None:
            how = "none is given: set FAIRLEAD_TOKEN"
            if LOGIN in text:  # a service where people can says so
                how += f", or sign in: {text[text.index(LOGIN) - 1 :]}"
            if of_admin and _is_empty(Path(place.token_by)):
                how += f"; {place.token_by} is empty: {RENEW_ADMIN}"
        elif of_admin:
            how = f"it is from {place.token_by}: where it was revoked, {RENEW_ADMIN}"
        return NotAllowedError(f"{place.url} does not take the token; {how}", status)
    if status == 403:
        return NotAllowedError(text or "this token may not do that", status)
    if status == NOT_LEADING:
        how = f"name all addresses, with commas between them, where {place.said_by} names one"
        if place.others:
            how = f"of the addresses that {place.said_by} names none leads now"
        return NotLeadingError(f"{text or 'this service follows another one'}; {how}", status)
    if status in (408, 429, 503):
        return BusyError(text or f"{place.url} is busy (status {status})", status)
    if status == 404 and mistakes:
        return UnknownNameError(mistakes, status)
    if 400 <= status < 500 and mistakes:
        return RefusedError(mistakes, status)
    said = f": {text}" if text else ""
    if 300 <= status < 500 or not text:  # a service says why
        return AnswerError(
            f"{place.url} (from {place.said_by}) does not answer as a Fairlead service does"
            f" (status {status}){said}; is the address right?",
            status,
        )
    return FailedError(f"{place.url} failed (status {status}){said}; its log says more", status)


def _is_empty(file: Path) -> bool:
    try:
        return file.stat().st_size == 0
    except OSError:
        return False


def _mistakes_in(tree: object) -> tuple[Mistake, ...]:
    """The mistakes of an answer that is an error (`wire.errors.ErrorAnswer`)."""
    error = tree.get("error") if isinstance(tree, dict) else None
    mistakes = error.get("mistakes") if isinstance(error, dict) else None
    if not isinstance(mistakes, list):
        return ()
    found = (from_wire(each) for each in mistakes)
    return tuple({str(each): each for each in found if each is not None}.values())
