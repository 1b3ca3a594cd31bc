"""The loop and its journal: recovery, failures of the journal, disagreement, the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fairlead.model.errors import InputError
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.events import MachineDrained
from fairlead.scheduling.transitions import TaskState
from fairlead.service.journal.chain import first_link, rows_of
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    TakenJournalError,
)
from fairlead.service.journal.memory import NAME, MemoryStore, Place
from fairlead.service.loop.loop import Service
from fairlead.service.loop.step import Step
from fairlead.service.records.book import Records
from fairlead.service.recovery.core_fold import DisagreementError
from fairlead.service.recovery.recover import Recovery
from fairlead.service.recovery.snapshots import load, take
from fairlead.service.requests import CancelJob, Done, MakeToken, Refused, SubmitJobs, Wrong
from fairlead.service.settings import Retention, Settings
from fairlead.wire.kinds import Role
from tests.engines.fake import Call, FakeEngine
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, MACHINES, SECOND, Stage, job
from tests.service.recovered import recover

DRAIN = {"machine": "a", "back": False}


class Failing(MemoryStore):
    """A journal that fails when it is told to, before it wrote or after."""

    failure: JournalError | None = None
    written = False
    full = False

    def keep(self, seq: int, snapshot: bytes) -> None:
        if self.full:
            raise JournalError("no room")
        super().keep(seq, snapshot)

    def append(self, entries: Sequence[Entry]) -> None:
        if self.failure is None or self.written:
            super().append(entries)
        if self.failure is not None:
            raise self.failure


def _halfway(step: Step, *_: object) -> None:
    """The core is told of something, and then it fails."""
    step.core.apply(MachineDrained(step.time, "a"))
    raise ZeroDivisionError


def failing(stage: Stage) -> Failing:
    """Gives the stage's service a journal that can fail."""
    stage.place.writer = None
    store = Failing(stage.place)
    stage.service = Service(store, FakeEngine(stage.world, stage.faults), stage.settings)
    return store


def same(stage: Stage) -> None:
    """A service that starts now knows what this one knows."""
    core, records = recover(stage.service.store)
    assert core is not None
    assert stage.service.core is not None
    assert core.digest() == stage.service.core.digest()
    assert records == stage.service.records


def test_a_restart_at_every_step_changes_nothing() -> None:
    fates = {"x": [Fate(SECOND)], "y": [Fate(SECOND, code=1), Fate(SECOND // 2)]}
    stage = Stage(fates={name: list(fate) for name, fate in fates.items()})
    stage.submit(job("x", 5), job("y", 3, retries=1))
    for _ in range(24):
        same(stage)
        stage.restart()
        stage.step(after=SECOND // 4)
    states = [record.state.value for record in stage.service.records.jobs.values()]
    assert states == ["finished", "finished"]
    assert [entry.body["code"] for entry in stage.entries("task_lost")] == [1]  # and retried
    assert stage.world.overloaded() == []
    ends = [(e.body["id"], e.body["task"]) for e in stage.entries("task_finished")]
    assert len(ends) == len(set(ends))


def test_what_runs_goes_on_over_a_restart() -> None:
    stage = Stage()
    stage.submit(job("x", 3))
    stage.settle(1)
    before = stage.running()
    stage.restart()
    stage.settle(1)
    assert stage.running() == before
    assert stage.world.started == 3
    assert {stage.task("x", number).state for number in range(3)} == {TaskState.RUNNING}


def test_what_was_decided_and_not_launched_is_launched_after_a_restart() -> None:
    """Killed between the append and the launch."""
    stage = Stage()
    stage.submit(job("x", 2))
    place, now = Place(list(stage.place.rows)), stage.now
    other = Stage()
    other.place, other.now = place, now
    other.restart()
    assert other.world.started == 0
    other.step()
    assert [(a.task, a.number) for a in other.running()] == [(0, 1), (1, 1)]


def test_a_cancel_that_was_not_carried_out_is_carried_out_after_a_restart() -> None:
    stage = Stage()
    stage.submit(job("x", 2))
    world, running = stage.world, stage.running()
    stage.settle(1)
    stage.step(CancelJob(ADMIN, "x"))
    rows = list(stage.place.rows)
    fresh = Stage()
    fresh.submit(job("x", 2))
    assert fresh.running() == running
    fresh.place, fresh.now = Place(rows), stage.now
    fresh.restart()
    fresh.settle(2)
    assert fresh.running() == []
    record = fresh.service.records.job("x")
    assert record is not None
    assert record.over
    assert world is not fresh.world


@pytest.mark.parametrize("written", [False, True])
def test_an_append_that_fails_is_made_again_and_nothing_is_done_before(written: bool) -> None:
    stage = Stage(fates={"x": [Fate(SECOND)]})
    store = failing(stage)
    stage.step()
    store.failure, store.written = JournalError("the disk is full; make room"), written
    (refused,) = stage.step(SubmitJobs(ADMIN, (job("x"),)))
    assert refused == Refused(Wrong.UNAVAILABLE, "the disk is full; make room", unknown=True)
    assert stage.service.trouble == "the disk is full; make room"
    assert stage.service.records.job("x") is None
    assert stage.world.started == 0
    (refused,) = stage.step(SubmitJobs(ADMIN, (job("y"),)), after=SECOND)
    assert refused == Refused(Wrong.UNAVAILABLE, "the disk is full; make room")
    store.failure = None
    (done,) = stage.step(SubmitJobs(ADMIN, (job("z"),)), after=SECOND)
    assert isinstance(done, Done)
    assert not stage.service.trouble
    assert list(stage.service.records.names) == ["x", "z"]
    assert len(stage.running()) == 2
    same(stage)


def test_ends_are_acknowledged_only_once_the_journal_holds_them() -> None:
    stage = Stage(fates={"x": [Fate(SECOND)]})
    store = failing(stage)
    stage.submit(job("x"))
    store.failure = JournalError("no")
    stage.settle(2)
    assert len(stage.world.tasks) == 1
    assert stage.task("x").state is TaskState.LAUNCHED
    store.failure = None
    stage.settle(1)
    assert stage.world.tasks == {}
    assert stage.task("x").state is TaskState.FINISHED


@pytest.mark.parametrize("failure", [TakenJournalError("taken"), CorruptJournalError("broken")])
def test_a_journal_of_another_or_a_broken_one_ends_the_service(failure: JournalError) -> None:
    stage = Stage()
    store = failing(stage)
    stage.step()
    store.failure = failure
    with pytest.raises(type(failure)):
        stage.step(SubmitJobs(ADMIN, (job("x"),)))
    assert stage.world.started == 0


def recovered(entries: Sequence[Entry]) -> Records:
    """What the records say after these entries."""
    recovery = Recovery(None, Records())
    for entry in entries:
        recovery.take(entry)
    recovery.finish()
    return recovery.records


def test_decisions_that_are_not_the_cores_are_not_believed() -> None:
    stage = Stage()
    stage.submit(job("x"), job("y"))
    entries = stage.entries()
    at = next(index for index, entry in enumerate(entries) if entry.kind == "launch")
    first = entries[at]
    elsewhere = "b" if first.body["machine"] == "a" else "a"
    changed = replace(first, body=first.body | {"machine": elsewhere})
    with pytest.raises(DisagreementError, match="it was written by version"):
        recovered([*entries[:at], changed])
    later = replace(first, step=first.step + 1, kind="drain_asked", body=DRAIN)
    with pytest.raises(DisagreementError, match="which the journal does not hold"):
        recovered([*entries[:at], later])
    with pytest.raises(DisagreementError, match="decides nothing"):
        recovered([*entries, replace(entries[-1], seq=entries[-1].seq + 1)])


def test_entries_that_cannot_follow_are_damage() -> None:
    """Whichever entry is left out, it is missed; but for the start of a task, and for the engine to
    which launches go, of which the core knows nothing."""
    stage = Stage(machines=MACHINES[:1], fates={"x": [Fate(SECOND)]})
    stage.submit(job("x"))
    stage.settle(2)
    entries = stage.entries()
    kinds = []
    for index, entry in enumerate(entries[:-1]):
        left = [replace(each, seq=each.seq - 1) for each in entries[index + 1 :]]
        try:
            recovered([*entries[:index], *left])
        except (CorruptJournalError, DisagreementError):
            kinds.append(entry.kind)
        else:
            assert entry.kind in ("task_started", "engine_changed")
    assert kinds == ["service_started", "machine_joined", "job_submitted", "launch"]


def test_an_unknown_kind_of_entry_is_not_passed_over() -> None:
    place = Place()
    place.rows += list(rows_of([Entry(1, 1, 1, "what", {})], first_link(NAME)))
    with pytest.raises(CorruptJournalError, match="what"):
        recover(MemoryStore(place))


def test_the_clock_may_go_back_by_hours() -> None:
    stage = Stage(fates={"x": [Fate(SECOND)]})
    stage.submit(job("x"))
    stage.step()
    last = stage.service.records.time
    clock = stage.now - 3600 * SECOND
    for _ in range(10):
        clock += SECOND
        stage.now += SECOND
        stage.service.step(clock)
        wake = stage.service.wake()
        assert clock < wake <= clock + 2 * SECOND
    assert stage.task("x").state is TaskState.FINISHED
    assert last <= stage.service.records.time < last + 20 * SECOND


def test_the_loop_is_not_woken_for_nothing() -> None:
    stage = Stage()
    stage.submit(job("x", 9))
    stage.settle(1)
    for _ in range(50):
        wake = stage.service.wake()
        assert wake > stage.now
        stage.step(after=wake - stage.now)


def test_tenants_that_cannot_be_end_the_start_with_a_sentence() -> None:
    stage = Stage(settings=Settings(tenants=(Tenant("a", parent="b"),)))
    with pytest.raises(InputError, match='there is no tenant "b"'):
        stage.step()
    assert stage.service.store.last() == 0
    circle = (Tenant("a", parent="b"), Tenant("b", parent="a"))
    with pytest.raises(InputError, match="circle"):
        Stage(settings=Settings(tenants=circle)).step()


def test_listeners_hear_what_is_durable() -> None:
    stage = Stage()
    store = failing(stage)
    heard: list[Entry] = []
    stage.service.listeners.append(heard.extend)
    stage.step()
    store.failure = JournalError("no")
    stage.step(SubmitJobs(ADMIN, (job("x"),)))
    assert [entry.seq for entry in heard] == list(range(1, store.last() + 1))
    store.failure = None
    stage.settle(2)
    assert heard == stage.entries()


def test_a_service_from_a_snapshot_is_the_same_and_decides_the_same() -> None:
    """With everything that records hold: retries, tokens, keys, quarantine, what was given up."""
    fates = {"x": [Fate(SECOND, code=1), Fate(2 * SECOND)], "z": [Fate(0)]}
    fates["u"] = [Fate(None, grace=9 * SECOND)]
    settings = Settings(lost_after=5 * SECOND, snapshot_every=5, tenants=(Tenant("t"),))
    stage = Stage(
        machines=[*MACHINES, Machine("g", {"cpu": 8, "gpu": 2}, {"zone": "east"})],
        settings=settings,
        fates=fates,
    )
    stage.submit(job("u", machines=["a"]))
    stage.submit(job("x", 3, retries=2), job("y", 5, tenant="t", where="zone = east"), key="k")
    stage.submit(
        job("z"), job("w", 2, demand={"gpu": 1}), job("v", 9, prefer="zone = west", prefer_for=9)
    )
    stage.step(MakeToken(ADMIN, "n", Role.TENANT, "t", "salt", "hash"))
    stage.world.trouble("a", "smoke")
    for _ in range(40):
        stage.step(after=SECOND // 4)
        found = stage.service.store.snapshot()
        assert found is not None
        assert load(found[1])[1].seq == found[0]
        again, now = recover(stage.service.store)
        assert again is not None
        assert stage.service.core is not None
        assert again.digest() == stage.service.core.digest()
        assert now == stage.service.records
    assert len(stage.service.records.machines["a"].given_up) == 1
    assert stage.service.records.job("x") is not None
    stage.restart()
    stage.world.mend("a")
    stage.settle(30)
    assert stage.world.overloaded() == []
    same(stage)


def test_a_start_after_a_kill_reads_no_more_than_is_between_two_snapshots() -> None:
    every, at_once = 30, 7
    stage = Stage(settings=Settings(snapshot_every=every))
    for number in range(12):
        stage.submit(*(job(f"x{number}-{each}") for each in range(at_once)))
        kept, store = stage.service.store.snapshot(), stage.service.store
        assert len(list(store.read(0 if kept is None else kept[0]))) <= every + at_once
    assert stage.service.records.seq > 2 * every
    before = stage.service.records
    stage.restart()
    assert stage.service.records.jobs.keys() == before.jobs.keys()


def test_a_stop_leaves_a_snapshot() -> None:
    stage = Stage()
    stage.submit(job("x"))
    stage.service.close()
    found = stage.place.snapshots
    assert list(found) == [len(stage.place.rows)]


def test_a_step_that_fails_leaves_no_snapshot_of_what_it_did_in_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    stage.submit(job("j"))
    seq = stage.service.records.seq
    with monkeypatch.context() as broken:
        broken.setattr("fairlead.service.loop.loop.collect_inputs", _halfway)
        with pytest.raises(ZeroDivisionError):
            stage.step()
    stage.service.close()
    assert stage.place.snapshots == {}
    stage.restart()
    assert stage.service.records.seq == seq


def test_a_snapshot_that_cannot_be_read_is_damage() -> None:
    stage = Stage()
    stage.submit(job("x"))
    assert stage.service.core is not None
    data = take(stage.service.core, stage.service.records).encode()
    core, records = load(data)
    assert (core.digest(), records) == (stage.service.core.digest(), stage.service.records)
    for broken in (b"", data[:-1], data[1:], data.replace(b'"jobs"', b'"sobj"'), data + b"0"):
        with pytest.raises(CorruptJournalError):
            load(broken)


def test_a_snapshot_of_another_version_is_passed_over() -> None:
    stage = Stage()
    stage.submit(job("x"))
    stage.service.close()
    ((seq, data),) = stage.place.snapshots.items()
    stage.place.snapshots[seq] = data.replace(b'"jobs"', b'"sobj"')
    stage.restart()
    assert stage.service.records.job("x") is not None
    same(stage)


def test_a_snapshot_that_cannot_be_kept_is_not_missed() -> None:
    stage = Stage(settings=Settings(snapshot_every=1))
    store = failing(stage)
    store.full = True
    stage.submit(job("x"))
    stage.settle(2)
    assert stage.place.snapshots == {}
    same(stage)


def test_the_loop_is_not_woken_for_nothing_while_the_engine_or_the_journal_fails() -> None:
    settings = Settings(retention=Retention(time=SECOND), lost_after=SECOND)
    stage = Stage(settings=settings, fates={"x": [Fate(None, grace=99 * SECOND)]})
    stage.submit(job("x", 2, retries=0))
    stage.world.trouble("a")
    stage.settle(4)
    assert stage.service.records.machines["a"].given_up
    store = failing(stage)
    stage.faults.plant(Call.RECONCILE, times=3)
    woken = 0
    end = stage.now + 20 * SECOND
    while stage.now < end:
        store.failure = JournalError("no") if woken == 8 else None
        wake = stage.service.wake()
        stage.step(after=max(0, wake - stage.now))
        woken += 1
    assert woken <= 22


def test_another_cluster_file_at_a_restart_becomes_events() -> None:
    """Machines that are new, gone or different, and tenants that are new or different."""
    stage = Stage(settings=Settings(tenants=(Tenant("t"), Tenant("u", weight=2))))
    stage.submit(job("x", 2, machines=["a"]), job("y", tenant="u"))
    stage.settle(1)
    before = stage.service.records.seq
    stage.world.leave("a")
    stage.world.join(Machine("b", {"cpu": 5, "memory": 2**30}))
    stage.world.join(Machine("c", {"cpu": 1}))
    tenants = (Tenant("u", weight=3), Tenant("v", parent="u"))
    stage.restart(replace(stage.settings, tenants=tenants))
    stage.settle(1)
    kinds = stage.kinds(before)
    assert kinds.count("tenant_changed") == 2
    assert {kind for kind in kinds if kind.startswith("machine_")} == {
        "machine_left",
        "machine_changed",
        "machine_joined",
        "machine_drained",
        "machine_quarantined",
    }
    assert list(stage.service.records.tenants) == ["t", "u", "v"]
    assert stage.service.records.tenants["u"].weight == 3
    assert stage.task("x").state is TaskState.WAITING
    assert stage.task("y").state is TaskState.RUNNING
    same(stage)


def test_old_entries_go_by_themselves_and_nothing_else_changes() -> None:
    settings = Settings(snapshot_every=40, journal_keep=20 * SECOND)
    stage = Stage(settings=settings, fates={"x": [Fate(SECOND)]})
    stage.submit(job("x", 300))
    stage.settle(60)
    start = stage.service.store.start()
    assert start > 0
    assert stage.service.store.until(stage.now - 30 * SECOND) <= start
    assert stage.entries()[0].time > stage.now - 60 * SECOND
    core = stage.service.core
    assert core is not None
    digest = core.digest()
    stage.restart()
    assert stage.service.core is not None
    assert stage.service.core.digest() == digest
    assert stage.service.store.start() == start
