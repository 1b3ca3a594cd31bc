"""Who goes first in the interpreter, which all threads share and which knows no owner.

Answers that somebody waits for, and the rounds of the event loop, go before long work: a step
about thousands of jobs, the reading of a long body. Between its parts such work rests until they
are over, of each kind for no longer than it went on before. So it takes a little more than twice as
long at most where requests keep the event loop busy without end, whoever asks; answers that are
computed for long are few, as each tenant may ask for so many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

REST = 0.1
"""Seconds for which long work rests at once, and where it has only begun."""


LOOK = 0.0003
"""Seconds from one look whether something comes to the next: it is a call of the system."""


class Ahead:
    """A kind of work that goes first. `comes`: whether there is some that has not begun yet, as it
    needs the interpreter for that, which long work may give away and have back a thousand times
    before another thread is awake."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.comes: Callable[[], bool] = lambda: False
        self._over = threading.Condition()
        self._many = 0

    @property
    def goes_on(self) -> bool:
        return self._many > 0

    @contextmanager
    def going(self) -> Iterator[None]:
        """Within, there is. In any thread."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """From now on there is, until `end`."""
        with self._over:
            self._many += 1

    def end(self) -> None:
        """As much less as `begin` said."""
        with self._over:
            self._many -= 1
            if not self._many:
                self._over.notify_all()

    def wait(self, most: float) -> None:
        """Returns once there is none, or after so many seconds."""
        with self._over:
            self._over.wait_for(lambda: not self._many and not self.comes(), most)


class Precedence:
    """The two kinds. `answers`: that are computed for long. `rounds`: of the event loop."""

    def __init__(self) -> None:
        self.answers, self.rounds = Ahead(), Ahead()

    def long_work(self) -> LongWork:
        return LongWork(self.answers, self.rounds)


class LongWork:
    """Work that rests while any of these goes on."""

    def __init__(self, *kinds: Ahead) -> None:
        self._rests = [_Rest(each) for each in kinds]

    def pause(self) -> None:
        """To be called between two parts of it, a millisecond or less apart."""
        for each in self._rests:
            each.take()


class _Rest:
    """How long may be rested for a kind: `left` seconds, as of the moment `at`."""

    def __init__(self, ahead: Ahead) -> None:
        self._ahead = ahead
        self._at, self._left = ahead.clock(), REST
        self._looked = -LOOK

    def take(self) -> None:
        ahead, began = self._ahead, self._ahead.clock()
        if not ahead.goes_on:
            if began < self._looked + LOOK:
                return
            self._looked = began
            if not ahead.comes():
                return
        self._left = min(REST, self._left + began - self._at)
        ahead.wait(self._left)
        self._at = ahead.clock()
        self._left = max(0.0, self._left - (self._at - began))
