"""Jobs of one name of several tenants, as each of them and others are told of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.engines.world import Fate
from tests.service.api.stage import Stage, job
from tests.service.api.test_events import Told, follow, shown, until

READERS = {
    "root": ["sales/nightly", "vision/nightly", "/nightly", "weekly"],
    "watcher": ["sales/nightly", "vision/nightly", "/nightly", "weekly"],
    "sales": ["nightly", "vision/nightly", "/nightly", "weekly"],
    "vision": ["sales/nightly", "nightly", "/nightly", "weekly"],
    "research": ["sales/nightly", "vision/nightly", "/nightly", "weekly"],  # above vision
}
"""What each token is told of the names of the jobs below, in their order."""


@pytest.fixture
def several() -> Iterator[Stage]:
    """A cluster that is full, with a job of `weekly` that waits behind others'."""
    with Stage() as stage:
        for tenant in ("sales", "vision", None):
            assert stage.submit("nightly", tenant, 8).status == 201
        stage.submit("weekly", "sales", 8)
        stage.step()
        stage.step(5)
        stage.step(5)
        yield stage


@pytest.mark.parametrize("reader", READERS)
def test_each_is_told_names_by_which_the_api_finds_these_very_jobs(
    several: Stage, reader: str
) -> None:
    rows = several.get("/v1/jobs", reader).tree["jobs"]
    assert [row["name"] for row in rows] == READERS[reader]
    for row in rows:
        found = several.get(f"/v1/jobs/{quote(row['name'], safe='')}", reader).tree
        assert (found["id"], found["name"]) == (row["id"], row["name"])
    named = several.get("/v1/shares?jobs=true", reader).tree["jobs"]
    assert [row["name"] for row in named] == READERS[reader]
    assert [row["tenant"] for row in named] == ["sales", "vision", "/nightly", "sales"]
    found = several.ask("POST", "/v1/whatif", reader, {"add": ["2 x m0"]}).tree
    assert sorted(each["job"] for each in found["whatif"]["jobs"]) == sorted(READERS[reader])


def test_a_name_that_may_be_several_is_refused_with_the_choices(several: Stage) -> None:
    for method, path in (
        ("GET", "/v1/jobs/nightly"),
        ("GET", "/v1/jobs/nightly/tasks"),
        ("GET", "/v1/jobs/nightly/why"),
        ("POST", "/v1/jobs/nightly/cancel"),
    ):
        answer = several.ask(method, path)
        assert (answer.status, answer.kind) == (422, "invalid"), path
        (said,) = answer.messages
        assert said.startswith('3 tenants have a job "nightly"; write which one: ')
        assert said.endswith(": sales/nightly, vision/nightly or /nightly")


def test_a_job_is_told_as_its_tenant_submitted_it(several: Stage) -> None:
    found = several.get("/v1/jobs/nightly", "vision").tree
    assert (found["name"], found["tenant"], found["job"]["name"]) == (
        "nightly",
        "vision",
        "nightly",
    )


def test_a_beginning_is_looked_for_in_names_and_in_what_is_told_of_them(several: Stage) -> None:
    for prefix, found in (("night", 3), ("vision/", 1), ("week", 1), ("sales", 1)):
        rows = several.get(f"/v1/jobs?prefix={quote(prefix, safe='')}").tree["jobs"]
        assert len(rows) == found, prefix


def why(stage: Stage, name: str, reader: str) -> Any:
    return stage.get(f"/v1/jobs/{quote(name, safe='')}/why", reader).tree


def test_sentences_call_jobs_what_their_reader_is_told(several: Stage) -> None:
    for reader, first in (("sales", "vision/nightly"), ("root", "vision/nightly")):
        found = why(several, "weekly", reader)
        (behind,) = [each for each in found["reasons"] if each["kind"] == "behind"]
        assert behind["values"]["first"] == [[first, 0.0], ["/nightly", 0.0]]
        assert behind["sentence"].endswith(f"2 jobs come first: {first} (0), /nightly (0)")
    for reader, name, says in (
        ("root", "vision/nightly", "vision/nightly of vision is pending: 8 tasks, all waiting"),
        ("vision", "vision/nightly", "nightly of vision is pending: 8 tasks, all waiting"),
    ):
        found = why(several, name, reader)
        assert found["sentences"][0] == says
        assert found["job"] == says.split()[0]
        (ends,) = [each for each in found["changes"] if each["kind"] == "ends"]
        assert ends["values"]["tasks"] == {"sales/nightly": 1}
        assert "(1 of sales/nightly)" in ends["sentence"]
    found = why(several, "/nightly", "root")
    assert found["sentences"][0] == "/nightly is pending: 8 tasks, all waiting"


def test_the_audit_calls_jobs_what_its_reader_is_told(several: Stage) -> None:
    for reader, name in (("vision", "nightly"), ("sales", "vision/nightly")):
        rows = several.get("/v1/audit", reader).tree["shortfalls"]
        told = [(row["tenant"], row["job"]) for row in rows]
        assert told == [("/nightly", "/nightly"), ("research", name), ("vision", name)]
        assert f"vision lacks 2 tasks of {name} for " in rows[2]["sentence"]


def test_a_what_if_is_about_the_job_that_the_caller_means(several: Stage) -> None:
    for reader, name, job_ in (
        ("vision", "nightly", "nightly"),
        ("vision", "vision/nightly", "nightly"),
        ("root", "vision/nightly", "vision/nightly"),
    ):
        asked = {"set_demand": [f"{name}:cpu=2"]}
        found = several.ask("POST", "/v1/whatif", reader, asked)
        assert found.status == 200, found.body
        assert job_ in str(found.tree["whatif"]["changes"]), found.tree["whatif"]
    refused = several.ask("POST", "/v1/whatif", "vision", {"set_demand": ["sales/nightly:cpu=2"]})
    assert (refused.status, refused.kind) == (403, "forbidden")
    refused = several.ask("POST", "/v1/whatif", "root", {"set_demand": ["nightly:cpu=2"]})
    assert (refused.status, refused.kind) == (422, "invalid")


def test_what_comes_back_of_a_submission_is_what_finds_the_jobs() -> None:
    with Stage() as stage:
        for token, tenant, name in (
            ("root", "sales", "nightly"),
            ("vision", None, "nightly"),
            ("root", "language", "language/nightly"),
        ):
            body = {"jobs": [job("nightly", tenant)]}
            (row,) = stage.ask("POST", "/v1/jobs", token, body).tree["jobs"]
            assert row["name"] == name


def test_a_job_without_a_tenant_is_of_nobody_who_is_called_as_it_is() -> None:
    with Stage(fates=lambda _: Fate(None)) as stage:
        assert stage.submit("vision", None, 1, command="secret-of-admins").status == 201
        stage.submit("other", "vision", 1)
        assert stage.get("/v1/jobs/vision", "vision").tree["job"] is None
        for path in ("tasks", "why", "tasks/0/output"):
            assert stage.get(f"/v1/jobs/vision/{path}", "vision").status == 403, path
        asked = {"set_demand": ["vision:cpu=2"]}
        assert stage.ask("POST", "/v1/whatif", "vision", asked).status == 403
        found = stage.ask("POST", "/v1/cancel", "vision", {"tenant": "vision"}).tree["jobs"]
        assert [row["name"] for row in found] == ["other"]
        assert stage.get("/v1/jobs/vision").tree["job"]["command"] == "secret-of-admins"


# Events


def of_jobs(stage: Stage, reader: str, since: int = 0) -> list[Told]:
    found = stage.run(until(follow(stage, reader, f"?since={since}"), shown(stage)[-1][0]))
    return [event for event in found if "job" in event.data]


def test_events_are_told_by_the_names_that_their_reader_knows(several: Stage) -> None:
    for reader, names in READERS.items():
        events = of_jobs(several, reader)
        new = [event.data["job"] for event in events if event.kind == "job_submitted"]
        assert new == names
        assert {event.data["job"] for event in events} == set(names)
        of = {event.data["job"]: event.data["tenant"] for event in events}
        assert [of[name] for name in names] == ["sales", "vision", "/nightly", "sales"]


def ends(events: list[Told]) -> list[tuple[str, str | None, int | None]]:
    return [
        (event.data["job"], event.data.get("tenant"), event.data.get("code"))
        for event in events
        if event.kind in ("task_finished", "task_failed")
    ]


def test_who_takes_over_a_name_is_not_told_what_its_last_job_did() -> None:
    with Stage(fates=lambda _: Fate(0, code=77)) as stage:
        stage.submit("x", "sales", retries=0)
        for _ in range(3):
            stage.step()
        forgotten = stage.ask("DELETE", "/v1/jobs/x", "sales")
        assert forgotten.status == 204, forgotten.body
        first = stage.service.records.seq
        stage.submit("x", "vision", retries=0)
        for _ in range(3):
            stage.step()
        submitted = next(
            entry.seq for entry in stage.service.store.read() if entry.kind == "job_submitted"
        )
        # From the beginning: each end is told to whom it belonged.
        assert ends(of_jobs(stage, "vision")) == [("sales/x", "sales", None), ("x", "vision", 77)]
        assert ends(of_jobs(stage, "sales")) == [("x", "sales", 77), ("x", "vision", None)]
        assert ends(of_jobs(stage, "root")) == [
            ("sales/x", "sales", 77),
            ("x", "vision", 77),
        ]
        # From after the submission of the first, nobody knows any more whose it was.
        assert ends(of_jobs(stage, "vision", submitted)) == [
            ("x", None, None),
            ("x", "vision", 77),
        ]
        assert ends(of_jobs(stage, "vision", first)) == [("x", "vision", 77)]
