"""What every store promises, in memory, in a file and in a PostgreSQL server's database."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from fairlead.model.errors import InternalError
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    Store,
    TakenJournalError,
)
from tests.service.journal.conftest import Kept
from tests.service.journal.entries import some

ODD = {"job": "a \0\ud800é😀\"'\\", "task": 2**62, "none": None, "list": [1, [], {}], "x": 0.1}


def test_a_new_journal_is_empty(kept: Kept) -> None:
    store = kept.open()
    assert store.last() == 0
    assert list(store.read()) == []
    assert store.snapshot() is None
    store.append([])
    assert store.last() == 0


def test_what_was_appended_is_read_as_it_was(kept: Kept) -> None:
    store = kept.open()
    entries = [*some(1, 3), Entry(4, 2, 10**15, "launch", ODD), *some(5, 2)]
    store.append(entries[:2])
    store.append(entries[2:])
    assert store.last() == 6
    assert list(store.read()) == entries
    assert list(store.read(after=4)) == entries[4:]
    assert list(store.read(after=6)) == []


def test_it_is_there_when_it_is_opened_again(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 3))
    store.close()
    again = kept.open()
    assert again.last() == 3
    again.append(some(4, 2))
    assert list(again.read()) == some(1, 5)


def test_an_append_that_is_made_again_adds_nothing(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 3))
    store.append(some(1, 3))
    store.append(some(2, 4))
    assert list(store.read()) == some(1, 5)


def test_another_entry_in_the_place_of_one_is_refused_and_changes_nothing(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 3))
    with pytest.raises(CorruptJournalError, match="entry 3 is there already, and is another"):
        store.append(some(3, 2, other=True))
    assert list(store.read()) == some(1, 3)


@pytest.mark.parametrize("entries", [some(5, 1), [*some(4, 1), *some(6, 1)], some(0, 2)])
def test_entries_without_those_before_them_are_refused(kept: Kept, entries: list[Entry]) -> None:
    store = kept.open()
    store.append(some(1, 3))
    with pytest.raises(InternalError):
        store.append(entries)
    assert list(store.read()) == some(1, 3)
    store.append(some(4, 1))


def test_all_of_an_append_or_nothing_of_it_is_kept(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 2))
    with pytest.raises((ValueError, TypeError)):
        store.append([*some(3, 2), Entry(5, 1, 0, "launch", {"x": float("nan")})])
    with pytest.raises((ValueError, TypeError)):
        store.append([*some(3, 2), Entry(5, 1, 0, "launch", {"x": {1, 2}})])
    with pytest.raises(ValueError, match="cannot be the kind"):
        store.append([*some(3, 2), Entry(5, 1, 0, "two words", {})])
    assert list(store.read()) == some(1, 2)
    store.append(some(3, 1))
    assert store.last() == 3


def test_there_is_one_writer_at_a_time(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 1))
    with pytest.raises(TakenJournalError, match="is being written by another service"):
        kept.open()
    store.append(some(2, 1))
    store.close()
    other = kept.open()
    other.append(some(3, 1))
    with pytest.raises(JournalError, match="is closed"):
        store.append(some(3, 1))
    assert other.last() == 3


def test_the_newest_snapshot_is_given_back(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 9))
    store.keep(4, b"four")
    assert store.snapshot() == (4, b"four")
    large = Random(1).randbytes(3 * 2**20 + 17)
    store.keep(6, large)
    store.keep(8, b"")
    store.append(some(10, 1))
    assert store.snapshot() == (8, b"")
    store.keep(9, large)
    store.close()
    again = kept.open()
    assert again.snapshot() == (9, large)
    assert list(again.read(9)) == some(10, 1)


def test_a_snapshot_of_what_is_not_there_is_refused(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 2))
    with pytest.raises(ValueError, match="a snapshot of 3 entries"):
        store.keep(3, b"x")
    assert store.snapshot() is None


def test_a_snapshot_may_be_kept_again(kept: Kept) -> None:
    store = kept.open()
    store.append(some(1, 2))
    store.keep(2, b"x")
    store.keep(2, b"y")
    assert store.snapshot() == (2, b"y")


def test_stores_agree_with_a_list_whatever_is_done_in_whatever_order(
    make_kept: Callable[[], Kept], cases: int
) -> None:
    for seed in range(4 * cases):
        random, kept = Random(seed), make_kept()
        store: Store = kept.open()
        entries: list[Entry] = []
        snapshots: dict[int, bytes] = {}
        for _ in range(25):
            match random.randrange(6):
                case 0 | 1 | 2:
                    back = random.randrange(min(4, len(entries)) + 1)
                    new = some(len(entries) + 1, random.randrange(4), why=str(random.random()))
                    start = len(entries) - back
                    entries += new
                    store.append(entries[start:])
                case 3 if entries:
                    seq = random.randrange(max(snapshots, default=0), len(entries) + 1)
                    if seq:
                        snapshots[seq] = random.randbytes(random.randrange(50))
                        store.keep(seq, snapshots[seq])
                case 4:
                    store.close()
                    store = kept.open()
                case _:
                    after = random.randrange(len(entries) + 1)
                    assert list(store.read(after)) == entries[after:]
            assert store.last() == len(entries)
            assert store.snapshot() == max(snapshots.items(), default=None)
        assert list(store.read()) == entries
        store.close()
