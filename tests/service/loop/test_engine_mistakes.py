"""An engine that fails as nobody foresaw is one that is away; the loop's own mistakes are told."""

from __future__ import annotations

import pytest

from fairlead.scheduling.transitions import TaskState
from fairlead.service.loop import dispatch
from fairlead.service.requests import CancelJob, ForgetJobs
from tests.engines.fake import Call, FakeEngine
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, SECOND, Stage, job

CALLS = [each for each in Call if each is not Call.OUTPUT]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("done", [0, 1])
def test_whatever_an_engine_raises_at_whichever_call_the_service_goes_on(
    call: Call, done: int
) -> None:
    """It ended, and each start after it did."""
    stage = Stage(fates={"short": [Fate(SECOND)]})
    stage.faults.error = ZeroDivisionError
    stage.submit(job("short"), job("long"))
    stage.settle(3)
    assert stage.service.trouble == ""
    if call is Call.RECONCILE:  # it is asked again at all only after something else failed
        stage.faults.plant(Call.POLL)
    stage.faults.plant(call, done)
    stage.submit(job("next"))
    if call is Call.CANCEL:
        stage.step(CancelJob(ADMIN, "long"))
    if call is Call.FORGET:
        stage.step(ForgetJobs(ADMIN, ("short",)))
    stage.settle(20)
    assert stage.faults.doing(call, 0) is None  # it was called, and failed
    assert stage.service.trouble == ""
    assert stage.task("next").state is TaskState.RUNNING
    assert stage.task("long").state is TaskState.RUNNING or call is Call.CANCEL
    told = [each for each in stage.service.suspects.faults if f"`{call.value}`" in each]
    (sentence,) = told
    assert sentence.startswith(f"the engine failed at `{call.value}`, as nobody foresaw: ZeroDivi")
    assert "fake.py:" in sentence
    assert "planted" not in sentence  # what it says may quote a job
    stage.restart()
    stage.settle(2)
    assert stage.service.trouble == ""


def test_an_engine_that_goes_on_failing_is_trouble_and_told_once() -> None:
    stage = Stage()
    stage.faults.error = AttributeError
    stage.step()
    stage.faults.plant(Call.POLL, times=50)
    stage.settle(20)
    assert stage.service.trouble.startswith("the engine failed at `poll`, as nobody foresaw: Attri")
    assert not stage.service.ready
    assert len(stage.service.suspects.faults) == 1


def test_nodes_that_are_none_are_the_engines_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.step()
    monkeypatch.setattr(FakeEngine, "nodes", lambda _self: [None])
    stage.settle(90, every=SECOND)
    assert stage.service.trouble.startswith("the engine failed at `nodes`, as nobody foresaw: Attr")
    monkeypatch.undo()
    stage.settle(3)
    assert stage.service.trouble == ""


def test_a_mistake_of_the_loop_beside_the_engine_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    stage.step()

    def mistaken(*_: object) -> None:
        raise ZeroDivisionError("of the loop")

    monkeypatch.setattr(dispatch, "assignment", mistaken)
    with pytest.raises(ZeroDivisionError, match="of the loop"):
        stage.submit(job("x"))
    assert stage.service.suspects.faults == []
