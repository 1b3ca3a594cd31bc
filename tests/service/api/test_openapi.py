"""The API as it describes itself: complete, and checked by what is made of the description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from fairlead.service.api.settings import ApiSettings
from fairlead.wire.errors import STATUS
from fairlead.wire.route import STREAM, Access, Route
from fairlead.wire.routes import ROUTES
from tests.conftest import ROOT
from tests.service.api.stage import Stage

FREE = ApiSettings(
    threads=False,
    token_burst=1e9,
    address_burst=1e9,
    heavy_burst=1e9,
    guess_burst=1e9,
)
"""Nobody is slowed down."""

load_all_checks()


@pytest.fixture(scope="module")
def open_stage() -> Iterator[Stage]:
    """A service where one job runs, and any number of requests may come."""
    with Stage(settings=FREE) as made:
        made.submit("a", "vision", 2)
        made.step()
        yield made


@pytest.fixture(scope="module")
def api(open_stage: Stage) -> Any:
    """What is made of what the service says of its API."""
    return schemathesis.openapi.from_asgi("/openapi.json", open_stage.app)


EXAMPLES = 2
"""Requests of each kind for each route, at `--cases 1`."""

CHECKS_LEFT_OUT = {
    "positive_data_acceptance": "a job is refused for what no schema can say (its machines, name)",
    "use_after_free": "needs several requests in a row",
    "ensure_resource_availability": "needs several requests in a row",
    "ignored_auth": "test_access asks every route with every kind of token",
    "object_level_authorization": "test_access asks every route for what is another's",
}
"""Checks of schemathesis that are not made here, each with its reason."""


def asked() -> Iterator[Any]:
    """Each route with what is right and with what is wrong, where anything can be wrong in it: any
    text is good in a path, and without a token there is no header."""
    for route in ROUTES:
        nothing = route.access is Access.PUBLIC and not route.query and route.body is None
        for mode in (GenerationMode.POSITIVE,) if nothing else GenerationMode:
            yield pytest.param(route, mode, id=f"{route.name}-{mode.value}")


@pytest.mark.parametrize(("route", "mode"), [*asked()])
def test_every_route_keeps_what_its_description_promises(
    api: Any, open_stage: Stage, cases: int, route: Route, mode: GenerationMode
) -> None:
    operation = api[route.path][route.method]
    headers = {"Authorization": f"Bearer {open_stage.tokens['root']}"}
    checks = [check for check in CHECKS.get_all() if check.__name__ not in CHECKS_LEFT_OUT]
    if route.name == "submit":  # jobs have a reader of their own: to the description they are trees
        checks = [check for check in checks if check.__name__ != "negative_data_rejection"]
    # A stream of events would go on: the service is said to stop.
    open_stage.app.api.stopping = route.media == STREAM

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES * cases, suppress_health_check=list(HealthCheck))
    def kept(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=checks)

    try:
        kept()
    finally:
        open_stage.app.api.stopping = False


def test_every_route_is_described(open_stage: Stage) -> None:
    tree = open_stage.get("/openapi.json").tree
    described = {
        (method.upper(), path, operation["operationId"])
        for path, methods in tree["paths"].items()
        for method, operation in methods.items()
    }
    assert described == {(route.method, route.path, route.name) for route in ROUTES}
    for route in ROUTES:
        operation = tree["paths"][route.path][route.method.lower()]
        assert ("security" in operation) is (route.access is not Access.PUBLIC)
        queries = [one for one in operation.get("parameters", []) if one["in"] == "query"]
        assert {one["name"] for one in queries} == set(route.query), (
            f"{route.name}: `query` in ROUTES names what its handler takes beside the context"
        )
        assert ("requestBody" in operation) is (route.body is not None)


def test_the_description_is_the_same_every_time(open_stage: Stage) -> None:
    first = open_stage.get("/openapi.json").body
    with Stage() as other:
        assert other.get("/openapi.json").body == first


def test_every_schema_of_the_description_is_one(open_stage: Stage) -> None:
    tree = open_stage.get("/openapi.json").tree
    for schema in tree["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    text = json.dumps(tree)
    for name in set(_refs(tree)):
        assert name in tree["components"]["schemas"], name
    assert "$defs" not in text


def _refs(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            else:
                yield from _refs(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _refs(value)


REFERENCE = ROOT / "docs" / "reference" / "api.md"

WHO = {
    Access.PUBLIC: "everybody",
    Access.SEE: "every token",
    Access.OWN: "owner",
    Access.ADMIN: "admin",
}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of the reference."""
    text = REFERENCE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_reference_has_exactly_the_routes_that_there_are() -> None:
    assert rows("Routes") == [
        [f"`{route.method} {route.path}`", WHO[route.access], route.summary] for route in ROUTES
    ], "docs/reference/api.md has a row for each route, in the order of ROUTES"


def test_the_reference_has_every_kind_of_error() -> None:
    told = [(int(row[0]), row[1].strip("`")) for row in rows("Errors")]
    assert told == [(code, kind.value) for kind, code in STATUS.items()]


def test_the_reference_has_every_limit_with_its_default() -> None:
    told = {row[0].strip("`"): row[1].replace(",", "") for row in rows("Limits")}
    assert told == {
        each.name: str(each.default).lower()
        if isinstance(each.default, bool)
        else f"{each.default:g}"
        if isinstance(each.default, float)
        else str(list(each.default))
        if isinstance(each.default, tuple)
        else str(each.default)
        for each in fields(ApiSettings)
    }


def test_every_schema_has_a_name_and_a_version(open_stage: Stage) -> None:
    schemas = open_stage.get("/openapi.json").tree["components"]["schemas"]
    for route in ROUTES:
        if route.answer is not None and route.name not in ("health", "ready"):
            name = route.answer.__name__
            schema = schemas[name]["properties"].get("schema", {}).get("const", "")
            assert schema.endswith("/1"), f'{name} has no `schema_`, as in "fairlead.jobs/1"'
