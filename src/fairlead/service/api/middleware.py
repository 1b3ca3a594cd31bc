"""The layer that every request passes first and every answer last."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairlead.service.api.bodies import CLOSE, give_back
from fairlead.service.api.entering import CALLER
from fairlead.service.api.neighbours.limits import neighbourhood
from fairlead.service.api.neighbours.places import who_of
from fairlead.service.api.refusal import RefusalError, answer
from fairlead.service.api.request_context import Api
from fairlead.service.api.session import is_origin
from fairlead.service.telemetry.happenings import RequestAnswered
from fairlead.wire.errors import ErrorKind
from fairlead.wire.status import AGE_HEADER, LEADER_HEADER
from fairlead.wire.trace import HEADER

if TYPE_CHECKING:  # nothing of it is loaded where nobody asked for it
    from fairlead.service.telemetry.telemetry import Telemetry

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
]
"""Of every answer that does not say otherwise, as the dashboard's files do: nothing of it is ever
to be run or framed by a browser."""

STALLED = 60.0
"""Seconds in which a reader takes no byte; then his connection is closed."""

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

Headers = Iterable[tuple[bytes, bytes]]


class Middleware:
    """The application behind its gate.

    Paths stay percent-encoded until a handler reads a name, so that a name can hold a slash. The
    address of a client behind our proxy is the last one that `X-Forwarded-For` names: the proxy
    wrote it. Where no token is asked for, only this machine's own programs may ask, and no page
    that a browser happens to show."""

    def __init__(self, app: ASGIApp, api: Api, *, no_auth: bool, behind_proxy: bool) -> None:
        self.app, self.api = app, api
        self._no_auth, self._behind_proxy = no_auth, behind_proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # a web socket: there are none here
            await send({"type": "websocket.close", "code": 1008})
            return
        scope = dict(scope)
        raw = scope.get("raw_path") or quote(scope["path"]).encode()
        scope["path"] = raw.partition(b"?")[0].decode("latin-1")
        if self._behind_proxy:
            scope["client"] = _client(scope)
            scope["scheme"] = "https"  # what the client speaks with the proxy

        if self.api.telemetry is not None:
            send = self._traced(scope, send, self.api.telemetry)
        began = self.api.clock()

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.report(scope, message["status"], began)
                message["headers"] = self.completed(message.get("headers", ()))
            async with asyncio.timeout(STALLED):
                await send(message)

        client = scope.get("client")
        address = neighbourhood(client[0] if client else "")
        guessed = self.api.owners.guess(scope["headers"], address)

        def owner() -> str:
            caller = scope.get(CALLER)
            return guessed if caller is None else who_of(caller, address)

        try:
            await self.api.turns.by_turns(self._answer(scope, raw, receive, sent), owner)
        finally:
            give_back(scope, self.api.held)

    def completed(self, given: Headers) -> list[tuple[bytes, bytes]]:
        """The headers of an answer, with those that all have."""
        given = list(given)
        names = {name for name, _ in given}
        ours = (each for each in HEADERS if each[0] not in names)
        return [*given, *ours, *self._worth()]

    async def _answer(self, scope: Scope, path: bytes, receive: Receive, send: Send) -> None:
        refused = self._refuse_long(scope, path) or _refuse_framing(scope)
        if refused is None and self._no_auth:
            refused = self._refuse(scope["headers"])
        if refused is not None:
            await answer(refused)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _traced(self, scope: Scope, send: Send, telemetry: Telemetry) -> Send:
        """Sends the same, and tells of the request once its answer has ended."""
        began, status = self.api.wall(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self.trace(scope, status, began, telemetry)

        return sent

    def trace(self, scope: Scope, status: int, began: int, telemetry: Telemetry) -> None:
        """Tells of a request whose answer has ended."""
        route, caller = scope.get("route"), scope.get(CALLER)
        parents = [value for name, value in scope["headers"] if name == HEADER.encode()]
        telemetry.answered(
            RequestAnswered(
                method=scope["method"] if scope["method"] in METHODS else "other",
                route="none" if route is None else route.path,
                status=status,
                began=began,
                ended=self.api.wall(),
                parent=parents[0].decode("latin-1") if len(parents) == 1 else None,
                tenant=None if caller is None else caller.tenant,
                role=None if caller is None else caller.role.value,
            )
        )

    def _worth(self) -> Headers:
        """Says how old an answer is where this does not lead, or cannot know it."""
        following, age = self.api.following(), self.api.stale()
        if following is not None or age:
            yield AGE_HEADER.lower().encode(), b"%.3f" % age
        if following is not None and following.leader:
            yield LEADER_HEADER.lower().encode(), following.leader.encode()

    def report(self, scope: Scope, status: int, began: float) -> None:
        """Counts an answer that begins."""
        if self.api.on_answer is not None:
            route = scope.get("route")  # nothing of what was sent, where there is no such route
            path = "none" if route is None else route.path
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.api.on_answer(path, method, status, self.api.clock() - began)

    def _refuse_long(self, scope: Scope, path: bytes) -> RefusalError | None:
        """Refuses a head that came at once and is too long: the server looks at parts alone."""
        most = self.api.settings.head_bytes
        headers = sum(len(name) + len(value) + len(b": \r\n") for name, value in scope["headers"])
        if len(path) + len(scope.get("query_string", b"")) + headers <= most:
            return None
        return RefusalError(
            ErrorKind.BAD_REQUEST,
            f"the head of the request is longer than {most} bytes",
            "send shorter headers and a shorter address",
            headers=CLOSE,
        )

    def _refuse(self, headers: Headers) -> RefusalError | None:
        """Refuses requests of another page in the user's browser: it may name any host."""
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if len(hosts) != 1 or not is_loopback(_name_of(hosts[0])):
            return RefusalError(
                ErrorKind.FORBIDDEN, "without tokens only this machine may be named as the host"
            )
        if not all(is_origin(origin, hosts[0]) for origin in origins):
            return RefusalError(ErrorKind.FORBIDDEN, "another page's requests are not answered")
        return None


def _refuse_framing(scope: Scope) -> RefusalError | None:
    """Refuses a request that says in two ways where it ends, or in one that its version has not:
    whoever is in front may have believed the other (RFC 9112, 6.1). Nothing follows on it."""
    names = {name for name, _ in scope["headers"]}
    if b"transfer-encoding" not in names:
        return None
    if b"content-length" not in names and scope.get("http_version") != "1.0":
        return None
    return RefusalError(
        ErrorKind.BAD_REQUEST,
        "the length of the body is said in two ways",
        "send Content-Length, or Transfer-Encoding over HTTP/1.1",
        headers=CLOSE,
    )


def _name_of(host: str) -> str:
    """The host without its port; nothing where it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _client(scope: Scope) -> tuple[str, int] | None:
    for name, value in reversed(scope["headers"]):
        if name == b"x-forwarded-for":
            return value.decode("latin-1").rpartition(",")[2].strip(), 0
    return scope["client"]  # type: ignore[no-any-return]  # as ASGI has it
