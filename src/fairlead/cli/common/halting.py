"""A long search that is watched: how far it is, and Ctrl-C that ends it with what it found."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LINE_EVERY = 30.0
"""Seconds between lines where there is no terminal."""

REDRAW = 0.1
"""Seconds between two looks of the line on a terminal."""


class Halting:
    """`over`: Ctrl-C was pressed. Quiet in a pipe but for a line now and then."""

    def __init__(self) -> None:
        self.over = False
        self._what = ""
        self._live = sys.stderr.isatty()
        self._begun = self._shown = time.monotonic()

    def tell(self, what: str) -> None:
        """This is what is being done now."""
        self._what, self._begun = what, time.monotonic()
        self._show(what)

    def go_on(self, tried: int, most: int) -> bool:
        """So many changes of at most so many were tried; whether to try more."""
        now = time.monotonic()
        if now >= self._shown + (REDRAW if self._live else LINE_EVERY):
            left = ""
            if tried and now > self._begun + 1:
                left = f", {_about((now - self._begun) * (most / tried - 1))} left at most"
            self._shown = now
            self._show(f"{self._what}: {tried:,} of {most:,} changes{left}", line=True)
        return not self.over

    def _show(self, text: str, line: bool = False) -> None:
        if self._live:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif line:
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Nothing is being done any more."""
        self._show("")


def _about(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:,.0f} h"


@contextmanager
def halting(said: str) -> Iterator[Halting]:
    """Within, the first Ctrl-C only says this and that the search is to end; the next one ends all,
    as always. In a thread that hears no signals, and where it is ignored, nothing changes."""
    watch = Halting()
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else signal.SIG_IGN
    if not callable(before):
        try:
            yield watch
        finally:
            watch.end()
        return

    def ask(_number: int, _frame: FrameType | None) -> None:
        watch.over = True
        signal.signal(signal.SIGINT, before)
        watch.end()
        print(said, file=sys.stderr, flush=True)

    signal.signal(signal.SIGINT, ask)
    try:
        yield watch
    finally:
        signal.signal(signal.SIGINT, before)
        watch.end()
