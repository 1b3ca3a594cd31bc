"""Progress with the time left, on stderr: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Protocol

LINE_EVERY = 30.0
"""Seconds between lines where there is no terminal."""

BEAT = 1.0
"""Seconds between two looks at a bar's clock."""


class Bar(Protocol):
    """A bar that is told how far a run is."""

    def update(self, n: float) -> object:
        """So many more are done."""


class Silent:
    """Shows nothing: nobody asked."""

    def update(self, n: float) -> None:
        """Nothing to show."""


def remark(sentence: str) -> None:
    """What whoever waits is to know now, on a line of its own above a bar that there may be, also
    of another process."""
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{clear}{sentence}\n")
    sys.stderr.flush()


class Lines:
    """A line on stderr now and then, none where all is done soon."""

    def __init__(
        self, total: int | None, unit: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total, self._unit, self._clock = total, unit, clock
        self._done = 0.0
        self._begun = clock()
        self._next = self._begun + LINE_EVERY
        self._lock = Lock()  # a thread says that a long step goes on

    def update(self, n: float) -> None:
        """So many more are done; a line where the last one is long ago."""
        with self._lock:
            self._done += n
            self._say()

    def _say(self) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + LINE_EVERY
        of = "" if self._total is None else f" of {self._total:,}"
        sentence = f"{self._done:,.0f}{of} {self._unit}s after {lasting(now - self._begun)}"
        if self._total and self._done:
            left = (now - self._begun) * (self._total / self._done - 1)
            sentence += f", about {lasting(left)} left"
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()


def lasting(seconds: float) -> str:
    """A time as people say it: 50 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(total: int | None, unit: str, *, wanted: bool = True) -> Iterator[Bar]:
    """A bar of so many units (None: not known), gone when the block ends; without a terminal
    lines. Both go on while one step of what is done takes long."""
    if not wanted:
        yield Silent()
        return
    if not sys.stderr.isatty():
        lines = Lines(total, unit)
        with _beating(lambda: lines.update(0), LINE_EVERY):
            yield lines
        return
    from tqdm import tqdm

    with (
        tqdm(
            total=total,
            unit=unit,
            unit_scale=True,
            leave=False,
            dynamic_ncols=True,
            file=sys.stderr,
        ) as bar,
        _beating(bar.refresh, BEAT),
    ):
        yield bar


@contextmanager
def _beating(beat: Callable[[], object], every: float) -> Iterator[None]:
    """Calls it now and then while the block runs, in a thread: whoever computes has no time to."""
    over = Event()

    def run() -> None:
        while not over.wait(every):
            beat()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
