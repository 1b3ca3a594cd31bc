"""What the service tells whoever watches it. The service itself reads no clock: whoever times it
does."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Protocol


class Timed(Enum):
    """What takes time."""

    DECIDE = "decide"  # the core decides
    JOURNAL = "journal"  # an append is made durable
    STEP = "step"  # the whole step


class Counted(Enum):
    """What is counted."""

    LAUNCHES = "launches"
    STOPS = "stops"
    ENTRIES = "entries"  # of the journal
    LATE_REPORTS = "late_reports"  # of attempts that are not the task's current one
    ENGINE_ERRORS = "engine_errors"
    JOURNAL_ERRORS = "journal_errors"
    QUARANTINES = "quarantines"
    RETRIES = "retries"
    REFUSALS = "refusals"  # requests that were refused


class Observer(Protocol):
    """Nothing that it does changes what the service does."""

    def timed(self, what: Timed, /) -> AbstractContextManager[None]:
        """Around what takes time."""

    def counted(self, what: Counted, /, times: int = 1) -> None:
        """That happened, so many times."""

    def ended(self, outcome: str, /, times: int = 1) -> None:
        """Attempts ended: finished, failed, lost or stopped."""


class Unobserved:
    """Nobody watches."""

    def timed(self, _what: Timed, /) -> AbstractContextManager[None]:
        """Nothing around it."""
        return nullcontext()

    def counted(self, _what: Counted, /, _times: int = 1) -> None:
        """Nobody counts."""

    def ended(self, _outcome: str, /, _times: int = 1) -> None:
        """Nobody counts."""
