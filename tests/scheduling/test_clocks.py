"""A tenant's clock: who waits for how long, whatever others do and whichever of its jobs it is."""

from __future__ import annotations

from random import Random

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import (
    Event,
    JobCancelled,
    JobSubmitted,
    MachineJoined,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from tests.scheduling.loop import run

SECOND = 10**6
HOUR = 3600 * SECOND
TENANTS = ("a", "b", "l")
SMALL = Job("small", {"cpu": 1}, tenant="a")


def held(machines: int, *told: Event) -> dict[str, float]:
    """The CPUs that each tenant holds on average in the second of two hours, on machines of 16;
    small tasks take 60 seconds on average, at random, others 30."""
    core = Core([Unit("cpu")], options=Options(reserve_after=60 * SECOND), checked=False)
    first: list[Event] = [
        *(MachineJoined(0, Machine(f"m{i}", {"cpu": 16})) for i in range(machines)),
        *(TenantChanged(0, Tenant(name)) for name in TENANTS),
        JobSubmitted(0, SMALL),
    ]
    size = {each.job.name: each.job for each in (*first, *told) if isinstance(each, JobSubmitted)}
    random = Random(1)

    def lasts(job: str, _: int) -> int:
        return int(random.expovariate(1 / (60 if job == "small" else 30)) * SECOND) + 1

    seen = run(core, [*first, *told], lasts, 2 * HOUR)
    sums = dict.fromkeys(TENANTS, 0.0)
    for i, time in enumerate(seen.times):
        until = seen.times[i + 1] if i + 1 < len(seen.times) else 2 * HOUR
        for job, tasks in seen.running[i].items():
            cpus = tasks * float(size[job].demand["cpu"])
            sums[str(size[job].tenant)] += cpus * max(0, until - max(time, HOUR)) / HOUR
    return sums


def test_a_tenant_with_five_jobs_grows_as_with_one() -> None:
    one, five = (
        held(3, *(JobSubmitted(600 * SECOND, Job(f"b{i}", {"cpu": 2}, tenant="b")) for i in some))
        for some in (range(1), range(5))
    )
    assert one["b"] > 22
    assert five["b"] > 22


def test_who_submits_and_cancels_makes_nobody_wait_anew() -> None:
    told: list[Event] = [JobSubmitted(600 * SECOND, Job("b", {"cpu": 16}, tenant="b"))]
    for i in range(130):
        at = (590 + 50 * i) * SECOND
        told.append(JobSubmitted(at, Job(f"l{i}", {"cpu": 16}, tenant="l", tasks=4, gang=4)))
        told.append(JobCancelled(at + 50 * SECOND - 1, f"l{i}"))
    assert held(4, *told)["b"] > 24


def test_a_machine_that_a_job_declines_is_not_reserved_for_it() -> None:
    core = Core([Unit("cpu")], options=Options(reserve_after=SECOND), checked=True)
    for name in ("other", "liked"):
        core.apply(MachineJoined(0, Machine(name, {"cpu": 2}, {"zone": name})))
    core.handle(JobSubmitted(0, Job("small", {"cpu": 1})))
    large = Job("large", {"cpu": 2}, prefer="zone = liked", prefer_for=3600)
    core.handle(JobSubmitted(SECOND, large))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][:2].tolist() == [-1, core.ids.jobs["large"]]


def test_a_reservation_ends_where_a_limit_holds_its_job_back() -> None:
    core = Core([Unit("cpu")], options=Options(reserve_after=SECOND), checked=True)
    core.apply(TenantChanged(0, Tenant("b", limit={"cpu": 3})))
    for name in ("m", "apart"):
        core.apply(MachineJoined(0, Machine(name, {"cpu": 2})))
    core.apply(JobSubmitted(0, Job("one", {"cpu": 1}, tenant="b", tasks=1, machines=["apart"])))
    core.handle(JobSubmitted(0, Job("small", {"cpu": 1})))
    core.handle(JobSubmitted(SECOND, Job("large", {"cpu": 2}, tenant="b", machines=["m"])))
    core.handle(TimePassed(3 * SECOND))
    assert core.state.machine["reserved"][0] == core.ids.jobs["large"]
    core.handle(TenantChanged(4 * SECOND, Tenant("b", limit={"cpu": 2})))
    core.handle(TimePassed(6 * SECOND))
    assert core.state.machine["reserved"][0] == -1
