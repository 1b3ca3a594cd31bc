"""Solves what-ifs in a process of their own: neither the loop nor other requests wait."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from fairlead import children
from fairlead.model.errors import InputError
from fairlead.service.api.refusal import RefusalError
from fairlead.service.api.strict import count_in_text
from fairlead.wire.errors import ErrorKind
from fairlead.wire.fairness import WhatIfAsked

T = TypeVar("T")

MOST_ADDED = 10_000
"""Machines that one what-if adds, and names that it removes."""

NICE = 10
"""How much less of a busy processor one that solves gets."""

_COUNT = re.compile(r"\s*([0-9]+)")


class Solving:
    """Processes that are started when they are first needed, one for each that is solved at one
    moment. One that takes too long is ended, and no other with it."""

    def __init__(self, *, apart: bool, seconds: float) -> None:
        self._apart, self._seconds = apart, seconds
        self._idle: list[ProcessPoolExecutor] = []
        self._busy: set[ProcessPoolExecutor] = set()

    async def solve(
        self, function: Callable[..., T], *args: object, seconds: float | None = None
    ) -> T:
        """Runs the function; it and its arguments are sent to the process. `seconds`: what it may
        take, where that is not what others may. Raises what it raises, and RefusalError."""
        most = self._seconds if seconds is None else seconds
        if not self._apart:
            return function(*args)
        pool = self._idle.pop() if self._idle else children.pool(1)
        self._busy.add(pool)
        done = False
        try:
            async with asyncio.timeout(most):
                found = await asyncio.get_running_loop().run_in_executor(
                    pool, _yielding, function, *args
                )
            done = True
            return found
        except InputError:  # it was refused, and the process is well
            done = True
            raise
        except TimeoutError as error:
            raise RefusalError(
                ErrorKind.UNAVAILABLE,
                f"this took more than {most:g} seconds and was given up",
                "ask for less at once, or ask `fairlead whatif` about a file",
                retry=most,
            ) from error
        except BrokenProcessPool as error:
            raise RefusalError(
                ErrorKind.UNAVAILABLE, "the process that solves was ended; ask again"
            ) from error
        finally:
            if pool in self._busy:  # not closed meanwhile
                self._busy.discard(pool)
                if done:
                    self._idle.append(pool)
                else:
                    children.end(pool, wait=False)

    def close(self) -> None:
        """Ends the processes, whatever they do."""
        pools = [*self._idle, *self._busy]
        self._idle.clear()
        self._busy.clear()
        for pool in pools:
            children.end(pool, wait=False)


def _yielding(function: Callable[..., T], *args: object) -> T:
    """Runs the function where everything else goes first: the service and its tasks."""
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    return function(*args)


def changes_of(asked: WhatIfAsked) -> Mapping[str, Sequence[str]]:
    """The changes by their kinds. Raises InputError where one would be absurdly large."""
    for text in asked.add:
        found = _COUNT.match(text)
        if found and (len(found[1]) > 9 or int(found[1]) > MOST_ADDED):
            raise InputError(f"{text[:60]!r} adds more than {MOST_ADDED} machines")
    if sum(map(count_in_text, asked.remove)) > MOST_ADDED:
        raise InputError(f"more than {MOST_ADDED} machines are removed")
    return asked.model_dump()
