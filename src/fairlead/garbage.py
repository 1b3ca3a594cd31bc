"""Where no garbage is looked for, since much is made there and hardly any of it thrown away."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
    """No later look goes through what is there now: it is there to stay."""
    gc.freeze()
