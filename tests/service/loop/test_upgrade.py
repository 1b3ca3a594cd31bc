"""After an upgrade: what another version left of a journal is folded anew, or read as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairlead.model.errors import InputError
from fairlead.model.tenant import Tenant
from fairlead.model.values import believing
from fairlead.scheduling.options import Options
from fairlead.service.journal.chain import first_link, rows_of
from fairlead.service.journal.entry import CorruptJournalError, VersionJournalError
from fairlead.service.journal.memory import NAME, MemoryStore
from fairlead.service.recovery.configuration import SCHEMA, core_of
from fairlead.service.recovery.recover import follow, newest
from fairlead.service.recovery.replay import replay
from fairlead.service.recovery.snapshots import START, load, take
from fairlead.service.recovery.verify import verify
from fairlead.service.requests import PutTenant
from fairlead.service.settings import Settings
from tests.service.loop.stage import ADMIN, Stage, job


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (START, b"fairlead snapshot 0\n"),
        (b'"version":8', b'"version":2'),
        (b'"version":2', b'"version":0'),
    ],
    ids=["the frame", "the records", "the core"],
)
def test_a_snapshot_of_another_version_is_passed_over_for_the_entries(
    mine: bytes, other: bytes
) -> None:
    stage = Stage()
    stage.submit(job("x", 2))
    stage.settle(1)
    stage.service.close()
    assert stage.service.core is not None
    before = stage.service.core.digest(), stage.service.records
    ((seq, data),) = stage.place.snapshots.items()
    assert data.count(mine) == 1
    changed = data.replace(mine, other)
    with pytest.raises(CorruptJournalError):
        load(changed)
    stage.place.snapshots[seq] = changed
    again = MemoryStore(stage.place)
    core, records = newest(again)
    assert (core, records.seq) == (None, 0)  # the entries are folded from the first one
    core = follow(again, core, records)
    assert core is not None
    assert (core.digest(), records) == before


def test_after_a_clean_stop_nothing_that_an_older_version_decided_is_decided_again() -> None:
    stage = Stage()
    stage.submit(job("x", 2))
    stage.settle(1)
    stage.service.close()
    core, records = newest(MemoryStore(stage.place))
    assert core is not None
    assert records.seq == len(stage.place.rows)


def test_a_journal_with_names_that_would_be_refused_now_goes_on() -> None:
    stage = Stage()
    name = "a\u202eb"
    with believing():
        old = job(name, 2)
    stage.submit(old)
    stage.settle(1)
    stage.restart()  # from the entries
    stage.settle(1)
    assert stage.service.records.job(name) is not None
    stage.service.close()  # with a snapshot
    stage.restart()
    stage.settle(1)
    assert stage.service.records.job(name) is not None


def test_what_was_decided_by_older_rules_is_so_again_and_what_comes_then_is_not() -> None:
    stage = Stage(settings=Settings(options=Options(filling=False)))
    for name in ("x", "y"):
        stage.step(PutTenant(ADMIN, Tenant(name)))
    many = [job(f"many{n}", 2, tenant="y") for n in range(4)]
    stage.submit(job("one", 4, tenant="x"), *many)
    assert [each.name for each in stage.world.running()] == ["one", "many0", "many1", "many2"]
    (start, *entries) = stage.entries()  # as an older version wrote them
    del start.body["options"]["filling"]
    stage.place.rows = list(rows_of((start, *entries), first_link(NAME)))
    assert replay(stage.entries()).decisions == 4
    stage.restart(Settings())
    stage.step()
    stage.restart()
    stage.step()
    (change,) = stage.entries("core_changed")
    assert change.body["options"]["filling"]
    core = stage.service.core
    assert core is not None
    core.check()
    assert core.state.tenant["stakes"].any()
    assert replay(stage.entries()).digest == core.digest()


def test_what_a_newer_version_wrote_is_told_before_any_of_it_is_read() -> None:
    stage = Stage()
    stage.submit(job("x", 2))
    stage.settle(1)
    core, records = stage.service.core, stage.service.records
    assert core is not None
    assert records.start is not None
    options = records.start.options | {"unheard_of": True}
    records.start = replace(records.start, schema=SCHEMA + 1, version="9.9", options=options)
    with pytest.raises(VersionJournalError, match=r"snapshot is as version 9\.9 of Fairlead wrote"):
        load(take(core, records).encode())
    (start, *entries) = stage.entries()
    start.body.update(schema=SCHEMA + 1, version="9.9", options=options)
    for read in (replay, verify):
        with pytest.raises(VersionJournalError, match=r"from entry 1, as version 9\.9.*newer one"):
            read((start, *entries))


def test_what_was_decided_by_floors_is_told_and_left_as_it_is() -> None:
    # Builds between two releases wrote this: False of a journal that had begun without.
    stage = Stage()
    stage.step()
    start = stage.entries()[0]
    start.body["options"] = {"floors": False}
    assert not core_of(start.body).options.filling
    start.body["options"] = {"floors": True}
    with pytest.raises(CorruptJournalError, match=r"entry 1 .*have floors here, by which only"):
        replay([start])


def test_options_that_nobody_knows_are_told_by_name() -> None:
    stage = Stage()
    stage.step()
    start = stage.entries()[0]
    start.body["options"]["unheard_of"] = True
    with pytest.raises(InputError, match=r"options that are not known here: unheard_of"):
        core_of(start.body)
    with pytest.raises(CorruptJournalError, match=r"entry 1 .*not known here: unheard_of"):
        replay([start])
