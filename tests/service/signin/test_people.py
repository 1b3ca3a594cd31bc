"""People who sign in: their names, roles and tenants, and what they may do with them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from fairlead.service.api.settings import ApiSettings
from fairlead.service.process.logs import Level, Logs
from tests.service.api.stage import Stage, job, stream
from tests.service.signin.conftest import staged
from tests.service.signin.issuer import Issuer, rsa


def test_a_person_is_who_the_issuer_says(issuer: Issuer, stage: Stage) -> None:
    me = stage.get("/v1/me", issuer.jwt()).tree
    assert (me["name"], me["role"], me["tenant"], me["tenants"]) == (
        "person:ada",
        "admin",
        None,
        None,
    )
    me = stage.get("/v1/me", issuer.jwt(sub="bo", roles="researchers", tenant="research")).tree
    assert (me["name"], me["role"], me["tenant"]) == ("person:bo", "tenant", "research")
    assert me["tenants"] == ["language", "research", "vision"]
    me = stage.get("/v1/me", issuer.jwt(roles=["guests", "unknown"])).tree
    assert (me["role"], me["tenants"]) == ("viewer", [])


def test_of_several_roles_the_one_with_most_rights_counts(issuer: Issuer, stage: Stage) -> None:
    for said, role in (
        (["guests", "researchers"], "tenant"),
        (["researchers", "admins", "guests"], "admin"),
    ):
        assert stage.get("/v1/me", issuer.jwt(roles=said, tenant="sales")).tree["role"] == role


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"roles": None}, "claim 'roles' gives you a role"),
        ({"roles": []}, "claim 'roles' gives you a role"),
        ({"roles": ["cooks"]}, "claim 'roles' gives you a role"),
        ({"roles": {"admins": True}}, "claim 'roles' gives you a role"),
        ({"roles": [["admins"]]}, "claim 'roles' gives you a role"),
        ({"roles": "researchers"}, "claim 'tenant' does not name one tenant"),
        ({"roles": "researchers", "tenant": 7}, "does not name one tenant"),
        ({"roles": "researchers", "tenant": ""}, "does not name one tenant"),
        ({"roles": "researchers", "tenant": ["sales", "vision"]}, "does not name one tenant"),
        ({"roles": "researchers", "tenant": {"name": "sales"}}, "does not name one tenant"),
        ({"roles": "researchers", "tenant": "cooks"}, "for the tenant 'cooks', and there is none"),
    ],
    ids=str,
)
def test_who_has_no_rights_is_told_why(
    claims: dict[str, Any], why: str, issuer: Issuer, stage: Stage
) -> None:
    answer = stage.get("/v1/me", issuer.jwt(**claims))
    assert (answer.status, answer.kind) == (403, "forbidden")
    assert why in answer.messages[0]


def test_claims_may_lie_deeper_and_be_called_otherwise(issuer: Issuer) -> None:
    names: dict[str, Any] = {"role": "realm.roles", "tenant": "https://lab/team", "name": "email"}
    claims: dict[str, Any] = {
        "roles": None,
        "realm": {"roles": ["researchers"]},
        "https://lab/team": ["vision"],
        "email": "ada@lab",
    }
    with staged(issuer, **names) as stage:
        me = stage.get("/v1/me", issuer.jwt(**claims)).tree
        assert (me["name"], me["tenant"]) == ("person:ada@lab", "vision")
        answer = stage.get("/v1/me", issuer.jwt(**claims, email_verified=False))
        assert (answer.status, "whose address" in answer.messages[0]) == (401, True)


def test_a_tenant_that_is_made_lets_its_people_in(issuer: Issuer, stage: Stage) -> None:
    jwt = issuer.jwt(roles="researchers", tenant="fresh")
    assert stage.get("/v1/jobs", jwt).status == 403
    assert stage.ask("PUT", "/v1/tenants/fresh", body={"weight": 1}).status == 200
    assert stage.get("/v1/jobs", jwt).status == 200


def test_a_person_acts_for_his_tenant_and_no_other(issuer: Issuer, stage: Stage) -> None:
    jwt = issuer.jwt(roles="researchers", tenant="vision")
    mine = stage.ask("POST", "/v1/jobs", jwt, {"jobs": [job("mine")]})
    assert mine.status == 201
    assert stage.get("/v1/jobs/mine", jwt).tree["tenant"] == "vision"
    assert stage.ask("POST", "/v1/jobs", jwt, {"jobs": [job("theirs", "sales")]}).status == 403
    stage.submit("other", "sales")
    assert stage.ask("POST", "/v1/jobs/other/cancel", jwt).status == 403
    assert (
        stage.ask("POST", "/v1/jobs", issuer.jwt(roles="guests"), {"jobs": [job("x")]}).status
        == 403
    )
    assert stage.get("/v1/tokens", jwt).status == 403


def test_the_journal_and_the_log_name_the_person_and_hold_no_jwt(
    issuer: Issuer, stage: Stage
) -> None:
    written = io.StringIO()
    logs = Logs(written, lambda: stage.now, Level.ALL)
    stage.service.listeners.append(logs.write_entries)
    jwt = issuer.jwt(roles="researchers", tenant="vision")
    assert stage.ask("POST", "/v1/jobs", jwt, {"jobs": [job("mine")]}).status == 201
    stage.get("/v1/me", jwt + "x")
    stage.get("/v1/me", issuer.jwt(aud="mail"))
    by = [json.loads(line).get("by") for line in written.getvalue().splitlines()]
    assert "person:ada" in by
    kept = written.getvalue() + repr(list(stage.service.store.read()))
    for part in jwt.split("."):
        assert part not in kept


def test_a_submission_under_a_key_is_the_persons_own(issuer: Issuer, stage: Stage) -> None:
    def submit(jwt: str, name: str) -> Any:
        body = {"jobs": [job(name, "vision")]}
        return stage.ask("POST", "/v1/jobs", jwt, body, {"Idempotency-Key": "k"})

    claims: dict[str, Any] = {"roles": "researchers", "tenant": "vision"}
    first = submit(issuer.jwt(**claims), "one")
    stage.step(60)
    again = submit(issuer.jwt(**claims), "one")  # another JWT of the same person
    assert (first.tree["repeated"], again.tree["repeated"]) == (False, True)
    assert submit(issuer.jwt(sub="bo", **claims), "two").tree["repeated"] is False
    assert submit(issuer.jwt(**claims), "three").status == 409


def test_a_person_and_a_token_of_that_name_are_two(issuer: Issuer, stage: Stage) -> None:
    named = stage.ask("POST", "/v1/tokens", body={"name": "person:ada", "role": "viewer"})
    assert named.status == 422
    assert stage.get("/v1/me", "root").tree["name"] == "root"
    assert stage.get("/v1/me", issuer.jwt(sub="root")).tree["name"] == "person:root"


def test_requests_are_counted_by_person(issuer: Issuer) -> None:
    few = ApiSettings(threads=False, token_rate=0.001, token_burst=3)
    with staged(issuer, few) as stage:
        ada, bo = issuer.jwt(), issuer.jwt(sub="bo")
        assert [stage.get("/v1/me", ada).status for _ in range(4)] == [200, 200, 200, 429]
        assert stage.get("/v1/me", issuer.jwt(jti="another")).status == 429
        assert stage.get("/v1/me", bo).status == 200


def test_tokens_are_good_beside_people(issuer: Issuer, stage: Stage) -> None:
    assert stage.get("/v1/me", issuer.jwt()).status == 200
    for name in stage.tokens:
        assert stage.get("/v1/me", name).tree["name"] == name


def test_all_are_told_where_people_sign_in(issuer: Issuer, stage: Stage) -> None:
    said = stage.get("/v1/signin", None).tree
    assert (said["issuer"], said["audience"], said["client"]) == (
        issuer.url,
        "fairlead",
        "fairlead-cli",
    )
    with Stage() as without:
        assert without.get("/v1/signin", None).tree["issuer"] is None


QUIET = ApiSettings(threads=False, heartbeat_seconds=3600, poll_seconds=0.001)
"""A stream that looks up by itself after an hour."""


def test_a_stream_ends_with_the_sign_in_that_it_began_with(issuer: Issuer) -> None:
    with staged(issuer, QUIET, leeway_seconds=0.0) as stage:
        headers = {"Authorization": f"Bearer {issuer.jwt(exp=issuer.now() + 0.2)}"}

        async def followed() -> list[bytes]:
            events = stream(stage.app, "/v1/events", headers)
            parts = [await anext(events)]
            stage.now += 1_000_000
            return parts + [part async for part in events]

        now = stage.service.records.seq
        assert stage.run(followed())[0] == b": fairlead\nid: %d\n\n" % now


def test_a_stream_ends_when_the_issuer_takes_the_key_back(issuer: Issuer, stage: Stage) -> None:
    stage.submit("a", "vision")
    headers = {"Authorization": f"Bearer {issuer.jwt()}"}

    async def followed() -> list[bytes]:
        events = stream(stage.app, "/v1/events", headers)
        parts = [await anext(events)]
        issuer.keys = [rsa(1)]
        stage.time += 60
        people = stage.app.api.people
        assert people is not None
        await people.keys.refresh()
        stage.app.api.feed.wake_all()
        return parts + [part async for part in events]

    stage.run(followed())
    assert stage.get("/v1/me", headers["Authorization"].split()[1]).status == 401
