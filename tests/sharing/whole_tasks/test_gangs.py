"""Gangs in whole tasks: whole ones, by every rule that shares whole tasks, or a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.audit.finding import Input
from fairlead.audit.outcome import rule_of
from fairlead.audit.run import Refused, audit
from fairlead.model.allocation import Allocation
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Tasks
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.rules.whole_names import whole_names

KEEPING = ("serial-dictatorship", "serial-dictatorship(lottery=true)")


def tasks_of(found: Allocation) -> dict[str, float]:
    return {job.name: job.tasks for job in found.jobs}


def shared(cluster: Cluster, jobs: list[Job], rule: str = "tsf") -> Allocation:
    return allocate(cluster, jobs, rule, Tasks.WHOLE)


def test_a_job_gets_whole_gangs_or_none() -> None:
    # 6 slots for two jobs: 3 each if tasks start alone.
    cluster = Cluster([Machine("m1", {"gpu": 3}), Machine("m2", {"gpu": 3})])
    jobs = [Job("a", {"gpu": 1}, gang=4), Job("b", {"gpu": 1})]
    assert tasks_of(shared(cluster, jobs)) == {"a": 0, "b": 6}
    jobs[0] = Job("a", {"gpu": 1}, gang=3)
    assert tasks_of(shared(cluster, jobs)) == {"a": 3, "b": 3}


def test_a_gang_that_its_share_does_not_hold_is_named() -> None:
    cluster = Cluster([Machine("m", {"gpu": 6})])
    found = shared(cluster, [Job("a", {"gpu": 1}, gang=4), Job("b", {"gpu": 1})])
    assert found.whole is not None
    assert any("a (4 together, 3 by its exact share)" in note for note in found.whole.notes)


def test_a_gang_takes_the_room_that_no_share_needs() -> None:
    # b has 2 tasks and no more, so the rest is a's, in whole gangs.
    cluster = Cluster([Machine(f"m{i}", {"gpu": 4, "cpu": 8}) for i in range(3)])
    jobs = [Job("a", {"gpu": 1, "cpu": 2}, gang=4), Job("b", {"gpu": 1, "cpu": 1}, tasks=2)]
    assert tasks_of(shared(cluster, jobs)) == {"a": 8, "b": 2}


def test_what_is_left_when_too_few_wait_for_a_gang_starts_alone() -> None:
    cluster = Cluster([Machine("m", {"gpu": 16})])
    jobs = [Job("a", {"gpu": 1}, gang=4, tasks=10), Job("b", {"gpu": 1}, tasks=7)]
    assert tasks_of(shared(cluster, jobs)) == {"a": 9, "b": 7}


@pytest.mark.parametrize(
    ("jobs", "tenants", "reason"),
    [
        ([Job("a", {"gpu": 1}, gang=7)], [], "7 tasks start together, and all 2 machines that"),
        (
            [Job("a", {"gpu": 1}, gang=3, spread=True)],
            [],
            "all 2 machines that could run one have room for 2 when empty.",
        ),
        (
            [Job("a", {"gpu": 1}, tenant="t", gang=4)],
            [Tenant("t", limit={"gpu": 3})],
            "its 4 tasks that start together need 4 gpu, and tenant t may hold 3.",
        ),
    ],
)
@pytest.mark.parametrize("rule", ["tsf", *KEEPING])
def test_a_gang_that_can_never_run_is_a_warning(
    jobs: list[Job], tenants: list[Tenant], reason: str, rule: str
) -> None:
    cluster = Cluster([Machine("m1", {"gpu": 3}), Machine("m2", {"gpu": 3})], tenants)
    found = shared(cluster, jobs, rule)
    assert tasks_of(found) == {"a": 0}
    (said,) = found.sentences()
    assert said.startswith("job a can never run: ")
    assert reason in said


@pytest.mark.parametrize("rule", [name for name in whole_names() if name not in KEEPING])
def test_what_cannot_keep_gangs_whole_refuses_them(rule: str) -> None:
    cluster = Cluster([Machine("m", {"gpu": 6})])
    with pytest.raises(InputError, match=f'job "a", gang: 4 tasks start together, and {rule}'):
        shared(cluster, [Job("a", {"gpu": 1}, gang=4), Job("b", {"gpu": 1})], rule)


def test_an_audit_of_whole_tasks_refuses_gangs() -> None:
    cluster = Cluster([Machine("m", {"gpu": 6})])
    given_ = Input(cluster, (Job("a", {"gpu": 1}, gang=4), Job("b", {"gpu": 1})))
    (refused,) = audit(given_, [rule_of("tsf", Tasks.WHOLE)])
    assert isinstance(refused, Refused)
    assert 'job "a", gang: 4 tasks start together' in refused.reasons[0]


@st.composite
def gangs(draw: st.DrawFn) -> tuple[Cluster, list[Job]]:
    machines = [
        Machine(f"m{i}", {"cpu": draw(st.integers(1, 8)), "gpu": draw(st.integers(0, 4))})
        for i in range(draw(st.integers(1, 4)))
    ]
    tenants = [Tenant("t", limit={"cpu": draw(st.integers(1, 12))}), Tenant("u")]
    jobs = []
    for i in range(draw(st.integers(1, 4))):
        gang = draw(st.integers(1, 4))
        jobs.append(
            Job(
                f"j{i}",
                {"cpu": draw(st.integers(1, 3)), "gpu": draw(st.integers(0, 1))},
                tenant=draw(st.sampled_from("tu")),
                tasks=draw(st.none() | st.integers(gang, 9)),
                gang=gang,
                spread=draw(st.booleans()),
            )
        )
    return Cluster(machines, tenants), jobs


@given(gangs(), st.sampled_from(["tsf", "drf", "most-tasks", *KEEPING]))
def test_no_job_has_a_part_of_a_gang(case: tuple[Cluster, list[Job]], rule: str) -> None:
    cluster, jobs = case
    found = shared(cluster, jobs, rule)  # every packing is checked to fit
    chances = found.whole.lottery if found.whole is not None else ()
    drawn: list[dict[str, float]] = [dict(one.jobs) for one in chances]
    for tasks in drawn or [tasks_of(found)]:
        for job in jobs:
            single = job.tasks is not None and tasks[job.name] >= job.tasks // job.gang * job.gang
            assert tasks[job.name] % job.gang == 0 or single
