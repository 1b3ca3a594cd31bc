"""Lists of machines, tenants, events and marks: filtered, ordered and parted into pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from fairlead.model.machine import Machine
from fairlead.service.api.settings import ApiSettings
from fairlead.service.api.streams.feed import CHUNK
from tests.service.api.stage import Stage, job

MACHINES = [
    Machine("a1", {"cpu": 4}, {"zone": "east", "generation": "5"}),
    Machine("a2", {"cpu": 2}, {"zone": "west", "generation": "12"}),
    Machine("a3;b", {"cpu": 8}, {"zone": "east", "generation": "12"}),
]


def pages(stage: Stage, path: str, rows: str, token: str = "root", limit: int = 1) -> list[Any]:
    """The rows of all pages."""
    found: list[Any] = []
    cursor = ""
    while True:
        tree = stage.get(f"{path}limit={limit}{cursor}", token).tree
        found += tree[rows]
        if tree["next"] is None:
            return found
        cursor = f"&cursor={quote(tree['next'])}"


def names(rows: list[Any]) -> list[str]:
    return [row["name"] for row in rows]


def test_machines_are_chosen_by_state_and_constraint_and_ordered_by_tasks() -> None:
    with Stage(machines=MACHINES) as stage:
        stage.submit("a", "vision", 14)
        stage.step()
        assert stage.ask("POST", "/v1/machines/a1/drain").status == 200
        assert names(pages(stage, "/v1/machines?", "machines")) == ["a1", "a2", "a3;b"]
        assert names(pages(stage, "/v1/machines?state=draining&", "machines")) == ["a1"]
        where = quote("zone = east, generation > 9")
        assert names(pages(stage, f"/v1/machines?where={where}&", "machines")) == ["a3;b"]
        busy = pages(stage, "/v1/machines?order=tasks&", "machines")
        assert [(row["name"], row["tasks"]) for row in busy] == [("a3;b", 8), ("a1", 4), ("a2", 2)]
        assert stage.get("/v1/machines?where=%3D").status == 422
        unordered = stage.get("/v1/machines?" + "where=" + quote("zone > 3"))
        assert (unordered.status, "no order" in unordered.messages[0]) == (422, True)
        for cursor in ("a1", "x:a1", "1" * 41 + ":a"):
            wrong = stage.get(f"/v1/machines?order=tasks&cursor={cursor}")
            assert (wrong.status, wrong.kind) == (422, "invalid")


def test_tenants_are_chosen_and_ordered_and_all_of_them_where_no_page_is_asked() -> None:
    with Stage(settings=ApiSettings(threads=False, page=2)) as stage:
        stage.submit("a", "sales")
        stage.submit("own", None)
        every = ["language", "own", "research", "sales", "vision"]
        assert names(stage.get("/v1/tenants").tree["tenants"]) == every
        assert names(pages(stage, "/v1/tenants?", "tenants")) == every
        assert names(pages(stage, "/v1/tenants?parent=research&", "tenants")) == every[::4]
        assert names(pages(stage, "/v1/tenants?prefix=s&", "tenants")) == ["sales"]
        by_jobs = ["own", "sales", "language", "research", "vision"]
        assert names(pages(stage, "/v1/tenants?order=jobs&", "tenants")) == by_jobs
        by_weight = ["vision", "language", "own", "research", "sales"]
        assert names(pages(stage, "/v1/tenants?order=weight&", "tenants")) == by_weight


def test_what_happened_is_read_back_to_its_beginning_by_pages() -> None:
    with Stage(settings=ApiSettings(threads=False, kept_events=50)) as stage:
        for number in range(CHUNK // 4):
            stage.submit(f"j{number}", "vision" if number % 3 else "sales", 1)
            stage.ask("POST", f"/v1/jobs/j{number}/cancel")
            stage.step()
        assert stage.service.records.seq > CHUNK  # more than one look at the journal
        every = pages(stage, "/v1/events/past?", "events", limit=97)
        seqs = [event["seq"] for event in every]
        assert seqs == sorted(set(seqs), reverse=True)
        kinds = [event["kind"] for event in every]
        assert kinds.count("job_submitted") == CHUNK // 4
        assert kinds[-1] == "service_started"
        submitted = pages(
            stage, "/v1/events/past?kind=job_submitted&tenant=research&", "events", limit=10
        )
        assert [event["job"] for event in submitted] == [
            f"j{n}" for n in reversed(range(CHUNK // 4)) if n % 3
        ]
        one = pages(stage, "/v1/events/past?job=j7&", "events")
        assert {event["job"] for event in one} == {"j7"}
        on = pages(stage, "/v1/events/past?machine=m0&", "events", limit=100)
        assert {event["machine"] for event in on} == {"m0"}


def test_the_job_of_a_past_event_is_the_one_that_had_its_name_then() -> None:
    with Stage() as stage:
        stage.submit("same", "vision")
        stage.step()
        stage.ask("POST", "/v1/jobs/same/cancel")
        for _ in range(3):
            stage.step()
        assert stage.ask("DELETE", "/v1/jobs/same").status == 204
        stage.submit("same", "sales")
        path = "/v1/events/past?kind=job_submitted&"
        told = pages(stage, path, "events", "watcher", limit=100)
        assert [(event["tenant"], event["job"]) for event in told] == [
            ("sales", "same"),
            ("vision", "vision/same"),
        ]


def test_marks_tell_what_changed_shares_to_everybody() -> None:
    with Stage() as stage:
        begun = stage.now
        stage.submit("a", "vision", 3)
        stage.step(1)
        stage.ask("POST", "/v1/machines/m0/drain")
        stage.step(1)
        stage.ask("PUT", "/v1/tenants/vision", body={"weight": 5, "parent": "research"})
        stage.ask("POST", "/v1/jobs/a/cancel")
        stage.step(1)
        tree = stage.get("/v1/shares/marks", "sales").tree
        told = [
            (mark["kind"], mark["count"], mark["tenant"], mark["machine"], mark["weight"])
            for mark in tree["marks"]
        ]
        assert told == [
            ("service_started", 1, None, None, None),
            ("machines_joined", 2, None, None, None),
            ("machines_drained", 1, None, "m0", None),
            ("tenant_changed", 1, "vision", None, "5"),
            ("tasks_stopped", 3, "vision", None, None),
        ]
        assert tree["since"] == begun
        of_sales = stage.get(f"/v1/shares/marks?tenant=sales&since={begun + 1}").tree["marks"]
        assert [mark["kind"] for mark in of_sales] == ["machines_drained"]
        assert stage.get(f"/v1/shares/marks?until={begun - 1}").tree["marks"] == []


@pytest.mark.parametrize("token", ["sales", "watcher"])
def test_a_past_event_of_others_tells_no_cause(token: str) -> None:
    with Stage() as stage:
        stage.ask("POST", "/v1/jobs", "vision", {"jobs": [job("mine", "vision", 1)]})
        stage.step()
        stage.ask("POST", "/v1/jobs/mine/cancel")
        for _ in range(3):
            stage.step()
        path = "/v1/events/past?kind=task_stopped"
        assert stage.get(path, "vision").tree["events"][0]["cause"] is not None
        assert stage.get(path, token).tree["events"][0]["cause"] is None


def test_why_tells_who_holds_the_machines_that_could_run_the_job() -> None:
    with Stage(machines=MACHINES) as stage:
        stage.submit("east", "sales", 5, where="zone = east")
        stage.submit("west", "language", 2, where="zone = west")
        stage.step(1)
        stage.submit("more", "vision", 9, where="zone = east")
        stage.submit("own", None, 1, demand={"cpu": 1, "memory": 0}, where="zone = east")
        stage.submit("waits", "vision", 20, where="zone = east", demand={"cpu": 2})
        stage.step(1)
        tree = stage.get("/v1/jobs/waits/why", "vision").tree
        holders = [(one["tenant"], one["tasks"], one["amounts"]) for one in tree["holders"]]
        # Those of language are on machines that it may not use; a1 has four, a3;b eight.
        assert sum(tasks for _, tasks, _ in holders) == 12
        assert {name: tasks for name, tasks, _ in holders}["sales"] == 5
        assert holders == sorted(holders, key=lambda one: (-one[1], one[0]))
        assert {name: amounts for name, _, amounts in holders}["sales"] == {"cpu": "5"}
        assert tree["holders_more"] == 0
        assert "language" not in {name for name, _, _ in holders}


def test_of_a_tenants_jobs_no_others_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    with Stage() as stage:
        for number in range(3):
            stage.submit(f"v{number}", "vision")
            for other in range(4):
                stage.submit(f"s{number}{other}", "sales")
            stage.submit(f"l{number}", "language")
        stage.submit("alone", None)
        monkeypatch.setattr("fairlead.service.api.routes.jobs.SCANNED", 2)
        page = "/v1/jobs?tenant="
        one = stage.get(f"{page}vision").tree
        assert names(one["jobs"]) == ["v0", "v1"]
        assert names(pages(stage, f"{page}vision&", "jobs")) == ["v0", "v1", "v2"]
        below = ["v0", "l0", "v1", "l1", "v2", "l2"]
        assert names(pages(stage, f"{page}research&", "jobs", limit=5)) == below
        assert names(pages(stage, f"{page}research&newest=true&", "jobs")) == below[::-1]
        assert names(pages(stage, f"{page}alone&", "jobs")) == ["alone"]
        assert pages(stage, f"{page}nobody&", "jobs") == []
        assert stage.ask("POST", "/v1/jobs/l2/cancel").status == 200
        stage.step()
        assert stage.ask("DELETE", "/v1/jobs/l2").status == 204
        left = names(pages(stage, f"{page}research&all=true&", "jobs"))
        assert left == below[:-1]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("limit=-1", 'query "limit": "-1" cannot be; write 1 or more'),
        ("limit=x", 'query "limit": "x" cannot be; write a whole number'),
        ("cursor=xx", 'query "cursor": "xx" cannot be; write a whole number'),
        ("all=perhaps", 'query "all": "perhaps" cannot be; write true or false'),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_in_our_own_words(query: str, sentence: str) -> None:
    with Stage() as stage:
        answer = stage.get(f"/v1/jobs?{query}", "root")
        assert answer.status == 422
        (mistake,) = answer.tree["error"]["mistakes"]
        assert mistake["message"] == sentence
