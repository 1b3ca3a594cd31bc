"""The adviser in a process of its own: it answers, and where it dies it is started again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator

import numpy as np
import pytest

from fairlead.model.job import Job
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.service.fairness.interface import Answered
from fairlead.service.fairness.process import WorkerAdviser, small_question
from fairlead.service.fairness.question import question
from fairlead.service.fairness.solve import answer
from tests.service.fairness.stands import core_of, submit

PATIENCE = 120.0


@pytest.fixture(scope="module")
def shared() -> Iterator[WorkerAdviser]:
    adviser = WorkerAdviser()
    yield adviser
    adviser.close()


def stand() -> Core:
    core = core_of({"m1": {"cpu": 8}, "m2": {"cpu": 8}}, (Tenant("a"), Tenant("b")))
    submit(
        core, Job("x", {"cpu": 1}, tenant="a", tasks=30), Job("y", {"cpu": 3}, tenant="b", tasks=30)
    )
    return core


def wait_for(adviser: WorkerAdviser) -> Answered:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = adviser.answer()
        if found is not None:
            return found
        time.sleep(0.005)
    raise AssertionError("no answer came")


def test_it_answers_what_is_computed_here_too(shared: WorkerAdviser) -> None:
    asked = question(stand(), 7, guarantees=True, advice=True)
    shared.ask(asked)
    found, here = wait_for(shared), answer(asked)
    assert found.question is asked
    assert found.answer.number == 7
    assert found.answer.jobs.names == asked.jobs
    assert np.array_equal(found.answer.jobs.whole, here.jobs.whole)
    assert np.array_equal(found.answer.jobs.tasks, here.jobs.tasks)
    assert found.answer.guarantees == here.guarantees
    assert found.answer.advice == here.advice
    assert found.answer.tenants == here.tenants
    assert shared.answer() is None  # once


def test_the_first_answer_takes_no_longer_than_the_others() -> None:
    """What it loads is loaded before the first question, or it would rest for long after it."""
    found = answer(small_question())
    assert found.jobs.tasks.tolist() == pytest.approx([4 / 3, 4 / 3])
    assert found.advice


def test_the_newest_question_wins(shared: WorkerAdviser) -> None:
    core = stand()
    for number in range(10, 40):
        shared.ask(question(core, number))
    numbers = [wait_for(shared).answer.number]
    while numbers[-1] != 39:
        numbers.append(wait_for(shared).answer.number)
    assert len(numbers) <= 3  # what was being computed, and the last one
    assert not shared.busy


def test_one_that_is_killed_is_started_again() -> None:
    others = children()
    adviser = WorkerAdviser()
    try:
        adviser.ask(question(stand(), 1))
        assert wait_for(adviser).answer.problem == ""
        mine = [pid for pid in children() if pid not in others]
        assert len(mine) == 1
        os.kill(mine[0], signal.SIGKILL)
        adviser.ask(question(stand(), 2))
        first = wait_for(adviser)
        if first.answer.problem:  # it had been sent already: that is said
            assert "died" in first.answer.problem
            adviser.ask(question(stand(), 3))
            first = wait_for(adviser)
        assert first.answer.problem == ""
        assert adviser.restarts == 1
    finally:
        adviser.close()
    assert children() == others


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    """By a clock that goes as the test says: a machine that is busy takes no time."""
    others, moments = children(), [0.0]
    adviser = WorkerAdviser(limit=2.0, clock=lambda: moments[0])
    try:
        adviser.ask(question(stand(), 1))
        assert wait_for(adviser).answer.problem == ""
        mine = [pid for pid in children() if pid not in others]
        os.kill(mine[0], signal.SIGSTOP)  # it computes for ever
        moments[0] += 1000.0  # it has rested from the first answer
        adviser.ask(question(stand(), 2))
        moments[0] += 2.5
        found = wait_for(adviser)
        assert found.answer.number == 2
        assert found.answer.problem == "the exact allocation took longer than 2 s"
        assert found.answer.jobs.names == ()
        assert found.answer.events(5) == ()
    finally:
        adviser.close()
    assert children() == others


def children() -> list[int]:
    """The processes that this one has started and that have not ended: advisers."""
    return [child.pid for child in multiprocessing.active_children() if child.pid is not None]
