"""A journal in a database of tables, written: what SQLite and PostgreSQL have in common."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from fairlead.service.journal.chain import LINK, Row, fresh, rows_of
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    Standing,
    TakenJournalError,
)
from fairlead.service.journal.head import Head, Mark
from fairlead.service.journal.reading import COLUMNS, Connect, Session, SqlReader
from fairlead.service.journal.schema import checksum, in_parts

KEPT = 2
"""So many snapshots are kept: if the newest turns out to be damaged, there is the one before."""

AT_ONCE = 2_000
"""Entries that are removed in one transaction, so that an append waits for a few milliseconds."""


class SqlStore(SqlReader):
    """A journal in a database, as its one writer.

    `session` found the tables in order, and that the writer so far, the `after`-th, may be followed
    by another one, if it still stands as it was `seen`; after an error there is another session.
    `append`, `keep` and `renew` may be called from several threads."""

    def __init__(
        self,
        name: str,
        session: Session,
        connect: Connect,
        head: Path | None,
        after: int,
        seen: Standing | None = None,
        *,
        lasting: bool = False,
    ) -> None:
        super().__init__(name, connect, head, lasting=lasting)
        self.leader, self.restored = "", False
        self._renewing = threading.Lock()
        self._pulse: Session | None = None
        self._turn = threading.Lock()
        self._head: Head | None = None
        self._session: Session | None = None
        self._closed = False
        self._journal, self._epoch, self._seq, self._link = "", 0, 0, b""
        try:
            session.begin(write=True)
            self._compare(session, self._mark())
            silent = "" if seen is None else " AND beat = ? AND seq = ?"
            taken = session.run(
                "UPDATE journal_head SET epoch = epoch + 1, beat = 0, held = 1, leader = ''"
                f" WHERE epoch = ?{silent} RETURNING epoch",
                (after,) if seen is None else (after, seen.beat, seen.seq),
            )
            self._epoch = self._look(session)
            # Before anybody can see that this is the writer: its session is there.
            if not taken or not session.alone(self._epoch):
                raise TakenJournalError(f"another service writes {self} after all")
            session.commit()
            if head is not None:
                self.restored = self._seq > 0 and not head.exists()
                self._head = Head(head, self._marked())
        except BaseException:
            session.close()
            raise
        self._session = session

    def append(self, entries: Sequence[Entry]) -> None:
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
        with closing(self._connect()) as session:
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

    def forget(self, seq: int) -> None:
        """As `Store.forget`; in small transactions, the first of which decides."""
        with closing(self._connect()) as session:
            whole = [kept for kept, data in self._snapshots(session) if data is not None]
            if not whole or min(whole) < seq:
                raise JournalError(
                    f"{self}: no whole snapshot says what the entries up to {seq} did, so they stay"
                )
            with self._writing(session):
                if seq > self._start_row(session)[0]:
                    link = self._link_of(session, seq)
                    session.run("DELETE FROM journal_start")
                    session.run("INSERT INTO journal_start VALUES (1, ?, ?)", (seq, link))
            while self._remove_some(session):
                pass

    def compact(self) -> None:
        """Gives the room of what was removed back to the disk, where that is the writer's task. No
        snapshot is being kept meanwhile."""
        with self._turn:
            self._ready().compact()

    def renew(self) -> None:
        """As `Store.renew`, by a session of its own: an append may take long."""
        with self._renewing:
            if self._closed:
                raise JournalError(f"{self} is closed")
            try:
                self._pulse = self._pulse or self._connect()
                done = self._pulse.run(
                    "UPDATE journal_head SET beat = beat + 1, held = 1, leader = ?"
                    " WHERE epoch = ? RETURNING beat",
                    (self.leader, self._epoch),
                )
            except BaseException:
                self._end_pulse()
                raise
            if not done:
                raise self._fence_error()

    def close(self) -> None:
        with self._renewing:
            self._closed = True
            self._end_pulse()
        with self._turn:
            self._let_go()
            self._drop()
            if self._head is not None:
                self._head.close()
        super().close()

    def _remove_some(self, session: Session) -> bool:
        """Removes the first entries of those that come before the start; whether there were any."""
        with self._writing(session):
            start, _ = self._start_row(session)
            ((first,),) = session.run("SELECT min(seq) FROM journal_entry")
            some = first is not None and first <= start
            if some:
                last = min(start, first + AT_ONCE - 1)
                session.run("DELETE FROM journal_entry WHERE seq <= ?", (last,))
            return bool(some)

    @contextmanager
    def _writing(self, session: Session) -> Iterator[None]:
        """A transaction of this writer, if it still is the one."""
        with self._turn:
            session.begin(write=True)
            if self._head_row(session)[1] != self._epoch:
                raise self._fence_error()
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
                    raise self._fence_error()
                if not session.alone(self._epoch):
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
        if len(link) != LINK or self._link_of(session, seq) != link:
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
            raise self._fence_error()

    def _row(self, session: Session, seq: int) -> Row:
        rows = session.run(f"SELECT {COLUMNS} FROM journal_entry WHERE seq = ?", (seq,))
        if not rows:
            raise CorruptJournalError(f"{self}: entry {seq} is missing")
        return Row._make(rows[0])

    def _marked(self) -> Mark:
        return Mark(self._journal, self._seq, self._link.hex())

    def _fence_error(self) -> TakenJournalError:
        return TakenJournalError(f"another service has taken over {self}: this one writes no more")

    def _let_go(self) -> None:
        """Says that nobody writes any more, so that nobody needs to wait until that is sure."""
        if self._session is not None:
            with suppress(JournalError):  # else they see it by themselves
                self._session.run(
                    "UPDATE journal_head SET held = 0 WHERE epoch = ?", (self._epoch,)
                )

    def _end_pulse(self) -> None:
        if self._pulse is not None:
            self._pulse.close()
            self._pulse = None

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def name_from(random: bytes) -> str:
    """The name of a new journal, of random bytes."""
    return blake2b(random, digest_size=8).hexdigest()
