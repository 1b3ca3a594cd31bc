"""What-ifs are solved in a process of their own: neither the loop nor other requests wait."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from fairlead import children
from fairlead.model.errors import InputError
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.strict import meant
from fairlead.wire.errors import ErrorKind
from fairlead.wire.fairness import WhatIfAsked

T = TypeVar("T")

MOST_ADDED = 10_000
"""Machines that one what-if adds, and names that it removes."""

_COUNT = re.compile(r"\s*([0-9]+)")


class Solving:
    """A process that is started when it is first needed. One that takes too long is ended."""

    def __init__(self, *, apart: bool, seconds: float) -> None:
        self._apart, self._seconds = apart, seconds
        self._pool: ProcessPoolExecutor | None = None

    async def solve(self, function: Callable[..., T], *args: object) -> T:
        """Runs the function; it and its arguments are sent to the process. Raises what it
        raises, and RefusalError."""
        if not self._apart:
            return function(*args)
        if self._pool is None:
            self._pool = children.pool(1)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                return await loop.run_in_executor(self._pool, function, *args)
        except TimeoutError as error:
            self.close()
            raise RefusalError(
                ErrorKind.UNAVAILABLE,
                f"this took more than {self._seconds:g} seconds and was given up",
                "ask for less at once, or ask `fairlead whatif` about a file",
                retry=self._seconds,
            ) from error
        except BrokenProcessPool as error:
            self.close()
            raise RefusalError(
                ErrorKind.UNAVAILABLE, "the process that solves was ended; ask again"
            ) from error

    def close(self) -> None:
        """Ends the process, whatever it does."""
        pool, self._pool = self._pool, None
        if pool is not None:
            children.end(pool, wait=False)


def changes_of(asked: WhatIfAsked) -> Mapping[str, Sequence[str]]:
    """The changes by their kinds. Raises InputError where one would be absurdly large."""
    for text in asked.add:
        found = _COUNT.match(text)
        if found and (len(found[1]) > 9 or int(found[1]) > MOST_ADDED):
            raise InputError(f"{text[:60]!r} adds more than {MOST_ADDED} machines")
    if sum(map(meant, asked.remove)) > MOST_ADDED:
        raise InputError(f"more than {MOST_ADDED} machines are removed")
    return asked.model_dump()
