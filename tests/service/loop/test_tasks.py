"""What becomes of tasks: ends, retries, losses, late reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fairlead.engines.interface import Attempt, Cause
from fairlead.model.machine import Machine
from fairlead.scheduling.options import Options
from fairlead.scheduling.preemption import adapter
from fairlead.scheduling.preemption.picture import HeldJob
from fairlead.scheduling.transitions import TaskState
from fairlead.service.loop.engine_link import AT_ONCE
from fairlead.service.records.tasks import Outcome
from fairlead.service.requests import CancelJob, ForgetJob
from fairlead.service.settings import Settings
from fairlead.wire.kinds import JobState
from tests.engines.fake import Call
from tests.engines.world import Fate
from tests.service.fairness.at_once import AtOnce
from tests.service.loop.stage import ADMIN, SECOND, Stage, job

BAD = Fate(SECOND // 2, code=3, message="it says why")
GOOD = Fate(SECOND // 2)


def test_a_task_that_fails_is_not_tried_again_if_nothing_is_said() -> None:
    stage = Stage(fates={"x": [BAD, GOOD]})
    stage.submit(job("x"))
    stage.settle(2)
    task = stage.task("x")
    assert (task.state, task.attempt, task.code) == (TaskState.FAILED, 1, 3)
    assert (task.outcome, task.why) == (Outcome.EXITED, "it says why")
    record = stage.service.records.job("x")
    assert record is not None
    assert record.state is JobState.FAILED


def test_a_task_that_fails_is_tried_again_as_often_as_its_job_says() -> None:
    stage = Stage(fates={"x": [BAD]})
    stage.submit(job("x", retries=2))
    stage.settle(5)
    task = stage.task("x")
    assert (task.state, task.attempt, task.tries) == (TaskState.FAILED, 3, 2)
    record = stage.service.records.job("x")
    assert record is not None
    assert [each.attempt for each in stage.service.records.attempts(record, 0)] == [1, 2]
    assert stage.world.started == 3


def test_a_retry_that_ends_well_makes_the_job_finish() -> None:
    stage = Stage(fates={"x": [BAD, GOOD]})
    stage.submit(job("x", retries=1))
    stage.settle(3)
    assert stage.task("x").state is TaskState.FINISHED


def lose(stage: Stage, name: str) -> None:
    """What runs of the job's first task is gone."""
    record = stage.service.records.job(name)
    assert record is not None
    stage.world.lose(Attempt(record.id, 0, stage.task(name).attempt))
    stage.settle(1)


def test_a_task_that_is_lost_is_tried_three_times_again_if_nothing_is_said() -> None:
    stage = Stage()
    stage.submit(job("x"))
    for attempt in (2, 3, 4):
        lose(stage, "x")
        assert (stage.task("x").state, stage.task("x").attempt) == (TaskState.RUNNING, attempt)
    lose(stage, "x")
    assert (stage.task("x").state, stage.task("x").outcome) == (TaskState.FAILED, Outcome.LOST)


def test_retries_count_losses_and_failures_together() -> None:
    stage = Stage(fates={"x": [Fate(None), BAD]})
    stage.submit(job("x", retries=1))
    lose(stage, "x")
    stage.settle(2)
    assert (stage.task("x").state, stage.task("x").attempt) == (TaskState.FAILED, 2)


def test_what_may_have_started_is_not_started_again_where_it_must_not() -> None:
    stage = Stage()
    stage.submit(job("x", rerunnable=False, retries=5))
    lose(stage, "x")
    assert (stage.task("x").state, stage.task("x").attempt) == (TaskState.FAILED, 1)
    assert stage.world.started == 1


def test_what_certainly_never_started_is_tried_again_at_no_cost() -> None:
    """Also where nothing may be started twice: it is launched on a machine that went meanwhile."""
    stage = Stage()
    stage.step()
    for name in ("a", "b"):
        stage.world.leave(name)
    stage.submit(job("x", rerunnable=False, retries=0))
    stage.world.join(stage.world_machines["a"])
    stage.settle(30)
    assert (stage.task("x").state, stage.task("x").tries) == (TaskState.RUNNING, 0)
    assert stage.world.started == 1


def test_a_command_that_is_not_there_has_failed_and_may_be_tried_again() -> None:
    gone = Fate(launchable=False, message="there is no such program")
    stage = Stage(fates={"x": [gone, GOOD], "y": [gone, GOOD]})
    stage.submit(job("x"), job("y", rerunnable=False, retries=1))
    stage.settle(2)
    assert (stage.task("x").state, stage.task("x").outcome) == (
        TaskState.FAILED,
        Outcome.NOT_STARTED,
    )
    assert stage.task("y").state is TaskState.FINISHED


@pytest.mark.parametrize("cause", [Cause.SIGNALLED, Cause.TIME_LIMIT, Cause.MEMORY])
def test_every_cause_of_an_end_is_kept(cause: Cause) -> None:
    stage = Stage(fates={"x": [Fate(0, cause, 9)]})
    stage.submit(job("x"))
    stage.settle(1)
    task = stage.task("x")
    assert (task.outcome.name, task.code, task.state) == (cause.name, 9, TaskState.FAILED)


def test_a_late_end_of_an_older_attempt_changes_nothing() -> None:
    stage = Stage()
    stage.submit(job("x"))
    stage.faults.hold(Attempt(1, 0, 1))
    stage.world.leave("a")
    stage.settle(2)
    assert stage.task("x").attempt == 2
    before = stage.service.records.seq
    stage.faults.let_go(Attempt(1, 0, 1))
    stage.settle(2)
    assert stage.kinds(before) in ([], ["attempt_gone"])
    assert (stage.task("x").state, stage.task("x").attempt) == (TaskState.RUNNING, 2)
    assert Attempt(1, 0, 1) not in stage.world.tasks


def test_an_end_counts_though_its_acknowledgement_failed() -> None:
    stage = Stage(fates={"x": [GOOD]})
    stage.submit(job("x"))
    stage.faults.plant(Call.ACKNOWLEDGE)
    stage.settle(3)
    assert stage.task("x").state is TaskState.FINISHED
    assert len(stage.entries("task_finished")) == 1
    assert stage.world.tasks == {}


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_launch_that_failed_half_way_is_made_good(done: int) -> None:
    stage = Stage(fates={"x": [GOOD]})
    stage.step()
    stage.faults.plant(Call.LAUNCH, done=done)
    stage.submit(job("x", 4))
    assert stage.service.trouble
    stage.settle(4)
    assert not stage.service.trouble
    record = stage.service.records.job("x")
    assert record is not None
    assert record.state is JobState.FINISHED
    assert stage.world.started == 4
    assert {stage.task("x", number).attempt for number in range(4)} == {1}


@pytest.mark.parametrize("done", [0, 1])
def test_a_cancel_that_failed_is_made_again(done: int) -> None:
    stage = Stage()
    stage.submit(job("x", 4))
    stage.faults.plant(Call.CANCEL, done=done)
    stage.step(CancelJob(ADMIN, "x"))
    stage.settle(4)
    record = stage.service.records.job("x")
    assert record is not None
    assert record.over
    assert stage.running() == []


def preempting(fates: dict[str, list[Fate]] | None = None) -> Stage:
    """A service that stops tasks for who is below its guarantee for a second."""
    settings = Settings(options=Options(preempt_after=SECOND))
    return Stage(settings=settings, fates=fates, adviser=AtOnce())


def test_a_preempted_task_waits_again_at_no_cost() -> None:
    stage = preempting()
    stage.submit(job("x", 4, retries=0))
    stage.submit(job("y", 4))
    stage.settle(4)
    assert stage.task("y").state is TaskState.RUNNING
    record = stage.service.records.job("x")
    assert record is not None
    assert (record.held, record.waiting) == (2, 2)
    assert sum(stage.task("x", number).tries for number in range(4)) == 0


def test_a_task_that_must_not_run_twice_is_not_stopped_for_others() -> None:
    stage = preempting({"x": [Fate(8 * SECOND)]})
    stage.submit(job("x", 4, rerunnable=False))
    stage.submit(job("y", 4))
    stage.settle(4)
    assert not stage.entries("stop")
    stage.settle(6)
    record = stage.service.records.job("x")
    assert record is not None
    assert record.state is JobState.FINISHED
    assert stage.task("y").state is TaskState.RUNNING


@pytest.fixture
def older_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A core that stops what must run once, as those did whose journals may be there."""

    def held(**fields: Any) -> HeldJob:
        return HeldJob(**fields | {"once": False})

    monkeypatch.setattr(adapter, "HeldJob", held)


@pytest.mark.usefixtures("older_core")
def test_where_an_older_core_stopped_it_the_engine_is_not_told() -> None:
    stage = preempting({"x": [Fate(8 * SECOND)]})
    stage.submit(job("x", 4, rerunnable=False))
    stage.submit(job("y", 4))
    stage.settle(4)
    assert stage.entries("stop")
    assert {attempt.job for attempt in stage.running()} == {1}
    stage.settle(6)
    record = stage.service.records.job("x")
    assert record is not None
    assert record.state is JobState.FINISHED
    assert stage.task("y").state is TaskState.RUNNING


@pytest.mark.usefixtures("older_core")
def test_what_it_does_when_such_a_task_fails_after_the_stop() -> None:
    stage = preempting({"x": [Fate(5 * SECOND, code=1)]})
    stage.submit(job("x", 4, rerunnable=False))
    stage.submit(job("y", 4))
    stage.settle(10)
    assert stage.entries("stop")
    assert {stage.task("x", number).state for number in range(4)} == {TaskState.FAILED}
    assert stage.world.started == 4 + 4


def test_devices_are_handed_on_to_the_engine() -> None:
    stage = Stage(machines=[Machine("g", {"cpu": 8, "gpu": 2})])
    stage.submit(job("x", 2, demand={"cpu": 1, "gpu": 1}))
    pieces = {each.pieces for each in stage.world.running()}
    assert pieces == {(("gpu", 0),), (("gpu", 1),)}
    assert stage.task("x").pieces == (("gpu", 0),)


def test_nonsense_from_an_engine_does_not_damage_the_journal() -> None:
    stage = Stage(fates={"x": [Fate(0, code=2**40, message="x" * 10_000)]})
    stage.submit(job("x", 2))
    stage.settle(2)
    assert stage.task("x").code == 2**31 - 1
    assert len(stage.task("x").why) == 1000
    stage.restart()


def test_the_outputs_of_a_large_job_are_forgotten_a_part_in_each_step() -> None:
    stage = Stage(
        machines=[Machine("wide", {"cpu": 4000, "memory": 2**30})],
        fates={"large": [Fate(SECOND, code=1), Fate(SECOND)]},
    )
    stage.submit(job("large", 3000, retries=1), job("next"))
    stage.settle(4)
    record = stage.service.records.job("large")
    assert record is not None
    assert record.over
    told: list[list[Attempt]] = []
    engine = stage.service.engine

    def forget(attempts: Sequence[Attempt]) -> None:
        told.append(list(attempts))

    engine.forget = forget  # type: ignore[method-assign]  # to see what it is told
    stage.step(ForgetJob(ADMIN, "large"))
    assert stage.service.records.job("large") is None
    assert len(told) == 1
    (again,) = stage.submit(job("large", 1)).ids  # its name is free at once
    assert again > record.id
    for _ in range(10):
        wake = stage.service.wake()
        stage.step(after=max(0, wake - stage.now))
    assert max(map(len, told)) <= AT_ONCE
    seen = [attempt for part in told for attempt in part]
    assert len(seen) == len(set(seen)) >= 3001
    assert {attempt.task for attempt in seen} == set(range(3000))
    assert {attempt.job for attempt in seen} == {record.id}
