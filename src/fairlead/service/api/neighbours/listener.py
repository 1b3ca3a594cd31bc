"""How connections are accepted: cheaply, and handed over once there is something to answer.

Whoever opens a connection stands in the system's queue behind all who did so before him, and
nobody knows whose any of them is before its request came. So a thread of the door empties that
queue, which needs no interpreter and waits for nothing else that goes on here
(docs/decisions/0308-the-door-needs-no-interpreter.md), and what was accepted waits in front: a
connection that the event loop takes costs it a hundred times as much. Who is refused in any case
never becomes one (docs/decisions/0301-strangers-are-answered-at-the-door.md).
"""

from __future__ import annotations

import logging
import math
import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, thread_time
from typing import TYPE_CHECKING

from fairlead.service.api.kernels.door import FULL, LINES, STRANGER, UNHEARD
from fairlead.service.api.kernels.heads import RECORD_BYTES, RECORD_HEAD
from fairlead.service.api.neighbours.comers import Comers, Peer
from fairlead.service.api.neighbours.handshakes import Handshakes
from fairlead.service.api.neighbours.heads import find_secrets
from fairlead.service.api.neighbours.limits import Buckets, neighbourhood
from fairlead.service.api.neighbours.places import Headers
from fairlead.service.api.neighbours.turns import REST
from fairlead.service.api.settings import ApiSettings

if TYPE_CHECKING:  # it needs what only Linux has
    from fairlead.service.api.neighbours.door import Door

AT_ONCE = (4, 1, 1)
"""Connections that are handed over in a round of the event loop, each of another line: of owners,
and of those whose owner is not known, as many of either kind."""

SHARES = {UNHEARD: 3, STRANGER: 9}
"""Times as long as it took to look at one of them no other one of the kind is looked at: a quarter
of the event loop's time, and a tenth, is theirs at most."""

PACE = 0.02
"""Seconds from one connection of a stranger to the next one of his address where others ask: to
read and answer it costs the event loop up to a millisecond, which no turn counts."""

CONNECTING = 0.0005
"""Seconds of the event loop's time that a connection costs before and after its request, which no
turn counts; about."""

YIELDING = 0.003
"""Seconds for which who waits for his own waits after another one's connection was handed over: it
is answered by then, and no step of his comes between two of its own."""

YIELDING_MOST = 0.1
"""Seconds since his last one after which he waits for nobody else's: others may come without end,
too."""

SILENT = 1
"""Seconds after which the system hands over a connection on which nothing came; about."""

SAID_AGAIN = 60.0
"""Seconds after which the same is said again."""

NOW = getattr(socket, "MSG_DONTWAIT", 0)

Later = Callable[[float, Callable[[], None]], object]
"""Calls back after so many seconds."""

_log = logging.getLogger("fairlead.door")


class Listener(socket.socket):
    """A socket whose `accept` returns only who has said enough to be answered, a few in each round
    of an event loop, in turns by owner: as requests have theirs, but the loop does more for a
    connection, before anybody knows whose it is.

    Elsewhere than on Linux it is as any socket. `handshakes` is told of each connection; `guess`
    says whose a request may be, by the headers that show it and its address; `answer` gives the
    whole answer to a stranger who is refused in any case; `make_room` ends an open connection, if
    there is one that may be ended, in the next round; `rivals` says whether others than an owner
    ask; `later` is the event loop's."""

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
        self.rivals: Callable[[str], bool] = lambda _: False
        self.later: Later | None = None
        self.clock: Callable[[], float] = monotonic
        self.stopwatch: Callable[[], float] = thread_time
        self._settings, self._tls, self._behind_proxy = settings, tls, behind_proxy
        self._most = RECORD_HEAD + RECORD_BYTES if tls else settings.head_bytes + 1
        # Of who speaks TLS nobody knows whose he is, and behind a proxy all strangers have its
        # address.
        self._pace = 0.0 if tls or behind_proxy else PACE
        self._comers = Comers(LINES, AT_ONCE, REST)
        self._times = Buckets(settings.connecting_rate, settings.connecting_burst)
        self._held_back: dict[int, float] = {}  # by line: when one of them came last
        self._call_at = math.inf  # when somebody's turn comes, and the event loop calls
        self._goes_on = False  # a round in which some were handed over
        self._said: dict[str, float] = {}  # what was said last when
        self._refused = 0  # how many of those that found their line full that was said of
        self._door: Door | None = None

    def fileno(self) -> int:
        """What is to be watched."""
        return super().fileno() if self._door is None else self._door.fileno()

    def listen(self, backlog: int = socket.SOMAXCONN) -> None:
        """As any socket does. Who connects and says nothing is not accepted for a second: who
        speaks first here is the client, also with TLS."""
        if hasattr(socket, "TCP_DEFER_ACCEPT"):  # of Linux
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT)
        super().listen(backlog)
        if self._door is None and hasattr(select, "epoll"):  # of Linux, too
            from fairlead.service.api.neighbours.door import Door

            self._door = Door(
                super().fileno(),
                self._settings,
                self._most,
                tls=self._tls,
                behind_proxy=self._behind_proxy,
            )

    def attend(self) -> None:
        """Has a thread attend to who comes, from now on."""
        if self._door is not None:
            self._door.attend()

    def look(self) -> None:
        """Attends to who is there, once."""
        if self._door is not None:
            self._door.look(self.clock())

    def accept(self) -> tuple[socket.socket, Peer]:
        """As any socket does; BlockingIOError, as where there is none, after each few."""
        came = super().accept() if self._door is None else self._next(self._door)
        if self.handshakes is not None:
            self.handshakes.begin(*came)
        return came

    def close(self) -> None:
        """As any socket does; who waits is closed, too."""
        if self._door is not None:
            while (last := self._comers.pop()) is not None:
                os.close(last[0])
            self._door.close()
            self._door = None
        super().close()

    def _next(self, door: Door) -> tuple[socket.socket, Peer]:
        """The next one whose turn it is in this round."""
        if not self._goes_on:
            self._goes_on = True
            for number, line in door.arrived():
                if number == FULL:
                    self._give_way(door)
                else:
                    self._comers.add(number, line)
            self._comers.begin_round()
            self._say_refused(door.refused())
        while (found := self._comers.next(self.clock())) is not None:
            came = self._meet(door, *found)
            if came is not None:
                return came
        self._goes_on = False
        self._call_again(door)
        raise BlockingIOError

    def _meet(self, door: Door, number: int, line: int) -> tuple[socket.socket, Peer] | None:
        """Looks at one; None where he is answered or closed."""
        began = self.stopwatch()
        try:
            door.took(line)
            connection = socket.socket(*self._kind, fileno=number)
            if number < door.descriptors or self._give_way(door):
                return self._judge(door, connection, line)
            connection.close()
            return None
        finally:
            share = SHARES.get(line // LINES, 0)
            self._comers.pause(line, self.clock() + share * (self.stopwatch() - began))

    def _judge(
        self, door: Door, connection: socket.socket, line: int
    ) -> tuple[socket.socket, Peer] | None:
        try:
            peer: Peer = connection.getpeername()
            said = connection.recv(self._most, socket.MSG_PEEK | NOW)
        except OSError:  # he is gone
            connection.close()
            return None
        address = neighbourhood(str(peer[0]))
        if self._tls:
            return connection, peer
        shown = find_secrets(said)
        owner = self.guess(shown, address)
        if owner != address:
            if line >= LINES:
                door.learn(said, owner)
            self._hold_back(line, owner)
            return connection, peer
        if line < LINES:
            door.forget(said)
        told = self.answer(said, address)
        if told is None:
            if self._pace and self.rivals(address):
                self._comers.pace(line, self.clock() + self._pace)
            return connection, peer
        if shown:
            door.condemn(said)
        self._tell(connection, told)
        return None

    def charge(self, owner: str, seconds: float) -> None:
        """An owner had so much of the event loop's time."""
        self._times.spend(owner, self.clock(), seconds)

    def _hold_back(self, line: int, owner: str) -> None:
        """One connection of this owner is handed over. Where others ask, the next one waits until
        he had no more of the event loop's time than is his, and until what others ask is answered:
        whoever connects as fast as he can waits for his own, not others for it."""
        now = self.clock()
        self.charge(owner, CONNECTING)
        wait = self._times.debt(owner, now)
        if wait > 0 and self.rivals(owner):
            self._comers.pace(line, now + wait)
            self._held_back[line] = now
            return
        self._held_back.pop(line, None)
        for each, came in list(self._held_back.items()):
            self._comers.pace(each, min(now + YIELDING, came + YIELDING_MOST))
            if came + YIELDING_MOST <= now:
                del self._held_back[each]

    def _tell(self, connection: socket.socket, answer: bytes) -> None:
        """Answers it and closes it. What it said is taken, or the other end would be told that
        its connection is broken."""
        with suppress(OSError):  # he is gone
            connection.recv(self._most, NOW)
            connection.send(answer, NOW)
        connection.close()

    def _give_way(self, door: Door) -> bool:
        """Ends one for another one, as no descriptor is left: the last of the longest line, else an
        open connection. Where there is none that may be ended, that is said, now and then."""
        last = self._comers.pop()
        if last is not None:
            os.close(last[0])
            door.took(last[1])
            return True
        if self.make_room():
            return True
        self._say(
            "no descriptor is left for a connection, and none can be ended: new ones wait;"
            " raise the limit on open files"
        )
        return False

    def _say_refused(self, refused: int) -> None:
        """Says it where more found their line full."""
        if refused > self._refused and self._say(
            "%d connections were closed without an answer: more came from one address, or with the"
            " tokens of one tenant, than there is room for",
            refused - self._refused,
        ):
            self._refused = refused

    def _say(self, text: str, *numbers: int) -> bool:
        """Says it, unless it was said a moment ago; whether it was now."""
        now = self.clock()
        if now < self._said.get(text, -math.inf) + SAID_AGAIN:
            return False
        self._said[text] = now
        _log.warning(text, *numbers)
        return True

    def _call_again(self, door: Door) -> None:
        """Has the event loop look again, as soon as somebody's turn may come."""
        now = self.clock()
        wait = self._comers.wait(now)
        if not wait or self.later is None:
            door.call_again(wait is not None)
            return
        door.call_again(False)
        if now + wait < self._call_at:
            self._call_at = now + wait
            self.later(wait, self._call)

    def _call(self) -> None:
        self._call_at = math.inf
        if self._door is not None:
            self._door.call_again(True)
