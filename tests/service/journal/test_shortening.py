"""Removing old entries: what goes, what stays, and what is there when it is cut short anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fairlead.service.journal.entry import CorruptJournalError, Entry, JournalError, Store
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.journal.places import open_reader
from fairlead.service.journal.postgres import PostgresSession
from fairlead.service.journal.sqlite import SqliteSession
from fairlead.service.recovery.recover import newest
from fairlead.service.recovery.replay import replay
from fairlead.service.recovery.shortening import check_snapshots, removable, shorten
from fairlead.service.recovery.verify import verify
from tests.service.journal.conftest import Kept
from tests.service.journal.entries import some
from tests.service.journal.lived import lived, snapshot_of
from tests.service.recovered import recover


def steps(entries: Sequence[Entry]) -> list[int]:
    """The last entry of each step."""
    after = [*entries[1:], None]
    return [
        one.seq
        for one, two in zip(entries, after, strict=True)
        if two is None or two.step != one.step
    ]


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return lived()


@pytest.fixture(scope="module")
def snapshots(entries: list[Entry]) -> list[tuple[int, bytes]]:
    """Two, at a third and at two thirds."""
    ends = steps(entries)
    places = (ends[len(ends) // 3], ends[2 * len(ends) // 3])
    return [(seq, snapshot_of(entries[:seq])) for seq in places]


@pytest.fixture
def store(kept: Kept, entries: list[Entry], snapshots: list[tuple[int, bytes]]) -> Store:
    found = kept.open()
    found.append(entries)
    for seq, data in snapshots:
        found.keep(seq, data)
    return found


def test_the_entries_up_to_one_are_removed_and_the_rest_is_as_it_was(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 20))
    store.keep(8, b"eight")
    store.keep(15, b"fifteen")
    assert store.start() == 0
    store.forget(6)
    for again in (False, True):
        assert store.start() == 6
        assert list(store.read()) == some(7, 14)
        assert list(store.read(6)) == some(7, 14)
        assert list(store.read(3)) == some(7, 14)
        assert list(store.read(12)) == some(13, 8)
        assert store.last() == 20
        assert store.snapshots() == [(8, b"eight"), (15, b"fifteen")]
        if not again:
            store.close()
            store = kept.open()
    store.forget(4)  # they are gone already
    store.append(some(21, 3))
    store.forget(8)
    assert store.start() == 8
    assert list(store.read()) == some(9, 15)
    assert store.snapshot() == (15, b"fifteen")


def test_all_entries_may_be_removed_and_the_journal_goes_on(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 5))
    store.keep(5, b"five")
    store.forget(5)
    assert (store.start(), store.last(), list(store.read())) == (5, 5, [])
    store.close()
    again = kept.open()
    assert again.last() == 5
    again.append(some(6, 2))
    assert list(again.read()) == some(6, 2)


@pytest.mark.parametrize("covered", [None, 3, (3, 9)])
def test_what_no_snapshot_covers_stays(kept: Kept, covered: int | tuple[int, int] | None) -> None:
    store = kept.open()
    store.append(some(1, 10))
    for seq in (covered,) if isinstance(covered, int) else covered or ():
        store.keep(seq, b"x")
    with pytest.raises(JournalError, match="no whole snapshot says what the entries up to 4 did"):
        store.forget(4)
    assert store.start() == 0
    assert list(store.read()) == some(1, 10)


def test_until_is_the_last_entry_of_a_time(kept: Kept) -> None:
    store = kept.open()
    assert store.until(10**18) == 0
    entries = some(1, 20)
    store.append(entries)
    for time in (0, 10**15, 10**15 + 3, 10**15 + 6, 10**18):
        assert store.until(time) == max([0, *(e.seq for e in entries if e.time <= time)])
    store.keep(9, b"nine")
    store.forget(9)
    assert store.until(0) == 9
    assert store.until(10**15 + 5) == 17


def test_what_is_recovered_is_the_same_as_before(store: Store, entries: list[Entry]) -> None:
    whole = verify(entries)
    removed = shorten(store, None)
    assert removed == store.start() > 0
    core, records = recover(store)
    assert core is not None
    assert core.digest() == whole.digest
    assert records.seq == len(entries)
    found = verify(store.read(), store.snapshots(), store.start())
    assert (found.digest, found.first) == (whole.digest, removed + 1)
    assert found.base == removed
    before, _ = newest(store)
    assert before is not None
    assert replay(store.read(store.snapshots()[-1][0]), core=before).digest == whole.digest


def test_what_is_young_stays_and_is_followed_from_the_snapshot(
    store: Store, entries: list[Entry]
) -> None:
    older = store.snapshots()[0][0]
    until = entries[older // 2].time
    shorten(store, until)
    assert 0 < store.start() < older
    assert entries[store.start() - 1].time <= until < entries[store.start()].time
    found = verify(store.read(), store.snapshots(), store.start())
    assert found.base == older
    assert found.entries == len(entries) - store.start()
    assert found.digest == verify(entries).digest


def test_with_one_snapshot_nothing_goes(kept: Kept, entries: list[Entry]) -> None:
    store = kept.open()
    store.append(entries)
    assert shorten(store, None) == 0
    end = steps(entries)[-1]
    store.keep(end, snapshot_of(entries[:end]))
    assert shorten(store, None) == 0
    assert removable(store, None) == 0


def test_a_snapshot_that_is_not_right_keeps_all_entries(
    kept: Kept, entries: list[Entry], snapshots: list[tuple[int, bytes]]
) -> None:
    (first, good), (second, _) = snapshots
    store = kept.open()
    store.append(entries)
    earlier = steps(entries)[3]
    store.keep(first, good)
    store.keep(second, snapshot_of(entries[:earlier]))
    with pytest.raises(CorruptJournalError):
        shorten(store, None)
    assert store.start() == 0
    verify(store.read())


def test_a_journal_whose_snapshots_are_gone_is_refused_with_a_sentence(
    entries: list[Entry], snapshots: list[tuple[int, bytes]]
) -> None:
    place = Place()
    store = MemoryStore(place)
    store.append(entries)
    for seq, data in snapshots:
        store.keep(seq, data)
    shorten(store, None)
    start = store.start()
    kept, place.snapshots = place.snapshots, {}
    with pytest.raises(CorruptJournalError, match=f"entries up to {start} were removed, and no"):
        recover(store)
    with pytest.raises(CorruptJournalError, match="no snapshot that says what they did is whole"):
        verify(store.read(), store.snapshots(), start)
    place.snapshots = dict.fromkeys(kept, b"of a version to come")
    with pytest.raises(JournalError, match="use the version that wrote it"):
        recover(store)


class Killed(BaseException):
    """The process died here."""


CHANGING = ("BEGIN", "DELETE", "INSERT", "UPDATE", "COMMIT")
"""What a statement begins with that changes something, or on which it depends whether it stays."""


def test_cut_short_at_any_statement_all_is_gone_or_nothing(
    kept: Kept,
    entries: list[Entry],
    snapshots: list[tuple[int, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before each statement that changes something it is killed once: first of those after which
    nothing is gone yet, then of those by which the rest is removed."""
    if kept.kind == "memory":
        return  # it has no halves
    monkeypatch.setattr("fairlead.service.journal.sql.AT_ONCE", 40)
    entries = entries[: snapshots[1][0]]
    until = snapshots[0][0]
    digest = verify(entries).digest
    session: Any = SqliteSession if kept.kind == "sqlite" else PostgresSession
    run, left = session.run, 0

    def dying(self: Any, sql: str, values: Sequence[Any] = ()) -> Any:
        nonlocal left
        left -= sql.startswith(CHANGING)
        if left < 0:
            raise Killed
        return run(self, sql, values)

    store = kept.open()
    store.append(entries)
    for seq, data in snapshots:
        store.keep(seq, data)
    outcomes, ended = [0], False
    right: list[object] = []  # what was found, each replayed once: mostly it is the same again
    statement = 0
    while not ended:
        left = statement
        with monkeypatch.context() as patch:
            patch.setattr(session, "run", dying)
            try:
                store.forget(until)
                ended = True
            except Killed:
                pass
        store.close()
        store = kept.open()
        found = list(store.read()), store.snapshots(), store.start()
        if found not in right:
            assert verify(*found).digest == digest
            check_snapshots(store)
            right.append(found)
        open_reader(kept.where, None).check()  # type: ignore[arg-type]  # no place in memory
        outcomes.append(found[-1])
        statement = 0 if outcomes[-1] != outcomes[-2] else statement + 1
    assert list(store.read()) == entries[until:]
    assert outcomes == sorted(outcomes)
    assert outcomes.count(0) == 5  # as it was, and a kill before each of four statements
    assert outcomes.count(until) == len(outcomes) - 5 == 9
    assert len(right) == 2
