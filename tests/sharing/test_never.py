"""Jobs that can never run: whatever asks for shares counts them as no demand, and says why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

import pytest

import fairlead
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Tasks
from fairlead.model.tenant import Tenant
from fairlead.sharing.rules.registry import MECHANISMS
from fairlead.sharing.rules.whole_names import whole_names
from tests.reference.instances import Instance, instance
from tests.reference.scales import can_never_run

CLUSTER = Cluster(
    [Machine("m1", {"cpu": 8, "gpu": 4}), Machine("m2", {"cpu": 8, "gpu": 4})],
    [Tenant("top"), Tenant("a", parent="top", limit={"cpu": 12}), Tenant("b", parent="top")],
    devices=["gpu"],
)
WORKS = (Job("works", {"cpu": 1}, tenant="a"), Job("other", {"cpu": 1}, tenant="b"))
REASONS = {
    "lost": (
        Job("lost", {"cpu": 1}, tenant="a", where="zone = west"),
        "each of the 2 machines is excluded by `zone = west`",
    ),
    "none": (Job("none", {"tpu": 1}, tenant="a"), "each of the 2 machines has no tpu"),
    "large": (
        Job("large", {"cpu": 9}, tenant="a"),
        "each of the 2 machines has too little cpu for a task",
    ),
    "gang": (
        Job("gang", {"gpu": 3}, tenant="a", gang=3),
        "3 tasks start together, and all 2 machines that could run one have room for 2 when empty",
    ),
    "spread": (
        Job("spread", {"cpu": 1}, tenant="a", gang=3, spread=True),
        "3 tasks start together, and all 2 machines that could run one have room for 2 when empty",
    ),
    "parts": (
        Job("parts", {"gpu": "0.6"}, tenant="a", gang=9),
        "9 tasks start together, and all 2 machines that could run one have room for 8 when empty",
    ),
    "limit": (
        Job("limit", {"cpu": 4}, tenant="a", gang=4),
        "its 4 tasks that start together need 16 cpu, and tenant a may hold 12",
    ),
}
POLICIES = ["tsf", "cdrf", "drfh", "drf", "asset", "kdf(k=1)", "per-machine-drf"]
EVERY = [
    *((name, tasks) for tasks in Tasks for name in (*POLICIES, *MECHANISMS)),
    *((name, Tasks.WHOLE) for name in whole_names()),
]
ASKED = [
    *(("tsf", tasks, kind) for tasks in Tasks for kind in REASONS),
    *((*each, kind) for each in EVERY if each[0] != "tsf" for kind in ("lost", "gang")),
]
"""Each reason once, and what each rule does with two of them: which jobs these are is found before
any rule is asked."""


@cache
def without_any(rule: str, tasks: Tasks) -> fairlead.Allocation:
    """What all have where no job is that can never run."""
    return fairlead.allocate(CLUSTER, WORKS, rule, tasks)


@pytest.mark.parametrize(("rule", "tasks", "kind"), ASKED, ids=str)
def test_a_job_that_can_never_run_takes_nothing_and_says_why(
    rule: str, tasks: Tasks, kind: str
) -> None:
    lost, reason = REASONS[kind]
    if lost.gang > 1 and rule in whole_names() and not rule.startswith("serial"):
        with pytest.raises(InputError, match="tasks start together"):
            fairlead.allocate(CLUSTER, [*WORKS, lost], rule, tasks)
        return
    without = without_any(rule, tasks)
    found = fairlead.allocate(CLUSTER, [*WORKS, lost], rule, tasks)
    assert found.job(lost.name).tasks == found.job(lost.name).share == 0
    assert f"job {lost.name} can never run: {reason}." in found.sentences()
    if rule == "serial-dictatorship":  # draws an order, of all jobs
        return
    for job in WORKS:
        assert found.job(job.name).tasks == pytest.approx(without.job(job.name).tasks)
    for tenant in ("a", "b"):
        assert found.tenant(tenant).share == pytest.approx(without.tenant(tenant).share)


def drawn(count: int) -> Iterator[Instance]:
    """Instances with a job that can never run beside one that can."""
    seed = 0
    while count:
        cluster, jobs = instance(Random(f"never {seed}"))
        seed += 1
        if any(can_never_run(cluster, job) for job in jobs):
            count -= 1
            yield cluster, jobs


def test_whole_and_divisible_tasks_know_the_same_jobs_that_can_never_run(cases: int) -> None:
    for cluster, jobs in drawn(16 * cases):
        right = {job.name for job in jobs if can_never_run(cluster, job)}
        for tasks in Tasks:
            found = fairlead.allocate(cluster, jobs, "tsf", tasks)
            assert {job.name for job in found.jobs if job.nowhere is not None} == right
            assert all(found.job(name).tasks == 0 for name in right)


def test_what_nobody_can_run_changes_no_share(cases: int) -> None:
    for cluster, jobs in drawn(16 * cases):
        able = tuple(job for job in jobs if not can_never_run(cluster, job))
        with_all = fairlead.allocate(cluster, jobs).unrounded
        without = fairlead.allocate(cluster, able).unrounded
        for job in able:
            assert with_all.tasks[job.name] == without.tasks[job.name]
