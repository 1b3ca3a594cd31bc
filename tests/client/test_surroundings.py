"""Jobs that a task submits with a copy of its own environment."""

from __future__ import annotations

import json

import pytest

from fairlead.client import Client
from fairlead.client.surroundings import without_surrounding
from fairlead.model.job import Job
from tests.client.answering import Answer, answering
from tests.client.test_transport import SUBMITTED

WITHIN = {
    "PATH": "/bin",
    "FAIRLEAD_JOB": "outer",
    "FAIRLEAD_TASK": "3",
    "FAIRLEAD_RUN": "a b",
    "CUDA_VISIBLE_DEVICES": "2",
}


def test_a_whole_copy_is_without_what_names_the_surrounding_task() -> None:
    copied = {**WITHIN, "MORE": "1"}
    assert without_surrounding(copied, WITHIN) == {"PATH": "/bin", "MORE": "1"}
    del copied["PATH"]
    assert without_surrounding(copied, WITHIN) == {"MORE": "1"}


def test_gpus_that_a_copy_names_itself_are_kept_for_the_service_to_refuse() -> None:
    copied = {**WITHIN, "CUDA_VISIBLE_DEVICES": "0"}
    assert without_surrounding(copied, WITHIN) == {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "0"}


@pytest.mark.parametrize(
    ("env", "environ"),
    [
        ({"FAIRLEAD_TASK": "3"}, WITHIN),  # he wants that number in the job, which cannot be
        ({**WITHIN, "FAIRLEAD_TASK": "4"}, WITHIN),
        (WITHIN, {"PATH": "/bin"}),  # of another place
        ({"CUDA_VISIBLE_DEVICES": "2"}, {"CUDA_VISIBLE_DEVICES": "2"}),
    ],
)
def test_what_is_no_copy_is_left_as_it_is(env: dict[str, str], environ: dict[str, str]) -> None:
    assert without_surrounding(env, environ) == env


def test_a_job_and_a_tree_are_submitted_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WITHIN.items():
        monkeypatch.setenv(name, value)
    job = Job("a", {"cpu": 1}, tasks=1, command="true", env=WITHIN)
    tree = {"name": "b", "demand": {"cpu": 1}, "tasks": 1, "command": "true", "env": dict(WITHIN)}
    with answering(lambda _: Answer(201, SUBMITTED)) as (url, asked), Client(url, "t") as client:
        client.submit(job, tree)
        list(client.submit_all([job, tree]))
    sent = [each["env"] for one in asked for each in json.loads(one.body)["jobs"]]
    assert sent == [{"PATH": "/bin"}] * 4
    assert tree["env"] == WITHIN
