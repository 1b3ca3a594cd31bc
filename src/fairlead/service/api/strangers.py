"""Who shows no token, or none that is good, and is answered before he is a connection."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus

from starlette.responses import Response
from starlette.routing import compile_path

from fairlead.model.errors import Mistake
from fairlead.service.api.keys import caller_of
from fairlead.service.api.middleware import Headers, Middleware
from fairlead.service.api.neighbours.heads import Asked, read_plain
from fairlead.service.api.neighbours.places import who_of
from fairlead.service.api.refusal import RefusalError, answer
from fairlead.service.api.session import bearer
from fairlead.wire.errors import ErrorKind
from fairlead.wire.route import Access, Route
from fairlead.wire.routes import ROUTES

AUTHORIZATION, COOKIE = b"authorization", b"cookie"


class Strangers:
    """Refuses what the application behind the middleware would refuse for want of a token, in its
    words, for a twentieth of what a connection costs, and tells whose the others are. `default`:
    headers that the server gives each answer."""

    def __init__(self, middleware: Middleware, default: Callable[[], Headers]) -> None:
        self._middleware, self._api, self._default = middleware, middleware.api, default

    def guess(self, headers: Headers, address: str) -> str:
        """Whose a request is, by the headers that show it: his, too, whose token is good and was
        not shown before."""
        known = self._api.owners.guess(headers, address)
        text = _text_of(headers)
        if known != address or text is None:
            return known
        record = self._api.keys.find(text)
        return address if record is None else who_of(caller_of(record), address)

    def answer(self, said: bytes, address: str) -> bytes | None:
        """The whole answer, after which the connection is closed. None where the application is to
        be asked: it needs no token there, the token may be good, more is to be known first, or too
        many come from this address, who are told later."""
        api = self._api
        if api.by_address.wait(address, api.clock()) > 0:
            return None
        asked = read_plain(said)
        route = None if asked is None else find_route(asked.method, asked.path)
        if asked is None or route is None or route.access is Access.PUBLIC:
            return None
        if any(name == COOKIE for name, _ in asked.headers):
            return None
        refusal = api.keys.refuse(_text_of(asked.headers), address)
        if refusal is None:
            return None
        api.by_address.take(address, api.clock())
        response = _response(refusal.kind, refusal.mistakes, tuple(refusal.headers.items()))
        self._tell(asked, route, response.status_code)
        headers = [*self._default(), *self._middleware.completed(response.raw_headers), CLOSE]
        return b"".join(
            [
                b"HTTP/1.1 %d %s\r\n" % (response.status_code, _phrase(response.status_code)),
                *(b"%s: %s\r\n" % header for header in headers),
                b"\r\n",
                response.body,
            ]
        )

    def _tell(self, asked: Asked, route: Route, status: int) -> None:
        scope = {"route": route, "method": asked.method, "headers": asked.headers}
        self._middleware.report(scope, status, self._api.clock())
        if self._api.telemetry is not None:
            self._middleware.trace(scope, status, self._api.wall(), self._api.telemetry)


CLOSE = (b"Connection", b"close")


def _text_of(headers: Headers) -> str | None:
    """The text of the token that is shown."""
    found = [value for name, value in headers if name == AUTHORIZATION]
    return bearer(found[0].decode("latin-1")) if len(found) == 1 else None


@lru_cache(maxsize=1000)
def find_route(method: str, path: str) -> Route | None:
    """The route, as the application finds it."""
    for route, pattern in _PATTERNS:
        if route.method == method and pattern.match(path):
            return route
    return None


_PATTERNS = [(route, compile_path(route.path)[0]) for route in ROUTES]


@lru_cache(maxsize=100)
def _response(
    kind: ErrorKind, mistakes: tuple[Mistake, ...], headers: tuple[tuple[str, str], ...]
) -> Response:
    """The answer to all that are refused alike."""
    return answer(RefusalError(kind, mistakes=mistakes, headers=dict(headers)))


@lru_cache
def _phrase(status: int) -> bytes:
    return HTTPStatus(status).phrase.encode()
