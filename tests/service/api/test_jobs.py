"""Jobs through the API: submitted, listed, shown, grown, cancelled, forgotten."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from fairlead.engines.interface import Assignment, Cause
from fairlead.service.api.settings import ApiSettings
from tests.engines.world import Fate, lasting
from tests.service.api.stage import Stage, job


def names(stage: Stage, query: str = "", token: str = "root") -> list[str]:
    """The names of the jobs that are listed, over all pages."""
    found: list[str] = []
    cursor = ""
    while True:
        tree = stage.get(f"/v1/jobs?{query}{cursor}", token).tree
        found += [one["name"] for one in tree["jobs"]]
        if tree["next"] is None:
            return found
        cursor = f"&cursor={tree['next']}"


def test_a_job_that_was_submitted_is_shown_to_its_tenant(stage: Stage) -> None:
    answer = stage.ask("POST", "/v1/jobs", "vision", {"jobs": [job("train", tasks=3)]})
    assert answer.status == 201
    assert answer.tree["schema"] == "fairlead.submitted/1"
    assert answer.tree["jobs"][0]["name"] == "train"
    shown = stage.get("/v1/jobs/train", "vision").tree
    assert shown["tenant"] == "vision"
    assert shown["state"] == "running"
    assert shown["tasks"]["launched"] + shown["tasks"]["running"] == 3
    assert shown["job"]["command"] == "true"
    assert shown["by"] == "vision"


def test_others_see_of_a_job_that_it_is_there_and_how_it_stands(stage: Stage) -> None:
    stage.submit("train", "vision", 3)
    shown = stage.get("/v1/jobs/train", "sales").tree
    assert (shown["tenant"], shown["state"]) == ("vision", "running")
    assert shown["job"] is shown["reason"] is shown["by"] is None


def test_the_list_has_the_form_that_is_promised(stage: Stage) -> None:
    stage.submit("a", "vision", 20)
    tree = stage.get("/v1/jobs").tree
    assert tree["schema"] == "fairlead.jobs/1"
    [one] = tree["jobs"]
    assert one["name"] == "a"
    assert one["tenant"] == "vision"
    assert one["state"] == "running"
    assert sum(one["tasks"].values()) == 20
    assert set(one["tasks"]) == {
        "waiting", "launched", "running", "stopping", "finished", "failed", "dropped",
    }  # fmt: skip


def test_a_file_of_jobs_in_yaml_is_taken_as_it_is(stage: Stage) -> None:
    text = b"""
jobs:
  - {name: a, tenant: vision, demand: {cpu: 500m, memory: 1}, tasks: 2, command: "echo $HOME"}
  - name: b
    demand: {cpu: 0.1}
    tasks: 1
    command: [sleep, "1"]
"""
    given = {"Content-Type": "application/yaml; charset=utf-8"}
    answer = stage.ask("POST", "/v1/jobs", body=text, headers=given)
    assert [one["name"] for one in answer.tree["jobs"]] == ["a", "b"]
    assert stage.get("/v1/jobs/a").tree["job"]["demand"] == {"cpu": "0.5", "memory": "1"}
    assert stage.get("/v1/jobs/b").tree["job"]["command"] == ["sleep", "1"]


def test_every_mistake_of_a_file_is_told_at_once_with_its_place(stage: Stage) -> None:
    text = (
        b"jobs:\n  - {name: a, demand: {cpu: -1}, tasks: x}\n  - {demand: {cpu: 1}, colour: red}\n"
    )
    answer = stage.ask("POST", "/v1/jobs", body=text, headers={"Content-Type": "text/yaml"})
    assert (answer.status, answer.kind) == (422, "invalid")
    places = [(m["file"], m["line"]) for m in answer.tree["error"]["mistakes"]]
    assert places == [("body", 2)] * 3 + [("body", 3)] * 4
    assert stage.get("/v1/jobs?all=true").tree["jobs"] == []


def test_every_mistake_of_a_request_in_json_is_told_at_once(stage: Stage) -> None:
    wrong = [job("a", colour="red"), {"demand": {"cpu": "much"}}, 5, job("b"), job("b")]
    answer = stage.ask("POST", "/v1/jobs", body={"jobs": wrong})
    assert answer.status == 422
    text = "\n".join(answer.messages)
    for part in ("colour", "job 2: it has no name", "5 is not a job", "4 and 5"):
        assert part in text
    assert stage.get("/v1/jobs?all=true").tree["jobs"] == []


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"tasks": None}, "tasks"),
        ({"command": None}, "runs"),
        ({"tasks": 0}, "tasks"),
        ({"name": ".."}, "name"),
        ({"name": "."}, "name"),
        ({"demand": {"cpu": "1e-9"}}, "cpu"),
        ({"demand": {"florins": 1}}, "florins"),
    ],
)
def test_a_job_that_cannot_be_run_live_is_refused(
    stage: Stage, given: dict[str, Any], word: str
) -> None:
    answer = stage.ask("POST", "/v1/jobs", body={"jobs": [job("good"), job("a") | given]})
    assert answer.status == 422
    assert word in answer.messages[0]
    assert stage.get("/v1/jobs?all=true").tree["jobs"] == []


def test_a_name_that_is_taken_is_a_conflict_until_its_job_is_forgotten(stage: Stage) -> None:
    first = stage.submit("a").tree["jobs"][0]["id"]
    again = stage.submit("a")
    assert again.status in (409, 422)
    assert stage.ask("DELETE", "/v1/jobs/a").status == 409
    stage.ask("POST", "/v1/jobs/a/cancel")
    stage.step()
    stage.step()
    assert stage.ask("DELETE", "/v1/jobs/a").status == 204
    assert stage.get("/v1/jobs/a").status == 404
    assert stage.submit("a").tree["jobs"][0]["id"] > first


def test_the_same_key_with_the_same_jobs_is_accepted_once(stage: Stage) -> None:
    given, key = {"jobs": [job("a", "vision"), job("b", "vision")]}, {"Idempotency-Key": "k 1"}
    first = stage.ask("POST", "/v1/jobs", "vision", given, key)
    again = stage.ask("POST", "/v1/jobs", "vision", given, key)
    assert (first.tree["repeated"], again.tree["repeated"]) == (False, True)
    ids = [[one["id"] for one in answer.tree["jobs"]] for answer in (first, again)]
    assert ids[0] == ids[1]
    assert len(names(stage)) == 2


def test_the_same_key_with_other_jobs_is_refused(stage: Stage) -> None:
    key = {"Idempotency-Key": "k"}
    assert stage.ask("POST", "/v1/jobs", "vision", {"jobs": [job("a")]}, key).status == 201
    answer = stage.ask("POST", "/v1/jobs", "vision", {"jobs": [job("b")]}, key)
    assert (answer.status, answer.kind) == (409, "conflict")
    # Another token has keys of its own.
    assert stage.ask("POST", "/v1/jobs", "research", {"jobs": [job("b")]}, key).status == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "ä", "a\tb", "a\x00b"])
def test_a_key_that_is_none_is_refused(stage: Stage, key: str) -> None:
    answer = stage.ask("POST", "/v1/jobs", "vision", {"jobs": [job("a")]}, {"Idempotency-Key": key})
    assert answer.status == 422
    assert names(stage, "all=true") == []


def test_jobs_are_listed_by_state_tenant_and_beginning_in_pages() -> None:
    with Stage(settings=ApiSettings(threads=False, page=3)) as stage:
        for index in range(8):
            stage.submit(f"v{index}", "vision")
        stage.submit("r", "research")
        stage.submit("s", "sales")
        assert names(stage) == [*(f"v{index}" for index in range(8)), "r", "s"]
        assert names(stage, "tenant=vision&limit=2") == [f"v{index}" for index in range(8)]
        assert names(stage, "tenant=research") == [*(f"v{index}" for index in range(8)), "r"]
        assert names(stage, "prefix=s") == ["s"]
        assert names(stage, "waiting=true") == ["r", "s"]
        stage.submit("part", "sales", 9)
        assert names(stage, "waiting=true&tenant=sales") == ["s", "part"]
        stage.ask("POST", "/v1/jobs/part/cancel")
        stage.step()
        for query in ("", "tenant=vision&limit=2", "limit=1", "prefix=s", "prefix=none"):
            assert names(stage, f"newest=true&{query}") == names(stage, query)[::-1]
        # There is room for eight tasks on the machines.
        assert names(stage, "state=pending") == ["r", "s"]
        stage.ask("POST", "/v1/jobs/v0/cancel")
        stage.step()
        stage.step()
        assert "v0" not in names(stage)
        assert names(stage, "state=cancelled") == ["v0", "part"]
        assert "v0" in names(stage, "all=true")


WRONG_QUERIES = """limit=0 limit=-1 limit=x limit=99999999999999999999 limit=1&limit=2 cursor=-1
cursor=x state=odd all=perhaps colour=red"""


@pytest.mark.parametrize("query", [*WRONG_QUERIES.split(), "tenant=" + "x" * 300])
def test_a_query_that_means_nothing_is_refused(stage: Stage, query: str) -> None:
    answer = stage.get(f"/v1/jobs?{query}")
    assert (answer.status, answer.kind) == (422, "invalid")


def test_a_job_grows_and_is_cancelled(stage: Stage) -> None:
    stage.submit("a", "vision", 2)
    assert stage.ask("PATCH", "/v1/jobs/a", "vision", {"tasks": 30}).tree["tasks"]["waiting"] > 0
    assert sum(stage.get("/v1/jobs/a").tree["tasks"].values()) == 30
    assert stage.ask("PATCH", "/v1/jobs/a", "vision", {"tasks": 1}).status == 422
    for _ in range(2):  # the second time changes nothing
        assert stage.ask("POST", "/v1/jobs/a/cancel", "vision").tree["state"] == "cancelled"
    stage.step()
    stage.step()
    shown = stage.get("/v1/jobs/a").tree
    assert shown["tasks"]["dropped"] == 30
    assert shown["ended"] is not None
    assert stage.ask("PATCH", "/v1/jobs/a", "vision", {"tasks": 40}).status == 409


NAMES = ["..%2f", "a b", "ü", "%", "a?b#c", "😀", "..", "a%2Fb", "-", "jobs", "x" * 255]


@pytest.mark.parametrize("name", [name for name in NAMES if name != ".."])
def test_a_name_may_hold_whatever_a_path_may_not(stage: Stage, name: str) -> None:
    assert stage.submit(name).status == 201
    path = f"/v1/jobs/{quote(name, safe='')}"
    assert stage.get(path).tree["name"] == name
    assert stage.get(f"{path}/tasks").tree["job"] == name
    assert stage.ask("POST", f"{path}/cancel").tree["name"] == name


def test_what_is_not_there_is_not_found(stage: Stage) -> None:
    for path in ("/v1/jobs/x", "/v1/tenants/x", "/v1/machines/x", "/v1/jobs/x/tasks", "/v2", "//"):
        answer = stage.get(path)
        assert (answer.status, answer.kind) == (404, "not_found"), path
    assert stage.ask("DELETE", "/v1/tokens/x").status == 404


def test_a_method_that_is_not_possible_is_said_with_those_that_are(stage: Stage) -> None:
    answer = stage.ask("PUT", "/v1/jobs/x")
    assert (answer.status, answer.kind) == (405, "no_method")
    assert "allow" in answer.headers


def test_what_the_client_has_already_is_not_sent_again(stage: Stage) -> None:
    first = stage.get("/v1/tenants")
    tag = {"If-None-Match": f'"x", {first.headers["etag"]}'}
    again = stage.get("/v1/tenants", headers=tag)
    assert (again.status, again.body) == (304, b"")
    stage.ask("PUT", "/v1/tenants/sales", body={"weight": 5})
    assert stage.get("/v1/tenants", headers=tag).status == 200


def failing(assignment: Assignment) -> Fate:
    return Fate(1000, Cause.EXITED, assignment.attempt.task, out=b"0123456789", err=b"oh")


def test_tasks_are_shown_with_their_attempts() -> None:
    with Stage(failing) as stage:
        stage.submit("a", "vision", 3, retries=1)
        for _ in range(6):
            stage.step()
        tree = stage.get("/v1/jobs/a/tasks", "vision").tree
        assert [task["state"] for task in tree["tasks"]] == ["finished", "failed", "failed"]
        assert [len(task["attempts"]) for task in tree["tasks"]] == [1, 2, 2]
        last = tree["tasks"][2]["attempts"][-1]
        assert (last["number"], last["cause"], last["code"]) == (2, "exited", 2)
        failed = stage.get("/v1/jobs/a/tasks?state=failed&limit=1", "vision").tree
        assert [task["task"] for task in failed["tasks"]] == [1]
        rest = stage.get(f"/v1/jobs/a/tasks?state=failed&cursor={failed['next']}", "vision").tree
        assert [task["task"] for task in rest["tasks"]] == [2]


def test_a_part_of_an_output_is_read() -> None:
    with Stage(failing) as stage:
        stage.submit("a", "vision", 1)
        for _ in range(3):
            stage.step()
        path = "/v1/jobs/a/tasks/0/output"
        answer = stage.get(f"{path}?offset=2&limit=3")
        assert (answer.body, answer.headers["fairlead-size"]) == (b"234", "10")
        assert answer.headers["fairlead-over"] == "true"
        assert stage.get(f"{path}?offset=-4").body == b"6789"
        assert stage.get(f"{path}?stream=stderr").body == b"oh"
        assert stage.get(f"{path}?follow=true&offset=5").body == b"56789"
        assert stage.get(f"{path}?attempt=2").status == 404
        assert stage.get("/v1/jobs/a/tasks/1/output").status == 404


def test_an_output_of_a_task_that_waits_is_empty_and_not_over(stage: Stage) -> None:
    stage.submit("a", "vision", 20)
    answer = stage.get("/v1/jobs/a/tasks/19/output")
    assert (answer.body, answer.headers["fairlead-over"]) == (b"", "false")


def test_tenants_are_made_and_changed(stage: Stage) -> None:
    made = stage.ask("PUT", "/v1/tenants/new", body={"parent": "research", "weight": "3/2"})
    assert (made.status, made.tree["weight"], made.tree["parent"]) == (200, "1.5", "research")
    assert "new" in stage.get("/v1/tenants/research").tree["below"]
    for wrong in ({"parent": "nobody"}, {"weight": 0}, {"weight": "x"}, {"colour": 1}):
        assert stage.ask("PUT", "/v1/tenants/other", body=wrong).status in (404, 409, 422)
    assert stage.get("/v1/tenants/other").status == 404


def test_machines_are_listed_with_what_is_free_of_them_and_drained(stage: Stage) -> None:
    stage.submit("a", "vision", 3, demand={"cpu": "1.5", "memory": 1})
    rows = stage.get("/v1/machines", "watcher").tree["machines"]
    assert [row["name"] for row in rows] == ["m0", "m1"]
    assert sorted((row["free"]["cpu"], row["tasks"]) for row in rows) == [("1", 2), ("2.5", 1)]
    assert stage.ask("POST", "/v1/machines/m0/drain").tree["state"] == "draining"
    assert stage.ask("POST", "/v1/machines/m0/drain").tree["drained"] is True
    assert stage.ask("POST", "/v1/machines/m0/undrain").tree["state"] == "up"
    first = stage.get("/v1/machines?limit=1").tree
    assert first["next"] == "m0"
    assert stage.get("/v1/machines?cursor=m0").tree["machines"][0]["name"] == "m1"


def test_shares_reasons_and_the_audit_are_told() -> None:
    with Stage(lasting(None)) as stage:
        stage.submit("a", "vision", 20)
        stage.submit("b", "sales", 20)
        for _ in range(3):
            stage.step(1)
        shares = stage.get("/v1/shares?jobs=true", "watcher").tree
        assert {one["name"] for one in shares["tenants"]} >= {"vision", "sales", "research"}
        assert {one["name"] for one in shares["jobs"]} == {"a", "b"}
        assert shares["exact"] is not None
        why = stage.get("/v1/jobs/a/why", "vision").tree
        assert why["schema"] == "fairlead.why/1"
        assert why["reasons"]
        assert why["sentences"]
        audit = stage.get("/v1/audit", "watcher").tree
        assert audit["schema"] == "fairlead.live-audit/1"
        assert stage.get("/v1/shares/history?tenant=vision").status == 200


def test_what_is_drawn_is_the_fair_shares_of_the_present() -> None:
    with Stage() as stage:
        empty = stage.get("/v1/allocation", "vision").tree
        assert empty["picture"] is None
        assert "no job is present" in empty["problem"]
        stage.submit("a", "vision", 20, duration="5s")
        stage.submit("b", "language", 20)
        for _ in range(3):
            stage.step(1)
        told = stage.get("/v1/shares", "vision").tree["tenants"]
        drawn = stage.get("/v1/allocation", "vision").tree["picture"]
        fair = {one["name"]: one["fair"] for one in told if one["fair"] is not None}
        shares = {one["name"]: one["share"] for one in drawn["tenants"]}
        assert fair == pytest.approx({name: shares[name] for name in fair})
        assert drawn["drawn"] == ["language", "vision"]  # by name, as the page has them
        assert [level["full"][0]["resource"] for level in drawn["levels"]] == ["cpu"]


def test_whether_a_job_could_run_is_what_becomes_of_it() -> None:
    with Stage(lasting(None)) as stage:
        asked = {"demand": {"cpu": 1}, "tasks": 3}
        now = stage.ask("POST", "/v1/can-run", "vision", asked).tree
        assert now["now"] == 3
        assert now["waiting"] == 0
        stage.submit("a", "sales", 20, duration="5s")
        for _ in range(3):
            stage.step(1)
        later = stage.ask("POST", "/v1/can-run", "vision", asked).tree
        assert later["now"] == 0
        assert later["waiting"] == 3
        assert later["expected_start"] > later["time"]
        assert "expected to start in" in later["sentences"][-1]
        assert [one["name"] for one in stage.get("/v1/jobs", "vision").tree["jobs"]] == ["a"]
        submitted = {"jobs": [job("b", "vision", 3)]}
        assert stage.ask("POST", "/v1/jobs", "vision", submitted).status == 201
        stage.step(1)
        why = stage.get("/v1/jobs/b/why", "vision").tree
        assert why["reasons"][0]["sentence"] == later["sentences"][0]


def test_who_cannot_run_is_told_why_and_whose_question_it_is(stage: Stage) -> None:
    never = stage.ask("POST", "/v1/can-run", "vision", {"demand": {"cpu": 500}}).tree
    assert "it can never run" in never["sentences"][0]
    assert never["never"]
    asked = {"demand": {"cpu": 1}, "tenant": "sales"}
    assert stage.ask("POST", "/v1/can-run", "vision", asked).status == 403
    assert stage.ask("POST", "/v1/can-run", "research", asked | {"tenant": "vision"}).status == 200
    empty: dict[str, object] = {}
    for wrong in ({"cpu": -1}, empty, {"cpu": "x"}, {"cpus": 1}):
        answer = stage.ask("POST", "/v1/can-run", "vision", {"demand": wrong})
        assert answer.status == 422, answer.body
        assert b"fairlead-would-be" not in answer.body  # whoever asks has given it no name


def test_constraints_of_others_are_not_drawn(stage: Stage) -> None:
    stage.submit("a", "vision", 2)
    stage.submit("hidden", "sales", 2, where="zone = SECRETWORD")
    answer = stage.get("/v1/allocation", "vision")
    assert answer.tree["picture"] is not None
    assert b"SECRETWORD" not in answer.body


def test_a_what_if_of_another_tenants_job_is_refused(stage: Stage) -> None:
    stage.submit("a", "vision", 20)
    asked = {"set_demand": ["a:cpu=2"]}
    assert stage.ask("POST", "/v1/whatif", "sales", asked).status == 403
    answer = stage.ask("POST", "/v1/whatif", "vision", asked)
    assert answer.status == 200, answer.body
    assert answer.tree["whatif"]["schema"] == "fairlead.whatif/1"


def test_jobs_that_can_never_run_are_warned_of_or_strictly_refused(stage: Stage) -> None:
    body = {"jobs": [job("fine", "vision"), job("huge", "vision", demand={"cpu": 5})]}
    sentence = (
        "it can never run, because 2 machines satisfy its constraint but are too small even when"
        " empty: 2 have too little cpu"
    )
    refused = stage.ask("POST", "/v1/jobs?strict=true", "vision", body)
    assert (refused.status, refused.kind) == (422, "invalid")
    assert refused.messages == [f'job "huge": {sentence}']
    assert names(stage) == []
    taken = stage.ask("POST", "/v1/jobs", "vision", body)
    assert taken.status == 201
    assert taken.tree["warnings"] == [{"job": "huge", "sentence": sentence}]
    assert names(stage) == ["fine", "huge"]
    assert stage.get("/v1/jobs/huge/why").tree["reasons"][0]["sentence"] == sentence
