"""The client reaches everything that the service offers, and the reference names all of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

import fairlead.client
from fairlead.client import Client, ServiceError
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.wire.kinds import Role
from fairlead.wire.route import Route
from fairlead.wire.routes import ROUTES
from tests.client.answering import Answer, answering
from tests.transcripts import ROOT

PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")

ASKED: dict[str, Callable[[Client], object]] = {
    "allocation": lambda client: client.allocation(),
    "audit": lambda client: client.audit(),
    "can_run": lambda client: client.can_run({"cpu": 1}),
    "cancel_job": lambda client: client.cancel("a"),
    "cancel_jobs": lambda client: client.cancel_jobs("a", "b"),
    "drain_machine": lambda client: client.drain("m"),
    "drain_machines": lambda client: client.drain_machines("m", "n"),
    "events": lambda client: list(client.events()),
    "forget_job": lambda client: client.forget("a"),
    "forget_jobs": lambda client: client.forget_jobs("a", "b"),
    "grow_job": lambda client: client.grow("a", 3),
    "list_events": lambda client: list(client.past_events(job="a")),
    "list_jobs": lambda client: list(client.jobs()),
    "list_machines": lambda client: list(client.machines()),
    "list_tasks": lambda client: list(client.tasks("a")),
    "list_tenants": lambda client: client.tenants(),
    "list_tokens": lambda client: client.tokens(),
    "make_token": lambda client: client.make_token("t", Role.VIEWER),
    "me": lambda client: client.me(),
    "put_tenant": lambda client: client.put_tenant("v", weight=2),
    "put_tenants": lambda client: client.put_tenants({"name": "v", "weight": 2}),
    "read_output": lambda client: client.output("a", 0),
    "ready": lambda client: client.ready(),
    "revoke_token": lambda client: client.revoke_token("t"),
    "shares": lambda client: client.shares(),
    "shares_history": lambda client: client.shares_history(),
    "shares_marks": lambda client: client.shares_marks(since=1, tenant="v"),
    "show_job": lambda client: client.job("a"),
    "show_machine": lambda client: client.machine("m"),
    "show_tenant": lambda client: client.tenant("v"),
    "signin": lambda client: client.signin(),
    "submit": lambda client: client.submit(Job("a", {"cpu": 1})),
    "undrain_machine": lambda client: client.undrain("m"),
    "undrain_machines": lambda client: client.undrain_machines("m", "n"),
    "version": lambda client: client.version(),
    "whatif": lambda client: client.whatif(add=["1 x m"]),
    "why": lambda client: client.why("a"),
}

NOT_FOR_CLIENTS = {"health", "metrics", "openapi"}
NOT_FOR_CLIENTS |= {
    "dashboard",
    "dashboard_build",
    "dashboard_file",
    "dashboard_room",
    "session",
    "sign_in",
    "sign_out",
    "updates",
}
"""What programs other than clients ask for."""


def test_the_client_reaches_every_route() -> None:
    assert {route.name for route in ROUTES} - NOT_FOR_CLIENTS == set(ASKED), (
        "each has a method of src/fairlead/client/client.py, and a line in ASKED that calls it"
    )


@pytest.mark.parametrize("route", [route for route in ROUTES if route.name in ASKED])
def test_a_method_asks_as_its_route_says(route: Route) -> None:
    with (
        answering(lambda _: Answer(body=b"[]")) as (url, asked),
        Client(url, "t") as client,
        suppress(ServiceError),  # the answer is none: what was asked is what counts here
    ):
        ASKED[route.name](client)
    pattern = re.sub(r"\{\w+\}", "[^/]+", route.path)
    assert asked[0].method == route.method
    path, _, query = asked[0].path.partition("?")
    assert re.fullmatch(pattern, path)
    assert {part.partition("=")[0] for part in query.split("&") if part} <= set(route.query)


@pytest.mark.parametrize("name", fairlead.client.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"`{name}\b", PAGE), f"name {name} in docs/reference/python.md"


@pytest.mark.parametrize(
    "name", [name for name, _ in inspect.getmembers(Client, callable) if not name.startswith("_")]
)
def test_every_method_is_in_the_reference(name: str) -> None:
    assert re.search(rf"`{name}\(", PAGE), f"write {name}() into docs/reference/python.md"


@pytest.mark.parametrize(
    ("ask", "good", "said"),
    [
        (lambda client, word: client.jobs(state=word), "failed", "state=failed"),
        (lambda client, word: client.tasks("a", word), "waiting", "state=waiting"),
        (lambda client, word: client.machines(state=word), "up", "state=up"),
        (lambda client, word: client.past_events(kind=word), "launch", "kind=launch"),
    ],
    ids=["jobs", "tasks", "machines", "events"],
)
def test_a_word_is_as_good_as_its_enum_and_a_wrong_one_shows_at_the_call(
    ask: Callable[[Client, str], Iterator[object]], good: str, said: str
) -> None:
    with answering(lambda _: Answer(body=b"[]")) as (url, asked), Client(url, "t") as client:
        with pytest.raises(InputError, match="cannot be 'nosuch'; write one of .*" + good):
            ask(client, "nosuch")
        assert not asked
        with suppress(ServiceError):
            list(ask(client, good))
        assert said in asked[0].path


def test_a_role_is_a_word_too() -> None:
    with answering(lambda _: Answer(body=b"[]")) as (url, asked), Client(url, "t") as client:
        with pytest.raises(InputError, match="role cannot be 'boss'; write one of admin"):
            client.make_token("t", "boss")
        with suppress(ServiceError):
            client.make_token("t", "viewer")
        assert len(asked) == 1
