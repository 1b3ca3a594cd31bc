"""The rounds of the event loop, as long work is told of them."""

from __future__ import annotations

import math
import select
from asyncio import SelectorEventLoop
from collections.abc import Callable
from selectors import DefaultSelector, SelectorKey

from fairlead.service.precedence import Ahead


class Rounds(DefaultSelector):
    """Says that there is something to do, from the moment something came until all of it is done.

    A connection is accepted, a request read, and an answer written in calls of the system, and
    after each of them the interpreter has to be had again: beside a thread that computes, that
    takes as long as threads are not made to change. Before it can say anything it needs that, too:
    so others can look by themselves whether something came, or is due."""

    def __init__(self, ahead: Ahead) -> None:
        super().__init__()
        self._ahead = ahead
        came = select.poll()
        came.register(self.fileno(), select.POLLIN)
        self._due = math.inf  # when it waits no longer
        ahead.comes = lambda: ahead.clock() >= self._due or bool(came.poll(0))
        ahead.begin()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """As any does; where it may wait, nothing is there to do."""
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        self._due = math.inf if timeout is None else self._ahead.clock() + timeout
        self._ahead.end()
        try:
            return super().select(timeout)
        finally:
            self._ahead.begin()
            self._due = math.inf

    def close(self) -> None:
        """There is nothing to do any more."""
        self._ahead.comes = lambda: False
        super().close()
        self._ahead.end()


def loops(ahead: Ahead) -> Callable[[], SelectorEventLoop]:
    """A maker of event loops whose rounds go before long work."""
    return lambda: SelectorEventLoop(Rounds(ahead))
