"""A journal in a database of tables: what SQLite and PostgreSQL have in common."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from fairlead.service.journal.chain import LINK, Row, entries_of, first_link, rows_of
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    TakenJournalError,
)
from fairlead.service.journal.growing import fresh
from fairlead.service.journal.head import Head, Mark, read_head
from fairlead.service.journal.schema import checksum, in_parts

COLUMNS = "seq, step, time, kind, body, link"
KEPT = 2
"""So many snapshots are kept: if the newest turns out to be damaged, there is the one before."""


class Session(Protocol):
    """A connection to the database. Every error of the database is a JournalError with a sentence;
    after one the session is closed."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Runs a statement, and what it found. `?` stands for a value."""

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Runs a statement for each row."""

    def stream(self, sql: str, values: Sequence[Any]) -> Generator[tuple[Any, ...], None, None]:
        """Runs a query whose rows need not fit into memory, inside of a transaction."""

    def begin(self, *, write: bool) -> None:
        """Begins a transaction; one that reads sees one state of the journal all along."""

    def commit(self) -> None:
        """What the transaction wrote is durable on return."""

    def rollback(self) -> None:
        """Ends the transaction; nothing of it is kept."""

    def alone(self) -> bool:
        """Whether this session excludes all others that ask so, from now until it ends."""

    def settle(self) -> None:
        """What can be read now is durable on return, whatever went wrong before."""

    def check(self) -> None:
        """Raises CorruptJournalError where the database finds damage in its own files."""

    def close(self) -> None:
        """Ends the connection, and its transaction if there is one."""


Connect = Callable[[], Session]


class SqlReader:
    """A journal in a database, to be read only, also while a service writes it."""

    def __init__(self, name: str, connect: Connect, head: Path | None) -> None:
        self._name, self._connect, self._head_path = name, connect, head

    def __str__(self) -> str:
        return self._name

    def last(self) -> int:
        """The seq of the last entry, 0 if there is none."""
        with self._reading() as session:
            return int(self._head_row(session)[2])

    def read(self, after: int = 0) -> Iterator[Entry]:
        """The entries from there on, checked, to the last that there is at the first of them."""
        mark = self._mark()
        with self._reading() as session:
            journal, _, last, end = self._head_row(session)
            self._compare(session, mark)
            before = self._link_of(session, journal, after)
            query = f"SELECT {COLUMNS} FROM journal_entry WHERE seq > ? ORDER BY seq"
            seq, link = after, before
            with closing(session.stream(query, (after,))) as rows:

                def seen() -> Iterator[Row]:
                    nonlocal seq, link
                    for row in map(Row._make, rows):
                        yield row
                        seq, link = row.seq, row.link

                with self._named():
                    yield from entries_of(seen(), after, before)
            if (seq, link) != (last, end):
                raise CorruptJournalError(
                    f"{self} has lost its end: entry {last} was written, and {seq} is the last"
                )

    def snapshot(self) -> tuple[int, bytes] | None:
        """The newest snapshot that is whole."""
        with self._reading() as session:
            for seq, data in self._snapshots(session):
                if data is not None:
                    return seq, zlib.decompress(data)
        return None

    def check(self) -> None:
        """Raises CorruptJournalError where the database itself, the head or a snapshot is damaged.
        Entries are checked by reading them."""
        mark = self._mark()
        with self._reading() as session:
            session.check()
            self._compare(session, mark)
            last = self._head_row(session)[2]
            for seq, data in self._snapshots(session):
                if data is None or seq > last:
                    raise CorruptJournalError(f"the snapshot of entry {seq} of {self} is damaged")

    def close(self) -> None:
        """Ends reading."""

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        session = self._connect()
        try:
            session.begin(write=False)
            yield session
            session.rollback()
        finally:
            session.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Sentences about damage say of which journal."""
        try:
            yield
        except CorruptJournalError as error:
            raise CorruptJournalError(f"{self}: {error}") from error

    def _mark(self) -> Mark | None:
        """What the head file says. It is read first: the journal may go on meanwhile."""
        return None if self._head_path is None else read_head(self._head_path)

    def _compare(self, session: Session, mark: Mark | None) -> None:
        """Raises CorruptJournalError where the journal did not go as far as the head file says."""
        if mark is None:
            return
        journal, _, last, _ = self._head_row(session)
        if mark.journal != journal:
            raise CorruptJournalError(
                f"{self} is another journal than the one that was written here before; put that"
                f" one back, or remove {self._head_path} to go on with this one"
            )
        if mark.seq > last:
            raise CorruptJournalError(
                f"{self} has lost its end: {mark.seq} entries were written, and {last} are there;"
                f" put the whole one back (with its -wal), or remove {self._head_path} to go on"
                f" without the other {mark.seq - last}"
            )
        if self._link_of(session, journal, mark.seq).hex() != mark.link:
            raise CorruptJournalError(
                f"{self} is not what was written: entry {mark.seq} has another checksum"
            )

    def _head_row(self, session: Session) -> tuple[str, int, int, bytes]:
        """Journal's name, epoch, last seq and link."""
        rows = session.run("SELECT journal, epoch, seq, link FROM journal_head")
        if len(rows) != 1 or not isinstance(rows[0][2], int) or not isinstance(rows[0][0], str):
            raise CorruptJournalError(f"{self} does not say how far it went")
        journal, epoch, seq, link = rows[0]
        return journal, epoch, seq, link

    def _link_of(self, session: Session, journal: str, seq: int) -> bytes:
        if seq == 0:
            return first_link(journal)
        rows = session.run("SELECT link FROM journal_entry WHERE seq = ?", (seq,))
        if not rows:
            raise CorruptJournalError(f"{self}: entry {seq} is missing")
        link: bytes = rows[0][0]
        return link

    def _snapshots(self, session: Session) -> Iterator[tuple[int, bytes | None]]:
        """The snapshots that were kept, newest first, as they are kept; None: it is damaged."""
        found = session.run(
            "SELECT seq, link, parts, checksum FROM journal_snapshot"
            " WHERE whole = 1 ORDER BY seq DESC"
        )
        for seq, link, parts, expected in found:
            query = "SELECT data FROM journal_part WHERE seq = ? ORDER BY number"
            data = [part for (part,) in session.run(query, (seq,))]
            entry = session.run("SELECT link FROM journal_entry WHERE seq = ?", (seq,))
            whole = len(data) == parts and {type(part) for part in data} == {bytes}
            whole = whole and entry == [(link,)]
            kept = b"".join(data) if whole else b""
            yield seq, kept if whole and checksum(kept) == expected else None


class SqlStore(SqlReader):
    """A journal in a database, as its one writer.

    `session` excludes all other writers, and found the tables in order; after an error there is
    another one. `append` and `keep` may be called from two threads."""

    def __init__(self, name: str, session: Session, connect: Connect, head: Path | None) -> None:
        super().__init__(name, connect, head)
        self._turn = threading.Lock()
        self._head: Head | None = None
        self._session: Session | None = None
        self._closed = False
        self._journal, self._epoch, self._seq, self._link = "", 0, 0, b""
        try:
            session.begin(write=True)
            self._compare(session, self._mark())
            session.run("UPDATE journal_head SET epoch = epoch + 1")
            self._epoch = self._look(session)
            session.commit()
            if head is not None:
                self._head = Head(head, self._marked())
        except BaseException:
            session.close()
            raise
        self._session = session

    def append(self, entries: Sequence[Entry]) -> None:
        """As `Store.append`."""
        if not entries:
            return
        with self._turn:
            session = self._ready()
            try:
                new = fresh(entries, self._seq, lambda seq: self._row(session, seq))
                rows = list(rows_of(new, self._link))
                if rows:
                    session.begin(write=True)
                    self._go_on(session, rows[-1])
                    session.many("INSERT INTO journal_entry VALUES (?, ?, ?, ?, ?, ?)", rows)
                    session.commit()
                    self._seq, self._link = rows[-1].seq, rows[-1].link
            except BaseException:
                self._drop()
                raise
            if self._head is not None:
                self._head.write(self._marked())

    def last(self) -> int:
        """The seq of the last entry, 0 if there is none."""
        with self._turn:
            self._ready()
            return self._seq

    def keep(self, seq: int, snapshot: bytes) -> None:
        """As `Store.keep`; in small transactions, so that an append need not wait for long."""
        data = zlib.compress(snapshot, 1)
        parts = in_parts(data)
        session = self._connect()
        try:
            with self._writing(session):
                rows = session.run("SELECT link FROM journal_entry WHERE seq = ?", (seq,))
                if not rows:
                    raise ValueError(f"a snapshot of {seq} entries, which are not all there")
                session.run("DELETE FROM journal_part WHERE seq = ?", (seq,))
                session.run("DELETE FROM journal_snapshot WHERE seq = ?", (seq,))
                session.run(
                    "INSERT INTO journal_snapshot VALUES (?, ?, ?, ?, 0)",
                    (seq, rows[0][0], len(parts), checksum(data)),
                )
            for number, part in enumerate(parts):
                with self._writing(session):
                    session.run("INSERT INTO journal_part VALUES (?, ?, ?)", (seq, number, part))
            with self._writing(session):
                session.run("UPDATE journal_snapshot SET whole = 1 WHERE seq = ?", (seq,))
                whole = session.run(
                    "SELECT seq FROM journal_snapshot WHERE whole = 1 ORDER BY seq DESC"
                )
                oldest = whole[:KEPT][-1][0]
                gone = "seq < ? OR seq IN (SELECT seq FROM journal_snapshot WHERE whole = 0)"
                session.run(f"DELETE FROM journal_part WHERE {gone}", (oldest,))
                session.run("DELETE FROM journal_snapshot WHERE seq < ? OR whole = 0", (oldest,))
        finally:
            session.close()

    def close(self) -> None:
        """As `Store.close`."""
        with self._turn:
            self._closed = True
            self._drop()
            if self._head is not None:
                self._head.close()

    @contextmanager
    def _writing(self, session: Session) -> Iterator[None]:
        """A transaction of this writer, if it still is the one."""
        with self._turn:
            session.begin(write=True)
            if self._head_row(session)[1] != self._epoch:
                raise self._fenced()
            yield
            session.commit()

    def _ready(self) -> Session:
        """The session; after an error a new one, once all that can be read is durable."""
        if self._closed:
            raise JournalError(f"{self} is closed")
        if self._session is None:
            session = self._connect()
            try:
                if self._look(session) != self._epoch:
                    raise self._fenced()
                if not session.alone():
                    raise JournalError(f"{self}: the connection before this one is not over yet")
                # What the failed append left may be read, and not be on the disk.
                session.settle()
            except BaseException:
                session.close()
                raise
            self._session = session
        return self._session

    def _look(self, session: Session) -> int:
        """Sees how far the journal went. Returns the epoch."""
        journal, epoch, seq, link = self._head_row(session)
        if len(link) != LINK or self._link_of(session, journal, seq) != link:
            raise CorruptJournalError(f"{self}: entry {seq} is not the last that was written")
        later = session.run("SELECT count(*) FROM journal_entry WHERE seq > ?", (seq,))
        if later != [(0,)]:
            raise CorruptJournalError(f"{self}: there are entries after {seq}, its last")
        self._journal, self._seq, self._link = journal, seq, link
        return epoch

    def _go_on(self, session: Session, row: Row) -> None:
        """The journal goes on to this row, if this still is its one writer."""
        done = session.run(
            "UPDATE journal_head SET seq = ?, link = ? WHERE epoch = ? AND seq = ? RETURNING seq",
            (row.seq, row.link, self._epoch, self._seq),
        )
        if len(done) != 1:
            raise self._fenced()

    def _row(self, session: Session, seq: int) -> Row:
        rows = session.run(f"SELECT {COLUMNS} FROM journal_entry WHERE seq = ?", (seq,))
        if not rows:
            raise CorruptJournalError(f"{self}: entry {seq} is missing")
        return Row._make(rows[0])

    def _marked(self) -> Mark:
        return Mark(self._journal, self._seq, self._link.hex())

    def _fenced(self) -> TakenJournalError:
        return TakenJournalError(f"another service has taken over {self}: this one writes no more")

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def name_from(random: bytes) -> str:
    """The name of a new journal, of random bytes."""
    return blake2b(random, digest_size=8).hexdigest()
