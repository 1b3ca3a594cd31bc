"""A report of the engine at which the loop fails is left out for a while, and all else goes on."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended, Report
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.transitions import TaskState
from fairlead.service.loop import intake
from fairlead.service.loop.reports import take_report
from fairlead.service.loop.step import Step
from fairlead.service.loop.suspects import FEW, LONGEST, MOST, PAUSE, Suspects
from fairlead.service.mailbox import Mailbox
from fairlead.service.metrics import Metrics
from fairlead.service.process.runner import Driven, Runner
from fairlead.service.requests import Done, Refused, SubmitJobs, Wrong
from fairlead.service.settings import Settings
from tests.cli.live.place import until
from tests.engines.fake import Call, FakeEngine
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, SECOND, Stage, job
from tests.service.loop.test_journal import same
from tests.service.process.test_blame import POISON, Planted, running, submits
from tests.service.process.test_runner import asked


class Mistaken:
    """A mistake in what takes in ends of tasks of that job, once the core has heard of them."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str) -> None:
        self.name = name
        self.failures = 0
        patch.setattr(intake, "take_report", self.take)

    def take(self, step: Step, report: Report) -> bool:
        """As `take_report`."""
        found = take_report(step, report)
        record = step.records.jobs.get(report.attempt.job)
        if record is not None and record.name == self.name and isinstance(report, Ended):
            self.failures += 1
            raise ZeroDivisionError("a secret of the job")
        return found


@pytest.mark.parametrize("at_once", [True, False])
def test_a_report_at_which_the_loop_fails_is_left_out_and_all_else_goes_on(
    monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    mistaken = Mistaken(monkeypatch, "bad")
    ends = Fate(2 * SECOND)
    stage = Stage(fates={"bad": [ends], "one": [ends], "two": [ends]})
    with running(stage) as (runner, door, said):
        asked(door, SubmitJobs(ADMIN, (job("one"), job("bad"), job("two"))))
        stage.now += 3 * SECOND
        if at_once:  # it comes with the reports
            assert isinstance(asked(door, submits("three")), Done)
        records = stage.service.records
        until(lambda: records.names["one"].over and records.names["two"].over)
        until(lambda: bool(said))
        assert isinstance(asked(door, submits("four")), Done)
        assert runner.failure is None
        assert mistaken.failures <= 3  # of all together, once more, and of the one
        (sentence,) = said
        assert "attempt 2.0.1 (ended): ZeroDivisionError at test_suspects.py:" in sentence
        assert "secret" not in sentence
        assert stage.task("bad").state is TaskState.RUNNING
        failures = mistaken.failures
        mistaken.name = ""
        assert isinstance(asked(door, submits("five")), Done)
        assert not records.names["bad"].over  # it is not due
        stage.now += PAUSE
        until(lambda: records.names["bad"].over)
        assert mistaken.failures == failures
    same(stage)
    stage.restart()
    stage.step()
    assert stage.service.records.names["bad"].over


def test_a_request_is_not_tried_together_with_a_report_that_may_be_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step failed of both once more, and everybody waited for that."""
    mistaken = Mistaken(monkeypatch, "bad")
    ends = Fate(2 * SECOND)
    stage = Stage(fates={"bad": [ends], "one": [ends]})
    stage.submit(job("one"), job("bad"))
    stage.step()
    stage.now += 3 * SECOND
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, clock=lambda: stage.now)
    for requests, failures in (([submits("more")], 2), ([], 3)):
        replies = runner._replies(stage.service, stage.now, requests)  # noqa: SLF001  its step
        assert all(isinstance(each, Done) for each in replies)
        assert mistaken.failures == failures
    same(stage)


def test_a_start_at_which_the_loop_fails_of_a_report_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each start ended there: the engine repeats it."""
    stage = Stage(fates={"bad": [Fate(2 * SECOND)]})
    stage.submit(job("bad"), job("good"))
    stage.step()
    Mistaken(monkeypatch, "bad")
    stage.now += 3 * SECOND
    stage.restart()
    with running(stage) as (runner, door, said):
        assert isinstance(asked(door, submits("more")), Done)
        until(lambda: bool(said))
        assert runner.failure is None
    same(stage)


def test_a_request_and_a_report_that_both_fail_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Mistaken(monkeypatch, "bad")
    Planted(monkeypatch, "apply")
    stage = Stage(fates={"bad": [Fate(2 * SECOND)]})
    with running(stage) as (runner, door, said):
        asked(door, submits("bad"))
        stage.now += 3 * SECOND
        refused = asked(door, submits(POISON))
        assert isinstance(refused, Refused)
        assert refused.wrong is Wrong.FAILED
        assert isinstance(asked(door, submits("good")), Done)
        until(lambda: bool(said))
        assert runner.failure is None
    same(stage)


def test_all_tasks_of_a_tenant_s_job_may_be_such_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More of them than may be left out one by one: the service ended, and each start did."""
    mistaken = Mistaken(monkeypatch, "bad")
    ends = Fate(2 * SECOND)
    machines = [Machine("a", {"cpu": 100, "memory": 2**30})]
    stage = Stage(machines, fates={name: [ends] for name in ("bad", "mine", "good")})
    stage.settings = Settings(tenants=(Tenant("theirs"), Tenant("other")))
    stage.restart()
    with running(stage) as (runner, door, said):
        asked(door, SubmitJobs(ADMIN, (job("bad", tasks=3 * MOST, tenant="theirs"),)))
        asked(door, SubmitJobs(ADMIN, (job("mine", tenant="theirs"), job("good", tenant="other"))))
        stage.now += 3 * SECOND
        records = stage.service.records
        until(lambda: records.names["good"].over)
        assert runner.failure is None
        assert len(said) == FEW
        for tried in range(1, 5):  # his others wait for one that is tried, and is such again
            stage.now += PAUSE
            assert isinstance(asked(door, SubmitJobs(ADMIN, (job(f"more-{stage.now}"),))), Done)
            until(lambda: len(said) == FEW + tried)  # noqa: B023 - within its round; said after the reply
        assert mistaken.failures <= 2 * len(said) + 1
        assert len(stage.service.suspects.left_out) >= FEW
        mistaken.name = ""
        stage.now += LONGEST
        until(lambda: records.names["bad"].over and records.names["mine"].over)
        assert stage.service.suspects.left_out == []
    same(stage)


def test_who_names_no_tenant_is_who_submitted_it() -> None:
    suspects = Suspects(lambda job: job % 2)
    for number in range(MOST + FEW):
        assert suspects.accuse([ended(2 * number)], 0, ValueError()) == ()
    reports = [ended(number) for number in range(5)]
    assert suspects.admit(reports, 1) == [ended(1), ended(3)]


def test_whoever_asks_is_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of which nothing was heard any more ran on, as far as anybody could see."""
    mistaken = Mistaken(monkeypatch, "bad")
    stage = Stage(fates={"bad": [Fate(2 * SECOND)]})
    stage.submit(job("bad", tasks=2), job("good"))
    stage.step()
    runner, metrics = Runner(stage.service, Mailbox(), clock=lambda: stage.now), Metrics()

    def told() -> tuple[str, bool]:
        runner._replies(stage.service, stage.now, [])  # noqa: SLF001  its step
        metrics.read(stage.service, stage.now)
        return stage.service.scheduler_reason("bad"), b"left_out_attempts 2" in metrics.text()

    assert told() == ("", False)
    stage.now += 3 * SECOND
    told()
    why, counted = told()
    assert why.startswith("what the engine says of 2 attempts at it is left out for now, for Fair")
    assert counted
    assert stage.service.scheduler_reason("good") == ""
    mistaken.name = ""
    stage.now += PAUSE
    assert told() == ("", False)
    same(stage)


def test_of_an_owner_who_is_slowed_down_the_next_one_comes_at_once_after_one_that_is_well() -> None:
    suspects = Suspects(lambda job: job % 2)
    bad = [ended(2 * number) for number in range(FEW)]
    for each in bad:
        suspects.accuse([each], 0, ValueError())
    good = [ended(100), ended(102)]
    assert suspects.admit([*bad, *good], PAUSE - 1) == []
    suspects.accuse([bad[0]], PAUSE, ValueError())
    assert suspects.admit([*bad, *good], 2 * PAUSE - 1) == []
    probed = suspects.admit([*bad, *good], 2 * PAUSE)
    assert probed == good[:1]  # what never failed goes first
    assert suspects.hurry
    suspects.clear(probed)
    assert suspects.admit([*bad, *good[1:]], 2 * PAUSE) == good[1:]
    suspects.clear(good[1:])
    assert suspects.admit(bad, 2 * PAUSE) == bad[1:2]
    suspects.accuse(bad[1:2], 2 * PAUSE, ValueError())
    assert suspects.admit(bad, 3 * PAUSE - 1) == []


LIES: list[Any] = [
    {"code": 1.5},
    {"code": None},
    {"time": math.nan},
    {"started": "then"},
    {"message": None},
    {"output": "much"},
    {"output": -1},
    {"output": 2**80},
    {"cause": "bored"},
    {"attempt": Attempt(cast("int", [1]), 0, 1)},
]


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_what_cannot_be_of_a_report_is_not_believed(lie: dict[str, Any]) -> None:
    """An entry was made of it at which the service failed once it was durable, and each start."""
    stage = Stage()
    stage.submit(job("a"), job("b"))
    stage.step(after=SECOND)
    reports: list[Report] = [Ended(Attempt(1, 0, 1), Cause.EXITED, 0, stage.now)]
    lies = [replace(reports[0], **lie), Ended(Attempt(2, 0, 1), Cause.EXITED, 0, stage.now)]
    engine = stage.service.engine
    assert isinstance(engine, FakeEngine)
    engine.faults = SimpleNamespace(doing=lambda *_: None, reports=lambda _: lies)
    stage.step(after=SECOND)
    stage.step(after=SECOND)
    assert stage.task("a").state is TaskState.RUNNING
    assert stage.service.records.names["b"].over
    (told,) = stage.service.suspects.faults
    assert "is not believed" in told
    lies[0] = reports[0]
    stage.step(after=SECOND)
    assert stage.service.records.names["a"].over
    stage.restart()
    stage.step(after=SECOND)
    same(stage)


def ended(number: int) -> Report:
    return Ended(Attempt(number, 0, 1), Cause.EXITED, 0, 1)


def test_many_that_fail_are_no_report_s_fault() -> None:
    suspects = Suspects()
    for number in range(MOST):
        assert suspects.accuse([ended(number)], 0, ValueError()) == ()
    assert suspects.accuse([ended(MOST)], 0, ValueError()) is None
    assert suspects.accuse([], 0, ValueError()) is None


def test_one_that_fails_again_waits_for_twice_as_long() -> None:
    suspects = Suspects()
    suspects.accuse([ended(1)], 0, ValueError())
    assert suspects.admit([ended(1), ended(2)], PAUSE - 1) == [ended(2)]
    assert suspects.admit([ended(1)], PAUSE) == [ended(1)]
    suspects.accuse([ended(1)], PAUSE, ValueError())
    assert suspects.admit([ended(1)], 3 * PAUSE - 1) == []
    assert suspects.admit([ended(1)], 3 * PAUSE) == [ended(1)]
    suspects.clear([ended(1)])
    assert suspects.admit([ended(1)], 3 * PAUSE - 1) == [ended(1)]


def test_nobody_is_in_a_hurry_for_an_engine_that_says_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where it went away in between: the loop would go round and round."""
    mistaken = Mistaken(monkeypatch, "bad")
    ends = Fate(2 * SECOND)
    stage = Stage(fates={"bad": [ends], "one": [ends], "two": [ends]})
    stage.submit(job("one"), job("bad"), job("two"))
    stage.step()
    stage.now += 3 * SECOND
    with pytest.raises(ZeroDivisionError) as found:
        stage.step()
    assert stage.service.begin_again(found.value)
    stage.step()
    stage.faults.plant(Call.POLL)
    stage.step(after=SECOND)
    assert stage.service.engine_trouble
    assert stage.service.wake() > stage.now
    assert mistaken.failures == 1


def test_after_a_failure_each_of_as_many_is_taken_in_alone() -> None:
    suspects = Suspects()
    reports = [ended(number) for number in range(3)]
    assert suspects.accuse(reports, 0, ValueError()) == reports[:1]
    hurry = [suspects.hurry]
    assert suspects.admit(reports[1:], 0) == reports[1:2]
    assert suspects.admit(reports[2:], 0) == reports[2:]
    hurry.append(suspects.hurry)
    assert hurry == [True, False]
    assert suspects.admit(reports, 0) == reports


def test_what_is_not_believed_is_told_to_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log alone said so: the job ran on, as far as its owner could see."""
    stage = Stage(fates={"bad": [Fate(2 * SECOND)]})
    stage.submit(job("bad", tasks=2), job("good"))
    stage.step()
    poll, metrics = FakeEngine.poll, Metrics()

    def mistaken(self: FakeEngine) -> list[Report]:
        found = [
            replace(each, code=1.5) if isinstance(each, Ended) else each  # type: ignore[arg-type]
            for each in poll(self)
        ]
        return [*found, "no report"]  # type: ignore[list-item]

    def counted() -> bytes:
        metrics.read(stage.service, stage.now)
        return metrics.text()

    monkeypatch.setattr(FakeEngine, "poll", mistaken)
    assert b"fairlead_disbelieved_attempts 0" in counted()
    stage.settle(3)
    why = stage.service.scheduler_reason("bad")
    assert why.startswith("what the engine says of 2 attempts at it is not believed, for its code")
    assert stage.service.scheduler_reason("good") == ""
    assert b"fairlead_disbelieved_attempts 2" in counted()
    assert stage.task("bad").state is TaskState.RUNNING
    monkeypatch.undo()
    stage.settle(1)
    assert stage.service.scheduler_reason("bad") == ""
    assert b"fairlead_disbelieved_attempts 0" in counted()
    assert stage.service.records.names["bad"].over
