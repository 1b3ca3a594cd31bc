"""When the journal or the engine fails, the service stops or does not answer: said as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from fairlead.service.api.request_context import OVERTAKEN
from fairlead.service.api.routes.status import UNTOLD
from fairlead.service.api.settings import ApiSettings
from fairlead.service.journal.entry import Entry, JournalError
from fairlead.service.mailbox import MailboxClosedError
from tests.engines.fake import Call, Planted
from tests.service.api.stage import Answer, Stage, call, job, stream

FULL = "the disk is full; make room"


def fill(stage: Stage) -> Callable[[], None]:
    """Nothing can be appended until the returned function is called."""
    store: Any = stage.service.store
    append = store.append

    def refuse(_: Sequence[Entry]) -> None:
        raise JournalError(FULL)

    store.append = refuse

    def mend() -> None:
        store.append = append

    return mend


def submit(stage: Stage, key: str = "k") -> Answer:
    given = {"jobs": [job("a", "vision", 2)]}
    return stage.ask("POST", "/v1/jobs", "vision", given, {"Idempotency-Key": key})


def test_while_nothing_is_durable_nothing_is_taken_and_all_is_still_shown(stage: Stage) -> None:
    stage.submit("before", "vision")
    mend = fill(stage)
    answer = submit(stage)
    assert (answer.status, answer.kind) == (503, "unavailable")
    assert "full" in answer.messages[0]
    assert int(answer.headers["retry-after"]) >= 1
    for token, told in (("watcher", FULL), (None, UNTOLD), ("fl_no.token", UNTOLD)):
        ready = stage.get("/v1/ready", token)
        assert (ready.status, ready.tree["ready"]) == (503, False)
        assert told in ready.tree["why"]
    assert stage.get("/v1/health", None).status == 200
    assert [one["name"] for one in stage.get("/v1/jobs").tree["jobs"]] == ["before"]
    mend()
    stage.step(5)
    assert stage.get("/v1/ready", None).status == 200


def test_reasons_say_that_nothing_new_starts_and_that_newer_jobs_are_not_known(
    stage: Stage,
) -> None:
    stage.submit("before", "vision")
    mend = fill(stage)
    submit(stage)
    said = str(stage.get("/v1/jobs/before/why").tree)
    assert f"nothing new starts now: {FULL}" in said
    unknown = stage.get("/v1/jobs/4711/why")
    assert unknown.status == 404
    assert FULL in unknown.messages[0]
    mend()
    stage.step(5)
    assert "nothing new starts now" not in str(stage.get("/v1/jobs/before/why").tree)
    assert FULL not in stage.get("/v1/jobs/4711/why").messages[0]


def test_a_service_that_has_no_token_yet_says_why(stage: Stage) -> None:
    mend = fill(stage)
    submit(stage)
    tokens = stage.service.records.tokens
    kept = dict(tokens)
    tokens.clear()
    stage.step(60)
    answer = stage.get("/v1/jobs")
    assert (answer.status, answer.kind) == (503, "unavailable")
    (said,) = answer.messages
    assert said == f"no token is good yet: {FULL}; ask again once the administrator's is made"
    tokens.update(kept)
    mend()
    stage.step(60)
    assert stage.get("/v1/jobs").status == 200


def test_who_asks_again_with_the_same_key_has_submitted_once(stage: Stage) -> None:
    mend = fill(stage)
    assert submit(stage).status == 503
    assert submit(stage).status == 503
    mend()
    stage.step(5)
    answer = submit(stage)
    assert answer.status == 201
    listed = stage.get("/v1/jobs").tree["jobs"]
    assert [one["id"] for one in listed] == [answer.tree["jobs"][0]["id"]]


def test_an_engine_that_fails_is_said_and_its_outputs_are_to_be_asked_for_again(
    stage: Stage,
) -> None:
    stage.submit("a", "vision")
    engine: Any = stage.service.engine
    engine.faults = Planted()
    engine.faults.plant(Call.OUTPUT)
    answer = stage.get("/v1/jobs/a/tasks/0/output")
    assert (answer.status, answer.kind) == (503, "unavailable")
    assert stage.get("/v1/jobs/a/tasks/0/output").status == 200


@pytest.mark.parametrize("tokens_known", [True, False])
def test_a_loop_that_has_ended_is_said(stage: Stage, tokens_known: bool) -> None:
    def closed(_: object, **_long: bool) -> Awaitable[Any]:
        async def refuse() -> Any:
            raise MailboxClosedError("the service has stopped")

        return refuse()

    if tokens_known:
        stage.get("/v1/me")
    door: Any = stage.door
    door.read = closed
    for path in ("/v1/jobs", "/v1/ready", "/v1/shares", "/v1/machines"):
        answer = stage.get(path)
        assert answer.status == 503, path
        assert "retry-after" in answer.headers
    assert stage.get("/v1/health").status == 200


@pytest.mark.parametrize("tokens_known", [True, False])
def test_a_loop_that_does_not_answer_is_not_waited_for_without_end(tokens_known: bool) -> None:
    quick = ApiSettings(threads=False, answer_seconds=0.01)
    with Stage(settings=quick) as stage:
        if tokens_known:
            stage.get("/v1/me")

        def silent(_: object, **_long: bool) -> Awaitable[Any]:
            return asyncio.sleep(3600)

        door: Any = stage.door
        door.read = silent
        door.ask = silent
        answer = stage.get("/v1/jobs")
        assert (answer.status, answer.kind) == (503, "unavailable")
        answer = submit(stage)
        assert answer.status == 503
        assert "Idempotency-Key" in answer.messages[0]
        assert stage.get("/v1/ready").status == 503


def test_an_error_of_ours_is_told_without_what_it_was(stage: Stage) -> None:
    def broken(_: object, **_long: bool) -> Awaitable[Any]:
        raise ZeroDivisionError("hunter2")

    stage.get("/v1/me")
    door: Any = stage.door
    door.read = broken
    headers = {"Authorization": f"Bearer {stage.tokens['root']}"}
    answer = stage.run(call(stage.app, "GET", "/v1/jobs", headers, [], quiet=True))
    assert (answer.status, answer.kind) == (500, "internal")
    assert b"hunter2" not in answer.body


def test_a_stream_of_what_a_journal_tells_that_is_away_ends_for_its_reader_to_come_back(
    stage: Stage,
) -> None:
    stage.submit("before", "vision")
    store: Any = stage.service.store

    def away(_after: int = 0) -> None:
        raise JournalError("the database does not answer")

    read, store.read = store.read, away
    cut = stage.get("/v1/events?since=0", "vision")
    assert cut.status == 200
    assert b"data:" not in cut.body  # the head of the stream, and no event
    store.read = read


def test_an_answer_of_one_that_may_have_been_overtaken_says_how_old_it_is(stage: Stage) -> None:
    stage.submit("before", "vision")
    assert "fairlead-age" not in stage.get("/v1/jobs").headers
    stage.app.api.stale = lambda: 7.25
    answer = stage.get("/v1/jobs")
    assert answer.status == 200
    assert answer.headers["fairlead-age"] == "7.250"
    assert "fairlead-leader" not in answer.headers


def test_a_stream_of_one_that_was_overtaken_ends() -> None:
    async def parts_of(stage: Stage, meanwhile: float) -> int:
        found = 0
        given = {"Authorization": f"Bearer {stage.tokens['root']}"}
        async with aclosing(stream(stage.app, "/v1/events?since=0", given)) as parts:
            async for _ in parts:
                found += 1
                stage.app.api.stale = lambda: meanwhile
                if found == 5:
                    break
        return found

    with Stage(settings=ApiSettings(threads=False, heartbeat_seconds=0.01)) as stage:
        assert stage.run(parts_of(stage, OVERTAKEN)) == 5
        assert stage.run(parts_of(stage, OVERTAKEN + 0.1)) < 5
        # Where nobody knows better, one may read what it knows.
        assert stage.run(parts_of(stage, OVERTAKEN + 60)) == 5
