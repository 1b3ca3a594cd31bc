"""What a service needs at its start and may get in a moment: it waits for that, as one that serves
does. What never can be is refused at once."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from fairlead.client.errors import BusyError
from fairlead.engines.interface import EngineError
from fairlead.service.journal.entry import AwayJournalError, TakenJournalError
from fairlead.service.process.listening import UnboundError

PATIENCE = 60.0
"""Seconds that whoever runs the service has to mend it."""

PAUSE = 1.0

LEAST = 256 * 1024
"""Bytes that a start writes: with less, SQLite speaks of a disk that does not take it."""

AWAY = (AwayJournalError, TakenJournalError, EngineError, UnboundError)
"""Errors of what others have, or run: the journal, the engine, and where to listen."""


def why_not_yet(error: Exception, state: Path) -> str | None:
    """What a start lacks that may come by itself, in a sentence; None where to wait is in vain."""
    if is_full(error, state):
        return f"the disk of {state} is full; make room: nothing that was accepted is lost"
    return str(error) if isinstance(error, AWAY) else None


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


class Patience:
    """Waits for what a start lacks, all its tries together no longer than `PATIENCE`."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self._complain = complain
        self._until: float | None = None
        self._said: set[type[Exception]] = set()

    def wait(self, error: Exception, why: str) -> None:
        """Returns when it is worth another try. Raises BusyError once it took too long."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + PATIENCE
        elif now > self._until:
            raise BusyError(why) from error
        if type(error) not in self._said:  # sentences differ from one try to the next
            self._said.add(type(error))
            self._complain(f"{why}; waiting for it up to {self._until - now:.0f} s")
        time.sleep(PAUSE)
