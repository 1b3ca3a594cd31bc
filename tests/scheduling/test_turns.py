"""Of jobs of equal levels the one is next that was submitted or had a task launched longest ago."""

from __future__ import annotations

from collections import Counter

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import JobSubmitted, MachineJoined, TaskFinished, TenantChanged
from fairlead.scheduling.state.ids import Unit
from tests.scheduling.test_filling import crowded, held, many


def test_tenants_of_like_jobs_hold_alike_whoever_came_first() -> None:
    _, launched = crowded([Tenant("a"), Tenant("b")], many("a", 20) + many("b", 20))
    assert held(launched) == {"a": 30, "b": 30}


def test_who_is_entitled_to_a_part_of_a_task_has_one_now_and_then() -> None:
    teams = [Tenant(f"team{n}", parent="b") for n in range(8)]
    jobs = [Job(f"b{n}", {"cpu": 1}, tenant=f"team{n}", tasks=500) for n in range(8)]
    core, launched = crowded([Tenant("a"), Tenant("b"), *teams], many("a", 1) + jobs, (8,))
    running = [(each.job, each.task) for each in launched]
    had: Counter[str] = Counter()
    for time in range(1, 81):
        core.apply(TaskFinished(time, *running.pop(0)))
        running += [(e.job, e.task) for e in core.decide() if isinstance(e, Launch)]
        had.update(job for job, _ in running)
    assert sum(had.values()) == 8 * 80
    assert abs(had["a0"] - 4 * 80) <= 80
    assert all(abs(had[f"b{n}"] - 40) <= 10 for n in range(8)), had


@pytest.mark.parametrize("policy", ["tsf", "fifo"])
def test_first_come_first_served_takes_no_turns(policy: str) -> None:
    core = Core([Unit("cpu")], policy)
    core.apply(TenantChanged(0, Tenant("a")))
    core.apply(MachineJoined(0, Machine("m", {"cpu": 1})))
    for name in ("one", "two"):
        core.apply(JobSubmitted(0, Job(name, {"cpu": 1}, tenant="a", tasks=9)))
    order = []
    for time in range(1, 5):
        (launch,) = core.decide()
        assert isinstance(launch, Launch)
        order.append(launch.job)
        core.apply(TaskFinished(time, launch.job, launch.task))
    assert order == (["one", "two"] * 2 if policy == "tsf" else ["one"] * 4)


@pytest.mark.parametrize(("ended", "next_one"), [((1,), "b"), ((2,), "b"), ((1, 2), "a")])
def test_of_jobs_whose_levels_tie_and_shares_do_not_the_lesser_is_next_on_several_machines(
    ended: tuple[int, ...], next_one: str
) -> None:
    core = Core([Unit("cpu"), Unit("memory")], "asset")
    core.apply(TenantChanged(0, Tenant("t")))
    for number, (cpu, memory) in enumerate([(6, 3), (2, 1), (2, 1)]):
        core.apply(MachineJoined(0, Machine(f"m{number}", {"cpu": cpu, "memory": memory})))
        other = Job(f"x{number}", {"cpu": 2}, tasks=1, machines=(f"m{number}",))
        core.apply(JobSubmitted(0, other))
    core.decide()
    core.apply(JobSubmitted(1, Job("b", {"cpu": 1, "memory": 1}, tenant="t", tasks=9)))
    core.apply(JobSubmitted(1, Job("a", {"cpu": 1}, tenant="t", tasks=9)))
    # 1 of 10/3, which is rounded, and 3 of 10: b's turn is before a's.
    assert [e.job for e in core.decide() if isinstance(e, Launch)] == ["b", "a", "a", "a"]
    for number in ended:
        core.apply(TaskFinished(2, f"x{number}", 0))
    first = core.decide()[0]
    assert isinstance(first, Launch)
    assert first.job == next_one
