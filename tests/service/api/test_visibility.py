"""What a tenant may see of others: secrets in all that can be written, and every route and stream
asked by those whose they are not."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from itertools import count

import pytest
from pydantic import BaseModel

from fairlead.engines.interface import Assignment, Lost
from fairlead.model.machine import Machine
from fairlead.wire.events import ServerEvent
from fairlead.wire.route import STREAM, Route
from fairlead.wire.routes import ROUTES
from fairlead.wire.visibility import LIST
from tests.engines.world import Fate
from tests.service.api.stage import Stage, job, stream
from tests.service.api.test_access import BODIES, IN_PATHS

MINE = ("stays", "fails", "nowhere", "small", "listed", "waits", "partly")
"""The jobs of vision."""

FULL = "vision%2F"
"""Before the names of these in a path: others may have jobs of the same names."""

OTHERS = ("theirs", "no-such")
"""Jobs that are not vision's."""

QUERIES: dict[str, tuple[str, ...]] = {
    "all": ("true",),
    "state": ("failed", "pending", "running"),
    "tenant": ("vision", "research"),
    "prefix": ("", "s"),
    "cursor": ("0", "m0"),
    "limit": ("1000",),
    "lock_out": ("true",),
    "strict": ("true", "false"),
    "stream": ("stdout", "stderr"),
    "attempt": ("1",),
    "offset": ("0", "-100"),
    "follow": ("true",),
    "jobs": ("true",),
    "own": ("true",),
    "priority": ("true",),
    "waiting": ("true",),
    "newest": ("true", "false"),
    "since": ("0",),
    "until": ("9000000000000000",),
    "points": ("1000",),
    "kind": ("job_submitted", "task_failed"),
    "job": ("fails", "waits"),
    "machine": ("m0",),
    "parent": ("research",),
    "order": ("name",),
    "where": ("",),
}
"""A parameter of a route that is not here fails its test."""

WHAT_IFS: tuple[dict[str, list[str]], ...] = (
    {"remove": ["m0"]},
    {"remove": ["m0", "m1"]},
    {"add": ["2 x m0"]},
    {"weight": ["vision=3"]},
    {"set_limit": ["vision:cpu=1"]},
    {"set_limit": ["vision:florins=1"]},
    *(
        {"drop_constraint": [f"{name}{part}"]}
        for name in ("nowhere", "waits")
        for part in ("", ":x")
    ),
    *(
        {"set_demand": [f"{name}:{part}"]}
        for name in ("small", "listed")
        for part in ("cpu=2", "x")
    ),
    {"drop_constraint": ["vision"]},
    {"drop_constraint": ["theirs"], "set_demand": ["theirs:cpu=2"]},
)

CAN_RUNS: tuple[dict[str, object], ...] = (
    {"demand": {"cpu": 1}},
    {"demand": {"cpu": 4}, "tasks": 50},
    {"demand": {"cpu": 300}},
    {"demand": {"cpu": 1}, "where": "zone = x, rack in (a, b)"},
    {"demand": {"cpu": 1}, "where": "zone != x", "spread": True, "duration": "1h"},
    {"demand": {"cpu": 1}, "machines": ["m0", "no-such"]},
    {"demand": {"cpu": 1}, "tenant": "vision"},
)

WORDS = (f"hunter{number:03}x" for number in count())


class Planted:
    """A service of which vision has written a word of its own into every field."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.owners: dict[str, str] = {}  # of each word, in which field it is
        self.admins: dict[str, str] = {}  # of words that vision does not see either
        self.fates: dict[str, Fate] = {}

    def word(self, field: str, *, admins: bool = False) -> str:
        """A new secret."""
        word = next(WORDS)
        (self.admins if admins else self.owners)[word] = field
        return word

    def plant(self) -> None:
        """Jobs of each kind, tokens, users, outputs, errors."""
        stage, word = self.stage, self.word
        user = {"parent": "research", "weight": 2, "user": word("user", admins=True)}
        assert stage.ask("PUT", "/v1/tenants/vision", body=user).status == 200
        token = {"name": word("token's name"), "role": "tenant", "tenant": "vision"}
        made = stage.ask("POST", "/v1/tokens", body=token).tree["token"]
        common = {
            "env": {word("env's name"): word("env")},
            "cwd": f"/{word('cwd')}",
            "prefer": f"{word('prefer key')} = {word('prefer')}",
            "prefer_for": "1s",
            "exclude": [word("exclude")],
        }
        jobs = [
            job("stays", "vision", 1, **common, command=word("command")),
            job("fails", "vision", 2, command=word("command that fails"), **common),
            job(
                "nowhere",
                "vision",
                2,
                where=f"zone = {word('where')}, {word('key')} = east, rack in (a, {word('set')})",
            ),
            job("small", "vision", 2, demand={"cpu": 300}, where=f"zone != {word('small')}"),
            job("listed", "vision", 5, machines=["m0", word("machines")]),
            job("waits", "vision", 50, where=f"zone != {word('where of what waits')}"),
            job("partly", "vision", 5, demand={"memory": 3}, where=f"a notin (b, {word('in')})"),
            job("called", "vision", 1, where=f"rack = {word('where of a call')}"),
        ]
        self.fates["fails"] = Fate(
            1_000_000,
            code=3,
            out=word("output").encode(),
            err=word("error output").encode(),
            message=word("message"),
        )
        key = {"Idempotency-Key": word("key", admins=True)}
        for some in (jobs[:2], jobs[2:]):  # the first ones find room
            given = stage.ask("POST", "/v1/jobs", made, {"jobs": some}, headers=key)
            assert given.status == 201, given.body
            key = {"Idempotency-Key": self.word("key", admins=True)}
            stage.step(2)
        theirs = [job("theirs", "sales", 5)]
        assert stage.ask("POST", "/v1/jobs", body={"jobs": theirs}).status == 201
        for _ in range(4):
            stage.step(2)
        blamed = stage.world.running("m1")[0].attempt
        lost = Lost(blamed, True, word("why a machine is in quarantine"))
        stage.world._end(stage.world.tasks[blamed], lost)  # noqa: SLF001 - as an engine may say it
        for _ in range(3):
            stage.step(2)

    def fate(self, assignment: Assignment) -> Fate:
        """Of `fails` its own."""
        return self.fates.get(assignment.name, Fate(None))


@pytest.fixture(scope="module")
def planted() -> Iterator[Planted]:
    found: list[Planted] = []
    machines = [Machine(f"m{index}", {"cpu": 4, "memory": 8}) for index in range(3)]
    with Stage(lambda each: found[0].fate(each), machines=machines) as stage:  # noqa: PLW0108 - it is not there yet
        found.append(Planted(stage))
        found[0].plant()
        yield found[0]


def asked(
    route: Route, above: str = "", what_ifs: Sequence[object] = WHAT_IFS
) -> Iterator[tuple[str, object]]:
    """Addresses and bodies that a route is asked with: about each job, with each parameter.
    `above`: what stands before the names of vision's jobs, for who sees all."""
    names = (
        (*(f"{way}{name}" for way in dict.fromkeys((above, FULL)) for name in MINE), *OTHERS, "2")
        if "{job}" in route.path
        else ("stays",)
    )
    bodies: tuple[object, ...] = (None,)
    if route.name == "whatif":
        bodies = tuple(what_ifs)
    elif route.name == "can_run":
        bodies = CAN_RUNS
    elif route.name in ("cancel_jobs", "forget_jobs"):
        some = [f"{way}{name}" for way in ("", "vision/") for name in MINE]
        bodies = (*({"jobs": [name]} for name in (*some, *OTHERS)), {"jobs": ["stays", "fails"]})
    elif route.body is not None:
        bodies = (BODIES[route.name],)
    if route.name == "submit":
        bodies = tuple({"jobs": [job(name, whose)]} for name in MINE for whose in ("sales", None))
    queries = ["", *(f"?{name}={value}" for name in route.query for value in QUERIES[name])]
    queries.append("?" + "&".join(f"{name}={QUERIES[name][0]}" for name in route.query))
    for name in names:
        for query in queries:
            for body in bodies:
                # What is followed is to come to an end.
                if "follow" not in query or name == f"{above}fails":
                    yield route.path.format(**IN_PATHS | {"job": name}) + query, body


def answers(stage: Stage, token: str | None, routes: tuple[Route, ...]) -> Iterator[bytes]:
    """All that they answer, the heads too. To those above vision's own, who are shown what is hers,
    her names are those in full, and of what-ifs one."""
    # Others may have jobs of the same names by now, and an admin has to say whose are meant.
    over = token in ("root", "research")
    above, what_ifs = (FULL, WHAT_IFS[:1]) if over else ("", WHAT_IFS)
    for route in routes:
        if route.media == STREAM:
            if token is not None:
                path, last = STREAMS[route.name]
                yield stage.run(_streamed(stage, token, path, last(stage)))
            continue
        for path, body in asked(route, above, what_ifs):
            stage.time += 100  # nobody is slowed down
            answer = stage.ask(route.method, path, token, body)
            yield str(answer.headers).encode()
            yield answer.body


STREAMS: dict[str, tuple[str, Callable[[Stage], bytes]]] = {
    "events": ("/v1/events?since=0", lambda stage: f"id: {stage.service.records.seq}\n".encode()),
    "updates": ("/v1/updates?shares=true", lambda _: b"}\n\n"),
}
"""How a stream is asked for, and what ends what is looked at of it: the last event there is, the
first update, which is of all. A stream that is not here fails its test."""


async def _streamed(stage: Stage, token: str, path: str, last: bytes) -> bytes:
    headers = {"Authorization": f"Bearer {stage.tokens[token]}"}
    found = b""
    async with aclosing(stream(stage.app, path, headers)) as parts:
        async for part in parts:
            found += part
            if last in found:
                break
    return found


READS = tuple(route for route in ROUTES if route.method == "GET" or route.name == "whatif")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
@pytest.mark.parametrize("token", ["sales", "watcher", None])
def test_no_route_tells_a_stranger_what_is_anothers_own(
    planted: Planted, token: str | None, route: Route
) -> None:
    secrets = planted.owners | planted.admins
    for text in answers(planted.stage, token, (route,)):
        told = text.decode("utf-8", "replace")
        assert not [secrets[word] for word in secrets if word in told], (route.name, told[:3000])


def test_what_was_planted_is_there_to_be_seen_by_its_owner_and_the_admins_part_by_admins_alone(
    planted: Planted,
) -> None:
    """Otherwise the crawl would prove nothing."""
    seen = {
        token: b"".join(answers(planted.stage, token, READS)).decode("utf-8", "replace")
        for token in ("vision", "research", "root")
    }
    for word, field in planted.owners.items():
        for token, told in seen.items():
            assert word in told, (token, field)
    for word, field in planted.admins.items():
        assert word not in seen["vision"] + seen["research"], field
        assert (word in seen["root"]) is (field != "key"), field


@pytest.mark.parametrize("token", ["sales", "watcher", "vision"])
def test_how_a_task_ended_is_told_to_its_owner_alone(planted: Planted, token: str) -> None:
    """The code of an exit is what a task says, and no word that a search would find."""
    path, last = STREAMS["events"]
    text = planted.stage.run(_streamed(planted.stage, token, path, last(planted.stage))).decode()
    told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    ends = [each for each in told if each["kind"] == "task_failed" and each["tenant"] == "vision"]
    assert ends
    assert all(({"cause", "code"} <= each.keys()) is (token == "vision") for each in ends)
    assert all(token == "vision" or not {"cause", "code"} & each.keys() for each in ends)


def _models(kind: object) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
        for field in kind.model_fields.values():
            yield from _models(field.annotation)
    for part in typing.get_args(kind):
        yield from _models(part)


def test_every_parameter_of_a_query_has_an_example() -> None:
    asked = [route for route in ROUTES if route.media != STREAM]
    assert {name for route in asked for name in route.query} == {*QUERIES}, (
        "write one into QUERIES, above"
    )


def test_the_list_names_every_field_of_every_answer_and_nothing_else() -> None:
    shapes = {
        (model.__name__, name)
        for route in ROUTES
        if route.answer is not None
        for model in _models(route.answer)
        for name in model.model_fields
    }
    shapes |= {("ServerEvent", name) for name in ServerEvent.model_fields}
    listed = {(model.__name__, name) for model, fields in LIST.items() for name in fields}
    assert shapes == listed, "say who sees each field: LIST in src/fairlead/wire/visibility.py"
