"""Finds the service, the token to ask it with, and the certificates that are believed: arguments,
environment, files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fairlead.client.errors import UnreachableError
from fairlead.client.login import Login, find_login
from fairlead.model.errors import InputError, Mistakes

if TYPE_CHECKING:
    import ssl

KEYS = ("url", "token", "ca")
"""Keys that the client's file may have."""

ADDRESS, ADMIN_TOKEN = "address", "admin-token"
"""Files in the state folder of a service on this machine."""

ORIGINAL = "original"
"""A file in each state folder, made before anything else is: a service was started with it."""

STANDBY_ADDRESS = "standby-address"
"""The first of these, of a service that waits beside another one for its state folder."""


RENEW_ADMIN = "take that file away and start the service again, which makes another one"
"""How an admin who starts the service gets a token where the file with one is of no use."""

_TOKEN = re.compile(r"[!-~]+")
"""Signs of a token; anything else cannot be sent, and must not be shown."""


@dataclass(frozen=True)
class Place:
    """A service's address, the token for it, and whose certificates are believed (a file; None:
    those of the system). `said_by`: where the address comes from, for sentences. `others`: of
    services of which one leads at a time; `url` is the first that is asked. `login`: whose JWTs are
    shown in place of a token. `token_by`: where the token comes from, for sentences. `kept`: the
    file that names this address as long as the service there was not stopped: one that was killed
    comes back, perhaps at another address, which stands there then."""

    url: str
    token: str | None
    ca: str | None
    said_by: str
    others: tuple[str, ...] = ()
    login: Login | None = None
    token_by: str = "FAIRLEAD_TOKEN"
    kept: Path | None = None

    def __repr__(self) -> str:
        return f"Place({self.url!r}, said_by={self.said_by!r})"  # a token is not for tracebacks


def config_file(environ: Mapping[str, str]) -> Path:
    """The client's file: FAIRLEAD_CONFIG, or `fairlead/config.yaml` where programs keep theirs."""
    named = environ.get("FAIRLEAD_CONFIG")
    if named:
        return Path(named)
    home = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "/"), ".config"))
    return Path(home, "fairlead", "config.yaml")


def state_folder(environ: Mapping[str, str]) -> Path:
    """The folder in which a service on this machine keeps its state if nothing else is said:
    FAIRLEAD_STATE, or `fairlead` where programs keep their state."""
    named = environ.get("FAIRLEAD_STATE")
    if named:
        return Path(named)
    home = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", "/"), ".local", "state"))
    return Path(home, "fairlead")


def find_place(
    url: str | None = None,
    token: str | None = None,
    ca: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Place:
    """The service's place. The nearer source goes first: the arguments, FAIRLEAD_URL and
    FAIRLEAD_TOKEN, the state folder that FAIRLEAD_STATE names, the client's file, the state
    folder of this user's own service. Raises InputError if nothing names one, and UnreachableError
    where a service was started here, and none serves now.

    Where no token is given, that of a `fairlead login` at these addresses is shown, renewed when it
    ends, before a token from a file, which is only for the addresses that the same file (or folder)
    names. Several addresses, with commas between them, are of services of which one leads.
    """
    if url == "":  # as of a variable that is not set: no other service is meant
        check_url(url, "--url")
    local = state_folder(environ)
    written = _config(config_file(environ), named=bool(environ.get("FAIRLEAD_CONFIG")))
    served = _line(local / ADDRESS)
    candidates = (
        (url, "--url"),
        (environ.get("FAIRLEAD_URL"), "FAIRLEAD_URL"),
        (served if environ.get("FAIRLEAD_STATE") else None, f"{local / ADDRESS}"),
        (written.get("url"), f"{config_file(environ)}"),
        (served, f"{local / ADDRESS}"),
    )
    found = next(((each, by) for each, by in candidates if each), None)
    if found is None:
        none, right = _nowhere(environ, local), "or name one with --url or FAIRLEAD_URL"
        if (local / ORIGINAL).exists():
            raise UnreachableError(
                f"no service serves now: {none}; if it is starting, ask again in a moment, else"
                f" start it with `fairlead serve`, {right}"
            )
        raise InputError(
            f"no service is known: {none}", f"start one with `fairlead serve`, {right}"
        )
    said_by = found[1]
    address, *others = (check_url(each.strip(), said_by) for each in found[0].split(","))
    given = environ.get("FAIRLEAD_TOKEN") if token is None else token
    token_by = "FAIRLEAD_TOKEN"
    if given == "":  # no other one is meant, least of all an administrator's
        raise InputError("the token is empty", "unset FAIRLEAD_TOKEN, or give it a token")
    login = None if given else find_login((address, *others), environ)
    if not given and login is None and {address, *others} <= _served_in(local):
        given, token_by = _line(local / ADMIN_TOKEN), f"{local / ADMIN_TOKEN}"
    by_file = all(_same(each, written.get("url")) for each in (address, *others))
    if not given and login is None and by_file:
        given, token_by = written.get("token"), f"{config_file(environ)}"
    if given and not _TOKEN.fullmatch(given):
        of_file = token_by.endswith(f"/{ADMIN_TOKEN}")
        raise InputError(
            f"the token (from {token_by}) holds signs that no token has",
            RENEW_ADMIN if of_file else "copy it once more",
        )
    believed = ca or environ.get("FAIRLEAD_CA")
    if not believed and by_file:
        believed = written.get("ca")
    kept = local / ADDRESS if said_by == f"{local / ADDRESS}" else None
    return Place(address, given or None, believed, said_by, tuple(others), login, token_by, kept)


def read_again(place: Place) -> str:
    """The address that a service on this machine has by now."""
    return ((place.kept and _line(place.kept)) or place.url).rstrip("/")


def _served_in(local: Path) -> set[str]:
    """The addresses of the services with their state in the folder: one that leads, one that
    waits."""
    kept = (_line(local / name) for name in (ADDRESS, STANDBY_ADDRESS))
    return {each.rstrip("/") for each in kept if each}


def _nowhere(environ: Mapping[str, str], local: Path) -> str:
    if environ.get("FAIRLEAD_STATE"):
        return f"FAIRLEAD_STATE is {local}, and no service that keeps its state there runs"
    return f"none runs here with its state in {local}, and {config_file(environ)} names none"


def _same(address: str, written: str | None) -> bool:
    """Whether the file speaks of this address: it names it, or names none."""
    named = [] if written is None else [each.strip().rstrip("/") for each in written.split(",")]
    return not named or address in named


def check_url(url: str, said_by: str) -> str:
    """The address without a slash at its end. Raises InputError where it is none."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # as who looks for it writes it
    except ValueError:  # a port that is no number, a name with an empty or a too long part
        parts, good = urlsplit(""), False
    if not (good and url.isprintable()) or parts.query or parts.fragment:
        raise InputError(
            f"{said_by} is {url!r}, which is not the address of a service",
            "write it as in http://127.0.0.1:7370, several with commas between them",
        )
    if parts.username or parts.password:
        raise InputError(
            f"{said_by} holds a name or a password", "give the token in FAIRLEAD_TOKEN instead"
        )
    return url.rstrip("/")


def _of(error: InputError) -> tuple[str, str]:
    """What is wrong, and what would be right."""
    (mistake,) = error.mistakes
    return mistake.what, mistake.right


def _unread(path: Path, error: OSError | UnicodeDecodeError) -> InputError:
    """Why a file that is there was not read."""
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path} is a folder, and a file is needed", "name the file")
    if isinstance(error, OSError):
        return InputError(f"{path} cannot be read: {error.strerror or error}")
    return InputError(
        f"{path} is not UTF-8: byte {error.start + 1} of it cannot be decoded",
        "save it as UTF-8, or name another file",
    )


def _line(path: Path) -> str | None:
    """The one line of a small file; None if it is not there, or not for us."""
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from error


def _config(path: Path, *, named: bool) -> dict[str, str]:
    """Reads the settings of the client's file: none, if it is not there and was not `named`. Raises
    InputError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        if not named:
            return {}
        raise InputError(
            f"FAIRLEAD_CONFIG is {path}, and there is no such file", "name one, or unset it"
        ) from error
    except IsADirectoryError as error:
        said = f"FAIRLEAD_CONFIG is {path}, which" if named else f"{path}, the client's file,"
        raise InputError(f"{said} is a folder", f"name a file, as {path}/config.yaml") from error
    except (OSError, UnicodeDecodeError) as error:
        raise _unread(path, error) from error
    from fairlead.model.nodes import Source, documents, is_null

    mistakes = Mistakes()
    source = Source(str(path), mistakes)
    settings: dict[str, str] = {}
    for document in documents(str(path), text, mistakes):
        if is_null(document):
            continue
        for key, node in (source.mapping(document, (), KEYS) or {}).items():
            value = source.text(node, (key,))
            if value is None:
                continue
            settings[key] = value
            for each in value.split(",") if key == "url" else ():
                try:
                    check_url(each.strip(), "it")
                except InputError as error:
                    source.wrong(node, (key,), *_of(error))
    mistakes.report()
    if "ca" in settings:  # named from where the file is
        settings["ca"] = str(path.parent / settings["ca"])
    return settings


def trust(place: Place) -> ssl.SSLContext | bool:
    """The certificates that are believed. Without TLS nothing is loaded: that takes long."""
    if all(url.startswith("http:") for url in (place.url, *place.others)):
        return False
    import ssl

    try:
        return ssl.create_default_context(cafile=place.ca)
    except OSError as error:  # ssl's errors are such, too
        why = "it has none in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise InputError(
            f"{place.ca} cannot be used to check certificates: {why}",
            "name a file of certificates in PEM",
        ) from error
