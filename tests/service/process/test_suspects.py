"""A report of the engine at which the loop fails is left out for a while, and all else goes on."""

from __future__ import annotations

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended, Report
from fairlead.scheduling.transitions import TaskState
from fairlead.service.loop import intake
from fairlead.service.loop.reports import take_report
from fairlead.service.loop.step import Step
from fairlead.service.loop.suspects import MOST, PAUSE, Suspects
from fairlead.service.requests import Done, Refused, SubmitJobs, Wrong
from tests.cli.live.place import until
from tests.engines.fake import Call
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
