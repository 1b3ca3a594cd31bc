"""The tables of a journal in a database, and how an older schema becomes the present one.

The same statements serve SQLite and PostgreSQL: `?` stands for a value, BYTES for the type of
bytes, NUMBER for that of an integer of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Protocol

from fairlead.service.journal.entry import JournalError, VersionJournalError

VERSION = 4
"""Of the tables. 1: a snapshot was one value. 2: it is in parts, with a checksum. 3: there is where
the entries that are kept begin. 4: the writer holds a lease."""

CHECKSUM = 16
"""Bytes of a snapshot's checksum."""

PART = 1 << 20
"""Bytes in a part of a snapshot: writing one holds up an append for a few milliseconds at most."""

FIRST = (
    """CREATE TABLE journal_head (
        only_one NUMBER PRIMARY KEY CHECK (only_one = 1),
        journal TEXT NOT NULL,
        epoch NUMBER NOT NULL,
        seq NUMBER NOT NULL,
        link BYTES NOT NULL)""",
    """CREATE TABLE journal_entry (
        seq NUMBER PRIMARY KEY,
        step NUMBER NOT NULL,
        time NUMBER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        link BYTES NOT NULL)""",
    """CREATE TABLE journal_snapshot (
        seq NUMBER PRIMARY KEY,
        link BYTES NOT NULL,
        data BYTES NOT NULL)""",
)
"""The tables of version 1."""

NEW_HEAD = "INSERT INTO journal_head (only_one, journal, epoch, seq, link) VALUES (1, ?, 0, 0, ?)"
"""Begins a journal of a name."""

Run = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""Runs one statement with its values; what it found."""


class Migration(Protocol):
    """Makes the next version of the one that there is."""

    def __call__(self, run: Run) -> None: ...


def check_version(version: int, journal: str, *, older: bool) -> int:
    """The version of that journal's tables, if this Fairlead can read them; `older` ones, too, if
    so. Raises JournalError."""
    if version > VERSION:
        raise VersionJournalError(
            f"{journal} was written by a newer Fairlead (its schema is {version}, known is"
            f" {VERSION}): use that one"
        )
    if version < VERSION and not older:
        raise JournalError(
            f"{journal} was written by an older Fairlead (its schema is {version}): start the"
            " service once, which brings it up to date"
        )
    return version


def _snapshots_in_parts(run: Run) -> None:
    run("ALTER TABLE journal_snapshot RENAME TO journal_snapshot_1", ())
    run(
        """CREATE TABLE journal_snapshot (
            seq NUMBER PRIMARY KEY,
            link BYTES NOT NULL,
            parts NUMBER NOT NULL,
            checksum BYTES NOT NULL,
            whole NUMBER NOT NULL)""",
        (),
    )
    run(
        """CREATE TABLE journal_part (
            seq NUMBER NOT NULL,
            number NUMBER NOT NULL,
            data BYTES NOT NULL,
            PRIMARY KEY (seq, number))""",
        (),
    )
    for seq, link, data in run("SELECT seq, link, data FROM journal_snapshot_1", ()):
        parts = in_parts(data)
        run(
            "INSERT INTO journal_snapshot VALUES (?, ?, ?, ?, 1)",
            (seq, link, len(parts), checksum(data)),
        )
        for number, part in enumerate(parts):
            run("INSERT INTO journal_part VALUES (?, ?, ?)", (seq, number, part))
    run("DROP TABLE journal_snapshot_1", ())


def _with_a_start(run: Run) -> None:
    # No row: nothing was removed.
    run(
        """CREATE TABLE journal_start (
            only_one NUMBER PRIMARY KEY CHECK (only_one = 1),
            seq NUMBER NOT NULL,
            link BYTES NOT NULL)""",
        (),
    )


def _with_a_lease(run: Run) -> None:
    # `beat` grows while the writer lives; `held` is 0 once it let go by itself.
    run("ALTER TABLE journal_head ADD COLUMN beat NUMBER NOT NULL DEFAULT 0", ())
    run("ALTER TABLE journal_head ADD COLUMN held NUMBER NOT NULL DEFAULT 0", ())
    run("ALTER TABLE journal_head ADD COLUMN leader TEXT NOT NULL DEFAULT ''", ())


MIGRATIONS: tuple[Migration, ...] = (_snapshots_in_parts, _with_a_start, _with_a_lease)
"""The i-th (from 1) makes version i + 1 of version i."""


def checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=CHECKSUM).digest()


def in_parts(data: bytes) -> list[bytes]:
    """The parts of a snapshot, at least one."""
    return [data[start : start + PART] for start in range(0, len(data), PART)] or [b""]


def migrate(run: Run, version: int) -> None:
    """Makes the present tables of those of an older version (0: of none)."""
    if version == 0:
        for statement in FIRST:
            run(statement, ())
    for migration in MIGRATIONS[max(version, 1) - 1 :]:
        migration(run)
