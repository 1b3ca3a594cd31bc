"""Which machines a job may use, and what keeps it from the others."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given

from fairlead.model.eligibility import eligibility, excluded, excluded_by, holds, may_use
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.never import why_never
from fairlead.model.shares import Nowhere
from tests.model.draw import inputs
from tests.reference.scales import can_never_run

CLUSTER = Cluster(
    [
        *(Machine(f"a{n}", {"cpu": 4, "gpu": 1}, {"zone": "east"}) for n in range(3)),
        *(Machine(f"b{n}", {"cpu": 8}, {"zone": "west"}) for n in range(2)),
    ]
)


def nowhere(cluster: Cluster, job: Job) -> Nowhere | None:
    """Why the job can never run; None if it can."""
    return why_never(cluster, (job,)).get(job.name)


def test_every_part_that_excludes_a_machine_is_counted() -> None:
    job = Job(
        "j",
        {"gpu": 1, "tpu": 1, "cpu": 0},
        where="zone = east, !rack, os = linux",
        machines=["a0", "b0"],
        exclude=["a0", "a1"],
    )
    assert nowhere(CLUSTER, job) == Nowhere(
        machines=5,
        constraint=(("zone = east", 2), ("os = linux", 5), ("machines", 3), ("exclude", 2)),
        resources=(),
    )


def test_resources_are_counted_among_the_machines_that_the_constraint_allows() -> None:
    job = Job("j", {"gpu": 1, "cpu": 1}, where="zone = west", exclude=["b0"])
    assert nowhere(CLUSTER, job) == Nowhere(5, (("zone = west", 3), ("exclude", 1)), (("gpu", 1),))
    assert nowhere(CLUSTER, Job("j", {"tpu": 1})) == Nowhere(5, (), (("tpu", 5),))


def test_a_job_that_can_run_is_not_nowhere() -> None:
    job = Job("j", {"gpu": 1}, where="zone = east", exclude=["a[0-1]"])
    assert nowhere(CLUSTER, job) is None
    assert excluded(CLUSTER, job) == Nowhere(5, (("zone = east", 2), ("exclude", 2)), ())


def test_an_empty_machine_holds_a_part_of_a_task() -> None:
    machine = CLUSTER.machines[0]
    assert holds(Job("j", {"cpu": 8, "gpu": 1}), machine) == Fraction(1, 2)
    assert holds(Job("j", {"cpu": 1}), machine) == 4
    assert holds(Job("j", {"cpu": 1}, spread=True), machine) == 1
    assert holds(Job("j", {"cpu": 8}, spread=True), machine) == Fraction(1, 2)
    assert holds(Job("j", {"tpu": 1}), machine) == 0


@given(inputs())
def test_the_forms_agree(given_input: tuple[Cluster, tuple[Job, ...]]) -> None:
    cluster, jobs = given_input
    grouped = eligibility(cluster, jobs)
    members = sorted(index for group in grouped.groups for index in group)
    assert members == list(range(len(cluster.machines)))
    for number, job in enumerate(jobs):
        row = grouped.rows[grouped.row[number]]
        allowed = {i for g in row for i in grouped.groups[g]}
        plain = {i for i, machine in enumerate(cluster.machines) if may_use(job, machine)}
        assert allowed == plain
        assert all((not excluded_by(job, m)) is may_use(job, m) for m in cluster.machines)
        assert (nowhere(cluster, job) is not None) is can_never_run(cluster, job)
        reasons = excluded(cluster, job)
        parts = dict(reasons.constraint)
        for part in {text for m in cluster.machines for text in excluded_by(job, m)}:
            count = sum(part in excluded_by(job, m) for m in cluster.machines)
            assert parts[part] == count
