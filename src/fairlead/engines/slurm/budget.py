"""How many requests slurmctld is asked to serve, for the order of its queue and for releases."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

AT_ONCE = 300
"""Factors that are written at most after one reading, those of who comes first before others: each
is a request, and they come by one command."""

A_SECOND = 5.0
"""And on the average: 300 a minute. Where ten thousand jobs wait each of them takes slurmctld some
three milliseconds, as it looks at the queue again."""


READING = 3
"""Requests of a reading. Where requests are limited, they may be as many as all others together."""


class Budget:
    """Requests that may be made: `most` at once, and `rate` a second on the average. Beside these
    Slurm may be read every `pause` seconds."""

    def __init__(
        self,
        most: int = AT_ONCE,
        rate: float = A_SECOND,
        clock: Callable[[], float] = time.monotonic,
        pause: float = 0.0,
    ) -> None:
        self.most, self.rate, self.pause, self._clock = most, rate, pause, clock
        self._left, self._at = float(most), clock()

    def take(self, wanted: int) -> int:
        """As many of the wanted ones as may be made now; they are then made."""
        self._fill()
        granted = min(wanted, int(self._left))
        self._left -= granted
        return granted

    def affords(self, wanted: int) -> bool:
        """Whether all of the wanted ones, or as many as ever may, may be made now; they are then
        made."""
        self._fill()
        wanted = min(wanted, self.most)
        if wanted > self._left:
            return False
        self._left -= wanted
        return True

    def _fill(self) -> None:
        now = self._clock()
        self._left = min(self.most, self._left + self.rate * (now - self._at))
        self._at = now


class Unlimited:
    """Where slurmctld limits nobody."""

    pause = 0.0

    def affords(self, wanted: int) -> bool:  # noqa: ARG002  all of them are
        return True


def is_limited(parameters: str) -> bool:
    """Whether slurmctld with these `SlurmctldParameters` limits the requests of each user, which it
    does of nobody who is root or its own user."""
    return "rl_enable" in parameters.split(",")


def budget_for(parameters: str) -> Budget:
    """The budget on a cluster with these `SlurmctldParameters`: where slurmctld limits the requests
    of each user (`rl_enable`), half of what it grants; the other half is for reading."""
    if not is_limited(parameters):
        return Budget()

    def limit(name: str, default: int) -> int:
        found = re.search(rf"\b{name}=([0-9]+)", parameters)
        return int(found[1]) if found else default

    bucket, each = limit("rl_bucket_size", 30), max(1, limit("rl_refill_rate", 2))
    rate = each / max(1, limit("rl_refill_period", 1))
    most, half = max(1, min(AT_ONCE, bucket // 2)), rate / 2
    return Budget(most, min(A_SECOND, half), pause=READING / half)
