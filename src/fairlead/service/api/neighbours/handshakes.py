"""Before a connection is one: how it is accepted, and how many handshakes of TLS go on at one
moment. Nobody knows whose they are, and until one is over, its connection is none that limits
count."""

from __future__ import annotations

import socket
from collections import OrderedDict
from contextlib import suppress

from fairlead.service.api.neighbours.limits import neighbourhood
from fairlead.service.api.settings import ApiSettings

AT_ONCE = 4
"""Connections that are accepted in a round of the event loop."""

GONE_AT_ONCE = 25
"""And those that are closed by then, and looked at for it: each takes some hundredths of a
millisecond."""

SILENT = 1
"""Seconds after which the system hands over a connection on which nothing came; about."""

Peer = tuple[object, ...]
"""Address and port of who is at the other end."""


class Handshakes:
    """Those that go on. For one more than there may be, the oldest ends: of its address, else of
    all. So who lets them hang keeps nobody out, not even at his own address: a good one is over
    within moments."""

    def __init__(self, settings: ApiSettings, *, behind_proxy: bool) -> None:
        self._most = settings.handshakes
        self._each = self._most if behind_proxy else settings.address_handshakes
        self._going_on: OrderedDict[Peer, socket.socket] = OrderedDict()
        self._by_address: dict[str, OrderedDict[Peer, None]] = {}

    def __len__(self) -> int:
        return len(self._going_on)

    def begin(self, connection: socket.socket, peer: Peer) -> None:
        mine = self._by_address.get(_address(peer), OrderedDict[Peer, None]())
        if len(mine) >= self._each:
            self._make_room(list(mine))
        elif len(self._going_on) >= self._most:
            self._make_room(list(self._going_on))
        self._going_on[peer] = connection
        self._by_address.setdefault(_address(peer), OrderedDict())[peer] = None

    def end(self, peer: Peer) -> None:
        """It is a connection by now, or closed."""
        if self._going_on.pop(peer, None) is None:
            return
        mine = self._by_address[_address(peer)]
        del mine[peer]
        if not mine:
            del self._by_address[_address(peer)]

    def _make_room(self, peers: list[Peer]) -> None:
        """Forgets those that are closed; where all of them go on, ends the first."""
        closed = [peer for peer in peers if self._going_on[peer].fileno() < 0]
        for peer in closed or peers[:1]:
            with suppress(OSError):
                self._going_on[peer].shutdown(socket.SHUT_RDWR)
            self.end(peer)


def _address(peer: Peer) -> str:
    return neighbourhood(str(peer[0])) if peer else ""


class Listener(socket.socket):
    """A socket whose accepted connections are fit for an event loop that has more to do: who was
    gone before his turn costs next to nothing, and a round accepts only so many. It tells of each
    connection, once there is somebody to tell."""

    handshakes: Handshakes | None = None
    _rest, _gone = AT_ONCE, GONE_AT_ONCE

    def listen(self, backlog: int = socket.SOMAXCONN) -> None:
        """As any socket does. Who connects and says nothing is not accepted for a second: who
        speaks first here is the client, also with TLS."""
        if hasattr(socket, "TCP_DEFER_ACCEPT"):  # of Linux
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT)
        super().listen(backlog)

    def accept(self) -> tuple[socket.socket, Peer]:
        """As any socket does; BlockingIOError, as where there is none, after each few."""
        while self._rest and self._gone:
            connection, peer = self._next()
            if _is_gone(connection):
                connection.close()
                self._gone -= 1
                continue
            self._rest -= 1
            if self.handshakes is not None:
                self.handshakes.begin(connection, peer)
            return connection, peer
        self._begin_round()
        raise BlockingIOError

    def _next(self) -> tuple[socket.socket, Peer]:
        try:
            return super().accept()
        except BlockingIOError:
            self._begin_round()
            raise

    def _begin_round(self) -> None:
        self._rest, self._gone = AT_ONCE, GONE_AT_ONCE


def _is_gone(connection: socket.socket) -> bool:
    """Whether the other end closed it, and sent nothing."""
    connection.setblocking(False)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
