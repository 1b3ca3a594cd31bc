"""What searches start ends with them, however they end: services too, which have sessions of their
own, and what is left behind by who started it.

A worker inherits what lost its parents, hears when it or the search is to end, and kills all below
itself."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import psutil

from fairlead import children
from fairlead.engines.local.shim import LIBRARY
from fairlead.engines.local.spawner import PR_SET_CHILD_SUBREAPER


@contextlib.contextmanager
def workers(number: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes. What ends the block, SIGTERM too, is raised once all that they started is
    gone."""
    with (
        children.unwinding(),
        ProcessPoolExecutor(number, mp_context=children.spawning(), initializer=_begin) as pool,
    ):
        try:
            yield pool
        except BaseException:
            children.end(pool)
            raise


def _begin() -> None:
    """In a worker, first of all."""
    LIBRARY.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    children.end_with_parent(_end_all)
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, _frame: object) -> None:
    _end_all()
    os._exit(128 + number)


def _end_all() -> None:
    """Kills all that is below this process, until nothing is: whose parent is killed comes here."""
    while there := [each for each in psutil.Process().children(recursive=True) if _runs(each)]:
        for each in there:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        time.sleep(0.01)


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
