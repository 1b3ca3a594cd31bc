"""Whose turn it is in the event loop, where all requests are answered by one processor.

A request is answered in stretches, from one wait to the next. Without turns they go on in the order
in which they became ready, and who asks on a hundred connections has a hundred of them before
everybody else's. With turns, of all that could go on one stretch goes on in each round of the event
loop: of the owner who had least of its time (start-time fair queueing). So a neighbour delays
others by one of its stretches, however much it asks, and has the whole loop where nobody else wants
it (docs/decisions/0250-turns-in-the-event-loop.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any

from fairlead.service.api.neighbours.waiting import Waiting

RIVALS = 1.0
"""Seconds for which an owner who had a turn is thought to come again: so long all others rest after
each stretch for as long as it took, and leave half of the processor to what he may have going on in
other threads (the loop, a reason that is computed)."""

MOST = 10_000
"""Owners whose times are kept; of more, those are forgotten who are behind nobody."""


REST = 4
"""Rounds of the event loop from one stretch of an owner to his next: what is only on its way to its
turn (a connection that is accepted, a head that is read) takes a round for each step."""


class Turns:
    """Gives stretches their turns, by owner. `stopwatch`: what a stretch cost; `spent` is told of
    each."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self._stopwatch = stopwatch
        self.spent: Callable[[str, float], object] = lambda _owner, _seconds: None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin()

    def _begin(self) -> None:
        self._waiting = Waiting()
        self._had: dict[str, float] = {}  # by owner: at what time of its own its next one begins
        self._time = 0.0  # the same, of the stretch that began last
        self._last, self._rest = "", 0  # who had the last turn; rounds until he may have the next
        self._until = 0.0  # when he may
        self._last_at = self._alone_at = -RIVALS  # when he had it; when he is alone again
        self._resting: asyncio.TimerHandle | None = None
        self._taken = False  # a stretch had one of the last rounds of the event loop

    @coroutine
    def by_turns(
        self, work: Coroutine[Any, Any, None], owner: Callable[[], str]
    ) -> Generator[Any, Any, None]:
        """Runs the work, each stretch in its owner's turn. The owner may become another one."""
        failure: BaseException | None = None
        while True:
            if failure is None:
                try:
                    yield from self._turn(owner())
                except BaseException as error:  # noqa: BLE001  the work is to hear of it
                    failure = error
            began = self._stopwatch()
            try:
                wanted = work.send(None) if failure is None else work.throw(failure)
            except StopIteration:
                return
            finally:
                self._spend(owner(), self._stopwatch() - began)
                failure = None  # it names this frame, and would keep it
            try:
                yield wanted
            except BaseException as error:  # noqa: BLE001  the work is to hear of it
                failure = error

    def has_rivals(self, owner: str) -> bool:
        """Whether others had a turn a moment ago."""
        now = asyncio.get_running_loop().time()
        return now < (self._alone_at if owner == self._last else self._last_at + RIVALS)

    def _turn(self, owner: str) -> Generator[Any, None, None]:
        """Returns when it is the owner's turn: at once where nobody had this round yet."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # another one's rounds are over
            self._loop = loop
            self._begin()
        if self._taken:
            turn = self._waiting.join(owner)
            if self._resting is not None and owner != self._last:
                self._resting.cancel()
                self._resting = None
                loop.call_soon(self._next_round)
            yield from turn
        else:
            self._take(owner)
        self._time = max(self._time, self._had.get(owner, 0.0))

    def _take(self, owner: str) -> None:
        loop = asyncio.get_running_loop()
        if owner != self._last:
            self._alone_at = self._last_at + RIVALS
        self._last_at = loop.time()
        self._taken, self._last, self._rest = True, owner, REST
        loop.call_soon(self._next_round)

    def _next_round(self) -> None:
        """One of those who wait goes on, in the round after this one."""
        self._resting = None
        owner = self._next_owner()
        if owner is None or owner == self._last:
            loop = asyncio.get_running_loop()
            self._rest -= 1
            if self._rest > 0:
                loop.call_soon(self._next_round)
                return
            if self._until > loop.time():
                self._resting = loop.call_at(self._until, self._next_round)
                return
        if owner is None:
            self._taken = False
            self._had.clear()  # nobody is behind anybody
            self._time = 0.0
        else:
            self._waiting.serve(owner)
            self._take(owner)

    def _next_owner(self) -> str | None:
        """The one of those who wait that had least; None where nobody waits."""
        self._waiting.drop_given_up()
        return min(self._waiting, key=lambda each: self._had.get(each, 0.0), default=None)

    def _spend(self, owner: str, seconds: float) -> None:
        self._had[owner] = max(self._time, self._had.get(owner, 0.0)) + seconds
        self.spent(owner, seconds)
        now = asyncio.get_running_loop().time()
        self._until = now + seconds if now < self._alone_at else now
        if len(self._had) > MOST:
            self._had = {name: at for name, at in self._had.items() if at > self._time}
