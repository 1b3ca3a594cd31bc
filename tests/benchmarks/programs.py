"""What the runner's tests measure: loaded by a new process each time, so it loads little."""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.cases import Measured


def gives(numbers: Sequence[float], seconds: float = 0.0) -> Measured:
    """A program that takes its time and gives these numbers."""

    def measured() -> Sequence[float]:
        time.sleep(seconds)
        return numbers

    return measured


def fails() -> Measured:
    """A program that cannot do it."""
    raise RuntimeError("no optimum")
