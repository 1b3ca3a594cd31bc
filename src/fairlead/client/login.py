"""The store of `fairlead login`: JWTs of an issuer by the service that they are for, renewed by the
issuer before they end."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.client.errors import NotAllowedError
from fairlead.model.errors import InputError, OutputError
from fairlead.whole_file import write_private

if TYPE_CHECKING:  # finding a service loads no HTTP
    import httpx2

SCHEMA = "fairlead.logins/1"

EARLY = 30.0
"""Seconds before its end from which a JWT is renewed."""

_JWT = re.compile(r"[\w-]+\.[\w-]*\.[\w-]*", re.ASCII)
"""The signs of a JWT: anything else cannot be sent."""


@dataclass(frozen=True)
class Login:
    """One sign-in. `urls`: the addresses of the services that are shown its JWTs, and no others.
    `until`: when the present one ends, in seconds since 1970 (None: nobody said). `refresh`: what
    brings the next one. `id_token`: it is the ID token that is shown. `file`: where it is kept."""

    urls: tuple[str, ...]
    issuer: str
    client: str
    token_endpoint: str
    token: str
    until: float | None
    refresh: str | None
    id_token: bool
    file: Path

    def __repr__(self) -> str:
        return f"Login({self.urls!r}, issuer={self.issuer!r})"  # secrets are not for tracebacks

    def authorize(self, request: httpx2.Request) -> httpx2.Request:
        """The request with a JWT that is good for a while yet. Raises NotAllowedError."""
        request.headers["Authorization"] = f"Bearer {renew_login(self).token}"
        return request


def login_file(environ: Mapping[str, str]) -> Path:
    """The file with this user's sign-ins."""
    home = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", "/"), ".local", "state"))
    return Path(home, "fairlead", "logins.json")


def find_login(urls: tuple[str, ...], environ: Mapping[str, str]) -> Login | None:
    """The sign-in for these addresses, all of them. Raises InputError."""
    for each in _read(login_file(environ)):
        if set(urls) <= set(each.urls):
            return each
    return None


def keep_login(login: Login) -> None:
    """Keeps it in place of others for these addresses. Raises OutputError."""
    try:
        login.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{login.file.parent} cannot be made: {error.strerror}") from error
    with _locked(login.file):
        others = [each for each in _read(login.file) if not set(each.urls) & set(login.urls)]
        _write(login.file, [*others, login])


def forget_login(login: Login) -> None:
    """Keeps it no more. Raises OutputError."""
    with _locked(login.file):
        _write(login.file, [each for each in _read(login.file) if each.urls != login.urls])


def renew_login(login: Login) -> Login:
    """The sign-in with a JWT that does not end soon: the one that is kept, or a new one of the
    issuer's. Several processes ask for one of them only. Raises NotAllowedError."""
    if not _ends(login):
        return login
    with _locked(login.file):
        kept = next((each for each in _read(login.file) if each.urls == login.urls), None)
        if kept is None:
            raise NotAllowedError("you have signed out; `fairlead login` signs in again")
        if not _ends(kept):
            return kept
        if kept.refresh is None:
            raise NotAllowedError("the sign-in has ended; `fairlead login` signs in again")
        answer = _ask_anew(kept, kept.refresh)
        new = with_tokens(kept, answer)
        others = [each for each in _read(login.file) if each.urls != login.urls]
        _write(login.file, [*others, new])
    return new


def with_tokens(login: Login, answer: Mapping[str, Any]) -> Login:
    """The sign-in with what the issuer's token endpoint answered. Raises NotAllowedError where it
    sent no JWT."""
    name = "id_token" if login.id_token else "access_token"
    token, refresh = answer.get(name), answer.get("refresh_token")
    if not isinstance(token, str) or not _JWT.fullmatch(token):
        raise NotAllowedError(
            f"{login.issuer} answers without a JWT ({name}): ask the service's administrator how"
            " its clients get one"
        )
    return replace(
        login,
        token=token,
        until=_end(token, answer),
        refresh=refresh if isinstance(refresh, str) else login.refresh,
    )


def _ask_anew(login: Login, refresh: str) -> Mapping[str, Any]:
    from fairlead.client.issuer import IssuerAnswerError, post

    form = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": login.client}
    try:
        return post(login.token_endpoint, form)
    except IssuerAnswerError as error:
        if error.code:
            raise NotAllowedError(
                f"the sign-in has ended ({error}); `fairlead login` signs in again"
            ) from error
        raise NotAllowedError(f"the sign-in cannot be renewed: {error}") from error


def _ends(login: Login) -> bool:
    return login.until is not None and time.time() > login.until - EARLY


def _end(token: str, answer: Mapping[str, Any]) -> float | None:
    """When the JWT ends, by its own words; it is the service that checks them."""
    try:
        part = token.split(".")[1]
        end = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4))).get("exp")
    except (ValueError, AttributeError):
        end = None
    if isinstance(end, int | float):
        return float(end)
    lasts = answer.get("expires_in")
    return time.time() + lasts if isinstance(lasts, int | float) else None


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """One process at a time: a refresh token may be good for one use alone."""
    beside = file.with_name(file.name + ".lock")
    try:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OutputError(f"{beside} cannot be opened: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _read(file: Path) -> list[Login]:
    try:
        tree = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file} cannot be read: {error}", "remove it, and sign in again"
        ) from error
    try:
        if tree["schema"] != SCHEMA:
            raise ValueError
        return [
            Login(**{**each, "urls": tuple(each["urls"])}, file=file) for each in tree["logins"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{file} is not what `fairlead login` wrote", "remove it, and sign in again"
        ) from error


def _write(file: Path, logins: list[Login]) -> None:
    rows = [{**asdict(each), "file": None} for each in logins]
    for row in rows:
        del row["file"]
    try:
        write_private(file, json.dumps({"schema": SCHEMA, "logins": rows}, indent=1) + "\n")
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror}") from error
