"""Hints at tasks that are larger than every machine: as written, the job is shared in parts."""

from __future__ import annotations

import pytest

from fairlead.cli.text.size_hints import size_hints
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.allocate import allocate

CLUSTER = Cluster(
    [Machine("m1", {"cpu": 9, "gpu": 2}), Machine("m2", {"cpu": 4, "gpu": 4})], devices=["gpu"]
)
SMALL = Job("small", {"cpu": 1})


def hints_at(job: Job, tasks: str = "divisible") -> list[str]:
    jobs = (job, SMALL)
    return list(size_hints(CLUSTER, jobs, allocate(CLUSTER, jobs, "tsf", tasks)))


@pytest.mark.parametrize("policy", ["tsf", "cdrf", "drfh", "asset", "cmmf(cpu)"])
def test_what_the_hint_says_has_a_share_that_depends_on_no_size(policy: str) -> None:
    (hint,) = hints_at(Job("large", {"cpu": 20}, tasks=6))
    assert hint == (
        "job large: to share it in parts, as papers' examples do, write tasks of 6.66667 cpu"
        " (1/3 of one), 3 times as many"
    )
    found = [
        allocate(CLUSTER, (Job("large", {"cpu": f"{need}"}, tasks=tasks), SMALL), policy).jobs[0]
        for need, tasks in ((5, 24), ("2.5", 48))
    ]
    assert found[0].share == pytest.approx(found[1].share, rel=1e-11)
    assert found[0].share > 0


def test_devices_are_not_cut_into_what_no_task_takes() -> None:
    (hint,) = hints_at(Job("large", {"gpu": 5}))
    assert "write tasks of 1 gpu (1/5 of one)" in hint
    (hint,) = hints_at(Job("large", {"gpu": 8, "cpu": 2}))
    assert "write tasks of 1 cpu and 4 gpu (1/2 of one)" in hint


def test_nothing_is_said_where_smaller_tasks_do_not_help() -> None:
    assert not hints_at(Job("none", {"tpu": 1}))
    assert not hints_at(Job("where", {"cpu": 99}, where="zone = a"))
    assert not hints_at(Job("gang", {"cpu": 9}, gang=3))
    assert not hints_at(Job("fits", {"cpu": 9}))
    assert not hints_at(Job("large", {"cpu": 20}), "whole")


def test_of_many_such_jobs_one_is_told_and_the_others_are_counted() -> None:
    jobs = tuple(Job(f"j{number}", {"cpu": 20}) for number in range(5))
    (hint,) = size_hints(CLUSTER, jobs, allocate(CLUSTER, jobs))
    assert hint.startswith("job j0: ")
    assert hint.endswith("(1/3 of one); so with 4 other jobs")
