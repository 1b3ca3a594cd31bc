"""What is marked on the time line of shares, and what is left of it after long."""

from __future__ import annotations

from fairlead.service.records.dump import load, take
from fairlead.service.records.marks import Mark, Marks
from fairlead.service.requests import DrainMachine
from fairlead.wire.kinds import MarkKind
from tests.service.loop.stage import ADMIN, SECOND, Stage, job

STOPPED = MarkKind.TASKS_STOPPED


def test_marks_outlive_a_kill_and_a_snapshot() -> None:
    stage = Stage()
    stage.submit(job("x", 2))
    stage.step(DrainMachine(ADMIN, "a"), after=SECOND)
    before = stage.service.records.marks.copy()
    assert [mark.kind for mark in before][-1] is MarkKind.MACHINES_DRAINED
    assert load(take(stage.service.records).encode()).marks == before
    stage.restart()
    stage.step(after=SECOND)
    again = list(stage.service.records.marks)
    assert again[: len(before)] == list(before)
    assert [mark.kind for mark in again[len(before) :]] == [MarkKind.SERVICE_STARTED]


def test_a_copy_is_not_changed_by_what_comes_later() -> None:
    marks = Marks([Mark(1, STOPPED, "a", last=1)])
    copied = marks.copy()
    marks.add(Mark(1, STOPPED, "a"))
    assert [mark.count for mark in copied] == [1]
    assert [mark.count for mark in marks] == [2]


def test_what_is_long_ago_is_told_more_coarsely_and_nothing_is_lost() -> None:
    marks = Marks(most=64)
    for time in range(1, 1001):
        marks.add(Mark(time, STOPPED, f"t{time % 3}"))
        assert len(marks) <= 64
    assert sum(mark.count for mark in marks) == 1000
    times = [mark.time for mark in marks]
    assert times == sorted(times)
    assert times[0] == 1
    assert all(mark.time <= mark.last for mark in marks)
    newest = list(marks)[-20:]
    assert [(mark.time, mark.count) for mark in newest] == [(time, 1) for time in range(981, 1001)]


def test_marks_of_more_tenants_than_there_is_room_for_lose_their_tenant() -> None:
    marks = Marks(most=64)
    for time in range(1, 1001):
        marks.add(Mark(time, STOPPED, f"t{time}"))
        assert len(marks) <= 64
    assert sum(mark.count for mark in marks) == 1000
    assert next(iter(marks)).tenant is None
