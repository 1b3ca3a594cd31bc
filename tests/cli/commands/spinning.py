"""What takes a processor's time, by itself: what a worker has to import for it is this."""

from __future__ import annotations

from time import process_time


def spin(seconds: float) -> None:
    """Takes so many seconds of a processor."""
    end = process_time() + seconds
    while process_time() < end:
        pass
