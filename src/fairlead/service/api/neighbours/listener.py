"""How connections are accepted: cheaply, and handed over once there is something to answer.

Whoever opens a connection stands in the system's queue behind all who did so before him, and
nobody knows whose any of them is before its request came. So that queue is emptied as fast as that
goes, and what was accepted waits in front: a connection that the event loop takes costs it ten
times as much as one that is looked at here (docs/decisions/0298-a-waiting-room.md). Who is refused
in any case never becomes one (docs/decisions/0301-strangers-are-answered-at-the-door.md).
"""

from __future__ import annotations

import logging
import math
import select
import socket
from collections.abc import Callable
from contextlib import suppress
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

BATCH = 0.002
"""Seconds of a round in which connections are accepted and looked at, at most; each takes some
hundredths of a millisecond."""

SHARE = 2
"""Times as long as the event loop had for all else since the last round that may take. Less, and
the system's queue grows, in which everybody stands."""

LEAST = 0.0001
"""Seconds that there are for it in any round."""

PACE = 0.02
"""Seconds from one connection of a stranger to the next one of his address where others ask: to
read and answer it costs the event loop up to a millisecond, which no turn counts."""

SILENT = 1
"""Seconds after which the system hands over a connection on which nothing came; about."""

RESERVE = 32
"""Descriptors that no connection gets: the service opens files, too."""

SAID_AGAIN = 60.0
"""Seconds after which it is said again that the system's queue rests."""

NOW = getattr(socket, "MSG_DONTWAIT", 0)

Later = Callable[[float, Callable[[], None]], object]
"""Calls back after so many seconds."""

_log = logging.getLogger("fairlead.door")


class Listener(socket.socket):
    """A socket whose `accept` returns only who has said enough to be answered, a few in each round
    of an event loop, in turns by owner: as requests have theirs, but the loop does more for a
    connection, before anybody knows whose it is.

    What waits is watched by Linux under one descriptor, which is this socket's to whoever watches
    it. Elsewhere everybody who is not gone counts as ready, and the system's queue is where they
    wait. `handshakes` is told of each connection; `guess` says whose a request may be, by the
    headers that show it and its address; `answer` gives the whole answer to a stranger who is
    refused in any case; `make_room` ends an open connection, if there is one that may be ended, in
    the next round; `later` is the event loop's."""

    handshakes: Handshakes | None = None

    def __init__(
        self, family: int, settings: ApiSettings, *, tls: bool = False, behind_proxy: bool = False
    ) -> None:
        # asyncio lets go of Nagle's delays only where a socket says that it is TCP's.
        self._kind = int(family), int(socket.SOCK_STREAM), socket.IPPROTO_TCP
        super().__init__(*self._kind)
        self.guess: Callable[[Headers, str], str] = lambda _, address: address
        self.answer: Callable[[bytes, str], bytes | None] = lambda _, __: None
        self.make_room: Callable[[], bool] = lambda: False
        self.later: Later | None = None
        self.clock: Callable[[], float] = monotonic
        self._heads = Heads(tls=tls, head_bytes=settings.head_bytes)
        self._seconds = settings.head_seconds
        most = settings.handshakes if tls else settings.connections
        each = settings.address_handshakes if tls else settings.address_connections
        self._beginnings = Beginnings(most if behind_proxy else each, most, self._end_waiting)
        # Elsewhere no round comes by itself; of who speaks TLS nobody knows whose he is, and behind
        # a proxy all strangers have its address.
        pace = 0.0 if tls or behind_proxy else PACE
        turns = (REST, pace) if hasattr(select, "epoll") else (0, 0.0)
        self.ready = Ready(settings.connections, *turns)
        self._looked = 0.0  # when the last round of it was over
        self._called = False  # somebody's turn comes at a moment that is known
        self._said = -math.inf  # when it was said that the system's queue rests
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
            self.ready.begin_round()
            self._rest = AT_ONCE
        now = self.clock()
        comer = self.ready.next(now) if self._rest else None
        if comer is None:
            self._rest, self._looked = None, now
            if self._watch is not None:
                self._call_again(self._watch, now)
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
        self.ready.clear()
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        super().close()

    def _look(self) -> None:
        """Looks at those on which more came, and at as many new ones as there is time for."""
        now = self.clock()
        until = now + min(BATCH, max(LEAST, SHARE * (now - self._looked)))
        if self._watch is not None:
            for number, over in self._watch.poll():
                comer = self._beginnings.get(number)
                if comer is not None:
                    self._judge(comer, over=over)
        while self._watch is not None or len(self.ready) < AT_ONCE:
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
                # `accept` itself asks each time what kind of socket this is.
                number, peer = self._accept()  # type: ignore[attr-defined]  # hidden
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return None
            except OSError:
                if not self._has_more():
                    return None
                if self._beginnings.end_oldest():
                    continue
                if self.ready:
                    return None
                if self._watch is None:
                    raise
                if not self.make_room():
                    self._pause()
                return None
            # The lowest number that is free is given.
            connection = socket.socket(*self._kind, fileno=number)
            if number >= self._descriptors and not self._give_way():
                connection.close()
                return None
            address = neighbourhood(str(peer[0])) if peer else ""
            return Comer(connection, number, peer, address, self.clock())

    def _give_way(self) -> bool:
        """Ends one for another one; where there is none that may be ended, the queue rests."""
        if self._beginnings.end_oldest() or self.make_room():
            return True
        self._pause()
        return False

    def _pause(self) -> None:
        """The system's queue rests until `end_slow`. That is said, now and then."""
        if self._watch is None:
            return
        self._watch.pause()
        if self.clock() >= self._said + SAID_AGAIN:
            self._said = self.clock()
            _log.warning(
                "no descriptor is left for a connection, and none can be ended: new ones wait;"
                " raise the limit on open files"
            )

    def _call_again(self, watch: Watch, now: float) -> None:
        """Has the event loop look again, as soon as somebody's turn may come."""
        wait = self.ready.wait(now)
        if not wait or self.later is None:
            watch.call_again(wait is not None)
        else:
            watch.call_again(False)
            if not self._called:
                self._called = True
                self.later(wait, self._call)

    def _call(self) -> None:
        self._called = False
        if self._watch is not None:
            self._watch.call_again(True)

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
            return
        owner = self.guess(self._heads.secrets(said), comer.address)
        told = self.answer(said, comer.address) if owner == comer.address else None
        if told is None:
            self.ready.add(comer, owner)
        else:
            self._tell(comer, told)

    def _tell(self, comer: Comer, answer: bytes) -> None:
        """Answers it and closes it. What it said is taken, or the other end would be told that
        its connection is broken."""
        with suppress(OSError):  # he is gone
            comer.socket.recv(self._heads.most, NOW)
            comer.socket.send(answer, NOW)
        comer.socket.close()

    def _end_waiting(self, comer: Comer) -> None:
        if self._watch is not None:
            self._watch.remove(comer.number)
        comer.socket.close()

    def _peek(self, comer: Comer) -> bytes | None:
        """What came on it, of which nothing is taken; None where the other end is gone."""
        try:
            return comer.socket.recv(self._heads.most, socket.MSG_PEEK | NOW) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None
