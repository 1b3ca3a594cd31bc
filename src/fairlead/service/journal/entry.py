"""An entry of the journal: one thing that was accepted, reported or decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fairlead.model.errors import FairleadError

Body = dict[str, Any]
"""A tree of what JSON holds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The `seq`-th entry (from 1, without gaps), in the `step`-th step of the loop.

    The entries of a step have one `time`, in microseconds since 1970; they are in the order in
    which the core was told of them, with the core's decisions last."""

    seq: int
    step: int
    time: int
    kind: str
    body: Body


class JournalError(FairleadError):
    """The journal cannot be written or read now; the sentence says why and what to do."""


class CorruptJournalError(JournalError):
    """What the journal holds is not what was written to it."""


class TakenJournalError(JournalError):
    """Another service writes this journal."""


class Store(Protocol):
    """Where a journal is kept. One writer at a time."""

    def append(self, entries: Sequence[Entry]) -> None:
        """All of them or none; durable on return. Entries that are there already, the same, are
        left out, so that an append of which nobody knows how it ended is made again. Raises
        JournalError (what is kept is then unknown), TakenJournalError, CorruptJournalError."""

    def last(self) -> int:
        """The seq of the last entry, 0 if there is none."""

    def read(self, after: int = 0) -> Iterator[Entry]:
        """The entries from there on, checked. Raises CorruptJournalError."""

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keeps a snapshot of all up to that entry, durably."""

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest snapshot that is whole."""

    def close(self) -> None:
        """Lets another one write."""
