"""A journal under another engine than launched its tasks: what that one knew is not known here, and
nothing that must run once is started again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairlead.engines.interface import Attempt, EngineError
from fairlead.scheduling.transitions import TaskState
from fairlead.service.journal.entry import Entry
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.dispatch import AFTERWARDS
from fairlead.service.requests import CancelJob
from fairlead.service.settings import Settings
from tests.engines.fake import Call, FakeEngine
from tests.engines.world import Fate, Happening, World
from tests.service.loop.stage import ADMIN, MACHINES, SECOND, Stage, job
from tests.service.loop.test_journal import same


def elsewhere(stage: Stage, identity: str = "other") -> None:
    """The service is killed, and another one starts where there is another engine."""
    stage.world = World(MACHINES, lambda: stage.now, stage.world.fates, record=True)
    stage.world.identity = identity
    stage.restart()


def say_gone(stage: Stage, **body: Any) -> None:
    """An operator says that the engine is gone, while no service runs."""
    records, store = stage.service.records, stage.service.store
    entry = Entry(records.seq + 1, records.step + 1, records.time, "engine_gone", body)
    store.append([entry])


@pytest.mark.parametrize("started", [True, False])
def test_what_must_run_once_is_not_started_by_an_engine_that_does_not_know_it(
    started: bool,
) -> None:
    stage = Stage(fates={"once": [Fate(None, delay=0 if started else 100 * SECOND)]})
    stage.submit(job("once", rerunnable=False))
    stage.settle(1)
    wanted = TaskState.RUNNING if started else TaskState.LAUNCHED
    assert stage.task("once").state is wanted
    elsewhere(stage)
    stage.settle(5)
    task = stage.task("once")
    assert task.state is TaskState.FAILED
    assert "another engine had it" in task.why
    assert "perhaps it was started" in task.why
    assert stage.world.record == []


def test_what_may_run_again_is_started_there_at_the_cost_of_a_retry() -> None:
    stage = Stage()
    stage.submit(job("again", retries=1))
    stage.settle(1)
    elsewhere(stage)
    stage.settle(2)
    assert [attempt.number for attempt in stage.running()] == [2]
    elsewhere(stage, "third")
    stage.settle(2)
    assert stage.task("again").state is TaskState.FAILED


def test_a_kill_before_the_losses_are_written_changes_nothing() -> None:
    stage = Stage()
    stage.submit(job("once", rerunnable=False))
    stage.settle(1)
    elsewhere(stage)
    real, appends = stage.service.store.append, 0

    def append(entries: list[Entry]) -> None:
        nonlocal appends
        appends += 1
        if appends == 2:
            raise KeyboardInterrupt  # a kill between the first entry of the service and the next
        real(entries)

    stage.service.store.append = append  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        stage.step()
    assert stage.entries()[-1].kind == "service_started"
    stage.restart()
    stage.settle(2)
    assert stage.task("once").state is TaskState.FAILED
    assert stage.world.record == []


def test_where_the_old_engine_is_gone_what_nobody_saw_start_costs_no_retry() -> None:
    stage = Stage(fates={"unseen": [Fate(None, delay=100 * SECOND), Fate(None)]})
    stage.submit(job("unseen", retries=0), job("seen", retries=0))
    stage.settle(1)
    say_gone(stage)
    elsewhere(stage)
    stage.settle(2)
    assert stage.task("unseen").state is TaskState.RUNNING
    (lost,) = stage.entries("task_lost")
    assert lost.body["why"].endswith("nobody heard that it had started")
    assert stage.task("seen").state is TaskState.FAILED
    # It was said of that engine, and of none that comes after it.
    elsewhere(stage, "third")
    stage.settle(2)
    assert stage.task("unseen").state is TaskState.FAILED


@pytest.mark.parametrize("twice", [True, False])
def test_what_must_run_once_begins_again_only_where_an_operator_has_said_that_of_it(
    twice: bool,
) -> None:
    """That the machine is gone does not undo what a task did there, heard of or not."""
    stage = Stage(fates={"unseen": [Fate(None, delay=100 * SECOND), Fate(None)]})
    stage.submit(job("unseen", rerunnable=False), job("seen", rerunnable=False))
    stage.settle(1)
    say_gone(stage, **({"may_run_twice": True} if twice else {}))
    elsewhere(stage)
    stage.settle(2)
    wanted = TaskState.RUNNING if twice else TaskState.FAILED
    assert [stage.task(name).state for name in ("unseen", "seen")] == [wanted, wanted]
    said = "it may run twice" if twice else "perhaps it was started, and it must run once"
    lost = stage.entries("task_lost") or stage.entries("task_failed")
    assert [entry.body["why"].endswith(said) for entry in lost] == [True, True]
    # It was said of that engine, and of none that comes after it.
    elsewhere(stage, "third")
    stage.settle(2)
    assert {stage.task(name).state for name in ("unseen", "seen")} == {TaskState.FAILED}


def test_an_engine_that_was_said_to_be_gone_and_is_there_knows_what_it_started() -> None:
    stage = Stage()
    stage.submit(job("once", rerunnable=False))
    stage.settle(1)
    say_gone(stage)
    stage.restart()
    stage.settle(2)
    assert stage.task("once").state is TaskState.RUNNING


def test_what_was_given_up_with_its_machine_is_settled_too() -> None:
    settings = Settings(lost_after=5 * SECOND)
    stage = Stage(settings=settings, fates={"x": [Fate(None, grace=1000 * SECOND)]})
    stage.submit(job("x", 2, retries=9))
    stage.settle(1)
    stage.world.trouble("a")
    stage.settle(8)
    assert any(each.given_up for each in stage.service.records.machines.values())
    elsewhere(stage)
    stage.settle(2)
    assert not any(each.given_up for each in stage.service.records.machines.values())


def test_a_cancelled_task_that_another_engine_had_is_over() -> None:
    stage = Stage(fates={"x": [Fate(None, grace=1000 * SECOND)]})
    stage.submit(job("x"))
    stage.settle(1)
    stage.step(CancelJob(ADMIN, "x"))
    elsewhere(stage)
    stage.settle(2)
    assert stage.task("x").state is TaskState.DROPPED


@pytest.mark.parametrize("kept", [True, False])
def test_a_journal_of_before_is_the_engines_that_has_kept_something(kept: bool) -> None:
    stage = Stage()
    stage.submit(job("once", rerunnable=False))
    stage.settle(1)
    left = [entry for entry in stage.entries() if entry.kind != "engine_changed"]
    stage.place = Place()
    MemoryStore(stage.place).append([replace(each, seq=n) for n, each in enumerate(left, 1)])
    if kept:
        stage.restart()
    else:
        elsewhere(stage)
    stage.settle(2)
    state = stage.task("once").state
    assert state is (TaskState.RUNNING if kept else TaskState.FAILED)
    assert stage.service.records.start is not None
    assert stage.service.records.start.engine == stage.world.identity


def test_an_engine_refuses_who_was_overtaken() -> None:
    stage = Stage()
    stage.submit(job("x"))
    stage.settle(1)
    old = stage.service
    owner = old.records.start.owner if old.records.start else 0
    stage.restart()
    stage.step()
    start = stage.service.records.start
    assert start is not None
    assert start.owner == owner + 1
    with pytest.raises(EngineError, match="newer owner"):
        FakeEngine(stage.world).reconcile([], owner)


def test_a_journal_that_was_put_back_is_no_service_that_was_overtaken() -> None:
    """The engine has heard of more starts than the backup holds."""
    stage = Stage()
    stage.submit(job("x"), job("y"))
    stage.settle(1)
    backup = list(stage.place.rows)
    for _ in range(3):
        stage.restart()
        stage.settle(1)
    stage.place = Place(rows=backup)
    stage.restart()
    stage.step()
    assert "newer owner" in stage.service.engine_trouble
    stage.restart()
    stage.service.store.restored = True  # what said how far it went was removed
    stage.settle(2)
    assert stage.service.ready
    assert len(stage.running()) == 2
    stage.restart()
    stage.settle(2)
    assert stage.service.ready
    assert stage.world.owner > 1_000  # seconds since 1970, and a start
    same(stage)


def put_back(stage: Stage, patch: pytest.MonkeyPatch) -> None:
    """A service starts on a copy of a journal, of which what said how far it went was removed."""
    opened = MemoryStore.__init__

    def open_it(store: MemoryStore, *given: Any) -> None:
        opened(store, *given)
        store.restored = True

    with patch.context() as during:
        during.setattr(MemoryStore, "__init__", open_it)
        stage.restart()


@pytest.mark.parametrize("away", [True, False])
@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("once", [True, False])
def test_what_ended_after_the_copy_that_was_put_back_starts_again_but_for_what_must_run_once(
    monkeypatch: pytest.MonkeyPatch, started: bool, once: bool, away: bool
) -> None:
    """The engine says that it never started: it forgot what was acknowledged."""
    ends = Fate(5 * SECOND, delay=0 if started else SECOND)
    stage = Stage(fates={"x": [ends, Fate(None)], "lasts": [Fate(None)]})
    stage.submit(job("x", rerunnable=not once), job("lasts", rerunnable=False))
    if started:
        stage.settle(1)
    assert stage.task("x").state is (TaskState.RUNNING if started else TaskState.LAUNCHED)
    backup = list(stage.place.rows)
    stage.settle(8)
    assert stage.task("x").state is TaskState.FINISHED
    stage.place = Place(rows=backup)
    put_back(stage, monkeypatch)
    if away:
        stage.faults.plant(Call.RECONCILE)
    stage.settle(2)
    begun = [attempt for _, what, attempt in stage.world.record or () if what is Happening.STARTED]
    assert begun.count(Attempt(1, 0, 1)) == (1 if once else 2)
    task = stage.task("x")
    assert task.state is (TaskState.FAILED if once else TaskState.RUNNING)
    assert task.why == (AFTERWARDS if once else "")
    assert stage.task("lasts").state is TaskState.RUNNING
    assert begun.count(Attempt(2, 0, 1)) == 1
    same(stage)
    stage.restart()
    stage.settle(2)
    assert stage.task("x").state is task.state
