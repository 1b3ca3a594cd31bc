"""Progress with the time left: on a terminal only, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Bar(Protocol):
    """What is told how far a run is."""

    def update(self, n: float) -> object:
        """So many more are done."""


class Silent:
    """Shows nothing: a pipe, or nobody asked."""

    def update(self, n: float) -> None:
        """Nothing to show."""


@contextmanager
def progress(total: int | None, unit: str, *, wanted: bool = True) -> Iterator[Bar]:
    """A bar of so many units (None: not known), gone when the block ends."""
    if not wanted or not sys.stderr.isatty():
        yield Silent()
        return
    from tqdm import tqdm

    with tqdm(
        total=total, unit=unit, unit_scale=True, leave=False, dynamic_ncols=True, file=sys.stderr
    ) as bar:
        yield bar
