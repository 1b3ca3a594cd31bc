"""Reads in the midst of a step: of the records at once, of all else once it is over."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pytest

from fairlead.scheduling.reading.core_copy import freeze
from fairlead.service.journal.entry import Entry
from fairlead.service.journal.memory import MemoryStore
from fairlead.service.loop.commit import SLICE
from fairlead.service.loop.loop import LARGE, Service
from fairlead.service.loop.midway import Before, Midway
from fairlead.service.mailbox import Mailbox, UnsettledError
from fairlead.service.process.runner import Driven, Runner
from fairlead.service.requests import Done, SubmitJobs
from tests.engines.fake import FakeEngine
from tests.engines.world import Fate
from tests.service.loop.stage import ADMIN, SECOND, Stage, job
from tests.service.process.test_runner import LONG


class Slow(MemoryStore):
    """A journal that takes its time."""

    def __init__(self, stage: Stage) -> None:
        stage.place.writer = None
        super().__init__(stage.place)
        self.slow = False
        self.writes, self.may_end = threading.Event(), threading.Event()

    def append(self, entries: Sequence[Entry]) -> None:
        if self.slow:
            self.writes.set()
            assert self.may_end.wait(LONG)
        super().append(entries)


@pytest.fixture
def slow() -> Iterator[tuple[Slow, Mailbox[Driven]]]:
    """The journal of a service that runs, and the service's mailbox."""
    stage = Stage()
    store = Slow(stage)
    stage.service = Service(store, FakeEngine(stage.world, stage.faults), stage.settings)
    door: Mailbox[Driven] = Mailbox()
    runner = Runner(stage.service, door, poll=0.005, clock=lambda: stage.now)
    runner.start()
    yield store, door
    store.may_end.set()
    assert runner.stop(LONG)


def test_records_are_read_while_a_step_is_written_and_all_else_after_it(
    slow: tuple[Slow, Mailbox[Driven]],
) -> None:
    store, door = slow

    async def played() -> None:
        store.slow = True
        asked = asyncio.ensure_future(door.ask(SubmitJobs(ADMIN, (job("x"),))))
        await asyncio.to_thread(store.writes.wait, LONG)
        here = threading.current_thread()

        def jobs(service: Driven) -> tuple[int, bool]:
            return len(service.records.jobs), threading.current_thread() is here

        def present(service: Driven) -> int:
            assert service.core is not None
            return len(service.core.ids.jobs)

        assert await asyncio.wait_for(door.read(jobs), LONG) == (0, True)
        waits = asyncio.ensure_future(door.read(present))
        long = asyncio.ensure_future(door.read(present, long=True))
        await asyncio.sleep(0.05)
        assert not any(each.done() for each in (waits, long, asked))
        store.may_end.set()
        assert await asyncio.wait_for(waits, LONG) == await asyncio.wait_for(long, LONG) == 1
        assert isinstance(await asyncio.wait_for(asked, LONG), Done)

    asyncio.run(played())


@pytest.mark.parametrize("asked", ["poll", "launch", "acknowledge"])
def test_records_are_read_while_the_engine_takes_its_time(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, door = Stage(fates={"x": [Fate(SECOND)]}), Mailbox[Driven]()
    begins, may_end = threading.Event(), threading.Event()
    usual = getattr(stage.service.engine, asked)

    def slow(*said: object) -> object:
        if stage.service.records.jobs:
            begins.set()
            assert may_end.wait(LONG)
        return usual(*said)

    monkeypatch.setattr(stage.service.engine, asked, slow)
    runner = Runner(stage.service, door, poll=0.005, clock=lambda: stage.now)

    def present(service: Driven) -> int:
        assert service.core is not None
        return len(service.core.ids.jobs)

    async def played() -> None:
        submitted = asyncio.ensure_future(door.ask(SubmitJobs(ADMIN, (job("x"),))))
        await asyncio.to_thread(begins.wait, LONG)
        assert await asyncio.wait_for(door.read(lambda it: len(it.records.jobs)), LONG) == 1
        waits = asyncio.ensure_future(door.read(present))
        await asyncio.sleep(0.05)
        assert not waits.done()
        may_end.set()
        assert await asyncio.wait_for(waits, LONG) == 1
        assert isinstance(await asyncio.wait_for(submitted, LONG), Done)

    runner.start()
    try:
        asyncio.run(played())
    finally:
        may_end.set()
        assert runner.stop(LONG)


def test_a_large_step_keeps_nobody_waiting_who_reads_a_copy_of_the_core(
    slow: tuple[Slow, Mailbox[Driven]],
) -> None:
    store, door = slow

    def present(service: Driven) -> int:
        copy = service.frozen()
        assert copy is not None
        return len(copy.core.ids.jobs)

    async def played() -> None:
        assert await door.read(present, long=True) == 0
        store.slow = True
        jobs = tuple(job(f"x{n}") for n in range(LARGE))
        asked = asyncio.ensure_future(door.ask(SubmitJobs(ADMIN, jobs)))
        await asyncio.to_thread(store.writes.wait, LONG)
        for long in (False, True):
            assert await asyncio.wait_for(door.read(present, long=long), LONG) == 0
        assert not asked.done()
        store.may_end.set()
        assert isinstance(await asyncio.wait_for(asked, LONG), Done)
        assert await door.read(present, long=True) == LARGE

    asyncio.run(played())


def test_who_asked_before_a_step_reads_as_soon_as_it_lends() -> None:
    async def played() -> None:
        door: Mailbox[int] = Mailbox()
        early = asyncio.ensure_future(door.read(lambda lent: lent))
        await asyncio.sleep(0)
        assert not early.done()  # the loop was about to begin, and lent nothing yet
        with door.lent(7):
            assert await asyncio.wait_for(early, LONG) == 7

    asyncio.run(played())


class Recorder:
    """Who reads meanwhile, and how many jobs there are then."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self.lent_now = False

    @contextmanager
    def _lent(self) -> Iterator[None]:
        self.lent_now = True
        yield
        self.lent_now = False

    def lent(self, _service: Midway) -> AbstractContextManager[None]:
        return self._lent()

    def pause(self) -> None:
        assert self.lent_now  # no record is changed by now

    def serve(self, service: Midway) -> None:
        assert not self.lent_now  # a record is changed by now
        self.found.append(len(service.records.jobs))


def test_who_waits_reads_between_the_entries_of_a_large_step() -> None:
    stage, readers = Stage(), Recorder()
    stage.step()
    stage.service.serve_meanwhile(readers)
    stage.submit(*(job(f"x{n}") for n in range(5 * SLICE)))
    assert len(readers.found) >= 5
    assert 0 < readers.found[0] <= SLICE
    assert readers.found == sorted(readers.found)


@pytest.mark.parametrize(
    "there",
    [(), ("frozen", "places", "watch", "apart", "scheduler_reason", "following", "trouble")],
)
def test_nothing_but_records_and_copies_is_there_in_the_midst_of_a_step(
    there: tuple[str, ...],
) -> None:
    stage = Stage()
    stage.step()
    assert stage.service.core is not None
    before = Before(freeze(stage.service.core), None, "") if there else None
    midway = Midway(stage.service.records, before)
    for name in dir(stage.service):
        if not name.startswith("_") and name not in ("records", *there):
            with pytest.raises(UnsettledError):
                getattr(midway, name)
    for name in there:
        assert getattr(midway, name) is not stage.service
