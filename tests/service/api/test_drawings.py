"""The present is shared and drawn once for all who ask, however many they are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from fairlead.service.api import drawings
from fairlead.service.api.drawings import RESTS, Drawings
from fairlead.service.api.refusal import RefusalError
from fairlead.wire.fairness import LiveAllocation
from tests.engines.world import lasting
from tests.service.api.stage import Stage

TOOK = 10.0

SHORT = 0.01
"""Seconds of patience where what is waited for does not come."""

PATIENCE = 60.0
"""The same where it comes: a machine that is busy is no failure."""

NAMES: Mapping[str, str] = {}


class Drawn:
    """Drawings that take so many seconds of a clock that is moved by hand."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.now, self.last, self.times = 100.0, 1, 0
        self.fails = False
        self.goes_on, self.made = asyncio.Event(), asyncio.Event()
        self.goes_on.set()
        self.drawings = Drawings(lambda: self.last, lambda: self.now, patience)

    async def _draw(self) -> LiveAllocation:
        self.times += 1
        number = self.times
        await asyncio.sleep(0)  # others come meanwhile
        await self.goes_on.wait()
        self.now += TOOK
        if self.fails:
            raise ValueError("it cannot be drawn")
        self.made.set()
        return LiveAllocation(time=number)

    async def go_on(self) -> None:
        """What is being drawn is drawn, and kept."""
        self.made.clear()
        self.goes_on.set()
        await self.made.wait()

    def ask(self, readers: int = 1, names: Mapping[str, str] = NAMES) -> list[int]:
        """Which drawing each of so many readers gets, who ask at once."""

        async def all_of_them() -> list[LiveAllocation]:
            one = [self.drawings.newest(names, self._draw) for _ in range(readers)]
            return await asyncio.gather(*one)

        return [int(found.time) for found in asyncio.run(all_of_them())]


def test_who_asks_while_it_is_drawn_waits_for_the_same() -> None:
    drawn = Drawn()
    assert drawn.ask(readers=50) == [1] * 50


def test_a_drawing_serves_while_nothing_happens_and_for_as_long_as_it_took_several_times() -> None:
    drawn = Drawn()
    drawn.ask()
    drawn.now += 10_000
    assert drawn.ask() == [1]
    drawn.last += 1
    assert drawn.ask(readers=3) == [2, 2, 2]
    drawn.last += 1
    drawn.now += RESTS * TOOK - 1
    assert drawn.ask() == [2]
    drawn.now += 1
    assert drawn.ask() == [3]


def test_who_is_told_other_names_gets_a_drawing_of_his_own() -> None:
    drawn = Drawn()
    assert drawn.ask() == [1]
    assert drawn.ask(names={"a/nightly": "nightly"}) == [2]
    assert drawn.ask() == [1]


def test_what_failed_is_tried_by_the_next_who_asks() -> None:
    drawn = Drawn()
    drawn.fails = True
    with pytest.raises(ValueError, match="cannot be drawn"):
        drawn.ask()
    drawn.fails = False
    assert drawn.ask() == [2]


def test_one_that_takes_too_long_is_not_waited_for_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drawings, "OLDER", SHORT)
    drawn = Drawn(SHORT)

    async def asked() -> int:
        return int((await drawn.drawings.newest(NAMES, drawn._draw)).time)  # noqa: SLF001  its own

    async def all_in_turn() -> None:
        drawn.goes_on.clear()
        for _ in range(3):  # there is none of before
            with pytest.raises(RefusalError, match=r"takes more than 0\.01 seconds"):
                await asked()
        await drawn.go_on()
        assert await asked() == 1
        drawn.goes_on.clear()
        drawn.last += 1
        drawn.now += RESTS * TOOK
        assert [await asked(), await asked()] == [1, 1]  # that of before
        await drawn.go_on()
        assert await asked() == 2
        assert drawn.times == 2

    asyncio.run(all_in_turn())


def test_readers_of_all_roles_get_the_same_answer_and_another_once_something_happened() -> None:
    with Stage(lasting(None)) as stage:
        stage.submit("a", "vision", 20)
        for _ in range(3):
            stage.step(1)
        first = stage.get("/v1/allocation", "vision").tree
        stage.now += 60_000_000
        assert stage.get("/v1/allocation", "watcher").tree == first
        stage.submit("b", "sales", 20)
        stage.step(1)
        after = stage.get("/v1/allocation", "root").tree
        assert after["time"] > first["time"]
        assert {one["name"] for one in after["picture"]["tenants"]} >= {"vision", "sales"}
