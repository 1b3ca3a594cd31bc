"""Observers of the service. The service itself reads no clock: whoever times it
does."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Protocol


class Timed(Enum):
    """The parts of a step that are timed."""

    DECIDE = "decide"  # the core decides
    JOURNAL = "journal"  # an append is made durable
    STEP = "step"  # the whole step


class Counted(Enum):
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

    def measure(self, what: Timed, /) -> AbstractContextManager[None]:
        """Around what takes time."""

    def count(self, what: Counted, /, times: int = 1) -> None:
        """That happened, so many times."""


class Unobserved:
    def measure(self, _what: Timed, /) -> AbstractContextManager[None]:
        return nullcontext()

    def count(self, _what: Counted, /, _times: int = 1) -> None:
        """Nobody counts."""
