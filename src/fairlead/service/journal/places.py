"""From a place to its store: a file, or a database by its URL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairlead.model.errors import InputError
from fairlead.service.journal.entry import Standing
from fairlead.service.journal.reading import SqlReader
from fairlead.service.journal.sql import SqlStore
from fairlead.service.journal.sqlite import open_sqlite, read_sqlite

FILE = "journal.db"
"""The journal's name in a folder."""

HEAD = "journal-head"
"""The name, in a state folder, of what tells how far a journal in a database went."""

POSTGRES = ("postgresql://", "postgres://")


def open_store(
    place: str | Path,
    head: Path | None = None,
    new: Callable[[], object] = lambda: None,
    after: Standing | None = None,
) -> SqlStore:
    """The journal at a place, to be written by this process alone; a new one where none has been.
    `after`: where the writer in a database stood whose lease has run out.

    `place` is a folder that is there, whose journal is its `journal.db`, a file, or a
    postgresql:// URL. A file's head is beside it; for a database, `head` names the file that tells
    how far the journal went. `new` is called before a new one is made, and raises where none is to
    be. Raises JournalError, TakenJournalError, CorruptJournalError."""
    if isinstance(place, str) and place.startswith(POSTGRES):
        from fairlead.service.journal.postgres import open_postgres

        return open_postgres(place, head, new, after)
    return open_sqlite(file_of(place), new)


def check_place(place: str) -> None:
    """Raises InputError where a journal that is not there yet could be a folder as well as a file,
    so that the next start would look elsewhere for it."""
    if place.startswith(POSTGRES):
        return
    file = file_of(place)
    if not file.suffix and not file.exists():
        raise InputError(
            f"nothing is at {place}, so this may be a folder or a file",
            f"make the folder, in which the journal is {FILE}, or name a file that ends in .db",
        )


def open_reader(place: str | Path, head: Path | None = None) -> SqlReader:
    """The journal at a place, to be read only, also while a service writes it. Migrates nothing."""
    if isinstance(place, str) and place.startswith(POSTGRES):
        from fairlead.service.journal.postgres import read_postgres

        return read_postgres(place, head)
    return read_sqlite(file_of(place))


def file_of(place: str | Path) -> Path:
    """The file of a journal at a place. Raises InputError."""
    if isinstance(place, str) and "://" in place:
        scheme = place.partition(":")[0]
        raise InputError(
            f"no journal is kept at {scheme}://", "write a file, or a URL of postgresql://"
        )
    path = Path(place)
    return path / FILE if path.is_dir() else path
