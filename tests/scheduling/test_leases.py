"""Leases: what is reserved ends, who held it in vain rests, and what ends is waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.dump import dump, load
from fairlead.scheduling.events import (
    Event,
    JobCancelled,
    JobSubmitted,
    MachineJoined,
    TaskFinished,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.kernels.change.leases import REMEMBERS, RESTS
from fairlead.scheduling.options import TIMES, Options
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit
from tests.reference import online, online_apply, online_line
from tests.scheduling.agreement import failure
from tests.scheduling.draw import Case, draw
from tests.scheduling.loop import Seen, run
from tests.scheduling.test_dump import without

SECOND = 10**6
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
CPUS = 16
TENANTS = ("a", "b", "c", "d")
FOUND_OUT = {
    "lapse": 13,
    "end_lease": 0,
    "extend_lease": 11,
    "_age": 33,
    "takes": 5,
}
"""Seeds of sequences that need these of the reference."""
TWINS = ("pass_on", "_are_twins")
"""These are needed where a reservation is passed on, which is seldom drawn."""
WITHOUT: dict[str, Callable[..., object]] = {
    "_age": lambda *_: 0,
    "_are_twins": lambda _, one, other: one.seq == other.seq,
    "takes": lambda _world, taker, _machine, other: taker is other,
}
"""What stands for those of which something is asked; for the others nothing."""


def begun(*jobs: Job) -> list[Event]:
    """16 machines of a CPU, and jobs that are there from the beginning."""
    told: list[Event] = [MachineJoined(0, Machine(f"m{i}", {"cpu": 1})) for i in range(CPUS)]
    told += [TenantChanged(0, Tenant(name)) for name in TENANTS]
    return [*told, *(JobSubmitted(0, job) for job in jobs)]


def single(tenant: str, tasks: int | None = None, name: str = "") -> Job:
    return Job(name or tenant, {"cpu": 1}, tenant=tenant, tasks=tasks)


def gang(tenant: str, size: int = CPUS, name: str = "", tasks: int | None = None) -> Job:
    return Job(name or tenant, {"cpu": 1}, tenant=tenant, gang=size, tasks=tasks)


def endless(tenant: str) -> Job:
    return single(tenant, tasks=1, name=f"endless-{tenant}")


def lived(
    jobs: Sequence[Job], later: Sequence[Event] = (), *, hours: int = 4, mean: int = MINUTE
) -> Seen:
    """What runs: tasks end after an exponential time of this mean, but for those without an end."""
    random, core = Random(1), Core([Unit("cpu")])

    def duration(job: str, _task: int) -> int:
        lasts = max(SECOND, round(random.expovariate(1 / mean)))
        return 1000 * HOUR if job.startswith("endless") else lasts

    return run(core, [*begun(*jobs), *later], duration, hours * HOUR)


def mean_of(seen: Seen, job: str, hours: int = 4) -> float:
    """How many tasks of the job run on average in the second half."""
    total, half = 0.0, hours * HOUR // 2
    for i, time in enumerate(seen.times):
        until = seen.times[i + 1] if i + 1 < len(seen.times) else hours * HOUR
        total += seen.running[i][job] * max(0, until - max(time, half))
    return total / half


def test_a_gang_that_waits_for_what_never_ends_costs_a_tenth() -> None:
    seen = lived((endless("c"), gang("b"), single("a")))
    assert 12.5 < mean_of(seen, "a") < CPUS - 1


def again_and_again(tenant: str, each: int, until: int) -> list[Event]:
    """Its gang of all CPUs is cancelled, and submitted as another job."""
    told: list[Event] = []
    for i, time in enumerate(range(0, until, each)):
        told += [JobCancelled(time, f"{tenant}{i - 1}")] * (i > 0)
        told.append(JobSubmitted(time, gang(tenant, name=f"{tenant}{i}")))
    return told


@pytest.mark.parametrize("minutes", [3, 9, 11])
def test_who_submits_it_again_gets_no_more(minutes: int) -> None:
    later = again_and_again("b", minutes * MINUTE, 4 * HOUR)
    assert mean_of(lived((endless("b"), single("a")), later), "a") > 12.5


def test_two_tenants_that_take_turns_cost_a_tenth_each() -> None:
    jobs = (endless("b"), endless("c"), gang("b"), gang("c"), single("a"))
    assert mean_of(lived(jobs), "a") > 10.5


@pytest.mark.parametrize("mean", [MINUTE, HOUR])
@pytest.mark.parametrize("size", [8, CPUS])
def test_a_gang_that_waits_for_what_ends_starts_at_last(mean: int, size: int) -> None:
    hours = 300 * mean // HOUR or 8
    seen = lived((single("a"), gang("b", size)), hours=hours, mean=mean)
    assert seen.done["b"] >= 6 * size
    assert mean_of(seen, "b", hours) > (4 if size == 8 else 2.5)


MADE = 2 * SECOND
LEASE = TIMES * SECOND
"""Of `held_in_vain`: when machines are reserved, and for how long."""
ENDS = MADE + SECOND + LEASE
"""It begins anew with the last task that ends there."""


def held_in_vain(gang_tasks: int = CPUS) -> Core:
    """All machines are reserved for a gang at MADE, of which one runs a task without an end; the
    others are free a second later, and somebody else waits."""
    core = Core([Unit("cpu")], options=Options(reserve_after=SECOND))
    for event in begun(endless("c"), single("a", tasks=CPUS - 1)):
        core.apply(event)
    core.decide()
    core.handle(JobSubmitted(SECOND, gang("b", tasks=gang_tasks)))
    core.handle(events.TimePassed(MADE))
    assert core.state.header[0]["reservations"] == CPUS
    for task in range(CPUS - 1):
        assert core.handle(events.TaskFinished(MADE + SECOND, "a", task)) == []
    assert core.handle(JobSubmitted(MADE + SECOND, single("d", tasks=CPUS - 1))) == []
    core.check()
    core.checked = True  # from here on: many tests begin so
    return core


def test_a_lease_ends_and_others_have_the_machines() -> None:
    core = held_in_vain()
    assert core.state.header[0]["lapse"] == ENDS
    assert core.handle(events.TimePassed(ENDS - 1)) == []
    started = core.handle(events.TimePassed(ENDS))
    assert [launch.job for launch in started] == ["d"] * (CPUS - 1)
    assert core.state.header[0]["reservations"] == 0


def rests_until(core: Core, tenant: str = "b") -> int:
    return int(core.state.tenant["rests"][core.ids.tenants[tenant]])


def test_the_tenant_rests_nine_times_as_long() -> None:
    core = held_in_vain()
    core.handle(events.TimePassed(ENDS))
    rested = ENDS + RESTS * (ENDS - MADE)
    assert rests_until(core) == rested
    assert core.state.header[0]["rest"] == rested
    core.handle(events.TimePassed(rested - 1))
    assert core.state.header[0]["reservations"] == 0
    core.handle(events.TimePassed(rested))
    core.handle(events.TimePassed(int(core.wake() or 0)))
    assert core.state.header[0]["reservations"] == CPUS


def test_who_cancels_its_job_rests_as_long_for_what_it_held() -> None:
    core = held_in_vain()
    core.handle(JobCancelled(MADE + 4 * SECOND, "b"))
    assert rests_until(core) == MADE + (1 + RESTS) * 4 * SECOND
    core.handle(JobSubmitted(MADE + 4 * SECOND, gang("b", 3, "again", tasks=3)))
    core.handle(events.TimePassed(MADE + 20 * SECOND))
    assert core.state.header[0]["reservations"] == 0


def test_who_starts_less_than_it_held_machines_for_rests_and_who_starts_does_not() -> None:
    core = held_in_vain(CPUS)
    core.handle(events.TaskFinished(MADE + 5 * SECOND, "endless-c", 0))
    assert core.why("b").running == CPUS
    assert rests_until(core) == 0
    core = held_in_vain(2 * CPUS)
    core.handle(events.TaskFinished(MADE + 5 * SECOND, "endless-c", 0))
    assert core.why("b").running == CPUS


def test_a_lease_is_as_long_as_tasks_took_lately_and_what_was_long_is_forgotten() -> None:
    core = held_in_vain()
    header, last = core.state.header[0], MADE + SECOND
    assert header["longest"] == last
    core.handle(JobCancelled(MADE + SECOND, "b"))
    for task in range(CPUS - 2):  # however many there are
        core.handle(events.TaskFinished(MADE + SECOND, "d", task))
    assert header["longest"] == last
    until = MADE + SECOND + REMEMBERS * last
    core.handle(events.TaskFinished(until, "d", CPUS - 2))
    assert header["longest"] == until - MADE - SECOND
    core.handle(JobSubmitted(until + SECOND, single("a", tasks=1, name="short")))
    late = until + REMEMBERS * int(header["longest"]) + 1
    core.handle(JobSubmitted(late, single("a", tasks=1, name="shorter")))
    core.handle(events.TaskFinished(late, "shorter", 0))
    assert header["longest"] == (until - MADE - SECOND) // 2


def test_a_lease_begins_anew_with_each_end_of_what_was_there_before() -> None:
    core = Core([Unit("cpu")], options=Options(reserve_after=SECOND), checked=True)
    core.apply(TenantChanged(0, Tenant("b")))
    core.apply(MachineJoined(0, Machine("m", {"cpu": 4})))
    core.handle(JobSubmitted(0, Job("before", {"cpu": 1}, tasks=4)))
    core.handle(JobSubmitted(SECOND, Job("large", {"cpu": 4}, tenant="b", tasks=1)))
    core.handle(events.TimePassed(MADE))
    assert core.state.header[0]["lapse"] == MADE + LEASE
    core.handle(events.TaskFinished(MADE + 8 * SECOND, "before", 0))
    longest = MADE + 8 * SECOND
    assert core.state.header[0]["lapse"] == MADE + 8 * SECOND + 2 * longest


def test_a_reservation_that_loses_a_machine_goes_on_with_its_lease() -> None:
    core = Core([Unit("cpu")], options=Options(reserve_after=SECOND), checked=True)
    core.apply(TenantChanged(0, Tenant("b")))
    for i in range(3):
        core.apply(MachineJoined(0, Machine(f"m{i}", {"cpu": 1})))
    core.handle(JobSubmitted(0, Job("endless", {"cpu": 1}, tasks=3)))
    core.handle(JobSubmitted(SECOND, gang("b", 2)))
    core.handle(events.TimePassed(MADE))
    core.handle(events.MachineLeft(MADE + SECOND, "m0"))  # a task ends there, too
    assert core.state.header[0]["reservations"] == 2
    assert core.state.header[0]["lapse"] == MADE + SECOND + LEASE
    core.handle(events.MachineLeft(MADE + 2 * SECOND, "m1"))
    assert core.state.header[0]["reservations"] == 0
    assert rests_until(core) == 0


def test_machines_with_older_tasks_are_reserved_last() -> None:
    core = Core([Unit("cpu")], options=Options(reserve_after=SECOND), checked=True)
    for name in ("m0", "m1"):
        core.apply(MachineJoined(0, Machine(name, {"cpu": 2})))
    core.handle(JobSubmitted(0, Job("old", {"cpu": 1}, tasks=2, machines=["m0"])))
    late = 3 * SECOND
    core.handle(JobSubmitted(late, Job("new", {"cpu": 1}, tasks=2, machines=["m1"])))
    core.handle(JobSubmitted(late, Job("large", {"cpu": 2}, tasks=1)))
    core.handle(events.TimePassed(late + SECOND))
    assert core.state.machine["reserved"][:2].tolist() == [-1, core.ids.jobs["large"]]


def test_another_policy_forgets_leases_and_rests() -> None:
    core = held_in_vain()
    core.handle(events.TimePassed(MADE + LEASE))
    other = reconfigure(core, core.now, "drf", "best-fit", core.options)
    assert rests_until(other) == 0
    other.check()


def test_what_an_older_version_left_goes_on_without_an_end() -> None:
    core = held_in_vain()
    said = core.options.plain()
    del said["reserve_for"]
    assert Options.of(said).least_lease is None
    older = Core([Unit("cpu")], options=Options(reserve_for=None))
    names = (
        "job.leased",
        "job.leased_from",
        "job.lapses",
        "job.leased_tasks",
        "tenant.rests",
        "machine.wanted",
    )
    again = load(without(dump(older), *names, "whole.reserve_for", "whole.lapse", "whole.rest"))
    assert again.wake() is None
    again.check()


def passed_on() -> Case:
    """A sequence in which the job for which a machine is reserved starts on another one."""
    two = {"cpu": 2, "memory": 2}
    ones = Job("ones", {"cpu": 1, "memory": 1}, tasks=4)
    twins = [Job(f"b{i}", two, tenant="b", tasks=1) for i in range(3)]
    instants: tuple[tuple[Event, ...], ...] = (
        (TenantChanged(0, Tenant("b")), *(MachineJoined(0, Machine(m, two)) for m in ("m0", "m1"))),
        (JobSubmitted(0, ones),),
        tuple(JobSubmitted(SECOND, twin) for twin in twins),
        (TimePassed(3 * SECOND),),
        (MachineJoined(4 * SECOND, Machine("m2", two)),),
        # Whoever comes now may not have what is still reserved.
        (JobSubmitted(4 * SECOND, replace(ones, name="late")),),
        (TaskFinished(4 * SECOND, "ones", 0),),
        (TaskFinished(4 * SECOND, "ones", 2),),
    )
    return Case(0, "drf", "best-fit", SECOND, 10 * SECOND, filling=True, instants=instants)


@pytest.mark.parametrize("name", sorted((*FOUND_OUT, *TWINS)))
def test_a_reference_without_leases_is_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = passed_on() if name in TWINS else draw(FOUND_OUT[name])
    assert failure(case) is None
    without = WITHOUT.get(name, lambda *_, **_named: None)
    for place in (online, online_apply, online_line):
        if hasattr(place, name):
            monkeypatch.setattr(place, name, without)
    assert failure(case) is not None
