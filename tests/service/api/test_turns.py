"""Turns in the event loop: who asks on a hundred connections is one of those who ask."""

from __future__ import annotations

import asyncio
import selectors
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest

from fairlead.service.api import job_rows
from fairlead.service.api.job_rows import (
    Row,
    encode_cancelled,
    encode_page,
    encode_submitted,
    to_wire,
)
from fairlead.service.api.neighbours import turns
from fairlead.service.api.neighbours.places import Owners
from fairlead.service.api.neighbours.turns import Turns
from fairlead.service.mailbox import Mailbox
from fairlead.service.requests import SubmittedJobs, Warned
from fairlead.wire.jobs import Cancelled, CancelledJob, Jobs, SubmissionWarning, Submitted


def run(what: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(what, 60))


class Skipping(selectors.DefaultSelector):
    """Waits in no time: the clock goes on by as much as nothing comes for."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready, at once."""
        found = super().select(0)
        if not found and timeout is not None:
            self.now += timeout
        return found


class Timeless(asyncio.SelectorEventLoop):
    """An event loop in which whatever computes takes no time, and nobody waits for real."""

    def __init__(self) -> None:
        self._clock = Skipping()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


class Stage:
    """Work of several owners; `order` is whose stretch was when. Each is said to take `seconds`."""

    def __init__(self, seconds: float = 0.0) -> None:
        self._told, self._seconds = 0.0, seconds
        self.order: list[str] = []
        self.turns = Turns(self._watch)

    def _watch(self) -> float:
        self._told += self._seconds
        return self._told

    def work(self, owner: str, stretches: int) -> asyncio.Task[None]:
        async def work() -> None:
            for _ in range(stretches):
                self.order.append(owner)
                await asyncio.sleep(0)

        async def in_turns() -> None:
            await self.turns.by_turns(work(), lambda: owner)

        return asyncio.create_task(in_turns())


def test_one_stretch_of_another_comes_between_and_no_more() -> None:
    async def played() -> None:
        stage = Stage(1e-6)
        loud = [stage.work("loud", 10) for _ in range(50)]
        while len(stage.order) < 20:
            await asyncio.sleep(0)
        begun = len(stage.order)
        await stage.work("quiet", 5)
        between = stage.order[begun:]
        assert between.count("quiet") == 5
        assert between.count("loud") <= 6  # one before each, and one on its way
        await asyncio.gather(*loud)
        assert Counter(stage.order) == {"loud": 500, "quiet": 5}

    run(played())


def test_owners_have_turns_by_time_and_not_by_number() -> None:
    async def played() -> None:
        stage = Stage()
        took = {"long": 0.003, "short": 0.001}
        now, told = ["short"], [0.0]

        def watch() -> float:
            told[0] += took[now[0]] / 2
            return told[0]

        stage.turns = Turns(watch)

        async def work(owner: str) -> None:
            for _ in range(60):
                stage.order.append(owner)
                now[0] = owner
                await asyncio.sleep(0)

        tasks = [
            asyncio.create_task(_awaiting(stage.turns, work(owner), owner))
            for owner in ("long", "short")
            for _ in range(3)
        ]
        while stage.order.count("short") < 60:
            await asyncio.sleep(0)
        assert 12 <= stage.order.count("long") <= 30  # a third, by time
        for task in tasks:
            task.cancel()

    run(played())


def _fail(_: str) -> None:
    raise LookupError("mine")


async def _awaiting(turns: Turns, work: Coroutine[Any, Any, None], owner: str) -> None:
    await turns.by_turns(work, lambda: owner)


def test_who_is_alone_does_not_rest_and_who_has_rivals_rests_as_long_as_he_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def played() -> None:
        loop, stage = asyncio.get_running_loop(), Stage(0.02)
        assert isinstance(loop, Timeless)
        with monkeypatch.context() as patched:
            patched.setattr(turns, "RIVALS", 0.0)  # as if the first were long ago
            await stage.work("loud", 1)
        begun = loop.time()
        await stage.work("loud", 100)
        assert loop.time() == begun  # it did not wait for what was said to be spent
        await stage.work("quiet", 1)
        begun = loop.time()
        await stage.work("loud", 5)
        assert loop.time() - begun == pytest.approx(5 * 0.02)  # after each but the last, which ends
        stage.work("loud", 50)
        begun, before = loop.time(), len(stage.order)
        await stage.work("quiet", 1)
        assert stage.order[before:].count("loud") <= 1  # nobody else waits while it rests

    with asyncio.Runner(loop_factory=Timeless) as runner:
        runner.run(asyncio.wait_for(played(), 60))


def test_what_is_cancelled_while_it_waits_hears_of_it_and_others_go_on() -> None:
    async def played() -> None:
        stage, heard, begun = Stage(), [], asyncio.Event()

        async def sleeper() -> None:
            begun.set()
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                heard.append("cancelled")
                raise

        others = [stage.work("loud", 20) for _ in range(10)]
        task = asyncio.create_task(_awaiting(stage.turns, sleeper(), "quiet"))
        waits = [stage.work("loud", 20) for _ in range(3)]
        while not stage.order:
            await asyncio.sleep(0)
        waits[1].cancel()
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert heard == ["cancelled"]
        await asyncio.gather(*others, waits[0], waits[2])

    run(played())


def test_a_failure_is_the_works_own_and_a_time_limit_within_it_holds() -> None:
    async def played() -> None:
        stage = Stage()

        async def fails() -> None:
            await asyncio.sleep(0)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(1000)
            raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            await _awaiting(stage.turns, fails(), "a")
        await stage.work("b", 3)
        assert stage.order == ["b"] * 3

    run(played())


def test_what_was_left_of_an_event_loop_that_ended_holds_up_nobody_in_the_next() -> None:
    stage = Stage(0.5)
    run(_awaiting(stage.turns, asyncio.sleep(0), "a"))
    for owner in "ab":
        run(_awaiting(stage.turns, asyncio.sleep(0), owner))


def test_an_owner_is_guessed_by_what_was_good_and_by_nothing_else() -> None:
    owners = Owners()
    mine, other = [(b"authorization", b"Bearer a")], [(b"cookie", b"Bearer a")]
    assert owners.guess(mine, "192.0.2.1") == "192.0.2.1"
    owners.learn(mine, "tenant a")
    assert owners.guess(mine, "192.0.2.1") == "tenant a"
    assert owners.guess(other, "192.0.2.1") == "192.0.2.1"
    assert owners.guess([], "192.0.2.1") == "192.0.2.1"
    owners.forget(mine)
    assert owners.guess(mine, "192.0.2.1") == "192.0.2.1"


ROWS = (
    Row(1, 'j "ö"\\</script>\u2028', "t/ü", "running", (1, 2, 3, 4, 5, 6, 7), 2**53 - 1, None),
    Row(2, "b", "b", "cancelled", (0,) * 7, 0, 5, reason="not told", by="nor this", own=True),
)


@pytest.fixture(params=[1, 200])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are written one by one, and together."""
    monkeypatch.setattr(job_rows, "PART", request.param)


def test_others_have_turns_while_many_rows_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_rows, "PART", 1)

    async def played() -> None:
        others: list[int] = []

        async def ask() -> None:
            while True:
                others.append(1)
                await asyncio.sleep(0)

        asking = asyncio.create_task(ask())
        await encode_page(ROWS * 10, None)
        asking.cancel()
        assert len(others) == 2 * 10 - 1  # between each two

    run(played())


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("after", [None, "17"])
def test_a_page_of_jobs_is_written_as_its_model_would_write_it(after: str | None) -> None:
    page = Jobs(jobs=[to_wire(row) for row in ROWS], next=after)
    assert asyncio.run(encode_page(ROWS, after)) == page.model_dump_json().encode()


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("again", [False, True])
def test_what_became_of_a_change_is_written_as_its_model_would_write_it(again: bool) -> None:
    said = (Warned("b", 'no machine has "ü"'),)
    submitted = Submitted(
        jobs=[to_wire(row) for row in ROWS],
        repeated=again,
        warnings=[SubmissionWarning(job=each.job, sentence=each.sentence) for each in said],
        forgotten=["c"],
    )
    accepted = SubmittedJobs((1, 2, 3), ("a", "b", "c"), again=again, warnings=said)
    found = asyncio.run(encode_submitted(ROWS, accepted, ["c"]))
    assert found == submitted.model_dump_json().encode()
    cancelled = Cancelled(
        jobs=[CancelledJob(**to_wire(row).model_dump(), changed=row.id == 2) for row in ROWS]
    )
    assert asyncio.run(encode_cancelled(ROWS, {2})) == cancelled.model_dump_json().encode()


def test_what_is_read_for_a_moment_wakes_nobody_while_the_loop_waits() -> None:
    import threading

    door: Mailbox[str] = Mailbox()
    steps, stop = [], threading.Event()

    def serve() -> None:
        while not stop.is_set():
            door.wait(1000, "service")
            steps.append(1)
            door.serve_reads("service")

    loop = threading.Thread(target=serve)
    loop.start()

    async def played() -> None:
        here, before = threading.current_thread(), -1
        while True:  # until the loop waits
            before = len(steps)
            found = await door.read(lambda service: (service, threading.current_thread()))
            assert found[0] == "service"
            if found[1] is here:
                break
        assert len(steps) == before
        told = await door.read(lambda found: (found, threading.current_thread()), long=True)
        assert told == ("service", loop)
        assert len(steps) > before
        with pytest.raises(LookupError):
            await door.read(_fail)

    try:
        run(played())
    finally:
        stop.set()
        door.wake()
        loop.join()
