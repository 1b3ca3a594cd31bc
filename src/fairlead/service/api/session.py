"""A browser's session: the cookie that stands for the header with the token, and when it is
believed."""

from __future__ import annotations

import re

from starlette.requests import Request

from fairlead.service.api.refusal import RefusalError
from fairlead.wire.errors import ErrorKind
from fairlead.wire.tokens import REQUEST_HEADER

READING = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""

_PORT = re.compile(r":([0-9]{1,5})$")

_KEPT = re.compile(r"[A-Za-z0-9._~+/=-]{1,3800}")
"""The length that a cookie holds as it is, and browsers keep: of 4,096 bytes, its name and
attributes are some. Tokens are such, and so are JWTs that are not too long."""


def token_text(request: Request) -> str | None:
    """The text of the token that a request shows: in the header Authorization, which alone counts
    where there is one, or in the session's cookie. Raises RefusalError where another page of the
    browser may have sent the cookie."""
    headers = request.headers.getlist("authorization")
    if headers:
        return bearer(headers[0]) if len(headers) == 1 else None
    shown = _cookie(request)
    if shown is not None:
        refuse_others(request)
        if request.method not in READING and request.headers.get(REQUEST_HEADER) != "1":
            raise RefusalError(
                ErrorKind.FORBIDDEN,
                "a session changes something only as its own page asks",
                f"send the header {REQUEST_HEADER}: 1",
            )
    return shown


def bearer(header: str) -> str | None:
    """The text of the token in the header Authorization."""
    scheme, _, text = header.partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


def refuse_others(request: Request) -> None:
    """Raises RefusalError where the browser says that another page sent the request, or, where it
    would change something from its session, does not say which one did."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    reads = request.method in READING
    if site is not None:
        own = site == "same-origin" or (site == "none" and reads)
    elif origin is not None:
        own = is_origin(origin, request.headers.get("host", ""))
    else:
        own = reads or _cookie(request) is None
    if not own:
        raise RefusalError(ErrorKind.FORBIDDEN, "another page's requests are not answered")


def is_origin(origin: str, host: str) -> bool:
    """Whether a page of that origin is one of this host, port included."""
    return origin in (f"http://{host}", f"https://{host}")


def begin(request: Request, text: str) -> dict[str, str]:
    """The header that signs a browser in with this token, until the browser ends. Raises
    RefusalError where no browser would keep it."""
    if not _KEPT.fullmatch(text):
        raise RefusalError(
            ErrorKind.INVALID,
            "this token cannot be kept in a cookie",
            "sign in with one that the service made",
        )
    return {"Set-Cookie": f"{cookie_name(request)}={text}{_attributes(request)}"}


def end(request: Request) -> dict[str, str]:
    """The header that signs a browser out."""
    return {"Set-Cookie": f"{cookie_name(request)}={_attributes(request)}; Max-Age=0"}


def cookie_name(request: Request) -> str:
    """The cookie's name, with the port: a browser sends a host's cookies to all its ports, and the
    sessions of two services of one machine are to be two. With TLS, no page without TLS and none of
    another host of the domain can set it."""
    port = _PORT.search(request.headers.get("host", ""))
    name = f"fairlead-{port[1]}" if port else "fairlead"
    return f"__Host-{name}" if _secure(request) else name


def _attributes(request: Request) -> str:
    return f"; Path=/; HttpOnly; SameSite=Strict{'; Secure' if _secure(request) else ''}"


def _secure(request: Request) -> bool:
    return bool(request.scope["scheme"] == "https")


def _cookie(request: Request) -> str | None:
    """The content of the session's cookie. Two of its name are none: one of them somebody else
    set."""
    name = cookie_name(request)
    written = ";".join(request.headers.getlist("cookie")).split(";")
    pairs = (each.strip().partition("=") for each in written)
    found = [value for key, _, value in pairs if key == name]
    return found[0] if len(found) == 1 else None
