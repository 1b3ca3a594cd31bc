"""The API as it describes itself: complete, and checked by what is made of the description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from fairlead.service.api.settings import ApiSettings
from fairlead.wire.routes import ROUTES, STREAM, Access, Route
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


EXAMPLES = 8
"""Requests of each kind for each route, at `--cases 1`."""

CHECKS_LEFT_OUT = {
    "positive_data_acceptance": "a job is refused for what no schema can say (its machines, name)",
    "use_after_free": "needs several requests in a row",
    "ensure_resource_availability": "needs several requests in a row",
    "ignored_auth": "test_access asks every route with every kind of token",
    "object_level_authorization": "test_access asks every route for what is another's",
}
"""Checks of schemathesis that are not made here, each with its reason."""


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
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
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing can be wrong in what has no parameters
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
        assert {one["name"] for one in queries} == set(route.query), route.name
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
