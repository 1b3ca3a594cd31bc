"""What open pages are told: shares and the audit, and then what changed of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from fairlead.engines.interface import Assignment
from fairlead.model.machine import Machine
from fairlead.service.api.streams.updates import APART, LISTS, Updates
from tests.engines.world import Fate, lasting
from tests.service.api.stage import Stage, call, job, stream

Told = tuple[str, dict[str, Any]]


async def follow(
    stage: Stage, token: str = "root", query: str = "?shares=true"
) -> AsyncGenerator[Told, None]:
    """Each event's kind and what it tells."""
    given = {"Authorization": f"Bearer {stage.tokens[token]}"}
    left = ""
    async with aclosing(stream(stage.app, f"/v1/updates{query}", given)) as parts:
        async for part in parts:
            left += part.decode()
            *whole, left = left.split("\n\n")
            for block in whole:
                if not block.startswith(":"):
                    lines = dict(line.split(": ", 1) for line in block.split("\n"))
                    yield lines["event"], json.loads(lines["data"])


def merged(before: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """As a page does it."""
    order = told.pop("order", {})
    now = before | told
    for name, key in LISTS.items():
        rows = {row[key]: row for row in before[name]} | {row[key]: row for row in now[name]}
        now[name] = [rows[each] for each in order.get(name, rows)]
    return now


async def ask(stage: Stage, method: str, path: str, body: object = None) -> Any:
    """An answer to the administrator, while streams go on."""
    headers = {"Authorization": f"Bearer {stage.tokens['root']}"}
    data = b"" if body is None else json.dumps(body).encode()
    if data:
        headers |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
    answer = await call(stage.app, method, path, headers, [data])
    assert answer.status in (200, 201)
    return answer.tree


async def submit(stage: Stage, name: str, tenant: str | None, after: float = APART) -> None:
    """A second later a job comes."""
    stage.now += int(after * 1e6)
    stage.time += after
    await ask(stage, "POST", "/v1/jobs", {"jobs": [job(name, tenant, 3)]})


def test_what_changed_makes_of_what_was_what_is() -> None:
    async def told(stage: Stage) -> None:
        reader = follow(stage)
        kind, page = await anext(reader)
        assert kind == "shares"
        for number in range(5):
            await submit(stage, f"more{number}", "sales" if number % 2 else None)
            kind, changes = await anext(reader)
            assert kind == "changes"
            page = merged(page, changes)
        shares = await ask(stage, "GET", "/v1/shares?own=true")
        audit = await ask(stage, "GET", "/v1/audit")
        assert page["tenants"] == shares["tenants"]
        assert page["jobs"] == shares["jobs"]
        assert page["shortfalls"] == audit["shortfalls"]
        assert page["below_fair"] == audit["below_fair"]
        assert (page["policy"], page["exact"]) == (shares["policy"], shares["exact"])
        await reader.aclose()
        assert len(stage.app.api.updates) == 0

    with Stage(lasting(None)) as stage:
        stage.submit("a", "vision", 20)
        stage.step(1)
        stage.run(told(stage))


def test_it_is_made_once_for_all_who_may_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    async def told(stage: Stage) -> None:
        readers = [follow(stage, token) for token in ("watcher", "watcher", "watcher", "sales")]
        for reader in readers:
            assert (await anext(reader))[0] == "shares"
        assert len(made) == 2
        await submit(stage, "more", "sales")
        for reader in readers:
            assert (await anext(reader))[0] == "changes"
        assert len(made) == 4
        for reader in readers:
            await reader.aclose()

    with Stage() as stage:
        audiences = stage.app.api.updates
        assert isinstance(audiences, Updates)
        original = type(stage.service.watch).frozen  # type: ignore[union-attr]  # there is one

        def frozen(self: Any) -> Any:
            made.append(self)
            return original(self)

        monkeypatch.setattr(type(stage.service.watch), "frozen", frozen)
        stage.run(told(stage))


def test_who_asks_for_no_shares_is_told_that_something_happened() -> None:
    async def told(stage: Stage) -> None:
        reader = follow(stage, "sales", "")
        assert await anext(reader) == ("changed", {"seq": stage.service.records.seq})
        await submit(stage, "more", "vision")
        assert await anext(reader) == ("changed", {"seq": stage.service.records.seq})
        await reader.aclose()

    with Stage() as stage:
        stage.run(told(stage))


def test_an_update_that_begins_late_puts_off_no_other() -> None:
    async def told(stage: Stage) -> None:
        reader = follow(stage)
        await anext(reader)
        # What happens once a second is told once a second, though one look was half a second late.
        for number, after in enumerate((APART, 1.5 * APART, 0.5 * APART, APART)):
            await submit(stage, f"more{number}", None, after)
            async with asyncio.timeout(60):
                assert (await anext(reader))[0] == "changes"
        await reader.aclose()

    with Stage() as stage:
        stage.run(told(stage))


SECRET = "hunter2"


@pytest.mark.parametrize("token", ["vision", "sales", "watcher"])
def test_constraints_of_others_are_in_no_update(token: str) -> None:
    async def told(stage: Stage) -> str:
        reader = follow(stage, token)
        found = json.dumps([await anext(reader)])
        await reader.aclose()
        return found

    def fate(_: Assignment) -> Fate:
        return Fate(None)

    there = [
        Machine("m0", {"cpu": 4, "memory": 8}, {"zone": SECRET}),
        Machine("m1", {"cpu": 4, "memory": 8}),
    ]
    with Stage(fate, machines=there) as stage:
        given = {"jobs": [job("mine", "vision", 2, where=f"zone = {SECRET}")]}
        assert stage.ask("POST", "/v1/jobs", "vision", given).status == 201
        stage.step(1)
        stage.world.leave("m0")
        stage.step(1)
        stage.step(1)  # and its shares are judged anew
        assert (SECRET in stage.run(told(stage))) is (token == "vision")
