"""What happens, as server-sent events: whole, in order, from wherever a reader comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from fairlead.model.job import Job
from fairlead.service.api.routes import events
from fairlead.service.api.settings import ApiSettings
from fairlead.service.api.visibility import as_seen
from fairlead.service.requests import Caller, SubmitJobs
from fairlead.wire.events import EventKind, ServerEvent
from fairlead.wire.kinds import Role
from tests.engines.world import lasting
from tests.service.api.stage import Stage, stream


@dataclass(frozen=True)
class Told:
    """One event."""

    seq: int
    kind: str
    data: dict[str, Any]


async def follow(
    stage: Stage, token: str = "root", query: str = "", **headers: str
) -> AsyncGenerator[Told | str, None]:
    """The events, and the comments as text."""
    given = {"Authorization": f"Bearer {stage.tokens[token]}"} | headers
    left = ""
    async with aclosing(stream(stage.app, f"/v1/events{query}", given)) as parts:
        async for part in parts:
            left += part.decode()
            *whole, left = left.split("\n\n")
            for block in whole:
                if block.startswith(":"):
                    yield block.partition("\nid:")[0]
                    continue
                lines = dict(line.split(": ", 1) for line in block.split("\n"))
                yield Told(int(lines["id"]), lines["event"], json.loads(lines["data"]))


async def until(events: AsyncGenerator[Told | str, None], last: int) -> list[Told]:
    """The events up to that entry of the journal, or to the end of the stream."""
    found = []
    async for event in events:
        if isinstance(event, Told):
            found.append(event)
            if event.seq >= last or event.kind == "gone":
                break
    await events.aclose()
    return found


def shown(stage: Stage) -> list[tuple[int, str]]:
    """What of the journal everybody may follow."""
    kinds = {kind.value for kind in EventKind}
    entries = stage.service.store.read()
    return [(entry.seq, entry.kind) for entry in entries if entry.kind in kinds]


def busy(stage: Stage) -> int:
    """Much happens; the last entry that is shown."""
    stage.submit("a", "vision", 3)
    stage.submit("b", "sales", 9)
    stage.step()
    stage.ask("POST", "/v1/jobs/a/cancel")
    stage.step()
    stage.step()
    return shown(stage)[-1][0]


def test_the_events_are_the_journals_entries_in_their_order(stage: Stage) -> None:
    last = busy(stage)
    found = stage.run(until(follow(stage, query="?since=0"), last))
    assert [(event.seq, event.kind) for event in found] == shown(stage)


async def first(events: AsyncIterator[Told | str]) -> Told:
    """The next event; comments are passed over."""
    while True:
        event = await anext(events)
        if isinstance(event, Told):
            return event


def test_what_happens_while_one_listens_comes_at_once(stage: Stage) -> None:
    async def listened() -> Told:
        events = follow(stage)
        assert await anext(events) == ": fairlead"
        reader = asyncio.ensure_future(first(events))
        await asyncio.sleep(0.02)
        assert not reader.done()
        job = Job("x", {"cpu": 1}, tasks=1, command="true", tenant="sales")
        await stage.door.ask(SubmitJobs(Caller(), (job,)))
        event = await reader
        await events.aclose()
        return event

    event = stage.run(listened())
    assert (event.kind, event.data["job"], event.data["tenant"]) == ("job_submitted", "x", "sales")


def test_a_reader_that_comes_back_misses_nothing_and_sees_nothing_twice(stage: Stage) -> None:
    last = busy(stage)
    every = shown(stage)
    for place in (1, len(every) // 2, len(every) - 2):
        seen = str(every[place][0])
        found = stage.run(until(follow(stage, **{"Last-Event-ID": seen}), last))
        assert [(event.seq, event.kind) for event in found] == every[place + 1 :]


def test_a_reader_that_comes_back_after_a_restart_reads_on_from_the_journal() -> None:
    small = ApiSettings(threads=False, kept_events=5)
    with Stage(settings=small) as stage:
        last = busy(stage)
        assert len(shown(stage)) > 10
        found = stage.run(until(follow(stage, query="?since=0"), last))
        assert [(event.seq, event.kind) for event in found] == shown(stage)


@pytest.mark.parametrize("before", [1, 3, 1000])
def test_a_reader_who_knows_nothing_begins_so_many_entries_ago(stage: Stage, before: int) -> None:
    last = busy(stage)
    begin = stage.service.records.seq - before
    found = stage.run(until(follow(stage, query=f"?since=-{before}"), last))
    expected = [each for each in shown(stage) if each[0] > begin]
    assert [(event.seq, event.kind) for event in found] == expected


def test_a_reader_from_another_journal_is_told_to_begin_anew(stage: Stage) -> None:
    busy(stage)
    [gone] = stage.run(until(follow(stage, query="?since=999999"), 10**9))
    assert gone.kind == "gone"
    assert gone.data["since"] == stage.service.records.seq


@pytest.mark.parametrize("wrong", ["-1", "x", "1.5", "9" * 30, ""])
def test_a_last_id_that_is_none_is_refused(stage: Stage, wrong: str) -> None:
    answer = stage.get("/v1/events", headers={"Last-Event-ID": wrong})
    assert (answer.status, answer.kind) == (422, "invalid")


def test_a_stream_on_which_nothing_happens_shows_that_it_lives() -> None:
    quick = ApiSettings(threads=False, heartbeat_seconds=0.01)
    with Stage(settings=quick) as stage:

        async def listened() -> list[Told | str]:
            events = follow(stage)
            found = [await anext(events) for _ in range(3)]
            await events.aclose()
            return found

        assert stage.run(listened()) == [": fairlead", ": still here", ": still here"]


def test_how_a_task_ended_is_for_its_owner_alone(stage: Stage) -> None:
    last = busy(stage)
    for token, sees in (("root", "ab"), ("vision", "a"), ("sales", "b"), ("watcher", "")):
        found = stage.run(until(follow(stage, token, "?since=0"), last))
        assert len(found) == len(shown(stage))
        assert {event.data["tenant"] for event in found if event.data.get("job") == "a"} == {
            "vision"
        }
        ends = [event.data for event in found if "cause" in event.data]
        assert all(end["job"] in sees for end in ends), token
        assert bool(ends) is ("a" in sees), token


def test_a_token_has_so_many_streams_and_gets_them_back() -> None:
    few = ApiSettings(threads=False, token_streams=2)
    with Stage(settings=few) as stage:

        async def listened() -> None:
            one, two = follow(stage), follow(stage)
            assert [await anext(each) for each in (one, two)] == [": fairlead"] * 2
            assert [each async for each in follow(stage)] == []  # 429, and no events
            other = follow(stage, "sales")
            assert await anext(other) == ": fairlead"
            await one.aclose()
            three = follow(stage)
            assert await anext(three) == ": fairlead"
            for each in (two, three, other):
                await each.aclose()

        stage.run(listened())
        assert stage.app.api.streams == {}


def test_streams_end_when_the_service_stops(stage: Stage) -> None:
    async def listened() -> list[Told | str]:
        events = follow(stage)
        found = [await anext(events)]
        asyncio.get_running_loop().call_later(0.01, stage.app.api.stop)
        found += [each async for each in events if isinstance(each, Told)]
        return found

    assert stage.run(listened()) == [": fairlead"]


def test_a_stream_says_at_once_from_where_on_it_tells(stage: Stage) -> None:
    """So that who loses it before anything happened misses nothing."""
    stage.submit("before", "vision")

    async def first() -> str:
        given = {"Authorization": f"Bearer {stage.tokens['root']}"}
        async with aclosing(stream(stage.app, "/v1/events", given)) as parts:
            return (await anext(parts)).decode()

    last = stage.service.records.seq
    assert stage.run(first()) == f": fairlead\nid: {last}\n\n"


def test_what_an_audience_is_told_is_made_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = busy(stage)
    made: list[int] = []
    plain = as_seen

    def counted(event: ServerEvent, caller: Caller, *, own: bool) -> ServerEvent:
        made.append(event.seq)
        return plain(event, caller, own=own)

    monkeypatch.setattr(events, "as_seen", counted)

    async def listened() -> None:
        first_of_all = follow(stage, "sales", "?since=0")
        await anext(first_of_all)
        told = [await until(follow(stage, "sales", "?since=0"), last) for _ in range(3)]
        assert told[0] == told[1] == told[2]
        assert len(made) == len(set(made)) == len(shown(stage))
        others = await until(follow(stage, "vision", "?since=0"), last)
        assert others != told[0]  # who sees otherwise is told otherwise
        assert len(made) == 2 * len(shown(stage))
        await first_of_all.aclose()

    stage.run(listened())
    assert stage.app.api.feed.frames((Role.TENANT, "sales")) == {}


def test_who_comes_later_is_told_of_another_tenants_job_as_of_that_ones() -> None:
    """A name is a tenant's, then another's: also where half of it was told to others before."""
    fates = lasting(1)
    with Stage(fates=fates) as stage:

        def lived(tenant: str) -> None:
            assert stage.submit("x", tenant, 1, command="false").status == 201
            for _ in range(4):
                stage.step()
            assert stage.ask("POST", "/v1/forget", body={"jobs": ["x"]}).status == 200

        async def listened() -> list[Told]:
            stays = follow(stage, "vision", "?since=0")
            await anext(stays)
            lived_by_vision = shown(stage)[-1][0]
            await until(follow(stage, "vision", "?since=0"), lived_by_vision)
            await asyncio.to_thread(lived_by_sales)
            found = await until(follow(stage, "vision", "?since=0"), shown(stage)[-1][0])
            await stays.aclose()
            return found

        def lived_by_sales() -> None:
            job = Job("x", {"cpu": 1}, tasks=1, command="false", tenant="sales")
            stage.service.step(stage.now, [SubmitJobs(Caller(), (job,))])
            for _ in range(4):
                stage.step()

        lived("vision")
        found = stage.run(listened())
        tasks = [event for event in found if event.kind == "task_finished"]
        assert [event.data.get("cause") for event in tasks] == ["exited", None]
