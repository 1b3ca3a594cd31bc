"""Where the service listens: which addresses are safe, and the socket."""

from __future__ import annotations

import errno
import socket
import ssl
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from fairlead.model.errors import InputError
from fairlead.service.api.middleware import is_loopback
from fairlead.service.api.neighbours.listener import Listener
from fairlead.service.api.settings import ApiSettings


class UnboundError(InputError):
    """Nobody can listen there now: another one does, or the address is not there, or not known,
    yet."""


def check_listening(
    host: str,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    port: int = 0,
    *,
    behind_proxy: bool = False,
    no_auth: bool = False,
) -> None:
    """Raises InputError where it would not be safe to listen there, or the certificate does not
    load, and UnboundError where it cannot be listened there now. Nothing stays open."""
    if (tls_cert is None) != (tls_key is None):
        raise InputError("TLS needs a certificate and its key", "give --tls-cert and --tls-key")
    loopback = all(is_loopback(address) for address in _addresses(host))
    if no_auth and not loopback:
        raise InputError(
            f"without tokens everybody who reaches {host} may do everything",
            "leave --no-auth out, or listen on 127.0.0.1",
        )
    if no_auth and behind_proxy:
        raise InputError(
            "without tokens everybody whom the proxy lets in may do everything",
            "leave --no-auth out",
        )
    if tls_cert is not None and tls_key is not None:
        _context(tls_cert, tls_key)
    elif not loopback and not behind_proxy:
        raise InputError(
            f"{host} is not this machine alone, and without TLS tokens can be read on the way",
            "give --tls-cert and --tls-key, or --behind-proxy where a proxy in front has TLS",
        )
    try:
        family, _, _, _, address = _first_of(host, port)
        with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
            _bind(probe, address)
    except OSError as error:
        raise _unbound(host, port, error) from error


def bind_listener(
    host: str, port: int, settings: ApiSettings, *, tls: bool, behind_proxy: bool
) -> Listener:
    """The socket, bound. Raises InputError and UnboundError."""
    try:
        family, _, _, _, address = _first_of(host, port)
        listener = Listener(family, settings, tls=tls, behind_proxy=behind_proxy)
    except OSError as error:
        raise _unbound(host, port, error) from error
    try:
        _bind(listener, address)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise _unbound(host, port, error) from error
    return listener


def url_of(listener: Listener, host: str, *, tls: bool) -> str:
    """The address for a client on this machine of who listens at this host."""
    port = listener.getsockname()[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _addresses(host: str) -> list[str]:
    """Resolves the name of a host. Raises InputError."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        unknown = isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
        raise (UnboundError if unknown else InputError)(
            f"there is no host {host[:80]!r} to listen on", "write an address of this one"
        ) from error
    return [str(address[0]) for *_, address in found]


def _first_of(host: str, port: int) -> Any:
    """As socket.getaddrinfo says it. Raises OSError."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]


def _bind(listener: socket.socket, address: Any) -> None:
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)


def _unbound(host: str, port: int, error: OSError) -> InputError:
    why = error.strerror or str(error)
    # An address may come with its network, which a machine that starts waits for.
    passing = error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL, socket.EAI_AGAIN)
    return (UnboundError if passing else InputError)(
        f"{host}:{port} cannot be listened on: {why}", "choose another with --listen"
    )


def _context(cert: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password="")  # never asked for
    except OSError as error:  # ssl's errors are such, too
        what = _unusable(cert, key, error)
        raise InputError(what, "give both as PEM, the key without a password") from error
    return context


def _unusable(cert: Path, key: Path, error: OSError) -> str:
    """Why a certificate and its key cannot be used."""
    for path, name, mark in (
        (cert, "certificate", b"-----BEGIN CERTIFICATE-----"),
        (key, "key", b"PRIVATE KEY-----"),
    ):
        try:
            text = path.read_bytes()
        except OSError as unread:
            return f"the {name} {path} cannot be read: {unread.strerror or unread}"
        if mark not in text:
            return f"{path} is no {name} in PEM: it has no line with {mark.decode()}"
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return f"the key {key} is not the one of the certificate {cert}"
    return f"the certificate {cert} with the key {key} cannot be used: one of them is damaged"
