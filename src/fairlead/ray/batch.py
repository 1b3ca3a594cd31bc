"""The calls of one `map`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from fairlead.ray.future import Future


class Batch:
    """The calls in their order. Iterating gives the results, each as soon as it is there, and
    raises at the first that failed."""

    def __init__(self, futures: list[Future]) -> None:
        self.futures = futures

    def __len__(self) -> int:
        return len(self.futures)

    def __iter__(self) -> Iterator[Any]:
        for future in self.futures:
            yield future.result()

    def results(self, timeout: float | None = None) -> list[Any]:
        """All results; GetTimeoutError where they are not all there within so many seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        return [
            future.result(None if end is None else max(0.0, end - time.monotonic()))
            for future in self.futures
        ]

    def cancel(self) -> bool:
        """Cancels all that are not over."""
        # With one of them go the others.
        return any(future.cancel() for future in self.futures if not future.done())
