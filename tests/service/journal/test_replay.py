"""A journal that is told to a new core gives the decisions and the digest that it gave before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fairlead.cli.main import Exit, main
from fairlead.service.journal.codec import DECISIONS
from fairlead.service.journal.entry import CorruptJournalError, Entry
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.journal.places import open_store
from fairlead.service.recovery.core_fold import DisagreementError
from fairlead.service.recovery.replay import replay
from tests.service.journal.lived import lived, simulated
from tests.service.recovered import recover


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return lived()


def without(entries: list[Entry], gone: Entry) -> list[Entry]:
    """The journal without one of its entries, numbered anew."""
    left = [entry for entry in entries if entry is not gone]
    return [replace(entry, seq=seq) for seq, entry in enumerate(left, 1)]


def test_what_a_service_decided_is_decided_again(entries: list[Entry]) -> None:
    kinds = {entry.kind for entry in entries}
    assert {"launch", "stop", "task_lost", "machine_drained", "advice_changed"} <= kinds
    assert {"guarantees_changed", "task_stopped", "job_cancelled", "time_passed"} <= kinds
    store = MemoryStore(Place())
    store.append(entries)
    core, _ = recover(store)
    assert core is not None
    found = replay(entries)
    assert found.digest == core.digest()
    assert found.entries == len(entries)
    assert found.time == entries[-1].time
    assert found.decisions == sum(entry.kind in DECISIONS for entry in entries)


@pytest.mark.parametrize("policy", ["tsf", "drf", "fifo"])
def test_what_was_simulated_is_what_a_journal_replays(policy: str, cases: int) -> None:
    for seed in range(2 * cases):
        result, entries = simulated("random(jobs=25)", seed, policy)
        found = replay(entries)
        assert found.digest == result.digest
        assert found.decisions == result.launches


def test_a_journal_in_a_database_is_checked_and_replayed(
    entries: list[Entry], postgres: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    url = postgres()
    store = open_store(url)
    store.append(entries)
    store.close()
    digest = f"digest {replay(entries).digest}"
    for action in ("check", "replay"):
        assert main(["journal", action, url]) == Exit.OK
        assert capsys.readouterr().out.splitlines()[-1] == digest
    assert main(["journal", "export", url]) == Exit.OK
    assert len(capsys.readouterr().out.splitlines()) == len(entries) + 1


def test_another_decision_is_noticed(entries: list[Entry]) -> None:
    launches = [place for place, entry in enumerate(entries) if entry.kind == "launch"]
    place = launches[len(launches) // 2]
    entry = entries[place]
    other = "c" if entry.body["machine"] != "c" else "a"
    wrong = replace(entry, body={**entry.body, "machine": other})
    with pytest.raises(DisagreementError, match=f"entry {entry.seq} says .*, and now it is"):
        replay([*entries[:place], wrong, *entries[place + 1 :]])


def test_a_missing_and_an_additional_decision_are_noticed(entries: list[Entry]) -> None:
    launch = next(entry for entry in entries if entry.kind == "launch")
    with pytest.raises(DisagreementError):
        replay(without(entries, launch))
    step = [entry for entry in entries if entry.step == launch.step]
    last = step[-1]
    more = replace(launch, seq=last.seq + 1, body={**launch.body, "task": 99})
    place = entries.index(last)
    later = [replace(entry, seq=entry.seq + 1) for entry in entries[place + 1 :]]
    with pytest.raises(DisagreementError, match="and now nothing is decided there"):
        replay([*entries[: place + 1], more, *later])


def test_an_event_that_cannot_have_happened_is_noticed(entries: list[Entry]) -> None:
    gone = next(entry for entry in entries if entry.kind == "job_submitted")
    with pytest.raises((CorruptJournalError, DisagreementError), match="entry"):
        replay(without(entries, gone))
    with pytest.raises(CorruptJournalError, match="comes before the service was started"):
        replay(entries[1:])


def test_an_empty_journal_replays_to_nothing() -> None:
    found = replay([])
    assert (found.entries, found.digest) == (0, None)
