"""A service that follows: it knows what the leader knows, changes nothing, and takes over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead.engines.interface import Attempt, EngineError, Stream
from fairlead.model.errors import InputError
from fairlead.service.journal.contender import Contender, open_contender
from fairlead.service.journal.entry import (
    Entry,
    JournalError,
    Standing,
    Store,
    TakenJournalError,
    VersionJournalError,
)
from fairlead.service.journal.leases import BLIND, GRACE, LOOK, RUN_OUT, Lease
from fairlead.service.journal.places import open_store
from fairlead.service.loop.loop import Service
from fairlead.service.records import dump
from fairlead.service.recovery import configuration
from fairlead.service.recovery.configuration import SCHEMA
from fairlead.service.recovery.follower import Follower, _Seen
from fairlead.service.recovery.recover import recover
from fairlead.service.requests import CancelJob, Refused, Wrong
from fairlead.service.settings import Settings
from tests.cli.live.place import until
from tests.engines.fake import FakeEngine
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, SECOND, Stage, job


class Clock:
    """Goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def at_once(look: Callable[[], _Seen]) -> Future[_Seen]:
    """Looks here and now."""
    found: Future[_Seen] = Future()
    try:
        found.set_result(look())
    except JournalError as error:
        found.set_exception(error)
    return found


class Pair(Stage):
    """A service whose journal lasts, and those who follow it."""

    def __init__(self, place: str | Path, settings: Settings | None = None) -> None:
        self.where = place
        self.clock = Clock()
        self.followers: list[Follower] = []
        self.contenders: list[Contender] = []
        self.opened: list[Store] = []
        super().__init__(settings=settings, fates={"short": [Fate(2 * SECOND)]})

    def _service(self) -> Service:
        return self.lead(None, None)

    def lead(self, follower: Follower | None, gone: Standing | None) -> Service:
        """The service that leads from now on."""
        store = open_store(self.where, after=gone)
        self.opened.append(store)
        recovered = None if follower is None else follower.recovered
        return Service(
            store,
            FakeEngine(self.world, self.faults),
            self.settings,
            recovered=recovered,
            lease=Lease(store, beating=True, since=self.clock(), clock=self.clock),
        )

    def follow(self) -> Follower:
        """One more that follows."""
        self.contenders.append(open_contender(self.where))
        follower = Follower(self.contenders[-1], self.settings, clock=self.clock, aside=at_once)
        self.followers.append(follower)
        return follower

    def look(self, seconds: float = LOOK, beat: bool = True) -> None:
        """Time passes, and all followers look; the leader beats, or does not."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now += LOOK
            if beat:
                self.service.lease.renew()
            for follower in self.followers:
                follower.step(self.now)

    def close(self) -> None:
        """Everybody lets go of the journal."""
        for follower in self.followers:
            follower.close()
        self.service.close()
        for store in self.opened:  # those that were overtaken, too
            store.close()
        for contender in self.contenders:
            contender.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | Path]:
    """Where the journal is kept."""
    if request.param == "sqlite":
        yield tmp_path / "journal.db"
    else:
        yield request.getfixturevalue("database")


@pytest.fixture
def pair(place: str | Path) -> Pair:
    """A service that began."""
    pair = Pair(place)
    pair.step()
    return pair


def takes_over(follower: Follower) -> bool:
    """Whether it would."""
    return follower.free is not None


def same(pair: Pair, follower: Follower) -> None:
    """The follower knows what the leader knows."""
    assert follower.core is not None
    assert pair.service.core is not None
    assert follower.core.digest() == pair.service.core.digest()
    mine, theirs = (dump.take(each.records).encode() for each in (follower, pair.service))
    assert mine == theirs


def test_a_follower_knows_what_the_leader_knows(pair: Pair) -> None:
    pair.submit(job("before", 3))
    follower = pair.follow()
    same(pair, follower)
    told: list[Entry] = []
    follower.listeners.append(told.extend)
    last = pair.service.records.seq
    pair.submit(job("short", 2), job("rest", 9))
    pair.settle(5)
    pair.step(CancelJob(ADMIN, "before"))
    pair.look()
    same(pair, follower)
    assert [entry.seq for entry in told] == list(range(last + 1, pair.service.records.seq + 1))
    pair.close()


def test_it_changes_nothing_and_says_who_does(pair: Pair) -> None:
    pair.service.store.leader = "http://a:7370"
    pair.service.lease.renew()
    pair.submit(job("x"))
    follower = pair.follow()
    pair.look()
    (reply,) = follower.step(pair.now, [CancelJob(ADMIN, "x")])
    assert reply == Refused(
        Wrong.NOT_LEADING, "this service follows the one that leads at http://a:7370"
    )
    with pytest.raises(EngineError, match="which has the outputs: ask that one"):
        follower.engine.output(Attempt(1, 0, 1), Stream.OUT, 0, 10)
    assert not follower.ready
    same(pair, follower)
    pair.close()


def test_it_says_how_old_it_is(pair: Pair) -> None:
    follower = pair.follow()
    pair.look()
    assert follower.following.age == 0
    pair.clock.now += 3.5
    assert follower.following.age == 3.5
    pair.close()


def test_it_is_behind_and_not_gone_while_the_journal_is_away(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair.submit(job("x"))
    follower = pair.follow()
    pair.look()

    def away() -> None:
        raise JournalError("the journal is away")

    with monkeypatch.context() as patched:
        patched.setattr(pair.contenders[-1], "look", away)
        pair.look(2 * RUN_OUT, beat=False)
        assert not takes_over(follower)
        assert follower.trouble == "this service follows, and cannot: the journal is away"
        assert follower.following.age >= 2 * RUN_OUT
        assert follower.records.job("x") is not None  # reads go on
    pair.look(RUN_OUT - LOOK, beat=False)  # it watches anew
    assert not takes_over(follower)
    assert follower.following.age == 0
    pair.close()


def test_it_takes_over_from_one_that_stopped(pair: Pair) -> None:
    pair.submit(job("x", 5))
    follower = pair.follow()
    pair.service.close()
    pair.look(beat=False)
    assert takes_over(follower)
    goes_on(pair, follower)


def test_it_takes_over_from_one_that_died(pair: Pair) -> None:
    pair.submit(job("x", 5))
    follower = pair.follow()
    die(pair)
    pair.look(GRACE - LOOK, beat=False)
    assert not takes_over(follower)  # it may come back
    pair.look(2 * LOOK, beat=False)
    goes_on(pair, follower)


def test_who_takes_in_much_does_not_wait_once_more(database: str) -> None:
    """The leader appended thousands of entries and died."""
    pair = Pair(database)
    pair.step()
    follower = pair.follow()

    def slowly(_: Sequence[Entry]) -> None:
        pair.clock.now += BLIND + 1

    follower.listeners.append(slowly)
    pair.submit(job("x", 5))
    die(pair)
    pair.look(beat=False)
    assert not takes_over(follower)
    pair.look(beat=False)
    follower.listeners.clear()
    goes_on(pair, follower)


def die(pair: Pair) -> None:
    """What the kernel and the server do when the process is gone; the server has ended its session
    by then, which it does a moment after it is told to."""
    store = pair.service.store
    if isinstance(pair.where, str):
        with psycopg.connect(pair.where) as connection:
            held = (
                " FROM pg_locks WHERE locktype = 'advisory'"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            connection.execute(f"SELECT pg_terminate_backend(pid){held}".encode())
            until(lambda: connection.execute(f"SELECT{held}".encode()).fetchone() is None)
    else:
        store._lock.release()  # type: ignore[attr-defined]  # noqa: SLF001


def goes_on(pair: Pair, follower: Follower) -> None:
    """The follower leads, knows what it followed, and what runs runs on."""
    running = pair.running()
    pair.followers.remove(follower)
    assert takes_over(follower)
    pair.service = pair.lead(follower, follower.free)
    assert pair.service.records is follower.records
    follower.let_go()
    pair.settle(2)
    assert pair.running() == running
    assert len(pair.entries("service_started")) == 2
    pair.submit(job("after"))
    other = pair.follow()
    same(pair, other)
    pair.close()


def test_one_that_froze_is_overtaken_and_does_nothing_more(database: str) -> None:
    pair = Pair(database)
    pair.step()
    pair.submit(job("x", 3))
    follower = pair.follow()
    frozen = pair.service
    pair.look(RUN_OUT - LOOK, beat=False)
    assert not takes_over(follower)
    pair.look(2 * LOOK, beat=False)
    assert takes_over(follower)
    pair.followers.remove(follower)
    pair.service = pair.lead(follower, follower.free)
    pair.step()
    started = pair.world.started
    last = pair.service.records.seq
    with pytest.raises(TakenJournalError, match="another service has taken over"):
        frozen.step(pair.now, [CancelJob(ADMIN, "x")])
    assert pair.service.store.last() == last
    assert pair.world.started == started
    pair.close()


def test_of_two_that_follow_one_takes_over(database: str) -> None:
    pair = Pair(database)
    pair.step()
    one, other = pair.follow(), pair.follow()
    pair.look(RUN_OUT + LOOK, beat=False)
    assert takes_over(one)
    assert one.free == other.free
    pair.service = pair.lead(one, one.free)
    with pytest.raises(TakenJournalError):
        pair.lead(other, other.free)
    pair.followers.remove(one)
    pair.step()
    pair.look()
    assert not takes_over(other)
    same(pair, other)
    pair.close()


def test_it_goes_on_though_the_entries_in_between_were_removed(place: str | Path) -> None:
    settings = Settings(snapshot_every=10, journal_keep=SECOND)
    pair = Pair(place, settings)
    pair.step()
    follower = pair.follow()
    for number in range(30):
        pair.submit(job(f"short{number}", command="true"))
        pair.settle(1)
    assert pair.service.store.start() > follower.records.seq
    pair.look()
    same(pair, follower)
    pair.close()


def test_where_a_newer_one_leads_it_says_so_and_writes_nothing(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upgraded one after the other: the newer one took over, and what it writes may be of kinds of
    which this one knows nothing."""
    follower = pair.follow()
    pair.submit(job("x"))
    pair.service.close()
    monkeypatch.setattr(configuration, "SCHEMA", SCHEMA + 1)
    monkeypatch.setattr(configuration, "__version__", "9.9")
    pair.service = pair.lead(None, None)
    pair.submit(job("y"))
    last = pair.service.store.last()
    with pytest.raises(VersionJournalError, match=r"version 9\.9 of Fairlead wrote it.*newer one"):
        pair.look()
    with pytest.raises(VersionJournalError, match=r"use the newer one"):
        follower.begin_again()
    with pytest.raises(VersionJournalError, match=r"use the newer one"):
        recover(pair.service.store)
    assert pair.service.store.last() == last
    pair.followers.clear()
    assert pair.submit(job("z")).ids == (3,)
    follower.close()
    pair.close()


def test_settings_that_cannot_be_are_refused_when_it_begins(pair: Pair) -> None:
    pair.settings = replace(pair.settings, resources=("cpu", "memory", "gpu", "tape"))
    with pytest.raises(InputError, match="was chosen when it was begun"):
        pair.follow()
    pair.close()


def test_what_is_durable_is_not_acted_on_by_one_that_froze_before_it_could(
    database: str,
) -> None:
    """The worst moment: the launch is in the journal, and the engine was not told."""
    pair = Pair(database)
    pair.step()
    follower = pair.follow()
    store = pair.service.store
    taken: list[Service] = []
    append = store.append

    def frozen_after(entries: Sequence[Entry]) -> None:
        append(entries)
        if any(entry.kind == "launch" for entry in entries) and not taken:
            pair.look(RUN_OUT + LOOK, beat=False)
            assert takes_over(follower)
            taken.append(pair.lead(follower, follower.free))
            taken[0].step(pair.now)

    store.append = frozen_after  # type: ignore[method-assign]
    with pytest.raises(TakenJournalError):
        pair.submit(job("x", 1, rerunnable=False))
    pair.followers.clear()
    pair.service = taken[0]
    pair.settle(3)
    assert pair.task("x").attempt == pair.world.started == 1
    pair.close()


def test_one_that_went_on_meanwhile_is_not_overtaken(database: str) -> None:
    """What a follower saw may be old when it acts: it was frozen, or the answer came late."""
    pair = Pair(database)
    pair.step()
    follower = pair.follow()
    pair.look(RUN_OUT + LOOK, beat=False)
    assert takes_over(follower)
    pair.service.lease.renew()
    with pytest.raises(TakenJournalError, match="after all"):
        pair.lead(follower, follower.free)
    assert pair.submit(job("x")).ids == (1,)
    pair.look(RUN_OUT + LOOK, beat=False)
    assert takes_over(follower)
    goes_on(pair, follower)


def test_one_that_froze_in_the_middle_of_a_transaction_holds_up_nobody(database: str) -> None:
    """After some statements the server's own limit on that does not count: it is put out here."""
    pair = Pair(database)
    pair.submit(job("x", 2))
    follower = pair.follow()
    pair.look()
    store: Any = pair.service.store
    session = store._session  # noqa: SLF001 - a freeze inside of it
    session.run("SET idle_in_transaction_session_timeout = 0")
    session.begin(write=True)
    session.run("UPDATE journal_head SET seq = seq + 1")
    pair.look(RUN_OUT + LOOK, beat=False)
    assert takes_over(follower)
    gone = follower.free
    with pytest.raises(JournalError, match="lock timeout"):
        pair.lead(follower, gone)
    left = pair.service
    until(lambda: led_after_all(pair, follower, gone))
    with pytest.raises(JournalError):
        session.commit()
    left.store.close()
    assert pair.submit(job("y")).ids == (2,)
    pair.close()


def led_after_all(pair: Pair, follower: Follower, gone: Standing | None) -> bool:
    """Whether the follower leads now: the server ends a session a moment after it was told to."""
    try:
        pair.service = pair.lead(follower, gone)
    except JournalError:
        return False
    pair.followers.clear()
    pair.step()
    return True
