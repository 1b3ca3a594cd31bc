"""Whose turn it is in the event loop, where all requests are answered by one processor.

A request is answered in stretches, from one wait to the next. Without turns they go on in the order
in which they became ready, and who asks on a hundred connections has a hundred of them before
everybody else's. With turns, of all that could go on one stretch goes on in each round of the event
loop: of the owner who had least of its time (start-time fair queueing). So a neighbour delays
others by one of its stretches, however much it asks, and has the whole loop where nobody else wants
it (docs/decisions/0234-turns-in-the-event-loop.md).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any


MOST = 10_000
"""Owners whose times are kept; of more, those are forgotten who are behind nobody."""


class Turns:
    """Gives stretches their turns, by owner. `stopwatch`: how long a stretch took."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self._stopwatch = stopwatch
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._had: dict[str, float] = {}  # by owner: at what time of its own its next one begins
        self._time = 0.0  # the same, of the stretch that began last
        self._taken = False  # a stretch had this round of the event loop

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
                self._spent(owner(), self._stopwatch() - began)
            failure = None
            try:
                yield wanted
            except BaseException as error:  # noqa: BLE001  the work is to hear of it
                failure = error

    def _turn(self, owner: str) -> Generator[Any, None, None]:
        """Returns when it is the owner's turn: at once where nobody had this round yet."""
        if self._taken:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(owner, deque()).append(turn)
            yield from turn
        else:
            self._take()
        self._time = max(self._time, self._had.get(owner, 0.0))

    def _take(self) -> None:
        self._taken = True
        asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        """One of those who wait goes on, in the round after this one."""
        self._taken = False
        while self._waiting:
            owner = min(self._waiting, key=lambda each: self._had.get(each, 0.0))
            turns = self._waiting[owner]
            turn = turns.popleft()
            if not turns:
                del self._waiting[owner]
            if not turn.done():  # its request was not given up
                turn.set_result(None)
                self._take()
                return
        self._had.clear()  # nobody is behind anybody
        self._time = 0.0

    def _spent(self, owner: str, seconds: float) -> None:
        self._had[owner] = max(self._time, self._had.get(owner, 0.0)) + seconds
        if len(self._had) > MOST:
            self._had = {name: at for name, at in self._had.items() if at > self._time}
