"""A journal in a file: SQLite with a write-ahead log, synced to disk at every append."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fairlead.service.journal.chain import first_link
from fairlead.service.journal.entry import (
    AwayJournalError,
    CorruptJournalError,
    JournalError,
    NoJournalError,
)
from fairlead.service.journal.lock import Lock, is_held
from fairlead.service.journal.reading import Session, SqlReader, standing
from fairlead.service.journal.schema import NEW_HEAD, VERSION, check_version, migrate
from fairlead.service.journal.sql import SqlStore, name_from
from fairlead.whole_file import sync_folder

APPLICATION = 0x46_4C_4A_31
"""SQLite's mark of whose file it is: FLJ1."""

PATIENCE = 1.0
"""Seconds to wait for another program that has locked the file."""

_SAID = {
    sqlite3.SQLITE_FULL: "the disk is full; make room: nothing that was accepted is lost",
    sqlite3.SQLITE_BUSY: "another program has locked it; close that one",
    sqlite3.SQLITE_LOCKED: "another program has locked it; close that one",
    sqlite3.SQLITE_READONLY: "it may not be written; see to its permissions and its disk's",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; see to its permissions and its folder's",
    sqlite3.SQLITE_PERM: "it may not be used; see to its permissions",
    sqlite3.SQLITE_IOERR: "the disk does not take it; see to the disk and to limits on files",
}
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def open_sqlite(path: Path, new: Callable[[], object] = lambda: None) -> SqlStore:
    """The journal in this file, to be written; a new one where nothing was ever kept there."""
    lock = lock_of(path)
    try:
        if not path.exists():
            new()
            _create(path)
        _see(path)
        if path.stat().st_mode & 0o077:
            raise JournalError(
                f"others than its owner may use the journal {path}: chmod 600 it, and see who did"
            )
        _migrate(path)
        return _LockedStore(path, lock)
    except BaseException:
        lock.release()
        raise


def lock_of(path: Path) -> Lock:
    """The lock of the one writer. Raises TakenJournalError and JournalError."""
    return Lock(_beside(path, "lock"), f"the journal {path}")


def is_written(path: Path) -> bool:
    """Whether there is a writer. Raises JournalError."""
    return is_held(_beside(path, "lock"))


def read_sqlite(path: Path) -> SqlReader:
    """The journal in this file, to be read only."""
    if not path.exists():
        raise NoJournalError(f"there is no journal {path}")
    _see(path)
    with closing(SqliteSession(path, write=False)) as session:
        _version(session, path)
    return SqlReader(
        f"the journal {path}", lambda: SqliteSession(path, write=False), _beside(path, "head")
    )


class _LockedStore(SqlStore):
    """A store that lets go of its lock when it is closed, and sees when its file is taken away."""

    def __init__(self, path: Path, lock: Lock) -> None:
        self._path, self._inode, self._lock = path, path.stat().st_ino, lock
        super().__init__(
            f"the journal {path}",
            SqliteSession(path, write=True),
            lambda: SqliteSession(path, write=True),
            _beside(path, "head"),
            _epoch(path),
        )

    def renew(self) -> None:
        self._see_file()
        super().renew()

    def close(self) -> None:
        super().close()
        self._lock.release()

    def _ready(self) -> Session:
        try:
            self._see_file()
        except JournalError:
            self._drop()
            raise
        return super()._ready()

    def _see_file(self) -> None:
        # What is written into a file without a name is gone with the process.
        try:
            there = self._path.stat().st_ino == self._inode
        except FileNotFoundError:
            there = False
        if not there:
            raise JournalError(f"{self} was taken away: put it back")


class SqliteSession:
    """A connection to a journal's file."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self._path = path
        mode = "rw" if write else "ro"
        if not write and not os.access(path.parent, os.W_OK):
            # SQLite would make files beside it. Who wrote it last closed it, or his log is there.
            if not _beside(path, "wal").exists():
                mode = "ro&immutable=1"
            elif not _beside(path, "shm").exists():
                raise JournalError(
                    f"the journal {path} cannot be read in a folder that may not be written: its"
                    " last entries are still in the log beside it; copy both to another folder"
                )
        with self._explain_errors():
            self._connection = sqlite3.connect(
                f"file:{quote(str(path))}?mode={mode}",
                uri=True,
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._explain_errors():
                run = self._connection.execute
                run("PRAGMA trusted_schema = OFF")
                run("PRAGMA cell_size_check = ON")
                if write:
                    if run("PRAGMA journal_mode = WAL").fetchall() != [("wal",)]:
                        raise JournalError(f"the disk of {path} takes no write-ahead log")
                    run("PRAGMA synchronous = FULL")
        except BaseException:
            self._connection.close()
            raise

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._explain_errors():
            return self._connection.execute(_typed(sql), values).fetchall()

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._explain_errors():
            self._connection.executemany(sql, rows)

    def stream(self, sql: str, values: Sequence[Any]) -> Generator[tuple[Any, ...], None, None]:
        with self._explain_errors():
            for row in self._connection.execute(sql, values):  # noqa: UP028  it would be closed twice
                yield row

    def begin(self, *, write: bool) -> None:
        self.run("BEGIN IMMEDIATE" if write else "BEGIN")

    def commit(self) -> None:
        self.run("COMMIT")

    def rollback(self) -> None:
        self.run("ROLLBACK")

    def alone(self, epoch: int) -> bool:
        del epoch  # by the lock on the file beside it
        return True

    def settle(self) -> None:
        # Copied out of the log into the file, and synced: a log that could not be synced is not
        # trusted, even where it can be read back.
        ((_, logged, copied),) = self.run("PRAGMA wal_checkpoint(PASSIVE)")
        if logged != copied:
            raise AwayJournalError(
                f"the journal {self._path} is being read: stop that for a moment"
            )

    def check(self) -> None:
        found = [str(row[0]) for row in self.run("PRAGMA quick_check(3)")]
        if found != ["ok"]:
            raise CorruptJournalError(
                f"the journal {self._path} is damaged: its tables do not hold together; put back"
                " the last good copy of it"
            )

    def compact(self) -> None:
        self.run("VACUUM")
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        with suppress(sqlite3.Error):  # it was closed to get rid of it
            self._connection.close()

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # An error of Python's own module, such as text that is none, has no code.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            name = f"the journal {self._path}"
            if code in _DAMAGED:
                raise CorruptJournalError(
                    f"{name} is damaged, or no database at all: put back the last good copy of it"
                ) from error
            said = _SAID.get(code, "see to the file and its disk")
            failed = AwayJournalError if code in _LOCKED else JournalError
            raise failed(f"{name} cannot be used now ({error}): {said}") from error


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}-{what}")


def _see(path: Path) -> None:
    """Refuses what SQLite would take for a new file, or would not understand."""
    if not path.is_file():
        raise JournalError(f"the journal {path} is not a file; name a file")
    if path.stat().st_size == 0:
        raise CorruptJournalError(
            f"the journal {path} is empty (0 bytes), as no journal ever is: put back the last good"
            " copy of it"
        )


def _create(path: Path) -> None:
    """A new journal, whole or not at all. Refuses where one has been before."""
    left = [each for what in ("head", "wal") if (each := _beside(path, what)).exists()]
    if left:
        raise CorruptJournalError(
            f"there is no journal {path}, but one was kept here: {left[0].name} is left of it; put"
            " it back, or remove that file as well to begin a new one"
        )
    new = _beside(path, "new")
    try:
        for each in (new, _beside(new, "wal"), _beside(new, "shm"), _beside(new, "journal")):
            each.unlink(missing_ok=True)  # of a start that was killed
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(SqliteSession(new, write=True)) as session:
            _grow(session, 0)
            name = name_from(os.urandom(16))
            session.run(NEW_HEAD, (name, first_link(name)))
            session.commit()
        new.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise JournalError(
            f"the journal {path} cannot be made ({error.strerror}): see to its folder and disk"
        ) from error


def _epoch(path: Path) -> int:
    """The number of writers so far."""
    with closing(SqliteSession(path, write=False)) as session:
        return standing(session).epoch


def _migrate(path: Path) -> None:
    """Brings an older schema up to date. Another program's file is not touched."""
    with closing(SqliteSession(path, write=False)) as session:
        version = _version(session, path, older=True)
    if version < VERSION:
        with closing(SqliteSession(path, write=True)) as session:
            _grow(session, version)
            session.commit()


def _grow(session: Session, version: int) -> None:
    session.begin(write=True)
    migrate(session.run, version)
    session.run(f"PRAGMA application_id = {APPLICATION}")
    session.run(f"PRAGMA user_version = {VERSION}")


def _version(session: Session, path: Path, *, older: bool = False) -> int:
    ((whose,),) = session.run("PRAGMA application_id")
    ((version,),) = session.run("PRAGMA user_version")
    if whose != APPLICATION or not version:
        raise JournalError(f"{path} is no journal of Fairlead's, but another program's file")
    return check_version(int(version), f"the journal {path}", older=older)


def _typed(sql: str) -> str:
    return sql.replace("NUMBER", "INTEGER").replace("BYTES", "BLOB")
