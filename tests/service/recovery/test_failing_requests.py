"""A request at which the loop fails while its journal, in a file or a database, is not at hand: the
service goes on from it once it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from fairlead.service.journal.entry import TakenJournalError
from fairlead.service.journal.leases import RUN_OUT
from fairlead.service.mailbox import Mailbox
from fairlead.service.process.runner import Driven, Runner
from fairlead.service.requests import CancelJob, Done, Refused, Reply, Wrong
from tests.cli.live.place import until
from tests.engines.world import Fate
from tests.service.failovers import Way
from tests.service.loop.stage import ADMIN, SECOND
from tests.service.process.test_blame import Planted, all_asked, submits
from tests.service.process.test_runner import LONG, asked, read
from tests.service.recovery.test_follower import Pair, takes_over


class AtThatMoment(Planted):
    """A mistake in the core, and what happens beside it when it is met for the first time."""

    happens: Callable[[], object] | None = None

    def fail(self) -> None:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        super().fail()


@pytest.fixture(params=["apply", "decide"])
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AtThatMoment:
    return AtThatMoment(monkeypatch, request.param)


@pytest.fixture
def way(database: str, tmp_path: Path) -> Way:
    """A way to it that can be cut."""
    return Way(tmp_path / "way", Path(database.rpartition("host=")[2]))


@contextmanager
def led(place: str | Path) -> Iterator[tuple[Pair, Runner, Mailbox[Driven]]]:
    """A service in its thread that keeps its journal there."""
    pair = Pair(place)
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(pair.service, door, poll=0.005, clock=lambda: pair.now)
    try:
        runner.start()
        yield pair, runner, door
    finally:
        assert runner.stop(LONG)
        pair.close()


def by(way: Way, database: str) -> str:
    """The database's address by that way."""
    return f"{database.partition('?')[0]}?host={way.folder}"


def kept(place: str | Path) -> list[str]:
    """The jobs of a service that would begin there now, and stop at once."""
    pair = Pair(place)
    pair.step()
    try:
        return list(pair.service.records.names)
    finally:
        pair.close()


def is_failed(reply: Reply) -> bool:
    """Whether it says that Fairlead failed at that request."""
    return isinstance(reply, Refused) and reply.wrong is Wrong.FAILED


def is_away(reply: Reply) -> bool:
    """Whether it says that nothing was done, and nothing will be, as the journal is away."""
    return isinstance(reply, Refused) and (reply.wrong, reply.unknown) == (Wrong.UNAVAILABLE, False)


@pytest.mark.parametrize("trouble", ["closed", "stalled"])
def test_a_database_that_goes_away_in_that_moment_is_waited_for(
    trouble: str,
    way: Way,
    database: str,
    planted: AtThatMoment,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.service.journal.postgres._Impatient.patience", 0.5)
    monkeypatch.setattr("fairlead.service.journal.postgres.CONNECT", 2)
    with led(by(way, database)) as (pair, runner, door):
        assert isinstance(asked(door, submits("before")), Done)
        planted.happens = lambda: setattr(way, trouble, True)
        replies = all_asked(door, [submits("one"), submits("poison"), submits("two")])
        # Those that came in a step of their own before it was away are done.
        assert all(isinstance(each, Done) or is_away(each) or is_failed(each) for each in replies)
        assert any(is_away(each) or is_failed(each) for each in replies)
        assert is_away(asked(door, submits("three")))
        assert runner.failure is None
        # What is known is told meanwhile; the core is not there.
        assert read(door, lambda service: "before" in service.records.names)
        assert read(door, lambda service: (service.core, service.ready)) == (None, False)
        assert "cannot be used now" in read(door, lambda service: service.trouble)
        setattr(way, trouble, False)
        until(lambda: not read(door, lambda service: service.trouble))
        assert isinstance(asked(door, submits("four")), Done)
        assert is_failed(asked(door, submits("poison")))
        known = list(pair.service.records.names)
        assert {"before", "four"} <= set(known)
        assert not {"three", "poison"} & set(known)
        assert len(pair.running()) == min(4, len(known))
    assert kept(database) == known


def test_what_the_engine_said_meanwhile_is_taken_in_once_the_database_is_back(
    way: Way, database: str, planted: AtThatMoment
) -> None:
    with led(by(way, database)) as (pair, runner, door):
        pair.fates["short"] = [Fate(2 * SECOND)]
        asked(door, submits("short"))
        planted.happens = lambda: setattr(way, "closed", True)
        pair.now += 3 * SECOND  # its end comes with that step
        assert is_failed(asked(door, submits("poison")))
        assert is_away(asked(door, CancelJob(ADMIN, "short")))
        way.closed = False
        until(lambda: read(door, lambda service: service.ready))
        until(lambda: read(door, lambda service: service.records.names["short"].over))
        assert runner.failure is None
        assert pair.entries("task_finished")


def test_connections_that_break_in_that_moment_are_made_again(
    database: str, planted: AtThatMoment
) -> None:
    """As when the server is started anew."""

    def end() -> None:
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    with led(database) as (_, runner, door):
        asked(door, submits("before"))
        planted.happens = end
        assert is_failed(asked(door, submits("poison")))
        replies: list[Reply] = []

        def taken() -> bool:
            replies.append(asked(door, submits("after")))
            return not is_away(replies[-1])

        until(taken)
        # Where the engine had no news in between, it was this that met the broken connection.
        assert isinstance(replies[-1], Done) or replies[-1].unknown
        until(lambda: "after" in read(door, lambda service: service.records.names))
        assert runner.failure is None
    assert kept(database) == ["before", "after"]


def test_a_disk_that_is_full_in_that_moment_loses_nothing(
    database: str, planted: AtThatMoment
) -> None:
    def fill() -> None:
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute(
                "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$"
            )
            admin.execute(
                "CREATE TRIGGER full_disk BEFORE INSERT ON journal_entry"
                " EXECUTE FUNCTION full_disk()"
            )

    with led(database) as (_, runner, door):
        asked(door, submits("before"))
        planted.happens = fill
        assert is_failed(asked(door, submits("poison")))
        reply = asked(door, submits("two"))
        assert isinstance(reply, Refused)
        assert reply.wrong is Wrong.UNAVAILABLE
        assert "the server's disk is full" in reply.what
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute("DROP TRIGGER full_disk ON journal_entry")
        until(lambda: isinstance(asked(door, submits("three")), Done))
        assert runner.failure is None
    # Where the engine had news in between, it was these that waited for room.
    assert kept(database) == ["before", *(["two"] if reply.unknown else []), "three"]


def test_one_that_is_overtaken_in_that_moment_believes_nothing_of_the_other(
    database: str, planted: AtThatMoment
) -> None:
    with led(database) as (pair, runner, door):
        asked(door, submits("before"))
        follower = pair.follow()
        pair.look()

        def overtake() -> None:
            pair.look(RUN_OUT + 3, beat=False)
            assert takes_over(follower)
            leads = pair.lead(follower, follower.free)
            replies = leads.step(pair.now, [submits("theirs")])
            assert all(isinstance(each, Done) for each in replies)

        planted.happens = overtake
        reply = asked(door, submits("poison"))
        assert isinstance(reply, Refused)
        assert reply.wrong in (Wrong.UNAVAILABLE, Wrong.NOT_LEADING)
        assert runner.stop(LONG)
        assert isinstance(runner.failure, TakenJournalError)
        known = [entry.body["job"]["name"] for entry in pair.entries("job_submitted")]
    assert known == ["before", "theirs"]
