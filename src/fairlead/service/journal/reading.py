"""A journal in a database of tables, read: what SQLite and PostgreSQL have in common."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from fairlead.service.journal.chain import Row, entries_of, first_link
from fairlead.service.journal.entry import CorruptJournalError, Entry, JournalError, Standing
from fairlead.service.journal.head import Mark, read_head
from fairlead.service.journal.schema import checksum

COLUMNS = "seq, step, time, kind, body, link"


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
        """Makes durable what the transaction wrote."""

    def rollback(self) -> None:
        """Ends the transaction; nothing of it is kept."""

    def alone(self, epoch: int) -> bool:
        """Whether no other session is that of this writer, from now until this one ends."""

    def settle(self) -> None:
        """Makes durable what can be read now, whatever went wrong before."""

    def check(self) -> None:
        """Raises CorruptJournalError where the database finds damage in its own files."""

    def compact(self) -> None:
        """Makes the files as small as they can be; what is in them stays, also if that is cut
        short."""

    def close(self) -> None:
        """Ends the connection, and its transaction if there is one."""


Connect = Callable[[], Session]


class SqlReader:
    """A journal in a database, to be read only, also while a service writes it.

    `lasting`: a session that answered stays for the next question, until this is closed."""

    def __init__(
        self, name: str, connect: Connect, head: Path | None, *, lasting: bool = False
    ) -> None:
        self._name, self._connect, self._head_path = name, connect, head
        self._lasting = lasting
        self._idle: list[Session] = []

    def __str__(self) -> str:
        return self._name

    def last(self) -> int:
        """The seq of the last entry, 0 if there is none."""
        with self._reading() as session:
            return int(self._head_row(session)[2])

    def start(self) -> int:
        with self._reading() as session:
            return self._start_row(session)[0]

    def read(self, after: int = 0) -> Iterator[Entry]:
        """The entries from there on, checked, to the last that there is at the first of them."""
        mark = self._mark()
        with self._reading() as session:
            _, _, last, end = self._head_row(session)
            self._compare(session, mark)
            after = max(after, self._start_row(session)[0])
            before = self._link_of(session, after)
            query = f"SELECT {COLUMNS} FROM journal_entry WHERE seq > ? ORDER BY seq"
            seq, link = after, before
            with closing(session.stream(query, (after,))) as rows:

                def seen() -> Iterator[Row]:
                    nonlocal seq, link
                    for row in map(Row._make, rows):
                        yield row
                        seq, link = row.seq, row.link

                with self._name_journal():
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

    def snapshots(self) -> list[tuple[int, bytes]]:
        with self._reading() as session:
            kept = [(seq, data) for seq, data in self._snapshots(session) if data is not None]
        return [(seq, zlib.decompress(data)) for seq, data in reversed(kept)]

    def until(self, time: int) -> int:
        with self._reading() as session:
            low, high = self._start_row(session)[0], int(self._head_row(session)[2])
            while low < high:
                middle = (low + high + 1) // 2
                query = "SELECT time FROM journal_entry WHERE seq = ?"
                found = session.run(query, (middle,))
                if not found:
                    raise CorruptJournalError(f"{self}: entry {middle} is missing")
                if found[0][0] <= time:
                    low = middle
                else:
                    high = middle - 1
            return low

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

    def standing(self) -> Standing:
        """Its writer now, and how far that went."""
        with self._reading() as session:
            return standing(session)

    def close(self) -> None:
        """Ends reading."""
        self._lasting = False
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        session = self._begun()
        try:
            yield session
            session.rollback()
        except BaseException:
            session.close()
            raise
        if self._lasting and not self._idle:
            self._idle.append(session)
        else:
            session.close()

    def _begun(self) -> Session:
        """A session that sees one state of the journal: the one that is idle, if it still lives."""
        with suppress(IndexError, JournalError):
            session = self._idle.pop()  # by one thread alone
            return _begun(session)
        return _begun(self._connect())

    @contextmanager
    def _name_journal(self) -> Iterator[None]:
        """Sentences about damage say of which journal."""
        try:
            yield
        except CorruptJournalError as error:
            raise CorruptJournalError(f"{self}: {error}") from error

    def _mark(self) -> Mark | None:
        """Reads the head file. It is read first: the journal may go on meanwhile."""
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
        if mark.seq < self._start_row(session)[0]:
            return  # it went on since, and that entry was removed
        if self._link_of(session, mark.seq).hex() != mark.link:
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

    def _start_row(self, session: Session) -> tuple[int, bytes]:
        """Seq and link of the last entry that was removed, or what the first is linked to."""
        rows = session.run("SELECT seq, link FROM journal_start")
        if not rows:
            return 0, first_link(self._head_row(session)[0])
        seq, link = rows[0]
        if not isinstance(seq, int) or not isinstance(link, bytes):
            raise CorruptJournalError(f"{self} does not say where it begins")
        return seq, link

    def _link_of(self, session: Session, seq: int) -> bytes:
        start, first = self._start_row(session)
        if seq == start:
            return first
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
        start, _ = self._start_row(session)
        for seq, link, parts, expected in found:
            query = "SELECT data FROM journal_part WHERE seq = ? ORDER BY number"
            data = [part for (part,) in session.run(query, (seq,))]
            whole = len(data) == parts and {type(part) for part in data} == {bytes}
            whole = whole and seq >= start and self._link_of(session, seq) == link
            kept = b"".join(data) if whole else b""
            yield seq, kept if whole and checksum(kept) == expected else None


def _begun(session: Session) -> Session:
    """The session, once it reads; else it is closed."""
    try:
        session.begin(write=False)
    except BaseException:
        session.close()
        raise
    return session


def standing(session: Session) -> Standing:
    """The writer of this session's journal, and how far it went."""
    found = session.run("SELECT epoch, beat, held, leader, seq FROM journal_head")
    if len(found) != 1:
        raise CorruptJournalError("the journal does not say how far it went")
    epoch, beat, held, leader, seq = found[0]
    return Standing(epoch, beat, bool(held), leader, seq)
