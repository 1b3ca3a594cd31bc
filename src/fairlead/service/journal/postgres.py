"""A journal in PostgreSQL, for those who run one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from fairlead.extras import missing
from fairlead.service.journal.chain import first_link
from fairlead.service.journal.entry import (
    AwayJournalError,
    CorruptJournalError,
    NoJournalError,
    Standing,
    TakenJournalError,
)
from fairlead.service.journal.reading import Session, SqlReader, standing
from fairlead.service.journal.schema import NEW_HEAD, VERSION, check_version, migrate
from fairlead.service.journal.sql import SqlStore, name_from

if TYPE_CHECKING:
    from psycopg.abc import PQGen

T = TypeVar("T")

try:
    import psycopg
except ModuleNotFoundError as error:
    raise missing(error) or error from error

LOCK = 0x46_4C_4A_31
"""The advisory lock of whoever makes the journal's tables in a database and, with an epoch beside
it, of that epoch's writer: the server drops it with the session, however that ends."""

CONNECT = 10
"""Seconds to wait for the server."""

ANSWER = 10.0
"""The same, once it is connected: one that hangs, or is cut off, would be waited for for ever."""

MAKING = 600.0
"""The same for tables that are made, or made anew of those of an older version."""

AT_ONCE = 5_000
"""Rows that a reader fetches at once."""

_SETTINGS = (
    "SET synchronous_commit = on",
    # A session whose service was cut off must not hold the lock for hours.
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
    "SET lock_timeout = '2s'",
    "SET statement_timeout = '60s'",
)

_WRITING = (
    # A writer that froze in a transaction holds up nobody who takes over.
    "SET idle_in_transaction_session_timeout = '3s'",
)


def open_postgres(
    url: str,
    head: Path | None,
    made: Callable[[], object] = lambda: None,
    after: Standing | None = None,
) -> SqlStore:
    """The journal in this database, to be written; a new one where there is none.

    `after`: where the writer stood whose lease has run out, and who may be there still: from now
    on it can write no more. Where it went on meanwhile, it is not gone."""
    name = f"the journal in {without_password(url)}"
    session = PostgresSession(url, write=True)
    try:
        session.patience = MAKING
        epoch = _make_tables(session, url, head, made)
        session.patience = ANSWER
        seen = after if after is not None and after.epoch == epoch else None
        if seen is None and not session.alone(epoch):
            raise TakenJournalError(
                f"{name} is being written by another service: stop that one first"
            )
        connect = partial(PostgresSession, url, write=True)
        if seen is None:
            return SqlStore(name, session, connect, head, epoch, lasting=True)
        session.run("SET lock_timeout = '500ms'")
        try:
            store = SqlStore(name, session, connect, head, epoch, seen, lasting=True)
        except HeldJournalError:
            _end_writer(url, epoch)  # the next try need not wait for it
            raise
        session.run("SET lock_timeout = '2s'")
        return store
    except BaseException:
        session.close()
        raise


def _end_writer(url: str, epoch: int) -> None:
    """Ends the session of a writer that froze in the middle of a transaction: the server's own
    limit for that (`_WRITING`) does not count after all statements."""
    with closing(PostgresSession(url)) as session:
        session.run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks, pg_database"
            " WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND database = oid"
            " AND datname = current_database() AND classid::bigint = ? AND objid::bigint = ?",
            (LOCK, epoch),
        )


def _make_tables(
    session: PostgresSession, url: str, head: Path | None, made: Callable[[], object]
) -> int:
    """Has the present tables be there, and returns the number of writers so far."""
    if not _there(session) or _version(session, url, older=True) < VERSION:
        if not session.alone(None):
            raise TakenJournalError(
                f"another service writes {session}, or makes its tables: stop that one first"
            )
        new = not _there(session)  # what another one may have done meanwhile
        if new:
            made()
        if new and head is not None and head.exists():
            raise CorruptJournalError(
                f"there is no journal in {without_password(url)}, but one was kept there: {head} is"
                " left of it; put it back, or remove that file as well to begin a new one"
            )
        version = 0 if new else _version(session, url, older=True)
        if version < VERSION:
            _grow(session, version)
    return standing(session).epoch


def _grow(session: Session, version: int) -> None:
    """Makes the present tables of those of an older version; 0: of none."""
    session.begin(write=True)
    migrate(session.run, version)
    if version:
        session.run("UPDATE journal_schema SET version = ?", (VERSION,))
    else:
        name = name_from(os.urandom(16))
        session.run(NEW_HEAD, (name, first_link(name)))
        session.run("CREATE TABLE journal_schema (version BIGINT NOT NULL)")
        session.run("INSERT INTO journal_schema VALUES (?)", (VERSION,))
    session.commit()


def read_postgres(url: str, head: Path | None, *, lasting: bool = False) -> SqlReader:
    """The journal in this database, to be read only, by a session that stays where it is `lasting`:
    for whoever looks again and again. Such a reader is closed in the end."""
    with closing(PostgresSession(url)) as session:
        if not _there(session):
            raise NoJournalError(f"there is no journal in {without_password(url)}")
        _version(session, url)
    name = f"the journal in {without_password(url)}"
    return SqlReader(name, lambda: PostgresSession(url), head, lasting=lasting)


def without_password(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


class HeldJournalError(AwayJournalError):
    """Somebody is in the middle of a transaction, and does not go on."""


class _Impatient(psycopg.Connection[Any]):
    """A connection to a server that has to answer within `patience` seconds."""

    patience = ANSWER

    def wait(self, gen: PQGen[T], *args: Any, **more: Any) -> T:
        """As psycopg.Connection.wait. Raises psycopg.OperationalError where no answer comes."""
        return super().wait(_within(self.patience, gen), *args, **more)


def _within(seconds: float, asking: PQGen[T]) -> PQGen[T]:
    """The same question, which is given up after so many seconds: whoever waits for it looks at it
    now and then though nothing came."""
    until = time.monotonic() + seconds
    try:
        wanted = next(asking)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > until:
                raise psycopg.OperationalError(f"it has not answered for {seconds:g} seconds")
            wanted = asking.send(ready)
    except StopIteration as end:
        found: T = end.value
        return found


class PostgresSession:
    """A connection to a journal's database. `patience`: seconds that it has for each answer."""

    def __init__(self, url: str, *, write: bool = False) -> None:
        self._name = f"the journal in {without_password(url)}"
        with self._explain_errors():
            self._connection = _Impatient.connect(url, autocommit=True, connect_timeout=CONNECT)
        settings = (*_SETTINGS, *(_WRITING if write else ()))
        try:
            with self._explain_errors():
                self._connection.execute("; ".join(settings).encode())  # one way to the server
        except BaseException:
            self.close()
            raise

    def __str__(self) -> str:
        return self._name

    @property
    def patience(self) -> float:
        """Seconds that the server has for each answer."""
        return self._connection.patience

    @patience.setter
    def patience(self, seconds: float) -> None:
        self._connection.patience = seconds

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._explain_errors():
            cursor = self._connection.execute(_typed(sql).encode(), values, binary=True)
            return [] if cursor.description is None else cursor.fetchall()

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._explain_errors(), self._connection.cursor() as cursor:
            cursor.executemany(_typed(sql).encode(), list(rows))

    def stream(self, sql: str, values: Sequence[Any]) -> Generator[tuple[Any, ...], None, None]:
        with self._explain_errors(), self._connection.cursor("journal", binary=True) as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(_typed(sql).encode(), values)
            yield from cursor

    def begin(self, *, write: bool) -> None:
        self.run("BEGIN" if write else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def commit(self) -> None:
        self.run("COMMIT")

    def rollback(self) -> None:
        self.run("ROLLBACK")

    def alone(self, epoch: int | None) -> bool:
        # The server drops this lock when the connection ends, however it ends: a moment after that,
        # for which this waits (lock_timeout).
        with self._explain_errors():
            try:
                if epoch is None:
                    self._connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
                else:
                    self._connection.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK, epoch))
            except psycopg.errors.LockNotAvailable:
                return False
        return True

    def is_over(self, epoch: int) -> bool:
        """Whether the session of that epoch's writer has ended. It may come back."""
        ((free,),) = self.run("SELECT pg_try_advisory_lock(?::int, ?::int)", (LOCK, epoch))
        if free:
            self.run("SELECT pg_advisory_unlock(?::int, ?::int)", (LOCK, epoch))
        return bool(free)

    def settle(self) -> None:
        """All that others can read is durable: the server says so only after it synced its log."""

    def check(self) -> None:
        """The server checks its files by itself where it was set up with checksums."""

    def compact(self) -> None:
        """The server gives room back by itself (autovacuum)."""

    def close(self) -> None:
        with suppress(psycopg.Error):  # it was closed to get rid of it
            self._connection.close()

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.DataCorrupted as error:
            raise CorruptJournalError(f"{self._name} is damaged: {_first(error)}") from error
        except psycopg.errors.IndexCorrupted as error:
            raise CorruptJournalError(f"{self._name} is damaged: {_first(error)}") from error
        except psycopg.errors.LockNotAvailable as error:
            raise HeldJournalError(f"{self._name} cannot be used now: {_first(error)}") from error
        except psycopg.errors.DiskFull as error:
            raise AwayJournalError(
                f"{self._name} cannot be used now: the server's disk is full; make room: nothing"
                " that was accepted is lost"
            ) from error
        except psycopg.Error as error:
            raise AwayJournalError(f"{self._name} cannot be used now: {_first(error)}") from error


def _there(session: Session) -> bool:
    """Whether there is a journal in the database."""
    return session.run("SELECT to_regclass('journal_schema')::text") != [(None,)]


def _version(session: Session, url: str, *, older: bool = False) -> int:
    ((version,),) = session.run("SELECT version FROM journal_schema")
    return check_version(int(version), f"the journal in {without_password(url)}", older=older)


def _first(error: psycopg.Error) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _typed(sql: str) -> str:
    return sql.replace("NUMBER", "BIGINT").replace("BYTES", "BYTEA").replace("?", "%s")
