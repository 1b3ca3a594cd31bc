"""The clock: how far it is believed at a start, and while a service runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from fairlead.model.errors import InputError
from fairlead.model.words import counted
from fairlead.service.settings import DAY

FORWARD = 30 * DAY
"""A start believes a clock that is so far after the journal's last entry, for a service that was
off. (A service that runs writes an entry a day: `loop.step.QUIET`.)"""

BACK = DAY
"""And one that is so far before it: more than a wrong time zone."""

STEP = DAY // 24
"""A service that runs believes a clock that is set by no more than this against the time that
passed."""


def wall_clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def passing_clock() -> int:
    """Microseconds since some moment, which nobody can set; where the system counts them, those in
    which the machine slept too."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1000


def check_clock(now: int, last: int, *, is_right: bool = False) -> None:
    """Raises InputError where the clock is further from the journal's last entry than is believed,
    so that nothing is forgotten nor stamped by a wrong one. `last`: 0 where there is no entry.
    `is_right`: an operator says so."""
    if is_right or not last or -BACK <= now - last <= FORWARD:
        return
    apart = round(abs(now - last) / DAY)
    raise InputError(
        f"the clock of this machine says {_write_time(now)}, {counted(apart, 'day')}"
        f" {'after' if now > last else 'before'} the journal's last entry, of {_write_time(last)}",
        "set the clock; if it is right, say so once with --clock-is-right",
    )


class SteadyClock:
    """Microseconds since 1970 for the loop: by the machine's clock, which may be set by `STEP` at
    once. Where it was set by more, time passes as if it had not been, until the clock is back or
    the service starts anew. `told`: hears a sentence when that begins and when it ends."""

    def __init__(
        self,
        told: Callable[[str], None],
        wall: Callable[[], int] = wall_clock,
        passing: Callable[[], int] = passing_clock,
    ) -> None:
        self._told, self._wall, self._passing = told, wall, passing
        self._began = wall() - passing()
        self._off = False

    def __call__(self) -> int:
        """The time. From one thread."""
        wall = self._wall()
        time = self._began + self._passing()
        off = abs(wall - time) > STEP
        if off and not self._off:
            self._told(
                f"the clock was set from {_write_time(time)} to {_write_time(wall)} while the"
                " service ran, which is not believed: its times go on as before; set the clock"
                " right, or start the service anew if it is"
            )
        if self._off and not off:
            self._told(f"the clock is believed again: it says {_write_time(wall)}")
        self._off = off
        if off:
            return time
        self._began += wall - time
        return wall


def _write_time(time: int) -> str:
    """2026-11-24 04:09 UTC, as far as years have four digits."""
    try:
        moment = datetime.fromtimestamp(time // 1_000_000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time // 1_000_000} s since 1970"
    return f"{moment:%Y-%m-%d %H:%M} UTC"
