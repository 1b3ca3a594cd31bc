"""Who may do what: every route, asked with every kind of token, from the table of routes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import quote

import pytest

from fairlead.dashboard.assets import served_files
from fairlead.engines.interface import Assignment
from fairlead.model.errors import InternalError
from fairlead.model.machine import Machine
from fairlead.service.api import app
from fairlead.service.api.app import HANDLERS
from fairlead.wire.route import STREAM, Access, Route
from fairlead.wire.routes import ROUTES
from fairlead.wire.tokens import REQUEST_HEADER
from tests.engines.world import Fate
from tests.service.api.stage import TOKENS, Answer, Stage, call, job, stream

IN_PATHS = {
    "job": "mine",
    "task": "0",
    "tenant": "sales",
    "machine": "m0",
    "token": "spare",
    "file": "style.css",
    "room": "live",
    "build": served_files().build,
    "module": "main.js",
}
"""What stands in the routes' paths. The job is of the tenant vision."""

BODIES: dict[str, object] = {
    "submit": {"jobs": [job("another", "vision")]},
    "grow_job": {"tasks": 7},
    "cancel_jobs": {"jobs": ["mine"]},
    "forget_jobs": {"jobs": ["mine"]},
    "put_tenant": {"weight": 3},
    "put_tenants": {
        "tenants": [{"name": "sales", "weight": 3}, {"name": "new", "parent": "sales"}]
    },
    "drain_machines": {"machines": ["m0", "m1"]},
    "undrain_machines": {"machines": ["m0", "m1"]},
    "whatif": {"remove": ["m1"]},
    "can_run": {"demand": {"cpu": 1}},
    "make_token": {"name": "fresh", "role": "viewer"},
    "sign_in": {"token": "fl_root_wrong"},
}
"""Of each route with a body one that it takes."""

OWNERS = ("root", "research", "vision")
"""Who may act on what is vision's: its own token, that of the tenant above, and an admin's."""

NO_TOKENS = {
    "none": None,
    "wrong": "fl_root_0000000000000000000000000000000000000000000",
    "half": "fl_root_",
    "strange": "fl_nobody_x",
    "empty": "",
}


def allowed(route: Route, token: str) -> bool:
    """Whether the holder of the token may use the route as it is asked here."""
    match route.access:
        case Access.PUBLIC | Access.SEE:
            return True
        case Access.OWN:
            return token in OWNERS
        case Access.ADMIN:
            return token == "root"


def ask(stage: Stage, route: Route, token: str | None) -> Answer:
    """The route's answer."""
    path = route.path.format(**IN_PATHS)
    body = BODIES[route.name] if route.body is not None else None
    if route.name == "sign_in":
        body = {"token": stage.tokens["root"]}
    return stage.ask(route.method, path, token, body, impatient=route.media == STREAM)


def is_over(route: Route) -> bool:
    """Whether the job is over that the route is asked about: it forgets it."""
    return route.name in ("forget_job", "forget_jobs")


def prepare(stage: Stage, route: Route) -> None:
    """There is a job of vision's, over where the route forgets it, and a token to revoke."""
    assert stage.submit("mine", "vision", 2).status == 201
    spare = {"name": "spare", "role": "viewer"}
    assert stage.ask("POST", "/v1/tokens", body=spare).status == 201
    stage.step()
    if is_over(route):
        assert stage.ask("POST", "/v1/jobs/mine/cancel").status == 200
        for _ in range(3):
            stage.step()


def test_every_route_has_its_handler() -> None:
    assert sorted(HANDLERS) == sorted(route.name for route in ROUTES), (
        "a public function in src/fairlead/service/api/routes has the name of each row of ROUTES"
    )


def test_a_route_without_a_handler_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "HANDLERS", {})
    with pytest.raises(InternalError, match="no handler: write an async function why in a file"):
        app._handler(next(route for route in ROUTES if route.name == "why"))  # noqa: SLF001  made of all of them, once


def test_every_name_in_a_path_has_an_example() -> None:
    names = {name for route in ROUTES for name in re.findall(r"{(\w+)}", route.path)}
    assert names == {*IN_PATHS}, "write one into IN_PATHS, above"


def test_every_body_has_an_example() -> None:
    assert {route.name for route in ROUTES if route.body is not None} == {*BODIES}, (
        "write one into BODIES, above"
    )


@pytest.fixture(scope="module")
def prepared() -> Iterator[Callable[[Route], Stage]]:
    """A service that is prepared for a route, which others that are prepared alike share: for
    tests after which all is as before."""
    stages: dict[bool, Stage] = {}
    with ExitStack() as opened:

        def made(route: Route) -> Stage:
            over = is_over(route)
            if over not in stages:
                stages[over] = opened.enter_context(Stage())
                prepare(stages[over], route)
            stages[over].time += 100  # nobody is slowed down
            return stages[over]

        yield made


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_who_may_not_use_a_route_is_refused_and_nothing_happens(
    prepared: Callable[[Route], Stage], route: Route
) -> None:
    stage = prepared(route)
    before = stage.service.records.seq
    for name, text in NO_TOKENS.items():
        answer = ask(stage, route, text)
        if route.access is Access.PUBLIC:
            assert answer.status < 400, name
        else:
            assert (answer.status, answer.kind) == (401, "unauthenticated"), name
            assert answer.headers["www-authenticate"] == "Bearer"
    for token in stage.tokens:
        if not allowed(route, token):
            answer = ask(stage, route, token)
            assert (answer.status, answer.kind) == (403, "forbidden"), token
    assert stage.service.records.seq == before


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_who_may_use_a_route_is_answered(prepared: Callable[[Route], Stage], route: Route) -> None:
    for token in TOKENS:
        if not allowed(route, token):
            continue
        if route.method == "GET":  # what only reads leaves nothing to the next one
            stage = prepared(route)
            answered(stage, route, token)
            continue
        with Stage() as stage:
            prepare(stage, route)
            answered(stage, route, token)


def answered(stage: Stage, route: Route, token: str) -> None:
    answer = ask(stage, route, token)
    assert answer.status == route.status, (token, answer.body)


CHANGING = tuple(route for route in ROUTES if route.access is Access.OWN and route.method != "GET")
"""What changes jobs: PATCH, DELETE and POST, about one and about several."""

FORMS = (
    *("mine", "vision/mine", "research/vision/mine", "sales/../vision/mine", "./vision/mine"),
    *("sales/mine", "vision/mine/", " vision/mine", "Vision/mine", "1", "#1", "vision/1"),
)
"""Ways to name the job of vision, and some that somebody may think are such."""


def asked_of(stage: Stage, route: Route, token: str, name: str, cookie: str) -> Answer:
    """The answer to what would change the job of this name: by header, or by a session's cookie."""
    body = {
        "submit": {"jobs": [job(name, "vision")]},
        "cancel_jobs": {"jobs": [name]},
        "forget_jobs": {"jobs": [name]},
    }.get(route.name, BODIES[route.name] if route.body is not None else None)
    path = route.path.format(job=quote(name, safe=""))
    if not cookie:
        return stage.ask(route.method, path, token, body)
    page = {"Sec-Fetch-Site": "same-origin", REQUEST_HEADER: "1"}  # as the dashboard asks
    return stage.ask(route.method, path, None, body, {"Cookie": cookie, **page})


@pytest.mark.parametrize("over", [False, True], ids=["running", "over"])
@pytest.mark.parametrize("namesake", [False, True], ids=["one of the name", "two"])
@pytest.mark.parametrize("route", CHANGING, ids=lambda route: route.name)
def test_nobody_changes_anothers_job_by_whatever_name(
    stage: Stage, route: Route, namesake: bool, over: bool
) -> None:
    """The hostile tenant may have a job of the same name: that one alone is meant then."""
    assert stage.submit("mine", "vision", 2).status == 201
    if namesake:
        assert stage.submit("mine", "sales", 2).status == 201
    stage.step()
    if over:
        assert stage.ask("POST", "/v1/cancel", body={"jobs": ["vision/mine"]}).status == 200
        for _ in range(3):
            stage.step()

    def theirs() -> tuple[object, ...]:
        shown = stage.get("/v1/jobs/vision%2Fmine", "vision")
        tasks = stage.get("/v1/jobs/vision%2Fmine/tasks", "vision")
        return shown.status, shown.body, tasks.body

    before = theirs()
    assert before[0] == 200
    for token in ("sales", "watcher"):
        given = {"token": stage.tokens[token]}
        signed = stage.ask("POST", "/v1/session", None, given).headers["set-cookie"]
        for cookie in ("", signed.partition(";")[0]):
            for name in FORMS:
                stage.time += 100  # nobody is slowed down
                answer = asked_of(stage, route, token, name, cookie)
                own = namesake and token == "sales" and name in ("mine", "sales/mine")
                if not own or route.name == "submit":
                    assert answer.status in (403, 404, 422), (token, name, answer)
            assert theirs() == before, (token, cookie)
    # It was there to be changed: who owns it does what they could not.
    if route.name in ("forget_job", "forget_jobs") and not over:
        return
    name = "another" if route.name == "submit" else "vision/mine"
    given = {"token": stage.tokens["vision"]}
    signed = stage.ask("POST", "/v1/session", None, given).headers["set-cookie"]
    answer = asked_of(stage, route, "vision", name, signed.partition(";")[0])
    assert answer.status == (409 if over and route.name == "grow_job" else route.status), answer


SECRET = "hunter2"


def secretive(_: Assignment) -> Fate:
    return Fate(1_000_000, code=3, out=SECRET.encode(), err=SECRET.encode(), message=SECRET)


@pytest.mark.parametrize("token", ["sales", "watcher", "research", "root"])
def test_what_is_anothers_own_is_in_no_answer(token: str) -> None:
    owned = job("mine", "vision", 2, command=SECRET, env={SECRET: SECRET}, cwd=f"/{SECRET}")
    with Stage(secretive) as stage:
        given = {"jobs": [owned | {"where": f"zone != {SECRET}"}]}
        assert stage.ask("POST", "/v1/jobs", "vision", given).status == 201
        for _ in range(4):
            stage.step(2)
        shown = stage.get("/v1/jobs/mine", "vision").tree
        assert shown["state"] == "failed"
        assert SECRET in str(shown)
        events = stage.run(_events(stage, token))
        gets = [route for route in ROUTES if route.method == "GET" and route.media != STREAM]
        bodies = [stage.get(route.path.format(**IN_PATHS), token).body for route in gets]
    assert any(SECRET.encode() in body for body in bodies) is (token in OWNERS)
    assert SECRET.encode() not in events
    assert (b'"code":3' in events) is (token in OWNERS)


async def _events(stage: Stage, token: str) -> bytes:
    """All that has happened so far, as that token sees it."""
    headers = {"Authorization": f"Bearer {stage.tokens[token]}"}
    found = b""
    async for part in stream(stage.app, "/v1/events?since=0", headers):
        found += part
        if b"task_failed" in found:
            break
    assert b"task_failed" in found
    return found


def test_a_tenant_submits_for_itself_and_those_below_only(stage: Stage) -> None:
    for token, tenant, status in [
        ("vision", None, 201),
        ("vision", "vision", 201),
        ("vision", "research", 403),
        ("vision", "language", 403),
        ("vision", "sales", 403),
        ("vision", "nobody", 403),
        ("research", "vision", 201),
        ("research", "research", 201),
        ("sales", "vision", 403),
        ("watcher", None, 403),
    ]:
        before = len(stage.service.records.jobs)
        given = {"jobs": [job(f"{token}-{tenant}", tenant)]}
        answer = stage.ask("POST", "/v1/jobs", token, given)
        assert answer.status == status, (token, tenant)
        assert len(stage.service.records.jobs) == before + (status == 201)
    assert stage.get("/v1/jobs/vision-None").tree["tenant"] == "vision"


def test_one_job_of_anothers_refuses_the_whole_batch(stage: Stage) -> None:
    batch = {"jobs": [job("a", "vision"), job("b", "sales")]}
    assert stage.ask("POST", "/v1/jobs", "vision", batch).status == 403
    assert stage.get("/v1/jobs?all=true").tree["jobs"] == []


def test_a_revoked_token_is_refused_at_once(stage: Stage) -> None:
    assert stage.get("/v1/me", "watcher").status == 200
    assert stage.ask("DELETE", "/v1/tokens/watcher").status == 204
    assert stage.get("/v1/me", "watcher").status == 401
    assert stage.ask("DELETE", "/v1/tokens/root").status == 409
    assert stage.ask("DELETE", "/v1/tokens/root?lock_out=true").status == 204
    assert stage.get("/v1/me").status == 401


@pytest.mark.parametrize("browser", [False, True], ids=["header", "cookie"])
@pytest.mark.parametrize("again", [False, True], ids=["revoked", "made anew for another"])
@pytest.mark.parametrize("path", ["/v1/events", "/v1/jobs/mine/tasks/0/output?follow=true"])
def test_what_goes_on_ends_with_its_token(
    stage: Stage, path: str, again: bool, browser: bool
) -> None:
    assert stage.submit("mine", "vision").status == 201
    stage.step()
    whose = {"name": "spare", "role": "tenant", "tenant": "vision"}
    mine = stage.ask("POST", "/v1/tokens", body=whose).tree["token"]
    root = {"Authorization": f"Bearer {stage.tokens['root']}"}
    shown = {"Authorization": f"Bearer {mine}"}
    if browser:
        begun = stage.ask("POST", "/v1/session", None, {"token": mine})
        shown = {"Cookie": begun.headers["set-cookie"].partition(";")[0], REQUEST_HEADER: "1"}

    async def followed() -> None:
        parts = stream(stage.app, path, shown)
        reading = asyncio.ensure_future(anext(parts))
        while not stage.app.api.streams:
            await asyncio.sleep(0)
        if "events" in path:
            await reading
            reading = asyncio.ensure_future(anext(parts))
        await call(stage.app, "DELETE", "/v1/tokens/spare", root, [])
        if again:
            body = json.dumps(whose | {"tenant": "sales"}).encode()
            kind = {"Content-Type": "application/json", "Content-Length": str(len(body))}
            await call(stage.app, "POST", "/v1/tokens", root | kind, [body])
        with pytest.raises(StopAsyncIteration):
            await reading

    stage.run(followed())
    assert not stage.app.api.streams


def test_a_new_token_is_good_at_once_and_its_secret_is_told_once(stage: Stage) -> None:
    made = stage.ask(
        "POST", "/v1/tokens", body={"name": "v2", "role": "tenant", "tenant": "vision"}
    )
    text = made.tree["token"]
    assert stage.get("/v1/me", text).tree["tenants"] == ["vision"]
    assert stage.get("/v1/me", "research").tree["tenants"] == ["language", "research", "vision"]
    secret = text.rpartition("_")[2].encode()
    assert secret not in stage.get("/v1/tokens").body
    journal = b"".join(bytes(str(entry.body), "utf-8") for entry in stage.service.store.read())
    assert secret not in journal


def test_without_tokens_this_machine_alone_may_ask() -> None:
    with Stage(no_auth=True) as stage:
        assert stage.get("/v1/tokens", None).status == 200
        assert stage.ask("POST", "/v1/jobs", None, {"jobs": [job("any")]}).status == 201
        for origin in ("http://evil.example", "null", "http://localhost:1"):
            headers = {"Origin": origin}
            answer = stage.ask("POST", "/v1/jobs/any/cancel", None, headers=headers)
            assert (answer.status, answer.kind) == (403, "forbidden"), origin
        own = {"Origin": "http://localhost:7370"}
        assert stage.ask("POST", "/v1/jobs/any/cancel", None, headers=own).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7370", "localhost.evil.example", ""]
)
def test_without_tokens_no_other_name_of_the_host_is_answered(host: str) -> None:
    with Stage(no_auth=True) as stage:
        assert stage.get("/v1/jobs", None, headers={"Host": host}).status == 403


@pytest.mark.parametrize(
    "changes",
    [
        {"remove": ["m0"]},
        {"remove": ["m1"]},
        {"add": ["2 x m0"]},
        {"weight": ["vision=3"]},
        {"set_limit": ["vision:cpu=1"]},
        {"set_limit": ["vision:florins=1"]},
    ],
)
def test_a_what_if_tells_nobody_what_anothers_constraint_is(changes: dict[str, list[str]]) -> None:
    with Stage(machines=[Machine(f"m{index}", {"cpu": 4}) for index in range(3)]) as stage:
        given = [
            job("mine", "vision", 5, where=f"zone != {SECRET}", prefer=f"zone = {SECRET}")
            | {"prefer_for": "1s"},
            job("listed", "vision", 5, machines=["m0"]),
            job("other", "sales", 5),
        ]
        assert stage.ask("POST", "/v1/jobs", body={"jobs": given}).status == 201
        stage.step()
        answer = stage.ask("POST", "/v1/whatif", "sales", changes)
        assert answer.status in (200, 422)
        assert SECRET.encode() not in answer.body
        for asked in ("mine", "mine:zone", f"mine:zone != {SECRET}"):
            answer = stage.ask("POST", "/v1/whatif", "sales", {"drop_constraint": [asked]})
            assert answer.status == 403
            assert SECRET.encode() not in answer.body
