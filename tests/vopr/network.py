"""The network between clients and the service: requests and answers are lost, late and doubled."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.types import ASGIApp, Message

from tests.vopr.eventloop import SimLoop
from tests.vopr.faults import SECOND, BrokenPromiseError, Chance, Fault, Trace

PATIENCE = 40 * SECOND
"""So long a client waits for an answer."""


@dataclass(frozen=True)
class Call:
    """A request of HTTP."""

    method: str
    path: str
    token: str
    query: str = ""
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    client: str = "10.0.0.1"


@dataclass(frozen=True)
class Answer:
    """An answer of HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Exchange:
    """A call on its way, and what becomes of it. `told`: is given each answer as it leaves the
    service, whether the client will hear it or not. `heard`: once, what the client gets; None: no
    answer. `part`: of an answer that goes on, each part."""

    call: Call
    told: Callable[[Answer], None]
    heard: Callable[[Answer | None], None]
    part: Callable[[bytes], None] | None = None
    copies: int = 1
    on_the_way: int = 0
    inside: int = 0  # copies that the service works at
    over: bool = False
    gone: list[Callable[[], None]] = field(default_factory=list)  # told that the client hung up

    def end(self, answer: Answer | None) -> None:
        """The client heard it, and hangs up."""
        if self.over:
            return
        self.over = True
        self.hang_up()
        self.heard(answer)

    def hang_up(self) -> None:
        """The service sees that nobody listens any more."""
        for each in self.gone:
            each()
        self.gone.clear()


class Server(Protocol):
    """Who answers calls, as long as it lives."""

    @property
    def gate(self) -> ASGIApp:
        """The application."""

    @property
    def loop(self) -> SimLoop:
        """Where it runs."""

    def crash(self) -> None:
        """It is killed here."""

    def broke(self, error: BrokenPromiseError) -> None:
        """It broke a promise."""


class Network:
    """All that is on its way. `server` is None while the service is down."""

    def __init__(self, chance: Chance, trace: Trace) -> None:
        self.chance = chance
        self.trace = trace
        self.server: Server | None = None
        self.inside: dict[int, Exchange] = {}
        self._later: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, time: int, what: Callable[[], None]) -> None:
        """It happens then."""
        self._number += 1
        heapq.heappush(self._later, (time, self._number, what))

    def advance(self, now: int) -> None:
        """All that arrives until then."""
        while self._later and self._later[0][0] <= now:
            heapq.heappop(self._later)[2]()

    def next(self) -> int | None:
        """When something arrives next."""
        return self._later[0][0] if self._later else None

    def send(self, exchange: Exchange) -> None:
        """A client sends it now."""
        chance, now = self.chance, self.trace.now
        if exchange.part is None:
            self.at(now + PATIENCE, lambda: exchange.end(None))
        if chance.hit(Fault.REQUEST_LOST):
            self.at(now + SECOND, lambda: exchange.end(None))
            return
        if exchange.part is None and chance.hit(Fault.REQUEST_TWICE):
            exchange.copies = 2
        for _ in range(exchange.copies):
            exchange.on_the_way += 1
            if chance.hit(Fault.REQUEST_LATE):
                wait = chance.stream("late request").randrange(20 * SECOND)
                self.at(now + wait, lambda: self._arrive(exchange))
            else:
                self._arrive(exchange)

    def cut(self) -> None:
        """The service died: whoever waits for an answer sees that his connection is gone."""
        self.server = None
        waiting, self.inside = list(self.inside.values()), {}
        for exchange in waiting:
            exchange.inside = 0
            exchange.gone.clear()
            self._maybe_over(exchange)

    def _maybe_over(self, exchange: Exchange) -> None:
        """Nothing will come any more where no copy is on its way or worked at."""
        if not exchange.on_the_way and not exchange.inside:
            self.at(self.trace.now + SECOND // 10, lambda: exchange.end(None))

    def _arrive(self, exchange: Exchange) -> None:
        exchange.on_the_way -= 1
        if self.server is None:
            self._maybe_over(exchange)
            return
        exchange.inside += 1
        self._number += 1
        self.inside[self._number] = exchange
        visit = _Visit(self, exchange, self.server, self._number)
        self.server.loop.create_task(visit.run())

    def left(self, number: int) -> None:
        """The service is done with a copy of a call, of which there was no whole answer."""
        exchange = self.inside.pop(number, None)
        if exchange is not None:
            exchange.inside -= 1
            self._maybe_over(exchange)

    def leave(self, exchange: Exchange, answer: Answer, server: Server) -> None:
        """An answer leaves the service."""
        if answer.status == 500:
            return  # the exception itself follows, which says more
        try:
            exchange.told(answer)
        except BrokenPromiseError as error:
            server.broke(error)
            return
        chance, now = self.chance, self.trace.now
        exchange.inside -= 1
        if chance.hit(Fault.CRASH_BEFORE_REPLY):
            server.crash()
            self._maybe_over(exchange)
        elif chance.hit(Fault.ANSWER_LOST):
            self._maybe_over(exchange)
        elif chance.hit(Fault.ANSWER_LATE):
            wait = chance.stream("late answer").randrange(60 * SECOND)
            self.at(now + wait, lambda: exchange.end(answer))
        else:
            exchange.end(answer)


class _Visit:
    """One copy of a call in the service: the two ends of its connection, as ASGI has them."""

    def __init__(self, network: Network, exchange: Exchange, server: Server, number: int) -> None:
        self._network, self._exchange, self._server = network, exchange, server
        self._number = number
        self._status, self._headers = 0, dict[str, str]()
        self._body: list[bytes] = []
        body = exchange.call.body or b""
        self._cut = bool(body) and network.chance.hit(Fault.REQUEST_CUT)
        self._left = [body[: len(body) // 2]] if self._cut else [body]
        self._hung_up = server.loop.create_future()
        exchange.gone.append(self._hang_up)

    def _hang_up(self) -> None:
        if not self._hung_up.done():
            self._hung_up.set_result(None)

    async def run(self) -> None:
        """The application answers it."""
        call = self._exchange.call
        headers = [(b"host", b"fairlead"), (b"authorization", f"Bearer {call.token}".encode())]
        if call.body is not None:
            headers.append((b"content-type", b"application/json"))
            headers.append((b"content-length", str(len(call.body)).encode()))
        headers += [(name.lower().encode(), value.encode()) for name, value in call.headers]
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},  # as the server says it
            "http_version": "1.1",
            "method": call.method,
            "scheme": "http",
            "path": call.path,
            "raw_path": call.path.encode(),
            "query_string": call.query.encode(),
            "root_path": "",
            "headers": headers,
            "client": (call.client, 40_000),
            "server": ("fairlead", 7370),
        }
        try:
            await self._server.gate(scope, self._receive, self._send)
        finally:
            self._network.left(self._number)  # without an answer, if it is still there

    async def _receive(self) -> Message:
        if self._left:
            body = self._left.pop()
            return {"type": "http.request", "body": body, "more_body": self._cut}
        if not self._cut:
            await self._hung_up
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        network, exchange = self._network, self._exchange
        if network.inside.get(self._number) is not exchange:
            return  # nobody is there any more
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message["headers"]
            }
            return
        body = message.get("body", b"")
        if exchange.part is not None and self._status == 200 and body:
            try:
                if not exchange.over:
                    exchange.part(body)
            except BrokenPromiseError as error:
                self._server.broke(error)
        else:
            self._body.append(body)
        if not message.get("more_body", False):
            del network.inside[self._number]
            answer = Answer(self._status, self._headers, b"".join(self._body))
            network.leave(exchange, answer, self._server)
