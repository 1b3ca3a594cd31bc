"""A filling reports its progress to a watcher, for people who wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[int, int], object]
"""Is told how many jobs have their shares, of how many."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watch(watcher: Watcher) -> Iterator[None]:
    """Inside, the watcher is told after each round."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def report_progress(settled: int, jobs: int) -> None:
    """So many jobs have their shares by now."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(settled, jobs)
