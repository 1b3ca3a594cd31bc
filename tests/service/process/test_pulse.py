"""The leader's beat beside the loop, which waits for none that does not come."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from fairlead.service.journal.leases import Lease
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.process import pulse as module
from fairlead.service.process.pulse import Pulse

LONG = 60.0
"""Seconds for which a beat that comes is waited for: a machine that is busy is no failure."""


class Hanging(MemoryStore):
    """A journal that answers a beat only while `answers` is set."""

    def __init__(self) -> None:
        self.place = Place()
        super().__init__(self.place)
        self.answers = threading.Event()
        self.answers.set()

    def renew(self) -> None:
        self.answers.wait()
        super().renew()


@pytest.fixture
def store() -> Iterator[Hanging]:
    store = Hanging()
    yield store
    store.answers.set()


def test_a_beat_that_is_asked_for_is_made_at_once(
    store: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT", LONG)
    now = [100.0]
    lease = Lease(store, beating=True, since=0.0, clock=lambda: now[0])
    pulse = Pulse(lease)
    pulse.start()
    pulse.ask()
    for number in range(20):  # in far less time than so many beats take
        now[0] += 100
        assert lease.check() == "", number
    pulse.stop()


def test_a_loop_that_asks_goes_on_where_the_journal_hangs_and_believes_nothing(
    store: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAIT", 0.01)
    now = [100.0]
    lease = Lease(store, beating=True, since=0.0, clock=lambda: now[0])
    store.answers.clear()
    pulse = Pulse(lease)
    pulse.start()
    assert lease.check() == "the journal does not answer"
    assert lease.stale() == 100
    store.answers.set()
    monkeypatch.setattr(module, "WAIT", LONG)
    pulse.ask()
    assert lease.check() == ""
    assert lease.stale() == 0
    pulse.stop()
