"""Compiles the scheduler before somebody waits for it, and shows how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fairlead.cli.common.inputs import complain

SAID = "compiling the scheduler, once"
LINE_EVERY = 10.0
"""Seconds between lines where there is no terminal."""

Show = Callable[[int, int], None]
"""Hears how many of about how many functions are there."""


def compile_first(placement: str | None = None) -> None:
    """Compiles what a service with this placement rule needs, as far as it is not kept.

    It looks itself instead of believing a note that all was compiled before: what is kept is of
    one processor, one Python and one Numba."""
    from fairlead.compiled import tidy
    from fairlead.scheduling.placement.registry import DEFAULT
    from fairlead.scheduling.warming import warm
    from fairlead.service.api.kernels.warming import warm_door

    with compiling_progress() as show:
        warm(show, placement or DEFAULT)
        warm_door(show)
    tidy()


@contextmanager
def compiling_progress() -> Iterator[Show]:
    """Yields a function that shows how far the compiler is: on one line, or now and then. Nothing
    is shown where it is never called: all was kept."""
    if not sys.stderr.isatty():
        next_line: float | None = None

        def show(done: int, total: int) -> None:
            nonlocal next_line
            if next_line is None:
                complain(f"{SAID}: a minute or two")
            elif time.monotonic() < next_line:
                return
            else:
                complain(f"{SAID}: {done} of about {total} functions")
            next_line = time.monotonic() + LINE_EVERY

        yield show
        return
    from tqdm import tqdm

    form = f"{SAID}: {{n_fmt}} of about {{total_fmt}} functions, {{elapsed}}"
    bar = None

    def draw(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(bar_format=form, leave=False, dynamic_ncols=True, file=sys.stderr)
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield draw
    finally:
        if bar is not None:
            bar.close()
