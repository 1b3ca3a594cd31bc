"""A workload as an input: what is alike is one job, and nothing is lost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.model.selector_syntax import parse_selector
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Term, terms_of
from fairlead.simulation.traces.backlog import as_input
from fairlead.simulation.workload import JobBatch, MachineEvent, MachineTable, Resource, Workload

CPU, GPU = Resource("cpu", Fraction(1)), Resource("gpu", Fraction(1, 1000), piece=1000)
FAST = terms_of(parse_selector("model = fast"), None, ())
LISTED = terms_of(parse_selector(""), ("a", "b"), ("b",))


def batch(
    tenants: list[int],
    demands: list[tuple[int, int]],
    tasks: list[int],
    needs: list[list[int]],
    spread: list[bool],
    terms: tuple[Term, ...] = (),
) -> JobBatch:
    jobs = len(tenants)
    return JobBatch(
        names=None,
        submit=np.arange(jobs),
        tenant=np.array(tenants),
        demand=np.array(demands, dtype=np.int64),
        tasks=np.array(tasks),
        needs=np.array(needs, dtype=np.uint64),
        spread=np.array(spread),
        gang=np.ones(jobs, dtype=np.int64),
        durations=np.ones(jobs, dtype=np.int64),
        first=np.arange(jobs + 1),
        terms=terms,
    )


def workload(*batches: JobBatch) -> Workload:
    """Machines a and b from the beginning; c comes later, d is gone at once."""
    events = [
        (0, 0, MachineEvent.ADD),
        (0, 1, MachineEvent.ADD),
        (0, 3, MachineEvent.ADD),
        (0, 3, MachineEvent.REMOVE),
        (5, 2, MachineEvent.ADD),
    ]
    return Workload(
        name="small",
        resources=(CPU, GPU),
        machines=MachineTable(
            names=("a", "b", "c", "d"),
            labels=tuple(FrozenMap({"model": m}) for m in ("fast", "slow", "fast", "slow")),
            time=np.array([time for time, _, _ in events]),
            machine=np.array([machine for _, machine, _ in events]),
            kind=np.array([int(kind) for _, _, kind in events]),
            capacity=np.array([[8, 2000]] * len(events)),
        ),
        tenants=(Tenant("A", weight=2), Tenant("B")),
        terms=FAST,
        batches=lambda: iter(batches),
    )


def test_the_machines_are_those_of_the_beginning() -> None:
    one = batch([0], [(1, 0)], [1], [[0]], [False])
    cluster, _, _ = as_input(workload(one))
    assert [machine.name for machine in cluster.machines] == ["a", "b"]
    assert dict(cluster.machines[0].capacity) == {"cpu": 8, "gpu": 2}
    assert cluster.machines[0].labels["model"] == "fast"
    assert cluster.devices == {"gpu"}


def test_jobs_that_are_alike_are_one_with_all_their_tasks() -> None:
    first = batch(
        [0, 0, 0, 1], [(1, 0), (1, 500), (1, 0), (1, 0)], [2, 3, 4, 5], [[0]] * 4, [False] * 4
    )
    second = batch([0, 0], [(1, 0), (1, 0)], [6, 7], [[0], [1]], [False] * 2)
    cluster, jobs, notes = as_input(workload(first, second))
    assert {job.name: job.tasks for job in jobs} == {"A-1": 12, "A-2": 3, "A-3": 7, "B-1": 5}
    assert {job.name: job.tenant for job in jobs}["B-1"] == "B"
    assert dict(jobs[1].demand) == {"cpu": 1, "gpu": Fraction(1, 2)}
    assert [(tenant.name, tenant.weight) for tenant in cluster.tenants] == [("A", 2), ("B", None)]
    assert notes == ("6 jobs are 4 that differ in tenant, demand or constraint",)


def test_constraints_come_back_as_they_were() -> None:
    # The list comes with the second batch, beyond the terms of the workload.
    first = batch([0], [(1, 0)], [1], [[1]], [False])
    second = batch([0], [(1, 0)], [1], [[7]], [True], LISTED)
    _, jobs, _ = as_input(workload(first, second))
    assert str(jobs[0].where) == "model = fast"
    assert (jobs[0].machines, jobs[0].exclude, jobs[0].spread) == (None, (), False)
    assert str(jobs[1].where) == "model = fast"
    assert (jobs[1].machines, jobs[1].exclude, jobs[1].spread) == (("a", "b"), ("b",), True)


def test_words_of_terms_that_grow_do_not_part_what_is_alike() -> None:
    first = batch([0], [(1, 0)], [1], [[1]], [False])
    second = batch([0], [(1, 0)], [1], [[1, 0]], [False])
    _, jobs, _ = as_input(workload(first, second))
    assert [job.tasks for job in jobs] == [2]


def test_tasks_that_need_nothing_are_left_out_and_counted() -> None:
    one = batch([0, 1], [(0, 0), (1, 0)], [3, 1], [[0]] * 2, [False] * 2)
    cluster, jobs, notes = as_input(workload(one))
    assert [job.name for job in jobs] == ["B-1"]
    assert [tenant.name for tenant in cluster.tenants] == ["B"]
    assert notes[1] == "3 tasks that need nothing at all are left out"


def test_jobs_without_a_tenant_are_their_own() -> None:
    one = batch([-1, -1], [(1, 0), (2, 0)], [3, 1], [[0]] * 2, [False] * 2)
    cluster, jobs, _ = as_input(workload(one))
    assert [(job.name, job.tenant) for job in jobs] == [("job-1", None), ("job-2", None)]
    assert cluster.tenants == ()
