"""Compiles the scheduler before somebody waits for it, and shows how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fairlead.cli.common.remote import complain
from fairlead.compiled import SERVICE, first_time, note

SAID = "compiling the scheduler, once"
LINE_EVERY = 10.0
"""Seconds between lines where there is no terminal."""


def compile_first(placement: str | None = None) -> None:
    """Compiles what a service with this placement rule needs, where that was not done yet."""
    if not first_time(SERVICE):
        return
    from fairlead.scheduling.placement.registry import DEFAULT
    from fairlead.scheduling.warming import warm

    with compiling_progress() as show:
        warm(show, placement or DEFAULT)
    note(SERVICE)


@contextmanager
def compiling_progress() -> Iterator[Callable[[int, int], None]]:
    """Yields a function that shows how far the compiler is: on one line, or now and then."""
    if not sys.stderr.isatty():
        complain(f"{SAID}: about half a minute")
        next_line = time.monotonic() + LINE_EVERY

        def show(done: int, total: int) -> None:
            nonlocal next_line
            if time.monotonic() >= next_line:
                next_line += LINE_EVERY
                complain(f"{SAID}: {done} of about {total} functions")

        yield show
        return
    from tqdm import tqdm

    form = f"{SAID}: {{n_fmt}} of about {{total_fmt}} functions, {{elapsed}}"
    with tqdm(bar_format=form, leave=False, dynamic_ncols=True, file=sys.stderr) as bar:

        def draw(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield draw
