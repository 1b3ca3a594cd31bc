"""A disk that is full when a service starts: it waits for room, as one that serves does."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from fairlead.client.errors import BusyError

PATIENCE = 60.0
"""Seconds that whoever runs the service has to make room."""

PAUSE = 1.0

LEAST = 256 * 1024
"""Bytes that a start writes: with less, SQLite speaks of a disk that does not take it."""


def is_full(error: BaseException | None, state: Path) -> bool:
    """Whether the error came of a disk without room."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if isinstance(error, sqlite3.Error):
            free = os.statvfs(state)
            return free.f_bavail * free.f_frsize < LEAST
        error = error.__cause__
    return False


class FullDisk:
    """Waits for room, all starts together no longer than `PATIENCE`."""

    def __init__(self, state: Path, complain: Callable[[str], None]) -> None:
        self._state, self._complain = state, complain
        self._until: float | None = None

    def wait(self) -> None:
        """Returns when it is worth another try. Raises BusyError once it took too long."""
        sentence = (
            f"the disk of {self._state} is full; make room: nothing that was accepted is lost"
        )
        if self._until is None:
            self._until = time.monotonic() + PATIENCE
            self._complain(f"{sentence}; waiting for it up to {PATIENCE:g} s")
        elif time.monotonic() > self._until:
            raise BusyError(sentence)
        time.sleep(PAUSE)
