"""An entry of the journal: one thing that was accepted, reported or decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


Listener = Callable[[Sequence[Entry]], None]
"""Is told of entries that are durable."""


class JournalError(FairleadError):
    """The journal cannot be written or read now; the sentence says why and what to do."""


class NoJournalError(JournalError):
    """There is none, and the place where it would be was looked at."""


class CorruptJournalError(JournalError):
    """The journal holds something else than was written to it."""


class VersionJournalError(JournalError):
    """Another version of Fairlead wrote it: this one can neither follow it nor go on with it, and
    to wait changes nothing."""


class AwayJournalError(JournalError):
    """It, or its server, does not answer now: the same may be asked again."""


class TakenJournalError(JournalError):
    """Another service writes this journal."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The writer of a journal, and how far it went: the `epoch`-th writer's `beat` grows while it
    lives, `held` is false once it let go by itself, and `leader` is the address at which it
    answers (empty: it did not say)."""

    epoch: int
    beat: int
    held: bool
    leader: str
    seq: int


class Readable(Protocol):
    """A journal, as far as it is read."""

    def last(self) -> int:
        """The seq of the last entry, 0 if there is none."""

    def start(self) -> int:
        """The seq of the last entry that was removed, 0 if none was."""

    def read(self, after: int = 0) -> Iterator[Entry]:
        """The entries from there on that are kept, checked. Raises CorruptJournalError."""

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest snapshot that is whole."""


class Store(Readable, Protocol):
    """A journal's keeper. One writer at a time.

    `leader`: the address at which the writer answers, for those who wait to take over. `restored`:
    what said how far it went had been removed, as where an older copy was put in its place."""

    leader: str
    restored: bool

    def append(self, entries: Sequence[Entry]) -> None:
        """All of them or none; durable on return. Entries that are there already, the same, are
        left out, so that an append of which nobody knows how it ended is made again. Raises
        JournalError (what is kept is then unknown), TakenJournalError, CorruptJournalError."""

    def until(self, time: int) -> int:
        """The seq of the last entry of that time or before; `start()` if none is kept."""

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keeps a snapshot of all up to that entry, durably."""

    def snapshots(self) -> list[tuple[int, bytes]]:
        """All that are kept and whole, oldest first."""

    def forget(self, seq: int) -> None:
        """Removes the entries up to that one: all of them count as removed, or none, whenever the
        process dies. Raises JournalError where not every kept snapshot covers them, or there is
        none."""

    def renew(self) -> None:
        """Proves, durably, that this still is the one writer and that it can write. From any
        thread. Raises JournalError and TakenJournalError."""

    def close(self) -> None:
        """Lets another one write."""
