"""How many handshakes of TLS go on at one moment. Nobody knows whose they are, and until one is
over, its connection is none that limits count."""

from __future__ import annotations

import socket
from collections import OrderedDict
from contextlib import suppress

from fairlead.service.api.neighbours.comers import Peer
from fairlead.service.api.neighbours.limits import neighbourhood
from fairlead.service.api.settings import ApiSettings


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

    def make_room(self) -> bool:
        """One less, of all addresses. Whether there was any."""
        there_was = bool(self._going_on)
        self._make_room(list(self._going_on))
        return there_was

    def _make_room(self, peers: list[Peer]) -> None:
        """Forgets those that are closed; where all of them go on, ends the first."""
        closed = [peer for peer in peers if self._going_on[peer].fileno() < 0]
        for peer in closed or peers[:1]:
            with suppress(OSError):
                self._going_on[peer].shutdown(socket.SHUT_RDWR)
            self.end(peer)


def _address(peer: Peer) -> str:
    return neighbourhood(str(peer[0])) if peer else ""
