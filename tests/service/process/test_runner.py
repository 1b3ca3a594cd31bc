"""The loop's thread and the door to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pytest

from fairlead.model.errors import InputError, InternalError
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.service.journal.entry import Entry, TakenJournalError
from fairlead.service.loop.loop import Service
from fairlead.service.mailbox import CLOSED, CROWDED, Mailbox, MailboxClosedError
from fairlead.service.process import runner as running_module
from fairlead.service.process.runner import LONGEST, Driven, Runner, explain_failure
from fairlead.service.requests import CancelJob, Done, Refused, Reply, Request, SubmitJobs, Wrong
from fairlead.service.settings import Settings
from tests.cli.live.place import until
from tests.engines.fake import FakeEngine
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, Stage, job
from tests.service.loop.test_journal import Failing, failing

T = TypeVar("T")

CANCEL = CancelJob(ADMIN, "x")
LONG = 60.0
"""Seconds after which a test that waits has failed."""


@contextmanager
def running(stage: Stage) -> Iterator[tuple[Runner, Mailbox[Driven]]]:
    """The stage's service in its thread."""
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, poll=0.005, clock=lambda: stage.now)
    runner.start()
    try:
        yield runner, door
    finally:
        assert runner.stop(LONG)


def asked(door: Mailbox[Driven], request: Request) -> Reply:
    """The reply, of a loop in another thread."""
    return asyncio.run(asyncio.wait_for(door.ask(request), LONG))


def read(door: Mailbox[Driven], function: Callable[[Driven], T]) -> T:
    """What the function returns, in that thread."""
    return asyncio.run(asyncio.wait_for(door.read(function, long=True), LONG))


def test_requests_are_answered_once_they_are_durable() -> None:
    stage = Stage()
    with running(stage) as (_, door):
        reply = asked(door, SubmitJobs(ADMIN, (job("x"),)))
        assert isinstance(reply, Done)
        assert stage.service.store.last() >= reply.seq


def test_many_ask_and_read_at_once() -> None:
    stage = Stage()

    async def everybody(door: Mailbox[Driven]) -> list[object]:
        asked = [door.ask(SubmitJobs(ADMIN, (job(f"x{i}"),))) for i in range(50)]
        read = [door.read(lambda service: len(service.records.jobs)) for _ in range(50)]
        return await asyncio.gather(*asked, *read)

    with running(stage) as (_, door):
        found = asyncio.run(everybody(door))
    assert all(isinstance(each, Done) for each in found[:50])
    assert all(isinstance(each, int) for each in found[50:])
    assert len(stage.service.records.jobs) == 50


def test_who_reads_gets_what_the_function_raises() -> None:
    with running(Stage()) as (runner, door):
        with pytest.raises(KeyError):
            read(door, lambda service: service.records.machines["z"])
        # Of the core, which nobody may read in the midst of a step: the loop makes some by itself.
        read_by = read(door, lambda service: (service.core, threading.current_thread().name)[1])
        assert read_by == "loop"
        assert runner.failure is None


def test_the_engine_is_polled_without_requests() -> None:
    stage = Stage(fates={"x": [Fate(0)]})
    over = threading.Event()
    stage.service.listeners.append(
        lambda entries: over.set() if entries[-1].kind == "task_finished" else None
    )
    with running(stage) as (_, door):
        asked(door, SubmitJobs(ADMIN, (job("x"),)))
        assert over.wait(LONG)


def test_what_was_accepted_before_a_stop_is_answered_and_later_is_turned_away() -> None:
    stage = Stage()
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, clock=lambda: stage.now)
    first = asyncio.run(_asked_before(door, runner))
    assert isinstance(first, Done)
    assert asked(door, CancelJob(ADMIN, "x")) == CLOSED
    with pytest.raises(MailboxClosedError):
        read(door, lambda service: service)
    assert runner.failure is None


async def _asked_before(door: Mailbox[Driven], runner: Runner) -> object:
    asked = asyncio.ensure_future(door.ask(SubmitJobs(ADMIN, (job("x"),))))
    await asyncio.sleep(0)
    await asyncio.to_thread(runner.start)
    await asyncio.to_thread(runner.stop, LONG)
    return await asked


def test_a_machine_that_is_not_taken_in_is_told_of() -> None:
    stage = Stage([Machine("b", {"cpu": 2 * 10**19})])
    told = list[str]()
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, clock=lambda: stage.now, fault=told.append)
    runner.start()
    assert runner.stop(LONG)
    assert [each.partition(", capacity")[0] for each in told] == [
        'a machine is not taken in as it is: machine "b"'
    ]


def test_a_full_door_turns_away() -> None:
    door: Mailbox[Driven] = Mailbox(most=1)
    stage = Stage()
    runner = Runner(stage.service, door, clock=lambda: stage.now)

    async def two() -> tuple[object, object]:
        first = asyncio.ensure_future(door.ask(SubmitJobs(ADMIN, (job("x"),))))
        await asyncio.sleep(0)
        second = await door.ask(SubmitJobs(ADMIN, (job("y"),)))
        await asyncio.to_thread(runner.start)
        return await first, second

    first, second = asyncio.run(two())
    assert isinstance(first, Done)
    assert second == CROWDED
    assert runner.stop(LONG)


def test_a_step_takes_in_no_more_than_it_should() -> None:
    door: Mailbox[Driven] = Mailbox()

    async def sizes() -> list[int]:
        batch = SubmitJobs(ADMIN, tuple(job(f"x{i}") for i in range(4)))
        requests: list[Request] = [batch, batch, batch, CANCEL, CANCEL]
        asked = [asyncio.ensure_future(door.ask(each)) for each in requests]
        await asyncio.sleep(0)
        taken = [len(door.take(most)) for most in (8, 1, 2, 8)]
        for each in asked:
            each.cancel()
        return taken

    assert asyncio.run(sizes()) == [2, 1, 2, 0]


def test_a_journal_that_another_took_ends_the_thread_with_its_sentence() -> None:
    stage = Stage()
    store = failing(stage)
    ended = threading.Event()
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, clock=lambda: stage.now, ended=ended.set)
    runner.start()
    store.failure = TakenJournalError("another service writes it")
    reply = asked(door, SubmitJobs(ADMIN, (job("x"),)))
    assert isinstance(reply, Refused)
    assert (reply.wrong, reply.unknown) == (Wrong.UNAVAILABLE, True)
    assert ended.wait(LONG)
    assert runner.stop(LONG)
    assert runner.failure is store.failure
    assert stage.world.started == 0


def mistaken(entries: Sequence[Entry]) -> None:
    """A listener that makes a mistake when a job comes."""
    if any(entry.kind == "job_submitted" for entry in entries):
        raise ZeroDivisionError


def test_a_mistake_in_the_loop_stops_it_and_loses_nothing() -> None:
    stage = Stage()
    failing(stage)
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, clock=lambda: stage.now)
    runner.start()
    assert isinstance(asked(door, SubmitJobs(ADMIN, (job("x"),))), Done)
    stage.service.listeners.append(mistaken)
    reply = asked(door, SubmitJobs(ADMIN, (job("y"),)))
    assert isinstance(reply, Refused)
    assert reply.unknown
    assert runner.stop(LONG)
    assert isinstance(runner.failure, ZeroDivisionError)
    assert isinstance(explain_failure(runner.failure), InternalError)
    stage.restart()
    assert list(stage.service.records.names) == ["x", "y"]


def test_a_start_that_cannot_be_raises() -> None:
    stage = Stage(settings=Settings(tenants=(Tenant("a", parent="b"),)))
    door: Mailbox[Driven] = Mailbox()
    with pytest.raises(InputError):
        Runner(stage.service, door, clock=lambda: stage.now).start()
    assert door.closed


def test_snapshots_are_written_while_the_loop_goes_on() -> None:
    stage = Stage(settings=Settings(snapshot_every=1))
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Failing):
        def keep(self, seq: int, snapshot: bytes) -> None:
            begun.set()
            assert go_on.wait(LONG)
            super().keep(seq, snapshot)

    stage.place.writer = None
    stage.service = Service(Slow(stage.place), FakeEngine(stage.world), stage.settings)
    with running(stage) as (_, door):
        assert begun.wait(LONG)
        assert isinstance(asked(door, SubmitJobs(ADMIN, (job("x"),))), Done)
        assert stage.place.snapshots == {}
        go_on.set()
    assert stage.place.snapshots
    stage.restart()
    assert stage.service.records.job("x") is not None


def test_snapshots_that_take_long_are_written_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second of writing is followed by nineteen without."""
    now, kept = [0.0], list[int]()
    monkeypatch.setattr(running_module, "monotonic", lambda: now[0])

    class Slow(Failing):
        def keep(self, seq: int, snapshot: bytes) -> None:
            super().keep(seq, snapshot)
            now[0] += 1.0
            kept.append(seq)

    stage = Stage(settings=Settings(snapshot_every=1))
    stage.place.writer = None
    stage.service = Service(Slow(stage.place), FakeEngine(stage.world), stage.settings)
    with running(stage) as (runner, door):
        until(lambda: runner._next_snapshot == 20.0)  # noqa: SLF001  what it took is known now
        now[0] = 19.9
        for number in range(3):
            assert isinstance(asked(door, SubmitJobs(ADMIN, (job(f"x{number}"),))), Done)
        assert len(kept) == 1
        now[0] = 20.0
        assert isinstance(asked(door, SubmitJobs(ADMIN, (job("y"),))), Done)
        until(lambda: len(kept) == 2)


class Watched(Mailbox[Driven]):
    """A mailbox that says how long the loop wants to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.enough = threading.Event()

    def wait(self, seconds: float, service: Driven | None = None) -> None:
        self.waits.append(seconds)
        if len(self.waits) == 10:
            self.enough.set()
        super().wait(seconds, service)


def test_an_engine_that_does_not_say_when_it_has_news_is_asked_now_and_then() -> None:
    stage, door = Stage(fates={"x": [Fate(None)]}), Watched()
    runner = Runner(stage.service, door, poll=0.005, clock=lambda: stage.now)
    runner.start()
    try:
        assert isinstance(asked(door, SubmitJobs(ADMIN, (job("x"),))), Done)
        assert door.enough.wait(LONG)
    finally:
        assert runner.stop(LONG)
    assert set(door.waits) == {0.005}


def test_an_engine_that_says_when_it_has_news_is_not_asked_before() -> None:
    stage, door = Stage(fates={"x": [Fate(0)]}), Watched()
    over = threading.Event()
    wakes: list[Callable[[], None]] = []

    class Telling(FakeEngine):
        def listen(self, wake: Callable[[], None]) -> None:
            wakes.append(wake)

    stage.place.writer = None
    stage.service = Service(Failing(stage.place), Telling(stage.world), stage.settings)
    stage.service.listeners.append(
        lambda entries: over.set() if entries[-1].kind == "task_finished" else None
    )
    runner = Runner(stage.service, door, poll=0.005, clock=lambda: stage.now)
    runner.start()
    try:
        assert isinstance(asked(door, SubmitJobs(ADMIN, (job("x"),))), Done)
        (wake,) = wakes
        wake()
        assert over.wait(LONG)
    finally:
        assert runner.stop(LONG)
    assert set(door.waits) == {LONGEST}
