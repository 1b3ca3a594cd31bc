"""An engine or a journal that cannot be reached is told of once, and so is its return."""

from __future__ import annotations

import io
import json
import threading

from fairlead.service.journal.entry import JournalError
from fairlead.service.mailbox import Mailbox
from fairlead.service.process.logs import Level, Logs
from fairlead.service.process.runner import Driven, Runner
from fairlead.service.process.troubles import Change, Part, Troubles
from fairlead.service.requests import SubmitJobs
from tests.engines.fake import Call
from tests.service.loop.stage import ADMIN, SECOND, Stage, job
from tests.service.loop.test_journal import failing

LONG = 60.0
"""Seconds after which a test that waits has failed."""


def test_an_engine_that_is_down_and_back_is_one_line_each() -> None:
    stage, found = Stage(), list[Change]()
    troubles = Troubles(found.append)

    def step() -> None:
        stage.step(after=SECOND)
        troubles.look(stage.service, stage.now)

    step()
    assert not found
    stage.faults.plant(Call.POLL, times=3)
    for _ in range(3):
        step()
    (down,) = found
    assert down.part is Part.ENGINE
    assert down.sentence() == (
        f"the engine cannot be reached: {stage.service.trouble}; until it answers, tasks that run"
        " go on, and nothing new starts"
    )
    for _ in range(3):
        step()
    assert found[1:] == [Change(Part.ENGINE, None, 3 * SECOND)]
    assert found[1].sentence() == "the engine answers again, after 3 s"


def test_a_journal_that_cannot_be_written_is_told_of_too() -> None:
    stage, found = Stage(), list[Change]()
    store, troubles = failing(stage), Troubles(found.append)
    for failure in (None, JournalError("no room"), JournalError("still none"), None):
        store.failure = failure
        stage.step(SubmitJobs(ADMIN, (job(f"j{stage.now}"),)), after=3 * SECOND)
        troubles.look(stage.service, stage.now)
    assert [(change.part, change.why is None) for change in found] == [
        (Part.JOURNAL, False),
        (Part.JOURNAL, True),
    ]


def test_the_loop_tells_of_an_engine_that_is_down_from_the_first_step() -> None:
    stage, over = Stage(), threading.Event()
    found: list[Change] = []

    def told(change: Change) -> None:
        found.append(change)
        if change.why is None:
            over.set()
        else:
            stage.now += 2 * SECOND  # when it is asked again

    stage.faults.plant(Call.NODES)
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, poll=0.005, clock=lambda: stage.now, troubles=told)
    runner.start()
    assert over.wait(LONG)
    assert runner.stop(LONG)
    assert [change.part for change in found] == [Part.ENGINE, Part.ENGINE]


def test_each_is_a_line_of_the_log() -> None:
    stream = io.StringIO()
    logs = Logs(stream, lambda: 0, Level.FEW)
    logs.trouble(Change(Part.ENGINE, "it was\nkilled"))
    logs.trouble(Change(Part.ENGINE, None, 12 * SECOND))
    down, back = map(json.loads, stream.getvalue().splitlines())
    assert (down["event"], down["why"]) == ("engine_down", "it was\nkilled")
    assert (back["event"], back["seconds"]) == ("engine_back", 12)
