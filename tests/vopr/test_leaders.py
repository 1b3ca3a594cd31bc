"""Services that lead, follow and take over in simulation: nothing is lost, nothing doubled, somebody
leads, and planted bugs of leases are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.service.journal.entry import Standing
from fairlead.service.journal.leases import Lease, Watch
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.engine_link import EngineLink
from tests.vopr import leaders
from tests.vopr.faults import BrokenPromiseError
from tests.vopr.leaders import Leaders

SEEDS = 20

TROUBLES = ("killed", "frozen", "frozen in a call", "cut off", "session lost", "clock lies", "wall")
CHANGES = ("led", "began anew", "taken over by session", "taken over by silence")


def test_nothing_is_lost_and_nothing_doubled_whoever_leads(cases: int) -> None:
    met: Counter[str] = Counter()
    for seed in range(SEEDS * cases):
        world = Leaders(seed)
        try:
            world.run()
        except BrokenPromiseError as error:
            pytest.fail(f"seed {seed}: {error}")
        met.update(world.met)
    assert not [each for each in (*TROUBLES, *CHANGES) if met[each] < 5], met


def _impatient(was: Any) -> Any:
    def may_take_over(self: Watch, seen: Standing, over: bool, now: float) -> bool:
        return bool(was(self, seen, over, now)) or now - self._since > 1.5  # noqa: SLF001

    return may_take_over


def _never(_was: Any) -> Any:
    return lambda _self, _seen, _over, _now: False


def _by_the_database(was: Any) -> Any:
    def may_take_over(self: Watch, seen: Standing, over: bool, _now: float) -> bool:
        return bool(was(self, seen, over, Planted.world.database_clock()))

    return may_take_over


def _trusting(_was: Any) -> Any:
    return lambda _self: ""


def _from_the_answer(was: Any) -> Any:
    return lambda self, _began: was(self, self.clock())


def _at_once(was: Any) -> Any:
    return lambda self, step, reports, held_back="": was(self, step, reports, held_back[:0])


def _anybody(_was: Any) -> Any:
    return lambda self: self._place  # noqa: SLF001


def _as_it_was_once(was: Any) -> Any:
    def init(self: MemoryStore, place: Place, after: Standing | None = None) -> None:
        same = after is not None and after.epoch == place.epoch
        was(self, place, place.standing() if same else after)

    return init


class Planted:
    """The world in which a bug is planted."""

    world: Leaders


BUGS: dict[str, tuple[object, str, Callable[[Any], Any], str]] = {
    "impatient": (Watch, "may_take_over", _impatient, "nobody is overtaken who beats"),
    "nobody-takes-over": (Watch, "may_take_over", _never, "somebody leads within 10 s"),
    "database-clock": (Watch, "may_take_over", _by_the_database, "nobody is overtaken who beats"),
    "belief-without-end": (Lease, "check", _trusting, "one that was overtaken orders nothing"),
    "belief-from-the-answer": (
        *(Lease, "note_append", _from_the_answer),
        "one that was overtaken orders nothing",
    ),
    "orders-not-held-back": (
        *(EngineLink, "send", _at_once),
        "one that was overtaken orders nothing",
    ),
    "writes-not-fenced": (MemoryStore, "_mine", _anybody, "the newest writer alone writes"),
    "old-look-believed": (MemoryStore, "__init__", _as_it_was_once, "nobody is overtaken who beats"),
}
"""Planted bugs: where, and the promise by which each is found."""


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_of_leases_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, word, make, rule = BUGS[name]
    monkeypatch.setattr(holder, word, make(getattr(holder, word)))
    for seed in range(400):
        Planted.world = leaders.Leaders(seed)
        try:
            Planted.world.run()
        except BrokenPromiseError as error:
            assert error.rule == rule, str(error)
            return
    pytest.fail(f"{name} was not caught")
