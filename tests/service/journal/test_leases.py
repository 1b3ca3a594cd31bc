"""Leases: when a leader still believes that it leads, and when a follower does not any more."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from fairlead.service.journal.entry import JournalError, Standing, TakenJournalError
from fairlead.service.journal.leases import BEAT, BLIND, GRACE, LOOK, RUN_OUT, TRUST, Lease, Watch
from fairlead.service.journal.memory import MemoryStore, Place


class Clock:
    """Goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow(MemoryStore):
    """A journal that takes its time to say that a beat is durable, or does not say it."""

    def __init__(self, place: Place, clock: Clock) -> None:
        super().__init__(place)
        self.place = place
        self.clock, self.takes, self.away = clock, 0.0, False

    def renew(self) -> None:
        self.clock.now += self.takes
        if self.away:
            raise JournalError("the journal is away")
        super().renew()


def led(beating: bool = True) -> tuple[Clock, Slow, Lease]:
    clock = Clock()
    store = Slow(Place(), clock)
    return clock, store, Lease(store, beating=beating, since=clock(), clock=clock)


def test_a_belief_ends_by_itself_and_is_renewed_where_the_journal_answers() -> None:
    clock, store, lease = led()
    clock.now += TRUST
    assert lease.check() == ""
    assert store.place.beat == 0  # it was believed
    clock.now += 0.1
    assert lease.check() == ""
    assert store.place.beat == 1  # it was asked


def test_a_belief_begins_before_the_journal_was_asked() -> None:
    _, store, lease = led()
    store.takes = TRUST + 0.1
    lease.renew()
    store.away, store.takes = True, 0.0
    assert lease.check() == "the journal is away"


def test_an_append_is_as_good_as_a_beat() -> None:
    clock, store, lease = led()
    store.away = True
    clock.now += TRUST + 1
    assert lease.check() == "the journal is away"
    lease.note_append(clock.now - 1)
    assert lease.check() == lease.doubt() == ""
    clock.now += TRUST
    assert lease.doubt() == f"the journal has not answered for {TRUST:g} seconds"


def test_whoever_was_overtaken_hears_it_at_the_latest_when_the_belief_ends() -> None:
    clock, store, lease = led()
    newer = MemoryStore(store.place, after=store.place.standing())
    assert lease.check() == ""  # it was asked a moment ago
    clock.now += TRUST + 0.1
    with pytest.raises(TakenJournalError, match="another service has taken over"):
        lease.check()
    assert "another service has taken over" in lease.doubt()
    newer.renew()


def test_a_lease_that_nobody_waits_for_is_renewed_when_it_is_asked_for() -> None:
    clock, store, lease = led(beating=False)
    clock.now += 1000
    assert lease.check() == ""
    assert store.place.beat == 0
    assert lease.doubt() == ""
    assert lease.doubt() == ""
    assert store.place.beat == 1  # not at every question
    store.away = True
    clock.now += BEAT + 0.1
    assert lease.doubt() == "the journal is away"
    store.away = False
    clock.now += BEAT + 0.1
    assert lease.doubt() == ""


STANDING = Standing(epoch=3, beat=7, held=True, leader="http://a", seq=12)


def look(watch: Watch, standing: Standing, over: bool, now: float) -> bool:
    """What a follower thinks that looks then, and is answered at once."""
    return watch.may_take_over(standing, over, now, now)


def looks(watch: Watch, start: float, seconds: float, standing: Standing, over: bool) -> list[bool]:
    """What a follower thinks that looks for so long."""
    count = int(seconds / LOOK)
    return [look(watch, standing, over, start + n * LOOK) for n in range(count + 1)]


def test_a_leader_that_let_go_is_followed_at_once() -> None:
    watch = Watch(beating=True)
    assert look(watch, replace(STANDING, held=False), False, 0.0)


@pytest.mark.parametrize(("over", "after"), [(True, GRACE), (False, RUN_OUT)])
def test_a_silent_leader_is_followed_in_its_time(over: bool, after: float) -> None:
    found = looks(Watch(beating=True), 50.0, 10.0, STANDING, over)
    assert found.index(True) * LOOK == after
    assert all(found[found.index(True) :])


@pytest.mark.parametrize("field", ["epoch", "beat", "seq"])
def test_anything_that_moves_is_a_sign_of_life(field: str) -> None:
    watch = Watch(beating=True)
    for number in range(40):
        standing = replace(STANDING, **{field: number})  # type: ignore[arg-type]
        assert not look(watch, standing, True, number * LOOK)


def test_a_follower_that_was_away_itself_watches_anew() -> None:
    watch = Watch(beating=True)
    assert not any(looks(watch, 0.0, RUN_OUT - LOOK, STANDING, False))
    back = RUN_OUT + BLIND + 1
    assert not any(looks(watch, back, RUN_OUT - LOOK, STANDING, False))
    assert look(watch, STANDING, False, back + RUN_OUT)


@pytest.mark.parametrize(("over", "after"), [(True, GRACE), (False, RUN_OUT)])
def test_to_take_in_what_was_seen_is_no_absence(over: bool, after: float) -> None:
    watch, busy = Watch(beating=True), BLIND + 0.5
    assert not look(watch, STANDING, over, 10.0)
    watch.took_in(10.0 + busy)
    found = looks(watch, 10.0 + busy, 10.0, STANDING, over)
    assert found.index(True) * LOOK + busy == max(after, busy)
    watch = Watch(beating=True)  # but what comes after it is
    assert not look(watch, STANDING, over, 10.0)
    watch.took_in(10.0 + busy)
    assert not look(watch, STANDING, over, 10.0 + busy + RUN_OUT)


def test_where_nobody_beats_silence_says_nothing() -> None:
    watch = Watch(beating=False)
    assert not any(looks(watch, 0.0, 100.0, STANDING, False))
    assert look(watch, STANDING, True, 100.5)


def test_silence_counts_from_the_answer_to_the_next_question() -> None:
    watch = Watch(beating=True)
    asked, answered = 10.0, 11.9  # the beat may be of any moment between them
    assert not watch.may_take_over(STANDING, True, asked, answered)
    assert not any(looks(watch, 12.0, answered + GRACE - 12.0 - LOOK, STANDING, True))
    assert look(watch, STANDING, True, answered + GRACE)


@pytest.mark.parametrize("over", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_a_leader_stops_believing_before_anybody_takes_over(seed: int, over: bool) -> None:
    """Whatever the moments of beats and looks, for how long the journal takes, when it goes away
    for the leader alone, and with clocks of which one is a third slower than the other; also where
    the database calls its session over all the time."""
    draws = Random(seed)
    clock, store, lease = led()
    place, watch = store.place, Watch(beating=True)
    rate = draws.choice((0.7, 1.0, 1.5))  # of the leader's clock
    time = next_beat = next_look = seen_at = 0.0
    cut_off = draws.uniform(0, 20)
    asked, seen = None, place.standing()
    while True:
        time += draws.uniform(0, 0.2)
        clock.now = 1000 + rate * time
        store.away = time > cut_off
        if time >= next_beat:
            next_beat = time + BEAT + draws.uniform(0, 0.5)
            before = clock.now
            lease.renew()
            clock.now = before
        if asked is None and time >= next_look:
            asked, seen_at = time, time + draws.choice((0.0, 0.0, draws.uniform(0, 1)))
        if asked is not None:
            if time - 0.2 <= seen_at:
                seen = place.standing()
            elif draws.random() < 0.7:  # answered
                next_look = asked + LOOK + draws.uniform(0, 0.5)
                if watch.may_take_over(seen, over, asked, time):
                    break
                asked = None
        assert time < cut_off + 3 * RUN_OUT
    assert lease.stale()
    assert lease.check()
    assert time > cut_off
