"""Places are the tenant's: who sends one job after the other holds what one job would hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import (
    Event,
    JobSubmitted,
    MachineChanged,
    MachineJoined,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from tests.scheduling.loop import run

SECOND = 10**6
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
STRIDE = 7
"""Sizes come neither rising nor falling: each is so many behind the one before."""


def stream(
    tenant: str, cpus: int | Sequence[int], every: int, until: int, *, gang: int = 1
) -> Iterator[Event]:
    """One small job of it after the other, of these sizes in turn."""
    sizes = [cpus] if isinstance(cpus, int) else cpus
    for i, time in enumerate(range(0, until, every)):
        demand = {"cpu": sizes[i * STRIDE % len(sizes)]}
        yield JobSubmitted(time, Job(f"{tenant}-{i}", demand, tenant=tenant, tasks=gang, gang=gang))


def held(
    machines: int,
    cpus: int,
    told: list[Event],
    means: dict[str, int],
    weights: dict[str, int] | None = None,
    hours: int = 2,
    parent: str | None = None,
) -> dict[str, float]:
    """The CPUs that each tenant holds on average in the second half; the tasks of each of them take
    so long on average, at random."""
    core = Core([Unit("cpu")], checked=False)
    first: list[Event] = [
        *(MachineJoined(0, Machine(f"m{i}", {"cpu": cpus})) for i in range(machines)),
        *([TenantChanged(0, Tenant(parent))] if parent else []),
        *(
            TenantChanged(0, Tenant(name, weight=(weights or {}).get(name, 1), parent=parent))
            for name in means
        ),
    ]
    told = sorted(told, key=lambda each: each.time)
    size = {each.job.name: each.job for each in told if isinstance(each, JobSubmitted)}
    random = Random(1)

    def lasts(job: str, _: int) -> int:
        return int(random.expovariate(1 / means[str(size[job].tenant)])) + SECOND

    seen = run(core, [*first, *told], lasts, hours * HOUR)
    sums, half = dict.fromkeys(means, 0.0), hours * HOUR // 2
    for i, time in enumerate(seen.times):
        until = seen.times[i + 1] if i + 1 < len(seen.times) else hours * HOUR
        for job, tasks in seen.running[i].items():
            cpu = tasks * float(size[job].demand["cpu"])
            sums[str(size[job].tenant)] += cpu * max(0, until - max(time, half)) / half
    return sums


def test_whole_machines_are_not_taken_from_who_sends_one_job_after_the_other() -> None:
    told = [*stream("a", 1, 10 * SECOND, 2 * HOUR), *stream("b", 4, 10 * MINUTE, 2 * HOUR)]
    found = held(2, 4, told, {"a": MINUTE, "b": 30 * MINUTE}, weights={"a": 1000, "b": 1})
    assert found["a"] > 3.5


def test_nor_from_who_sends_jobs_of_which_no_two_are_alike() -> None:
    told = [*stream("a", range(60, 100), 10 * SECOND, 2 * HOUR)]
    told += stream("b", 400, 10 * MINUTE, 2 * HOUR)
    found = held(2, 400, told, {"a": MINUTE, "b": 30 * MINUTE}, weights={"a": 1000, "b": 1})
    assert found["a"] > 300


def test_nor_from_gangs_of_which_no_two_are_alike() -> None:
    told = [*stream("a", range(30, 50), MINUTE, 2 * HOUR, gang=4)]
    told += stream("b", 160, 2 * MINUTE, 2 * HOUR)
    means, weights = {"a": 5 * MINUTE, "b": 20 * MINUTE}, {"a": 1000, "b": 1}
    assert held(4, 160, told, means, weights)["a"] > 150


def test_who_sends_one_job_after_the_other_reaches_its_part() -> None:
    told: list[Event] = [JobSubmitted(0, Job("a", {"cpu": 1}, tenant="a"))]
    told += stream("b", 2, 5 * SECOND, 2 * HOUR)
    assert held(2, 8, told, {"a": 2 * MINUTE, "b": MINUTE})["b"] > 7


@pytest.mark.parametrize("parent", [None, "above"])
def test_larger_jobs_one_after_the_other_reach_their_part(parent: str | None) -> None:
    told = [*stream("a", 1, 2 * SECOND, HOUR), *stream("b", 2, 5 * SECOND, HOUR)]
    found = held(1, 16, told, {"a": MINUTE, "b": MINUTE}, parent=parent, hours=1)
    assert found["a"] > 7
    assert found["b"] > 7


def test_larger_jobs_take_turns_with_small_ones_of_their_tenant() -> None:
    small = stream("a", 1, 4 * SECOND, 2 * HOUR)
    large = (
        JobSubmitted(time, Job(f"a-large-{time}", {"cpu": 4}, tenant="a", tasks=1))
        for time in range(0, 2 * HOUR, MINUTE)
    )
    core = Core([Unit("cpu")], checked=False)
    first: list[Event] = [MachineJoined(0, Machine("m", {"cpu": 8})), TenantChanged(0, Tenant("a"))]
    told = [*first, *sorted([*small, *large], key=lambda each: each.time)]
    random = Random(1)
    seen = run(core, told, lambda *_: random.randint(30, 60) * SECOND, 2 * HOUR)
    assert sum(count for job, count in seen.done.items() if "large" in job) > 20


def test_gangs_as_jobs_hold_no_more_than_as_one_job() -> None:
    told: list[Event] = [JobSubmitted(0, Job("a", {"cpu": 2}, tenant="a"))]
    told += stream("b", 4, MINUTE, 2 * HOUR, gang=2)
    assert held(2, 16, told, {"a": MINUTE // 2, "b": 5 * MINUTE})["a"] > 13


def test_of_like_tenants_with_like_gangs_none_has_all_machines_reserved() -> None:
    names = [f"u{i}" for i in range(4)]
    told = [event for name in names for event in stream(name, 4, 6 * MINUTE, 3 * HOUR, gang=4)]
    found = held(8, 8, told, dict.fromkeys(names, 15 * MINUTE), hours=3)
    assert min(found.values()) > 9
    assert sum(found.values()) > 48


@pytest.mark.parametrize("cpus", [4, 2])
def test_a_place_is_the_tenants_also_where_no_machine_is_so_large_any_more(cpus: int) -> None:
    core = Core([Unit("cpu"), Unit("memory")], options=Options(reserve_after=MINUTE), checked=True)
    for name in ("a", "b"):
        core.apply(TenantChanged(0, Tenant(name)))
    core.apply(MachineJoined(0, Machine("m", {"cpu": 4, "memory": 4})))
    running = Job("running", {"cpu": 3, "memory": 1}, tenant="a", tasks=1)
    core.handle(JobSubmitted(0, running))
    core.handle(MachineChanged(1, Machine("m", {"cpu": cpus, "memory": 4})))
    core.handle(JobSubmitted(2, Job("next", {"cpu": 2}, tenant="a", tasks=1)))
    core.handle(JobSubmitted(3, Job("whole", {"memory": 4}, tenant="b", tasks=1)))
    core.handle(TimePassed(2 * MINUTE))
    assert core.why("running").running == 1
    assert core.state.header[0]["reservations"] == (0 if cpus < 3 else 1)


@pytest.mark.parametrize(("size", "tasks", "reserved"), [("1/10", 1, 0), ("1", 4, 1)])
def test_machines_are_reserved_where_those_who_have_more_make_all_the_room(
    size: str, tasks: int, reserved: int
) -> None:
    """Nothing waits of who has the rest of the machine: a crumb does not open it."""
    core = Core([Unit("cpu", Fraction(1, 10))], options=Options(reserve_after=MINUTE), checked=True)
    for name in ("less", "whole", "rest"):
        core.apply(TenantChanged(0, Tenant(name)))
    for name in ("m0", "m1"):
        core.apply(MachineJoined(0, Machine(name, {"cpu": 4})))
    rest = Job("rest", {"cpu": size}, tenant="rest", tasks=tasks, machines=["m1"])
    core.handle(JobSubmitted(0, rest))
    core.handle(JobSubmitted(0, Job("whole", {"cpu": 4}, tenant="whole")))
    less = Job("less", {"cpu": Fraction(3, 10)}, tenant="less", machines=["m1"])
    core.handle(JobSubmitted(0, less))
    core.handle(TimePassed(2 * MINUTE))
    assert core.why("whole").running == 1
    assert core.state.header[0]["reservations"] == reserved


def test_a_crumb_on_each_machine_is_no_way_to_machines_of_who_has_less() -> None:
    told: list[Event] = [
        JobSubmitted(0, Job("crumb", {"cpu": 1}, tenant="crumb", tasks=4, spread=True))
    ]
    told += [*stream("a", 1, 5 * SECOND, 2 * HOUR), *stream("b", 1, 5 * SECOND, 2 * HOUR)]
    told += stream("large", 15, 5 * MINUTE, 2 * HOUR)
    means = {"crumb": 1000 * HOUR, "a": 5 * MINUTE, "b": 5 * MINUTE, "large": 20 * MINUTE}
    found = held(4, 16, told, means)
    assert min(found["a"], found["b"]) > 18
    assert sum(found.values()) > 55


@pytest.mark.parametrize("tenants", [1, 5, 80])
def test_jobs_that_can_never_start_do_not_keep_others_from_reservations(tenants: int) -> None:
    core = Core([Unit("cpu", Fraction(1, 100))], options=Options(reserve_after=MINUTE))
    for name, cpu in (("small", 1), ("m0", 16), ("m1", 16)):
        core.apply(MachineJoined(0, Machine(name, {"cpu": cpu})))
    for name in ("a", "b", *(f"e{i}" for i in range(tenants))):
        core.apply(TenantChanged(0, Tenant(name)))
    core.handle(JobSubmitted(0, Job("full", {"cpu": 1}, tasks=1, machines=["small"])))
    core.handle(JobSubmitted(0, Job("a", {"cpu": 1}, tenant="a", machines=["m0", "m1"])))
    for i in range(80):
        size, whose = {"cpu": Fraction(10 + i, 100)}, f"e{i % tenants}"
        never = Job(f"e{i}", size, tenant=whose, tasks=1, machines=["small"])
        core.handle(JobSubmitted(SECOND, never))
    core.checked = True  # from here on: those that can never start come in one way
    core.handle(JobSubmitted(2 * SECOND, Job("b", {"cpu": 16}, tenant="b", tasks=1)))
    while core.now < 4 * MINUTE:
        core.handle(TimePassed(int(core.wake() or 4 * MINUTE)))
    assert core.state.header[0]["reservations"] == 1
    assert core.ids.jobs["b"] in core.state.machine["reserved"][:3].tolist()


def test_a_reservation_is_passed_on_where_its_job_starts_elsewhere() -> None:
    core = Core([Unit("cpu")], options=Options(reserve_after=SECOND), checked=True)
    for name in ("m0", "m1"):
        core.apply(MachineJoined(0, Machine(name, {"cpu": 2})))
    core.apply(TenantChanged(0, Tenant("b")))
    core.handle(JobSubmitted(0, Job("small", {"cpu": 1}, tasks=4)))
    for i in range(3):
        core.handle(JobSubmitted(SECOND, Job(f"b{i}", {"cpu": 2}, tenant="b", tasks=1)))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][:2].max() == core.ids.jobs["b0"]
    core.handle(MachineJoined(4 * SECOND, Machine("m2", {"cpu": 2})))
    assert core.why("b0").running == 1
    assert core.state.machine["reserved"][:2].max() == core.ids.jobs["b2"]
    assert core.state.header[0]["reservations"] == 1


def test_large_jobs_that_take_turns_leave_small_ones_what_is_of_no_use_to_them() -> None:
    """Where no two large ones fit together: else each would drain small ones beside the last, long
    before it can start."""
    told: list[Event] = []
    for i in range(3):
        told += stream(f"large{i}", range(13, 17), 5 * MINUTE, 4 * HOUR)
        told += stream(f"small{i}", 1, 10 * SECOND, 4 * HOUR)
    means = {f"large{i}": 20 * MINUTE for i in range(3)} | {
        f"small{i}": 5 * MINUTE for i in range(3)
    }
    found = held(1, 24, told, means, hours=4)
    assert sum(part for name, part in found.items() if name.startswith("small")) > 8
    assert sum(found.values()) > 22
