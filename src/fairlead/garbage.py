"""When garbage is looked for: where much is made and hardly any of it thrown away, not at all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 100
"""Looks at what is young before one that goes through all there is (Python's own number is 10):
with thousands of jobs that takes 40 ms, in which nobody is answered."""


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
    """No later look goes through what is there now: it is there to stay. Of what comes, all is
    gone through seldom."""
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], SELDOM)
