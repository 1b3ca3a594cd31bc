"""A line for whoever waits long for shares: on a terminal only, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

_SECONDS = 2.0


@contextmanager
def patience() -> Iterator[None]:
    """Shows how many jobs have their shares, where that takes longer than two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    from tqdm import tqdm

    from fairlead.sharing.filling.watcher import watch

    form = "{n_fmt} of {total_fmt} jobs have their shares, {elapsed}"
    with tqdm(
        bar_format=form, leave=False, dynamic_ncols=True, file=sys.stderr, delay=_SECONDS
    ) as bar:

        def show_progress(settled: int, jobs: int) -> None:
            bar.total = jobs
            bar.update(settled - bar.n)

        # A first round may take long by itself.
        shown = Timer(1.1 * _SECONDS, bar.refresh)
        shown.daemon = True
        shown.start()
        try:
            with watch(show_progress):
                yield
        finally:
            shown.cancel()
