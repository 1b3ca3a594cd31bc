"""Limits at their ends: what a limit of nothing, and one that cannot be reached, do."""

from __future__ import annotations

import pytest

import fairlead
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant

MACHINES = [Machine("m1", {"cpu": 3}), Machine("m2", {"cpu": 1, "gpu": 1})]


@pytest.mark.parametrize("policy", ["tsf", "drf", "per-machine-drf", "market"])
def test_a_limit_of_0_lets_its_jobs_run_nothing_and_leaves_all_to_others(policy: str) -> None:
    cluster = Cluster(MACHINES, [Tenant("A", limit={"cpu": 0}), Tenant("B")])
    jobs = [Job("a", {"cpu": 1}, tenant="A"), Job("b", {"cpu": 1}, tenant="B")]
    found = fairlead.allocate(cluster, jobs, policy=policy)
    assert found.job("a").tasks == pytest.approx(0, abs=1e-9)
    assert found.job("b").tasks == pytest.approx(4)


def test_under_a_limit_of_0_a_job_can_never_run_and_takes_part_in_nothing() -> None:
    cluster = Cluster(MACHINES, [Tenant("A", limit={"cpu": 0}), Tenant("B")])
    jobs = [Job("a", {"cpu": 1}, tenant="A"), Job("b", {"cpu": 1}, tenant="B")]
    found = fairlead.allocate(cluster, jobs)
    assert [level.jobs for level in found.levels] == [("b",)]
    assert found.sentences() == (
        "job a can never run: a task needs 1 cpu, and tenant A may hold 0.",
    )


def test_a_limit_of_0_above_stops_all_below_it_and_no_one_else() -> None:
    cluster = Cluster(
        MACHINES,
        [
            Tenant("top", limit={"gpu": 0}),
            Tenant("left", parent="top"),
            Tenant("right", parent="top"),
        ],
    )
    jobs = [
        Job("train", {"gpu": 1}, tenant="left"),
        Job("tune", {"gpu": 1, "cpu": 1}, tenant="right"),
        Job("build", {"cpu": 1}, tenant="right"),
    ]
    tasks = {job.name: job.tasks for job in fairlead.allocate(cluster, jobs).jobs}
    assert tasks == pytest.approx({"train": 0, "tune": 0, "build": 4}, abs=1e-9)


def test_a_limit_above_what_there_is_changes_nothing() -> None:
    jobs = [Job("a", {"cpu": 1}, tenant="A"), Job("b", {"cpu": 2}, tenant="B")]
    free, capped = (
        fairlead.allocate(Cluster(MACHINES, [Tenant("A", limit=limit), Tenant("B")]), jobs)
        for limit in (None, {"cpu": 99})
    )
    assert [job.tasks for job in capped.jobs] == [job.tasks for job in free.jobs]
