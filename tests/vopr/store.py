"""The simulated disk: the journal's own code over a memory that fails, forgets and lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fairlead.service.journal.chain import Row
from fairlead.service.journal.codec import from_text
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    TakenJournalError,
)
from fairlead.service.journal.memory import MemoryStore, Place
from tests.vopr.faults import SECOND, BrokenPromiseError, Chance, CrashError, Fault, Trace


class Disk:
    """What is durable. `damaged`: a row of it is not what was written; `broken`: it cannot be read
    now."""

    def __init__(self) -> None:
        self.place = Place()
        self.broken = False
        self._whole: tuple[int, Row] | None = None

    @property
    def damaged(self) -> bool:
        """Whether a row is not what was written."""
        return self._whole is not None

    @property
    def last(self) -> int:
        """The last entry."""
        return self.place.start + len(self.place.rows)

    def damage(self, chance: float) -> None:
        """One bit of one row, somewhere, is another one."""
        rows = self.place.rows
        if not rows:
            return
        at = int(chance * len(rows))
        row = rows[at]
        self._whole = at, row
        body = row.body[:-1] + ('"' if row.body[-1:] != '"' else "'")
        rows[at] = row._replace(body=body)

    def repair(self) -> None:
        """Somebody put the journal back in order."""
        if self._whole is not None:
            at, row = self._whole
            self.place.rows[at] = row
        self._whole = None
        self.broken = False


class SimStore:
    """The journal as one life of the service has it open."""

    def __init__(
        self,
        disk: Disk,
        chance: Chance,
        trace: Trace,
        durable: Callable[[Entry], None],
        wait: Callable[[int], None],
        written: Callable[[], None],
    ) -> None:
        disk.place.writer = None  # the one before is dead
        self.leader, self.restored = "", False
        self.disk = disk
        self.inner = MemoryStore(disk.place)
        self.chance = chance
        self.trace = trace
        self.durable = durable  # is told of each entry once it is durable
        self.wait = wait  # lets time pass
        self.written = written  # is told after each append
        self.taken = False
        self.failed = False  # the last append did
        self.complained = False  # it said that the journal cannot be read

    def append(self, entries: Sequence[Entry]) -> None:
        """Store.append."""
        chance = self.chance
        self.failed = True
        if not entries:
            raise BrokenPromiseError("a step without entries writes nothing", "an empty append")
        if chance.hit(Fault.CRASH_BEFORE_APPEND):
            raise CrashError("append")
        self._mine()
        if chance.hit(Fault.APPEND_SLOW):
            self.wait(chance.stream("slow append").randrange(10 * SECOND))
        if chance.hit(Fault.APPEND_FAILS):
            raise JournalError("the simulated disk is full; make room")
        if chance.hit(Fault.CRASH_IN_APPEND):
            raise CrashError("append")
        self._write(entries)
        self.written()
        if chance.hit(Fault.CRASH_AFTER_APPEND):
            raise CrashError("append")
        if chance.hit(Fault.APPEND_FAILS_AFTER):
            raise JournalError("the simulated disk did not answer in time")
        self.failed = False

    def _write(self, entries: Sequence[Entry]) -> None:
        before = self.inner.last()
        try:
            self.inner.append(entries)
        except (JournalError, ValueError) as error:
            raise BrokenPromiseError("entries go on where the journal ends", str(error)) from error
        for row in self.disk.place.rows[before - self.inner.start() :]:
            if self.trace.wanted:
                short = row.body if len(row.body) <= 160 else row.body[:157] + "..."
                self.trace.say(f"   journal {row.seq}: {row.kind} {short}")
            self.durable(Entry(row.seq, row.step, row.time, row.kind, from_text(row.body)))

    def _mine(self) -> None:
        if not self.taken and self.chance.hit(Fault.APPEND_TAKEN):
            self.taken = True
        if self.taken:
            raise TakenJournalError("another service writes the simulated journal; stop one")

    def last(self) -> int:
        """Store.last."""
        self._readable()
        return self.inner.last()

    def read(self, after: int = 0) -> Iterator[Entry]:
        """Store.read."""
        self._readable()
        try:
            yield from self.inner.read(after)
        except CorruptJournalError:
            self.complained = True
            raise

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Store.keep."""
        chance = self.chance
        if self.taken:
            raise TakenJournalError("another service writes the simulated journal; stop one")
        if chance.hit(Fault.SNAPSHOT_FAILS):
            raise JournalError("the simulated disk is full; make room")
        if chance.hit(Fault.CRASH_IN_SNAPSHOT):
            raise CrashError("snapshot")
        if seq > self.inner.last():
            raise BrokenPromiseError(
                "a snapshot is of what is durable", f"{seq} of {self.inner.last()}"
            )
        self.inner.keep(seq, snapshot)
        if self.trace.wanted:
            self.trace.say(f"   journal: a snapshot of {seq} entries, {len(snapshot)} bytes")

    def snapshot(self) -> tuple[int, bytes] | None:
        """Store.snapshot."""
        self._readable()
        return self.inner.snapshot()

    def start(self) -> int:
        """Store.start."""
        self._readable()
        return self.inner.start()

    def until(self, time: int) -> int:
        """Store.until."""
        self._readable()
        return self.inner.until(time)

    def snapshots(self) -> list[tuple[int, bytes]]:
        """Store.snapshots."""
        self._readable()
        return self.inner.snapshots()

    def forget(self, seq: int) -> None:
        """Store.forget."""
        self.inner.forget(seq)

    def renew(self) -> None:
        """Store.renew."""
        if self.taken:
            raise TakenJournalError("another service writes the simulated journal; stop one")
        self.inner.renew()

    def close(self) -> None:
        """Store.close."""
        self.inner.close()

    def _readable(self) -> None:
        if self.disk.broken:
            self.complained = True
            raise JournalError("the simulated disk cannot be read; look at it")
