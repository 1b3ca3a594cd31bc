"""What goes before long work, which is never kept waiting for long."""

from __future__ import annotations

import threading

import pytest

from fairlead.service.precedence import LOOK, REST, Ahead, LongWork

LONG = 60.0
"""Seconds after which a test that waits has failed."""


class Waited(Ahead):
    """Waits in no time, on a clock of its own, and says for how long it was to wait."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        super().__init__(lambda: self.now)

    def wait(self, most: float) -> None:
        self.waits.append(most)
        self.now += most


def test_long_work_rests_for_a_moment_and_then_no_longer_than_it_worked() -> None:
    ahead = Waited()
    work = LongWork(ahead)
    work.pause()
    assert not ahead.waits
    with ahead.going():
        for worked in (0.0, 0.02, 0.05, 3.0):
            ahead.now += worked
            work.pause()
    assert ahead.waits == pytest.approx([REST, 0.02, 0.05, REST])
    work.pause()
    assert len(ahead.waits) == 4


def test_long_work_rests_for_what_came_and_could_not_begin_yet() -> None:
    ahead, looks = Waited(), list[float]()

    def comes() -> bool:
        looks.append(ahead.now)
        return len(looks) == 3

    ahead.comes = comes
    work = LongWork(ahead)
    for _ in range(5):  # more often than it looks
        work.pause()
        ahead.now += 0.6 * LOOK
    assert looks == pytest.approx([0.0, 1.2 * LOOK, 2.4 * LOOK])
    assert ahead.waits == [REST]


def test_it_goes_on_only_once_what_came_has_begun_and_is_over() -> None:
    ahead, came, over = Ahead(), threading.Event(), threading.Event()
    ahead.comes = came.is_set
    came.set()

    def work() -> None:
        ahead.wait(LONG)
        over.set()

    threading.Thread(target=work, daemon=True).start()
    ahead.begin()
    came.clear()
    assert not over.wait(0.05)
    ahead.end()
    assert over.wait(LONG / 2)


def test_who_rests_for_one_kind_can_rest_for_the_other() -> None:
    kinds = Waited(), Waited()
    work = LongWork(*kinds)
    for each in kinds:
        with each.going():
            work.pause()
        assert each.waits == [REST]


def test_it_goes_on_once_the_last_of_them_is_over() -> None:
    ahead, rests, over = Ahead(), threading.Event(), threading.Event()

    def work() -> None:
        with ahead._over:  # noqa: SLF001  so that it is known to wait once this can be had
            rests.set()
            ahead.wait(LONG)
        over.set()

    with ahead.going():
        with ahead.going():
            threading.Thread(target=work, daemon=True).start()
            assert rests.wait(LONG)
        assert ahead.goes_on
        assert not over.is_set()
    assert over.wait(LONG / 2)
    assert not ahead.goes_on
