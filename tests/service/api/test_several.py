"""Several jobs, machines or tenants in one request: all of it happens, or none."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.engines.interface import Assignment
from fairlead.service.requests import CancelJobs
from tests.engines.world import Fate
from tests.service.api.stage import Stage, job


def some_end(asked: Assignment) -> Fate:
    """Jobs called `slow` are over at once; all others go on until they are stopped."""
    return Fate(1_000_000 if "slow" in str(asked.command) else None)


@pytest.fixture
def busy() -> Any:
    """`slow` is over; `ticker`, `waits` and `other` are not."""
    with Stage(some_end) as stage:
        for name, tenant, tasks in (
            ("slow", "vision", 1),
            ("ticker", "vision", 2),
            ("other", "sales", 1),
            ("waits", "research", 40),
        ):
            given = {"jobs": [job(name, tenant, tasks, command=name)]}
            assert stage.ask("POST", "/v1/jobs", body=given).status == 201
        for _ in range(3):
            stage.step()
        assert states(stage)["slow"] == "finished"
        yield stage


def states(stage: Stage) -> dict[str, str]:
    rows = stage.get("/v1/jobs?all=true").tree["jobs"]
    return {row["name"]: row["state"] for row in rows}


def cancel(stage: Stage, token: str = "root", **body: Any) -> Any:
    return stage.ask("POST", "/v1/cancel", token, body)


def test_a_job_that_is_over_is_told_of_and_stops_no_other(busy: Stage) -> None:
    answer = cancel(busy, jobs=["ticker", "slow", "waits", "ticker"])
    assert answer.status == 200
    assert answer.tree["schema"] == "fairlead.cancelled/1"
    told = [(row["name"], row["state"], row["changed"]) for row in answer.tree["jobs"]]
    assert told == [
        ("ticker", "cancelled", True),
        ("slow", "finished", False),
        ("waits", "cancelled", True),
    ]


def test_it_is_one_step_of_the_loop(busy: Stage) -> None:
    before, steps = len(busy.door.asked), busy.service.records.step
    cancel(busy, jobs=["ticker", "waits", "other"])
    [request] = busy.door.asked[before:]
    assert isinstance(request, CancelJobs)
    assert busy.service.records.step == steps + 1


def test_done_again_it_changes_nothing(busy: Stage) -> None:
    cancel(busy, tenant="research")
    kinds: list[str] = []
    busy.service.listeners.append(lambda entries: kinds.extend(each.kind for each in entries))
    again = cancel(busy, jobs=["ticker", "waits"])
    assert [row["changed"] for row in again.tree["jobs"]] == [False, False]
    assert "job_cancelled" not in kinds
    for _ in range(3):
        busy.step()
    assert cancel(busy, tenant="research").tree["jobs"] == []  # all are over


def test_names_that_are_not_known_refuse_all_and_each_is_named(busy: Stage) -> None:
    before = busy.service.records.seq
    answer = cancel(busy, jobs=["ticker", "tikcer", "slow", "nope"])
    assert (answer.status, answer.kind) == (404, "not_found")
    assert answer.messages == [
        'there is no job "tikcer"; it may have been forgotten',
        'there is no job "nope"; it may have been forgotten',
    ]
    assert busy.service.records.seq == before
    assert states(busy)["ticker"] == "running"


def test_a_job_of_another_refuses_all(busy: Stage) -> None:
    answer = cancel(busy, "vision", jobs=["ticker", "other"])
    assert (answer.status, answer.kind) == (403, "forbidden")
    assert states(busy)["ticker"] == "running"


def test_all_of_a_tenant_are_those_below_it_too(busy: Stage) -> None:
    answer = cancel(busy, "research", tenant="research")
    assert [row["name"] for row in answer.tree["jobs"]] == ["ticker", "waits"]
    assert states(busy)["other"] == "running"


@pytest.mark.parametrize(
    ("token", "tenant", "status"),
    [("vision", "research", 403), ("sales", "vision", 403), ("root", "nobody", 404)],
)
def test_whose_jobs_cannot_be_cancelled(busy: Stage, token: str, tenant: str, status: int) -> None:
    assert cancel(busy, token, tenant=tenant).status == status
    assert states(busy)["ticker"] == "running"


@pytest.mark.parametrize("body", [{}, {"jobs": []}, {"jobs": ["ticker"], "tenant": "vision"}])
def test_either_jobs_or_a_tenant_is_named(busy: Stage, body: dict[str, Any]) -> None:
    assert cancel(busy, **body).status == 422


def test_a_job_without_a_tenant_is_its_own(busy: Stage) -> None:
    busy.submit("alone", tasks=3, command="alone")
    assert [row["name"] for row in cancel(busy, tenant="alone").tree["jobs"]] == ["alone"]


def test_jobs_are_forgotten_all_or_none(busy: Stage) -> None:
    refused = busy.ask("POST", "/v1/forget", body={"jobs": ["slow", "ticker", "other"]})
    assert refused.status == 409
    assert len(refused.messages) == 2
    assert "slow" in states(busy)
    cancel(busy, jobs=["ticker", "other"])
    for _ in range(3):
        busy.step()
    done = busy.ask("POST", "/v1/forget", body={"jobs": ["slow", "ticker", "slow"]})
    assert done.tree == {"schema": "fairlead.forgotten/1", "jobs": ["slow", "ticker"]}
    assert set(states(busy)) == {"other", "waits"}


def test_machines_are_drained_all_or_none(busy: Stage) -> None:
    refused = busy.ask("POST", "/v1/drain", body={"machines": ["m0", "m7", "m8"]})
    assert refused.status == 404
    assert len(refused.messages) == 2
    assert not busy.get("/v1/machines/m0").tree["drained"]
    for path, drained in (("drain", True), ("drain", True), ("undrain", False)):
        answer = busy.ask("POST", f"/v1/{path}", body={"machines": ["m1", "m0"]})
        rows = [(row["name"], row["drained"]) for row in answer.tree["machines"]]
        assert rows == [("m1", drained), ("m0", drained)]


def test_tenants_are_made_all_or_none(busy: Stage) -> None:
    before = busy.service.records.seq
    asked = [{"name": "new", "weight": 2}, {"name": "below", "parent": "new"}]
    wrong = {"name": "lost", "parent": "nobody"}
    refused = busy.ask("PUT", "/v1/tenants", body={"tenants": [*asked, wrong]})
    assert refused.status == 422
    assert 'there is no tenant "nobody"' in refused.messages[0]
    assert busy.service.records.seq == before
    done = busy.ask("PUT", "/v1/tenants", body={"tenants": asked})
    assert {"new", "below", "sales"} <= {row["name"] for row in done.tree["tenants"]}
    assert busy.get("/v1/tenants/below").tree["parent"] == "new"
