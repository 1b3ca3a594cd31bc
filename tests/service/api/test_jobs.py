"""Jobs through the API: submitted, listed, shown, grown, cancelled, forgotten."""

from __future__ import annotations

from tests.service.api.stage import Stage, job


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
