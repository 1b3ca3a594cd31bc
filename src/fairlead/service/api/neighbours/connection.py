"""Connections: how many there may be, and how long one may take to say what it wants."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Protocol
from weakref import ref

from uvicorn.protocols.http.h11_impl import H11Protocol

from fairlead.service.api.neighbours.handshakes import Handshakes
from fairlead.service.api.neighbours.limits import neighbourhood
from fairlead.service.api.neighbours.places import KNOWN
from fairlead.service.api.settings import ApiSettings


class Connection(Protocol, Hashable):
    """One that can be ended."""

    def end(self) -> None:
        """Closes it at once."""


class Connections:
    """Those that are open, by whose they are and by address."""

    def __init__(self, settings: ApiSettings, *, behind_proxy: bool) -> None:
        self.seconds = settings.head_seconds
        self.handshakes = Handshakes(settings, behind_proxy=behind_proxy)
        # Behind a proxy all connections are the proxy's own.
        self._each = settings.connections if behind_proxy else settings.address_connections
        self._most, self._tenant = settings.connections, settings.tenant_connections
        self._open: dict[Connection, str] = {}  # with its address
        self._counts: Counter[str] = Counter()  # by address
        self._strangers: dict[str, dict[Connection, None]] = {}  # by address, the oldest first
        self._oldest: dict[Connection, None] = {}  # the same of all addresses
        self._owners: dict[Connection, str] = {}
        self._owned: Counter[str] = Counter()

    def enter(self, connection: Connection, address: str) -> bool:
        """Whether one more may come. Where there are too many, the oldest that nobody showed a
        token on has to go: who has a token is not kept out by those who have none."""
        if self._counts[address] >= self._each:
            self._end_first(self._strangers.get(address, {}))
        elif len(self._open) >= self._most:
            self._end_first(self._oldest)
        if self._counts[address] >= self._each or len(self._open) >= self._most:
            return False
        self._open[connection] = address
        self._counts[address] += 1
        self._strangers.setdefault(address, {})[connection] = None
        self._oldest[connection] = None
        return True

    def own(self, connection: Connection, who: str) -> None:
        """A request with a token of theirs came on it: it stays, unless they have too many."""
        address = self._open.get(connection)
        if address is None or self._owners.get(connection) == who:
            return
        self._disown(connection)
        if self._owned[who] < self._tenant:
            self._owners[connection] = who
            self._owned[who] += 1
            self._forget_stranger(connection, address)

    def leave(self, connection: Connection) -> None:
        """It is closed, or about to be."""
        address = self._open.pop(connection, None)
        if address is None:
            return
        self._disown(connection)
        self._forget_stranger(connection, address)
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]

    def make_room(self) -> bool:
        """Ends the oldest that nobody showed a token on, else a handshake; whether there was."""
        return self._end_first(self._oldest) or self.handshakes.make_room()

    def _end_first(self, connections: dict[Connection, None]) -> bool:
        first = next(iter(connections), None)
        if first is None:
            return False
        self.leave(first)
        first.end()
        return True

    def _disown(self, connection: Connection) -> None:
        """It is nobody's any more, and a stranger's only if it is told so."""
        who = self._owners.pop(connection, None)
        if who is not None:
            self._owned[who] -= 1
            if not self._owned[who]:
                del self._owned[who]
            address = self._open.get(connection)
            if address is not None:
                self._strangers.setdefault(address, {})[connection] = None
                self._oldest[connection] = None

    def _forget_stranger(self, connection: Connection, address: str) -> None:
        self._oldest.pop(connection, None)
        strangers = self._strangers.get(address, {})
        strangers.pop(connection, None)
        if not strangers:
            self._strangers.pop(address, None)


def _below_tls(transport: Any) -> Any:
    """The transport of the socket itself."""
    secured = getattr(transport, "_ssl_protocol", None)
    return transport if secured is None else secured._transport  # noqa: SLF001


def guard_protocol(connections: Connections) -> Callable[..., asyncio.Protocol]:
    """The server's protocol, with limits: a connection on which no request is begun and none is
    answered for some seconds is closed, however many bytes it sends."""

    class Guarded(H11Protocol):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._patience: asyncio.TimerHandle | None = None
            self._held_by: dict[str, Any] = {}  # what the socket's transport has
            me = ref(self)  # or each connection would stay until garbage is looked for

            def known(who: str) -> None:
                if (connection := me()) is not None:
                    connections.own(connection, who)

            self.app_state = {**self.app_state, KNOWN: known}  # every request's scope has a copy

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own does
            super().connection_made(transport)
            self._held_by = vars(_below_tls(transport))
            connections.handshakes.end(transport.get_extra_info("peername"))
            address = neighbourhood(self.client[0] if self.client else "")
            if connections.enter(self, address):
                self._wait()
            else:
                transport.abort()

        def end(self) -> None:
            self.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop_waiting()
            connections.leave(self)
            # A method of its own, by which it would stay until garbage is looked for.
            self._held_by.pop("_read_ready_cb", None)

        def send_400_response(self, msg: str) -> None:
            super().send_400_response(msg)
            # h11 raises its error again in a method of it: its traceback would hold itself, and us.
            if (error := sys.exception()) is not None:
                error.__traceback__ = None

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait()

        def _wait(self) -> None:
            self._stop_waiting()
            self._patience = self.loop.call_later(connections.seconds, self._look)

        def _stop_waiting(self) -> None:
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

        def _look(self) -> None:
            self._patience = None
            # While a request is being answered, its handler has limits of its own.
            if self.cycle is None or self.cycle.response_complete:  # type: ignore[redundant-expr]  # None before the first request
                self.transport.abort()

    return Guarded
