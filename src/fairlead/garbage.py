"""When garbage is looked for: where much is made and hardly any of it thrown away, not at all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

LOOKS = 2_000, 0, 6_000
"""New objects until what is new is looked at, such looks until what outlived them is (each second
one), and of those until all there is: with thousands of jobs that takes 40 ms, in which nobody is
answered. A look takes 0.1 us an object, or several times as much where others use the processors'
caches, and everything is looked at once or twice while it is young, in parts of any size: so in
small ones."""


@contextmanager
def not_collecting() -> Iterator[None]:
    """Within, nothing in cycles is looked for; afterwards, as before. Each look goes through all
    that there is, over and over while it grows: a fifth of a service's start."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def keep_all() -> None:
    """No later look goes through what is there now: it is there to stay. What comes is gone
    through a little at a time, and all of it seldom."""
    gc.freeze()
    gc.set_threshold(*LOOKS)
