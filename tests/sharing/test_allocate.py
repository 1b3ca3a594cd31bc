"""Arguments that a caller from Python may hand over, and the mistakes in others."""

from __future__ import annotations

from typing import Any

import pytest

import fairlead
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine

CLUSTER = Cluster([Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 2, "gpu": 1})])


def test_jobs_may_come_from_anything_that_gives_them_once() -> None:
    jobs = [Job("a", {"cpu": 1}), Job("b", {"cpu": 1, "gpu": 1})]
    assert fairlead.allocate(CLUSTER, iter(jobs)) == fairlead.allocate(CLUSTER, jobs)


def test_a_world_in_which_tasks_are_neither_divisible_nor_whole_is_refused() -> None:
    with pytest.raises(InputError, match="tasks are not 'entire'"):
        fairlead.allocate(CLUSTER, [Job("a", {"cpu": 1})], tasks="entire")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([CLUSTER.machines[0]], []), "a list is no cluster; give a fairlead.Cluster, then"),
        ((CLUSTER, Job("a", {"cpu": 1})), "a Job is no list of jobs; give a list of fairlead.Job"),
        ((CLUSTER, None), "a NoneType is no list of jobs"),
        ((CLUSTER, [{"name": "a"}]), "a dict is no job; give a list of fairlead.Job"),
        ((CLUSTER, [], 5), "5 is no policy; write a name such as"),
    ],
)
def test_what_is_no_cluster_job_or_policy_is_refused_in_a_sentence(
    arguments: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        fairlead.allocate(*arguments)


def test_what_is_no_machine_or_tenant_makes_no_cluster() -> None:
    names: Any = {"a": 1}
    with pytest.raises(InputError, match=r"a str is no tenant; give a list of fairlead.Tenant"):
        Cluster(CLUSTER.machines, names)
    with pytest.raises(InputError, match="a str is no machine"):
        Cluster(names)
