"""How connections are accepted: cheaply, and handed over once there is something to answer.

Whoever opens a connection stands in the system's queue behind all who did so before him, and
nobody knows whose any of them is before its request came. So that queue is emptied as fast as that
goes, and what was accepted waits in front: a connection that the event loop takes costs it ten
times as much as one that is looked at here (docs/decisions/0298-a-waiting-room.md).
"""

from __future__ import annotations

import math
import select
import socket
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from fairlead.service.api.neighbours.comers import Beginnings, Comer, Peer, Ready
from fairlead.service.api.neighbours.handshakes import Handshakes
from fairlead.service.api.neighbours.heads import Heads
from fairlead.service.api.neighbours.limits import neighbourhood
from fairlead.service.api.neighbours.places import Headers
from fairlead.service.api.neighbours.turns import REST
from fairlead.service.api.settings import ApiSettings

if TYPE_CHECKING:  # it needs what only Linux has
    from fairlead.service.api.neighbours.watch import Watch

AT_ONCE = 4
"""Connections that are handed over in a round of the event loop, each of another owner."""

BATCH = 0.0005
"""Seconds of a round in which connections are accepted and looked at; each takes some hundredths
of a millisecond."""

SILENT = 1
"""Seconds after which the system hands over a connection on which nothing came; about."""


RESERVE = 32
"""Descriptors that no connection gets: the service opens files, too."""


class Listener(socket.socket):
    """A socket whose `accept` returns only who has said enough to be answered, a few in each round
    of an event loop, in turns by owner: as requests have theirs, but the loop does more for a
    connection, before anybody knows whose it is.

    What waits is watched by Linux under one descriptor, which is this socket's to whoever watches
    it. Elsewhere everybody who is not gone counts as ready, and the system's queue is where they
    wait. `handshakes` is told of each connection; `guess` says whose a request may be, by the
    headers that show it and its address; `make_room` ends an open connection, if there is one that
    may be ended, in the next round."""

    handshakes: Handshakes | None = None

    def __init__(
        self, family: int, settings: ApiSettings, *, tls: bool = False, behind_proxy: bool = False
    ) -> None:
        # asyncio lets go of Nagle's delays only where a socket says that it is TCP's.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.guess: Callable[[Headers, str], str] = lambda _, address: address
        self.make_room: Callable[[], bool] = lambda: False
        self.clock: Callable[[], float] = monotonic
        self._heads = Heads(tls=tls, head_bytes=settings.head_bytes)
        self._seconds = settings.head_seconds
        most = settings.handshakes if tls else settings.connections
        each = settings.address_handshakes if tls else settings.address_connections
        self._beginnings = Beginnings(most if behind_proxy else each, most)
        self._ready = Ready(settings.connections, REST if hasattr(select, "epoll") else 0)
        self._rest: int | None = None  # that may be handed over in this round, once it has begun
        self._watch: Watch | None = None
        self._descriptors = math.inf  # that there may be in all

    def fileno(self) -> int:
        """What is to be watched."""
        return super().fileno() if self._watch is None else self._watch.fileno()

    def listen(self, backlog: int = socket.SOMAXCONN) -> None:
        """As any socket does. Who connects and says nothing is not accepted for a second: who
        speaks first here is the client, also with TLS."""
        if hasattr(socket, "TCP_DEFER_ACCEPT"):  # of Linux
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT)
        super().listen(backlog)
        if hasattr(select, "epoll"):  # of Linux, too
            import resource

            from fairlead.service.api.neighbours.watch import Watch

            self._watch = Watch(super().fileno())
            limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            self._descriptors = max(limit - RESERVE, limit // 2)

    def accept(self) -> tuple[socket.socket, Peer]:
        """As any socket does; BlockingIOError, as where there is none, after each few."""
        if self._rest is None:
            self._look()
            self._ready.begin_round()
            self._rest = AT_ONCE
        comer = self._ready.next() if self._rest else None
        if comer is None:
            self._rest = None
            if self._watch is not None:
                self._watch.call_again(bool(self._ready))
            raise BlockingIOError
        self._rest -= 1
        if self.handshakes is not None:
            self.handshakes.begin(comer.socket, comer.peer)
        return comer.socket, comer.peer

    def end_slow(self) -> None:
        """Ends those who have not said what they want in time, and looks at the system's queue
        again where no descriptor was left. To be called now and then."""
        self._beginnings.end_before(self.clock() - self._seconds)
        if self._watch is not None:
            self._watch.resume()

    def close(self) -> None:
        """As any socket does; who waits is closed, too."""
        self._beginnings.end_before(math.inf)
        self._ready.clear()
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        super().close()

    def _look(self) -> None:
        """Looks at those on which more came, and at as many new ones as there is time for."""
        until = self.clock() + BATCH
        if self._watch is not None:
            for number, over in self._watch.poll():
                comer = self._beginnings.get(number)
                if comer is not None:
                    self._judge(comer, over=over)
        while self._watch is not None or len(self._ready) < AT_ONCE:
            comer = self._next()
            if comer is None:
                return
            self._judge(comer, over=False)
            if self.clock() >= until:
                return

    def _next(self) -> Comer | None:
        """The next one in the system's queue. Where there is no descriptor left, one that only
        began gives its own, else an open connection; else the queue rests. An event loop is not
        told: asyncio tries again at once, as often as the queue is long, and logs each."""
        while True:
            try:
                connection, peer = super().accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return None
            except OSError:
                if not self._has_more():
                    return None
                if self._beginnings.end_oldest():
                    continue
                if self._ready:
                    return None
                if self._watch is None:
                    raise
                if not self.make_room():
                    self._watch.pause()
                return None
            # The lowest number that is free is given.
            if connection.fileno() >= self._descriptors and not self._give_way():
                connection.close()
                return None
            connection.setblocking(False)
            address = neighbourhood(str(peer[0])) if peer else ""
            return Comer(connection, connection.fileno(), peer, address, self.clock())

    def _give_way(self) -> bool:
        """Ends one for another one; where there is none that may be ended, the queue rests."""
        if self._beginnings.end_oldest() or self.make_room():
            return True
        if self._watch is not None:
            self._watch.pause()
        return False

    def _has_more(self) -> bool:
        """Whether there is a next one. Linux looks for a descriptor first, and finds none for
        nobody either."""
        seen = select.poll()
        seen.register(super().fileno(), select.POLLIN)
        return bool(seen.poll(0))

    def _judge(self, comer: Comer, *, over: bool) -> None:
        """Closes it, makes it ready, or has it wait. `over`: the other end says no more."""
        said = self._peek(comer)
        if said is not None and self._heads.is_none(said):
            said = None
        whole = said is not None and (self._watch is None or self._heads.is_whole(said))
        if said is not None and not whole and not over:
            if self._watch is not None and comer not in self._beginnings:
                self._beginnings.add(comer)
                self._watch.add(comer.number)
            return
        if self._watch is not None and comer in self._beginnings:
            self._beginnings.remove(comer)
            self._watch.remove(comer.number)
        if said is None or not whole:
            comer.socket.close()
        else:
            self._ready.add(comer, self.guess(self._heads.secrets(said), comer.address))

    def _peek(self, comer: Comer) -> bytes | None:
        """What came on it, of which nothing is taken; None where the other end is gone."""
        try:
            return comer.socket.recv(self._heads.most, socket.MSG_PEEK) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None
