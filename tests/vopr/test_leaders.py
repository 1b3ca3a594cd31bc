"""Services that lead, follow and take over in simulation: nothing is lost, nothing doubled,
somebody leads, and planted bugs of leases are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from fairlead.model.errors import FairleadError
from fairlead.service.journal import leases
from fairlead.service.journal.entry import Standing
from fairlead.service.journal.leases import Lease, Watch
from fairlead.service.journal.memory import MemoryStore, Place
from fairlead.service.loop.engine_link import EngineLink
from tests.vopr.engine import SimEngine
from tests.vopr.faults import BrokenPromiseError
from tests.vopr.leaders import Leaders

SEEDS = 20

TROUBLES = (
    *("killed", "frozen", "frozen in a call", "cut off", "cut off when it thaws", "session lost"),
    *("clock lies", "wall"),
)
CHANGES = ("led", "began anew", "taken over by session", "taken over by silence")
READS = ("read", "read while in doubt")


def test_nothing_is_lost_and_nothing_doubled_whoever_leads(cases: int) -> None:
    met: Counter[str] = Counter()
    for seed in range(SEEDS * cases):
        world = Leaders(seed)
        try:
            world.run()
        except BrokenPromiseError as error:
            pytest.fail(f"seed {seed}: {error}")
        met.update(world.met)
    assert not [each for each in (*TROUBLES, *CHANGES, *READS) if met[each] < 2], met


def _impatient(was: Any) -> Any:
    def may_take_over(
        self: Watch, seen: Standing, over: bool, asked: float, answered: float
    ) -> bool:
        return bool(was(self, seen, over, asked, answered)) or asked - self._since > 1.5

    return may_take_over


def _never(_was: Any) -> Any:
    return lambda _self, _seen, _over, _asked, _answered: False


def _by_the_database(was: Any) -> Any:
    def may_take_over(
        self: Watch, seen: Standing, over: bool, _asked: float, _answered: float
    ) -> bool:
        now = Planted.world.database_clock()
        return bool(was(self, seen, over, now, now))

    return may_take_over


def _trusting(_was: Any) -> Any:
    return lambda _self: ""


def _anybody(_was: Any) -> Any:
    return lambda self: self._place


def _as_it_was_once(was: Any) -> Any:
    def init(self: MemoryStore, place: Place, after: Standing | None = None) -> None:
        same = after is not None and after.epoch == place.epoch
        was(self, place, place.standing() if same else after)

    return init


def _from_the_answer(was: Any) -> Any:
    return lambda self, _began: was(self, self.clock())


def _of_a_beat_from_the_answer(was: Any) -> Any:
    def renew(self: Lease) -> None:
        before = self._proved
        was(self)
        if self._proved != before:
            self._proved = self.clock()

    return renew


def _since_it_was_open(was: Any) -> Any:
    def init(self: Lease, store: Any, *, beating: bool, since: float, clock: Any) -> None:
        was(self, store, beating=beating, since=max(since, clock()), clock=clock)

    return init


def _at_once(was: Any) -> Any:
    def send(self: EngineLink, step: Any, reports: Any, held_back: str = "") -> None:
        del held_back
        was(self, step, reports)

    return send


def _from_the_question(was: Any) -> Any:
    def may_take_over(self: Watch, seen: Standing, over: bool, asked: float, _: float) -> bool:
        return bool(was(self, seen, over, asked, asked))

    return may_take_over


def _always_fresh(_was: Any) -> Any:
    return lambda _self: 0.0


def _longer(was: float) -> float:
    return was + 2.5


def _knows_all(_was: Any) -> Any:
    return lambda _self, _identity: True


class Planted:
    """The world in which a bug is planted."""

    world: Leaders


@dataclass(frozen=True)
class Bug:
    """A planted bug: where, the seed that meets it first, and the promises by which it is found."""

    holder: object
    word: str
    make: Callable[[Any], Any]
    seed: int
    rules: tuple[str, ...]


BEATS = "nobody is overtaken who beats"
LEADS = "somebody leads within 10 s"
ORDERS = "one that was overtaken orders nothing"
FRESH = "what is called fresh is fresh"
ONCE = "what is not rerunnable runs once"
OWN = "an engine hears of its own attempts"

BUGS = {
    "impatient": Bug(Watch, "may_take_over", _impatient, 1, (BEATS,)),
    "nobody-takes-over": Bug(Watch, "may_take_over", _never, 4, (LEADS,)),
    "database-clock": Bug(Watch, "may_take_over", _by_the_database, 5, (BEATS, LEADS)),
    "silence-from-the-question": Bug(Watch, "may_take_over", _from_the_question, 443, (BEATS,)),
    "belief-without-end": Bug(Lease, "check", _trusting, 0, (ORDERS, LEADS)),
    "belief-from-the-answer": Bug(Lease, "note_append", _from_the_answer, 9, (ORDERS, FRESH)),
    "belief-from-the-answer-to-a-beat": Bug(
        Lease, "renew", _of_a_beat_from_the_answer, 62, (ORDERS, FRESH)
    ),
    "belief-since-it-was-open": Bug(Lease, "__init__", _since_it_was_open, 160, (ORDERS, FRESH)),
    "belief-longer-than-a-grace": Bug(leases, "TRUST", _longer, 55, (ORDERS, FRESH)),
    "always-called-fresh": Bug(Lease, "stale", _always_fresh, 9, (FRESH,)),
    "orders-not-held-back": Bug(EngineLink, "send", _at_once, 54, (ORDERS,)),
    "writes-not-fenced": Bug(
        MemoryStore,
        "_mine",
        _anybody,
        1,
        (FRESH, "the newest writer alone writes", "CorruptJournalError"),
    ),
    "another-engine-believed": Bug(SimEngine, "knows", _knows_all, 3, (OWN, ONCE)),
    "old-look-believed": Bug(MemoryStore, "__init__", _as_it_was_once, 1, (BEATS, ORDERS)),
}


def _broken(seed: int) -> str | None:
    """The promise that a seed breaks, if it does."""
    Planted.world = Leaders(seed)
    try:
        Planted.world.run()
    except BrokenPromiseError as error:
        return error.rule
    except FairleadError as error:
        return type(error).__name__
    return None


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_of_leases_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bug = BUGS[name]
    monkeypatch.setattr(bug.holder, bug.word, bug.make(getattr(bug.holder, bug.word)))
    for seed in range(bug.seed, bug.seed + 100):
        rule = _broken(seed)
        if rule is not None:
            assert rule in bug.rules, f"seed {seed}"
            return
    pytest.fail(f"{name} was not caught")
