"""Every machine by itself: finite jobs and limits are parted among machines at one pace."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

import fairlead
from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.studies.cases import placed as on_machines
from tests.reference.instances import Kind, instance
from tests.reference.scales import can_never_run, may_use
from tests.tolerances import EXACT

POLICY = "per-machine-drf"
AB = (Machine("a", {"cpu": 8}), Machine("b", {"cpu": 8, "disk": 1}))


def allocate(cluster: Cluster, *jobs: Job) -> Allocation:
    return fairlead.allocate(cluster, jobs, policy=POLICY)


def tasks(found: Allocation) -> dict[str, float]:
    return {job.name: job.tasks for job in found.jobs}


def placed(found: Allocation, name: str) -> dict[str, float]:
    members = {each.index: each.machines for each in found.classes}
    return {
        " ".join(members[place.machine_class]): place.tasks
        for place in found.job(name).placements or ()
    }


def test_a_finite_job_uses_the_machines_alike_and_leaves_the_rest_to_others() -> None:
    found = allocate(
        Cluster(AB), Job("j", {"cpu": 1}, tasks=3), Job("k", {"cpu": 1}, machines=["a"])
    )
    assert placed(found, "j") == pytest.approx({"a": 1.5, "b": 1.5})
    assert tasks(found) == pytest.approx({"j": 3, "k": 6.5})


def test_a_finite_job_goes_on_where_it_has_not_been_stopped() -> None:
    # On a it stops at 4, in a tie with k; on b it goes on until its tasks are used up.
    found = allocate(
        Cluster(AB), Job("j", {"cpu": 1}, tasks=10), Job("k", {"cpu": 1}, machines=["a"])
    )
    assert placed(found, "j") == pytest.approx({"a": 4, "b": 6})


def test_a_limit_is_parted_among_machines() -> None:
    cluster = Cluster(AB, [Tenant("t", limit={"cpu": 4})])
    found = allocate(
        cluster, Job("j", {"cpu": 1}, tenant="t"), Job("k", {"cpu": 1}, machines=["a"])
    )
    assert placed(found, "j") == pytest.approx({"a": 2, "b": 2})
    assert tasks(found) == pytest.approx({"j": 4, "k": 6})


def test_a_job_that_spreads_has_one_task_on_each_machine() -> None:
    found = allocate(Cluster(AB), Job("j", {"cpu": 1}, spread=True), Job("k", {"cpu": 1}))
    assert tasks(found) == pytest.approx({"j": 2, "k": 14})


def test_one_of_many_machines_is_no_different_in_a_class() -> None:
    """A label that a job asks for splits a class; nobody's tasks change."""
    plain = [Machine(f"m{i}", {"cpu": 8, "memory": 4}) for i in range(4)]
    split = [Machine(f"m{i}", {"cpu": 8, "memory": 4}, {"odd": str(i % 2)}) for i in range(4)]
    jobs = (
        Job("j", {"cpu": 2, "memory": 1}, tasks=5),
        Job("k", {"cpu": 1, "memory": 2}, where="odd != 7"),
    )
    other = (jobs[0], Job("k", {"cpu": 1, "memory": 2}, machines=["m0", "m1", "m2", "m3"]))
    first = allocate(Cluster(plain), *other)
    assert tasks(allocate(Cluster(split), *jobs)) == pytest.approx(tasks(first))


@pytest.mark.parametrize("more", ["1.0000000000000000000000001", "1.5"])
def test_levels_of_a_machine_that_are_one_double_are_two(more: str) -> None:
    cluster = Cluster(
        [Machine("m", {"cpu": 1, "disk": 1})], [Tenant("heavy", weight=more), Tenant("plain")]
    )
    found = allocate(
        cluster, Job("a", {"cpu": 1}, tenant="heavy"), Job("b", {"disk": 1}, tenant="plain")
    )
    assert [level.jobs for level in found.levels] == [("a",), ("b",)]
    assert tasks(found) == {"a": 1, "b": 1}


def test_random_answers_are_proved_and_leave_nobody_waiting(cases: int) -> None:
    """`allocate` checks each answer; beyond that, whoever has tasks and room is stopped."""
    for seed in range(16 * cases):
        cluster, jobs = instance(Random(seed), Kind(pools=False))
        found = allocate(cluster, *jobs)
        assert found.certificate is not None
        used = {m.name: dict.fromkeys(m.capacity, 0.0) for m in cluster.machines}
        on = on_machines(found)
        for job in jobs:
            for name, count in on[job.name].items():
                for resource, need in job.demand.items():
                    used[name][resource] += float(need) * count
        for job in jobs:
            if job.tasks is not None and found.job(job.name).tasks > float(job.tasks) * (1 - EXACT):
                continue
            if at_limit(cluster, jobs, found, job) or can_never_run(cluster, job):
                continue
            for machine in cluster.machines:
                if may_use(job, machine):
                    full = any(
                        need and used[machine.name][r] >= float(machine.capacity[r]) * (1 - EXACT)
                        for r, need in job.demand.items()
                    )
                    assert full or (job.spread and on[job.name][machine.name] > 1 - EXACT)


def at_limit(cluster: Cluster, jobs: Sequence[Job], found: Allocation, job: Job) -> bool:
    """Whether a limit above the job is used up."""
    parents = {tenant.name: tenant.parent for tenant in cluster.tenants}

    def above(one: Job) -> list[str]:
        chain, name = [], one.tenant
        while name is not None:
            chain.append(name)
            name = parents[name]
        return chain

    for tenant in cluster.tenants:
        for resource, most in tenant.limit.items():
            if tenant.name in above(job) and job.demand.get(resource):
                held = sum(
                    float(other.demand.get(resource, 0)) * found.job(other.name).tasks
                    for other in jobs
                    if tenant.name in above(other)
                )
                if held >= float(most) * (1 - EXACT):
                    return True
    return False
