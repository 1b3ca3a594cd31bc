"""Room that a gang keeps: what is its by its level, place by place, until all of it is there."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.dump import dump, load
from fairlead.scheduling.events import Event, JobSubmitted, MachineJoined, TenantChanged
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.why.values import Reserved, ReservedForOthers, Term
from tests.reference.online import Decider
from tests.scheduling.agreement import failure
from tests.scheduling.draw import draw
from tests.scheduling.loop import Seen, run
from tests.scheduling.test_dump import without

SECOND = 10**6
HOUR = 3600 * SECOND
MINUTE = 60 * SECOND
ALONE = tuple(Machine(f"m{i}", {"cpu": 1}) for i in range(16))
TOGETHER = (Machine("m", {"cpu": 16}),)
FOUND_OUT = 0
"""The seed of a sequence in which room is kept."""


def single(tenant: str, name: str = "") -> Job:
    return Job(name or tenant, {"cpu": 1}, tenant=tenant)


def gang(tenant: str, size: int, name: str = "", tasks: int | None = None) -> Job:
    return Job(name or tenant, {"cpu": 1}, tenant=tenant, gang=size, tasks=tasks)


def held(
    *jobs: Job,
    machines: tuple[Machine, ...] = ALONE,
    after: int | None = MINUTE,
    filling: bool = True,
    limit: tuple[str, int] | None = None,
) -> dict[str, float]:
    """How many tasks of each tenant run on average in the second half of two hours, on 16 CPUs;
    all take 100 seconds on average, at random. A tenant has a limit of CPUs."""
    core = Core([Unit("cpu")], options=Options(reserve_after=after, filling=filling))
    told: list[Event] = [MachineJoined(0, machine) for machine in machines]
    names = list(dict.fromkeys(str(job.tenant) for job in jobs))
    for name in names:
        most = {"cpu": limit[1]} if limit is not None and limit[0] == name else {}
        told.append(TenantChanged(0, Tenant(name, limit=most)))
    told += [JobSubmitted(0, job) for job in jobs]
    random = Random(1)
    seen = run(core, told, lambda *_: random.randint(1, 200) * SECOND, 2 * HOUR)
    tenant = {job.name: str(job.tenant) for job in jobs}
    sums = dict.fromkeys(names, 0.0)
    for job, tasks in _means(seen).items():
        sums[tenant[job]] += tasks
    return sums


def _means(seen: Seen) -> dict[str, float]:
    sums: dict[str, float] = {}
    for i, time in enumerate(seen.times):
        until = seen.times[i + 1] if i + 1 < len(seen.times) else 2 * HOUR
        for job, tasks in seen.running[i].items():
            sums[job] = sums.get(job, 0.0) + tasks * max(0, until - max(time, HOUR)) / HOUR
    return sums


@pytest.mark.parametrize("machines", [ALONE, TOGETHER])
def test_gangs_beside_single_tasks_hold_what_is_fair(machines: tuple[Machine, ...]) -> None:
    found = held(single("a"), gang("b", 2), machines=machines)
    assert found["a"] > 7.7
    assert found["b"] > 7.6
    found = held(single("a"), gang("b", 4), machines=machines)
    assert found["a"] > 7
    assert found["b"] > 6.4


def test_a_gang_of_all_that_is_fair_leaves_others_most_of_theirs() -> None:
    found = held(single("a"), gang("b", 8))
    assert found["a"] > 6
    assert found["b"] > 4


@pytest.mark.parametrize("options", [{"after": None}, {"filling": False}])
def test_without_reservations_and_in_older_versions_nothing_is_kept(
    options: dict[str, None],
) -> None:
    assert held(single("a"), gang("b", 4), **options)["b"] < 3  # type: ignore[arg-type]  # names


def test_of_a_tenants_gangs_one_after_the_other_keeps_room() -> None:
    found = held(single("a"), *(gang("b", 4, f"b{i}") for i in range(4)))
    assert found["a"] > 7
    assert found["b"] > 6


def test_gangs_of_two_sizes_share_alike() -> None:
    found = held(gang("a", 2), gang("b", 8))
    assert found["a"] > 6
    assert found["b"] > 5


@pytest.mark.parametrize(("one", "other"), [(12, 12), (8, 12), (16, 2)])
def test_no_two_gangs_wait_for_each_other(one: int, other: int) -> None:
    found = held(gang("a", one), gang("b", other), single("c"))
    assert sum(found.values()) > 8, "half of the CPUs"
    assert min(found.values()) > 1.8


def test_who_may_not_hold_more_keeps_nothing() -> None:
    found = held(single("a"), gang("b", 4), limit=("b", 4))
    assert found["a"] > 12
    assert found["b"] > 2


def keeping() -> Core:
    """Two machines that a job's tasks left, of which one is kept for a gang of four."""
    core = Core([Unit("cpu")], checked=True)
    for i in range(4):
        core.apply(MachineJoined(0, Machine(f"m{i}", {"cpu": 1})))
    core.apply(JobSubmitted(0, Job("small", {"cpu": 1})))
    core.decide()
    core.handle(JobSubmitted(SECOND, Job("gang", {"cpu": 1}, tasks=8, gang=3)))
    assert core.handle(events.TaskFinished(2 * SECOND, "small", 0)) == []
    return core


def test_room_is_kept_place_by_place_and_given_to_the_whole_gang() -> None:
    core = keeping()
    [own] = [each for each in core.why("gang").reasons if isinstance(each, Reserved)]
    assert own == Reserved(("m0",), None, kept=True, term=Term(Fraction(0), Fraction(600)))
    kept = "m0 is kept for its gang, which collects room, for 10 min if no task ends there"
    assert str(own) == kept
    assert ReservedForOthers(1, (("gang", 1),), Fraction(600)) in core.why("small").reasons
    assert core.handle(events.TaskFinished(3 * SECOND, "small", 1)) == []
    started = core.handle(events.TaskFinished(4 * SECOND, "small", 2))
    assert [launch.job for launch in started] == ["gang"] * 3
    assert core.state.header[0]["reservations"] == 0


@pytest.mark.parametrize(
    "event",
    [
        events.JobCancelled(3 * SECOND, "gang"),
        events.JobChanged(3 * SECOND, "gang", 3),
        events.MachineDrained(3 * SECOND, "m0"),
        events.MachineLeft(3 * SECOND, "m1"),
        events.MachineChanged(3 * SECOND, Machine("m0", {"cpu": 2})),
    ],
)
def test_what_is_kept_is_given_up_with_its_reason(event: Event) -> None:
    core = keeping()
    core.handle(event)
    core.check()
    if "gang" in core.ids.jobs:
        core.handle(events.JobCancelled(4 * SECOND, "gang"))
    assert core.state.header[0]["reservations"] == 0
    assert not core.state.job["kept"].any()


def test_a_dump_of_a_version_that_kept_no_room_is_read() -> None:
    core = keeping()
    core.handle(JobSubmitted(3 * SECOND, Job("other", {"cpu": 1}, tasks=4, gang=2)))
    again = load(without(dump(core), "job.gang_next", "job.gang_before", "whole.gangs"))
    again.check()


def test_a_reference_that_keeps_no_room_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    case = draw(FOUND_OUT)
    assert failure(case) is None
    monkeypatch.setattr(Decider, "_keeper", lambda *_: None)
    assert failure(case) is not None
