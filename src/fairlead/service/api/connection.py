"""Connections: how many there may be, and how long one may take to say what it wants."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from fairlead.service.api.limits import neighbourhood
from fairlead.service.api.settings import ApiSettings


class Connections:
    """Those that are open, by address."""

    def __init__(self, settings: ApiSettings, *, behind_proxy: bool) -> None:
        self.seconds = settings.head_seconds
        # Behind a proxy all connections are the proxy's own.
        self._each = settings.connections if behind_proxy else settings.address_connections
        self._most = settings.connections
        self._open: Counter[str] = Counter()
        self._count = 0

    def enter(self, address: str) -> bool:
        """Whether one more may come."""
        self._open[address] += 1
        self._count += 1
        return self._open[address] <= self._each and self._count <= self._most

    def leave(self, address: str) -> None:
        """One is closed."""
        self._count -= 1
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]


def guarded(connections: Connections) -> Callable[..., asyncio.Protocol]:
    """The server's protocol, with limits: a connection on which no request is begun and none is
    answered for some seconds is closed, however many bytes it sends."""

    class Guarded(H11Protocol):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._patience: asyncio.TimerHandle | None = None
            self._address = ""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own does
            super().connection_made(transport)
            self._address = neighbourhood(self.client[0] if self.client else "")
            if connections.enter(self._address):
                self._wait()
            else:
                transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop_waiting()
            connections.leave(self._address)

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
