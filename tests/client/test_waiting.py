"""Waiting for jobs whose names others take meanwhile."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fairlead.client.client import Client
from fairlead.client.errors import RefusedError
from fairlead.client.waiting import wait_for
from fairlead.wire.kinds import JobState
from tests.client.answering import Answer, Asked, answering

FOLLOWS = {"Fairlead-Age": "1.500"}


def row(number: int, tenant: str, state: str) -> Answer:
    tree = {"name": "x", "id": number, "tenant": tenant, "state": state, "tasks": {}}
    return Answer(body=json.dumps({**tree, "submitted": 1, "schema": "fairlead.job/1"}).encode())


def refusal(status: int, kind: str) -> Answer:
    error = {"kind": kind, "mistakes": [{"message": kind}]}
    return Answer(status, json.dumps({"schema": "fairlead.error/1", "error": error}).encode())


@pytest.mark.parametrize(("tenant", "full"), [("vision", "vision%2Fx"), ("x", "%2Fx")])
@pytest.mark.parametrize("then", [refusal(422, "invalid"), row(8, "sales", "running")])
def test_who_waits_waits_for_the_very_job_that_had_the_name(
    tenant: str, full: str, then: Answer
) -> None:
    looked: list[str] = []

    def answer(asked: Asked) -> Answer:
        looked.append(asked.path.removeprefix("/v1/jobs/"))
        if looked[-1] == full:
            return row(7, tenant, "finished")
        if looked[-1] != "x":
            return refusal(404, "not_found")
        return row(7, tenant, "running") if len(looked) == 1 else then

    with answering(answer) as (url, _), Client(url, "fl_t") as client:
        *_, last = wait_for(client, ["x"], 60)
    assert (last["x"].id, last["x"].state) == (7, JobState.FINISHED)


def test_one_that_follows_may_not_have_heard_of_a_job_yet() -> None:
    looks = [row(7, "vision", "running"), refusal(404, "not_found"), row(7, "vision", "finished")]

    def answer(asked: Asked) -> Answer:
        if asked.path == "/v1/ready":
            return Answer(503, b'{"ready": false, "leads": false}', FOLLOWS)
        if asked.path != "/v1/jobs/x":
            return replace(refusal(404, "not_found"), headers=FOLLOWS)
        if not heard:
            heard.append(asked)
            return replace(refusal(404, "not_found"), headers=FOLLOWS)
        return replace(looks.pop(0), headers=FOLLOWS)

    heard: list[Asked] = []
    with answering(answer) as (url, _), Client(url, "fl_t") as client:
        *_, last = wait_for(client, ["x"], 60)
        assert (last["x"].id, last["x"].state) == (7, JobState.FINISHED)
        assert looks == []
        heard.clear()
        with pytest.raises(RefusedError):
            list(wait_for(client, ["y"], 0.2))
