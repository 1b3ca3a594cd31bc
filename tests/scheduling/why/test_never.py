"""What is said of jobs before they are submitted: whether they could ever run."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import (
    JobSubmitted,
    MachineDrained,
    MachineJoined,
    MachineLeft,
    TenantChanged,
)
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.why.values import (
    LASTING,
    Excluded,
    GangTooLarge,
    OverLimit,
    TooSmall,
    never_runs,
)

UNITS = [Unit("cpu", Fraction(1, 2)), Unit("memory", Fraction(1)), Unit("gpu", Fraction(1, 4), 4)]


def core_with(*machines: Machine, tenants: tuple[Tenant, ...] = ()) -> Core:
    core = Core(UNITS, checked=True)
    for machine in machines:
        core.apply(MachineJoined(0, machine))
    for tenant in tenants:
        core.apply(TenantChanged(0, tenant))
    core.decide()
    return core


TWO = (
    Machine("m1", {"cpu": 8, "gpu": 4}, {"gpu-model": "a100"}),
    Machine("m2", {"cpu": 8, "gpu": 4}, {"gpu-model": "a100"}),
)
LIMITED = (Tenant("above", limit={"cpu": 4}), Tenant("ops", parent="above"))


FOUR = [
    (
        Job("j", {"cpu": 1}, tasks=1, where="gpu-modl = a100"),
        Excluded,
        (
            "none of 2 machines satisfies its constraint: `gpu-modl = a100` excludes 2;"
            ' no machine has the label gpu-modl; did you mean "gpu-model"?'
        ),
    ),
    (
        Job("j", {"cpu": 9}, tasks=1, machines=["m1"]),
        TooSmall,
        "1 machine satisfies its constraint but is too small even when empty: 1 has too little cpu",
    ),
    (
        Job("j", {"gpu": 3}, tasks=3, gang=3),
        GangTooLarge,
        "3 tasks start together, and all 2 machines that could run one have room for 2 when empty",
    ),
    (
        Job("j", {"cpu": 5}, tasks=1, tenant="ops"),
        OverLimit,
        "a task needs 5 cpu, and tenant above may hold 4",
    ),
]


@pytest.mark.parametrize(("job", "reason", "sentence"), FOUR)
def test_each_reason_is_known_before_submission(job: Job, reason: type, sentence: str) -> None:
    core = core_with(*TWO, tenants=LIMITED)
    (found,) = core.prospects().never(job)
    assert isinstance(found, reason)
    assert never_runs([found]) == f"it can never run, because {sentence}"
    assert job.name not in core.ids.jobs


def test_all_reasons_of_a_job_are_one_sentence() -> None:
    core = core_with(*TWO, tenants=LIMITED)
    reasons = core.prospects().never(Job("j", {"cpu": 9}, tasks=1, tenant="ops"))
    assert never_runs(reasons) == (
        "it can never run, because 2 machines satisfy its constraint but are too small even when"
        " empty: 2 have too little cpu; and a task needs 9 cpu, and tenant above may hold 4"
    )


def test_amounts_are_read_in_large_units_where_they_differ_in_them() -> None:
    bytes_ = Fraction(100_123_456_789)
    over = OverLimit("ops", "memory", 1, bytes_, Fraction(2**36))
    assert str(over).endswith("a task needs 93.2472Gi memory, and tenant ops may hold 64Gi")
    close = OverLimit("ops", "memory", 1, bytes_, bytes_ - 1)
    assert "needs 100123456789 memory, and tenant ops may hold 100123456788" in str(close)


def test_machines_that_are_to_come_make_no_job_impossible() -> None:
    core = core_with()
    assert core.prospects().never(Job("j", {"cpu": 9}, tasks=1, where="zone = b")) == ()


def test_a_list_of_machines_that_are_not_there_names_some_and_counts_the_rest() -> None:
    core = core_with(*TWO)
    named = [f"x{number:03}" for number in range(100)]
    (found,) = core.prospects().never(Job("j", {"cpu": 1}, tasks=1, machines=named))
    assert isinstance(found, Excluded)
    assert len(found.slips) == 6
    assert found.slips[-1] == "95 more machines of its list are not there"


@pytest.mark.parametrize("seed", range(60))
def test_what_is_said_before_is_what_is_said_afterwards(seed: int) -> None:
    """Of many jobs at once, some alike, the reasons are those that `why` has of each."""
    random = Random(seed)
    labels = [{}, {"zone": "a"}, {"zone": "b"}, {"zone": "a", "fast": ""}]
    machines = [
        Machine(
            f"m{number}",
            {"cpu": random.choice((1, 4, 8)), "memory": 8, "gpu": random.choice((0, 0, 1, 2))},
            random.choice(labels),
        )
        for number in range(random.randint(1, 6))
    ]
    limit = {"cpu": random.choice((2, 6, 20))}
    core = core_with(*machines, tenants=(Tenant("t", limit=limit), Tenant("low", parent="t")))
    for machine in machines[1:]:
        if random.random() < 0.2:
            core.apply(MachineDrained(0, machine.name))
        elif random.random() < 0.2:
            core.apply(MachineLeft(0, machine.name))
    jobs = []
    for number in range(8):
        gang = random.choice((1, 1, 2, 4))
        demand = {"cpu": random.choice((Fraction(1, 2), 3, 6))}
        if random.random() < 0.3:
            demand["gpu"] = random.choice((Fraction(1, 4), 1, 2))
        jobs.append(
            Job(
                f"j{number}",
                demand,
                tasks=random.choice((gang, 9)),
                gang=gang,
                spread=random.random() < 0.3,
                tenant=random.choice((None, "t", "low")),
                where=random.choice(("", "", "zone = a", "zone = b, fast", "zon = a")),
                machines=random.choice((None, None, ["m0", "m9"], ["m8"])),
                exclude=random.choice(((), ("m0",))),
            )
        )
    core.apply(JobSubmitted(0, jobs[0]))  # some terms have been needed before
    prospects = core.prospects()
    said = [prospects.never(job) for job in jobs]
    for job in jobs[1:]:
        core.apply(JobSubmitted(0, job))
    core.decide()
    for job, reasons in zip(jobs, said, strict=True):
        if job.name in core.ids.jobs:
            why = core.why(job.name)
            if why.waiting:
                lasting = tuple(each for each in why.reasons if isinstance(each, LASTING))
                assert lasting == reasons, job
            else:
                assert not reasons, job
