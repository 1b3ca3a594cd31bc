"""What a seed means: the cluster, the settings, which faults happen how often, who asks for what
when. All of it is drawn before the run begins, so that a run can be repeated with less of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.options import Options
from fairlead.service.requests import (
    Caller,
    CancelJob,
    ChangeJob,
    DrainMachine,
    ForgetJob,
    MakeToken,
    PutTenant,
    Request,
    RevokeToken,
    Role,
    SubmitJobs,
)
from fairlead.service.settings import Limits, Settings
from tests.vopr.faults import CRASHES, NODES, SECOND, Fault

START = 1_800_000_000 * SECOND
"""When every run begins, in microseconds since 1970."""

POLICIES = ("tsf", "tsf", "drfh", "cdrf", "fifo")
PLACEMENTS = ("best-fit", "best-fit", "first-fit", "worst-fit", "price-guided")

TIMED = (*NODES, Fault.CLOCK_FORWARD, Fault.CLOCK_BACK, Fault.ENGINE_DOWN, Fault.CRASH_BETWEEN)
"""Faults that happen at a moment, not in a call."""

RARE = {
    Fault.APPEND_TAKEN: 0.004,
    Fault.READ_CORRUPT: 0.1,
    Fault.READ_FAILS: 0.1,
    Fault.CRASH_IN_RECOVERY: 0.15,
    Fault.LAUNCH_LOST: 0.1,
    Fault.SNAPSHOT_LOST: 0.3,
    Fault.SNAPSHOT_FAILS: 0.2,
    Fault.CRASH_IN_SNAPSHOT: 0.1,
    Fault.CANCEL_SLOW: 0.3,
    Fault.CANCEL_TOO_LATE: 0.3,
    Fault.CLIENT_REPEATS: 0.3,
    Fault.CLIENT_CONFLICTS: 0.2,
    Fault.START_UNREPORTED: 0.2,
    Fault.LAUNCH_INSTANT: 0.15,
    Fault.REPORT_OLD: 0.2,
    Fault.ADVICE_LATE: 0.4,
    Fault.ADVICE_NEVER: 0.3,
    Fault.ADVICE_OLD: 0.3,
}
"""How often a fault happens at the most, where that is not the usual 3 in 100 calls."""


@dataclass(frozen=True)
class Incident:
    """A fault that happens at a moment: to a node, to the clock, to the engine."""

    time: int
    fault: Fault
    node: str = ""
    lasts: int = 0


@dataclass(frozen=True)
class Ask:
    """What a client asks for, and when. `mistaken`: it cannot be, and must be refused."""

    time: int
    request: Request
    mistaken: bool = False


@dataclass(frozen=True)
class Plan:
    """A run. `off`: kinds of faults that are left out; `most`: so many faults happen at the most;
    `asks` and `incidents` may be fewer than the seed drew."""

    seed: int
    machines: tuple[Machine, ...]
    joins: tuple[Machine, ...]
    settings: Settings
    pace: float
    poll: int  # microseconds between two looks at the engine's reports
    lasts: int
    rates: dict[Fault, float]
    asks: tuple[Ask, ...]
    incidents: tuple[Incident, ...]
    most: int = 10**9
    off: frozenset[Fault] = frozenset()
    checked: bool = field(default=False)

    @property
    def end(self) -> int:
        """When the faults stop."""
        return START + self.lasts


def draw(seed: int) -> Plan:
    """The run of this seed. Each seed has some kinds of faults only, often or seldom, so that runs
    differ in kind and not just in detail."""
    random = Random(f"plan {seed}")
    machines = [_machine(random, i) for i in range(random.randint(1, 4))]
    joins = [_machine(random, 10 + i) for i in range(random.randint(0, 1))]
    lasts = random.choice((20, 60, 200)) * SECOND
    rates = _rates(random)
    settings = _settings(random)
    incidents = sorted(
        _incidents(random, rates, [m.name for m in machines], joins, lasts),
        key=lambda each: each.time,
    )
    asks = sorted(_asks(random, lasts, machines, settings), key=lambda each: each.time)
    return Plan(
        seed=seed,
        machines=tuple(machines),
        joins=tuple(joins),
        settings=settings,
        pace=random.choice((0.5, 3, 15)),
        poll=random.choice((1, 50_000, 500_000)),
        lasts=lasts,
        rates=rates,
        asks=tuple(asks),
        incidents=tuple(incidents),
        checked=random.random() < 0.1,
    )


def _machine(random: Random, number: int) -> Machine:
    capacity = {"cpu": random.choice((1, 2, 4)), "memory": random.choice((2, 4, 8)) * 2**30}
    if random.random() < 0.4:
        capacity["gpu"] = random.choice((1, 2))
    return Machine(f"m{number:02}", capacity, {"zone": random.choice("ab")})


def _rates(random: Random) -> dict[Fault, float]:
    """Which faults happen, and how often."""
    quiet = random.random() < 0.05
    rates: dict[Fault, float] = {}
    part = random.choice((0.15, 0.4, 0.7))
    for fault in Fault:
        if quiet or random.random() >= part:
            continue
        most = RARE.get(fault, 0.02 if fault in CRASHES else 0.04)
        rates[fault] = most * random.choice((0.1, 0.4, 1.0))
    return rates


def _settings(random: Random) -> Settings:
    tenants = [
        Tenant(
            f"t{i}",
            weight=random.choice((1, 1, 2)),
            parent=random.choice((None, "t0")) if i else None,
        )
        for i in range(random.randint(1, 3))
    ]
    preempt = random.choice((None, None, 5 * SECOND, 20 * SECOND))
    return Settings(
        policy=random.choice(POLICIES),
        placement=random.choice(PLACEMENTS),
        options=Options(
            reserve_after=random.choice((None, 10 * SECOND, 60 * SECOND)), preempt_after=preempt
        ),
        tenants=tuple(tenants),
        limits=Limits(jobs_per_tenant=random.choice((4, 100))),
        snapshot_every=random.choice((0, 20, 60)),
        requests_per_step=random.choice((2, 1000)),
        node_interval=random.choice((SECOND, 5 * SECOND, 10 * SECOND)),
        advise_every=random.choice((SECOND, 5 * SECOND, 20 * SECOND)),
    )


def _incidents(
    random: Random,
    rates: dict[Fault, float],
    names: list[str],
    joins: list[Machine],
    lasts: int,
) -> Iterator[Incident]:
    for machine in joins:
        yield Incident(START + random.randrange(lasts), Fault.NODE_JOINS, machine.name)
    for fault in TIMED:
        if fault not in rates or fault is Fault.NODE_JOINS:
            continue
        for _ in range(random.randint(1, 3)):
            time = START + random.randrange(lasts)
            length = random.randrange(SECOND // 2, 50 * SECOND)
            if fault is Fault.NODE_HANGS_LONG:
                length = random.randrange(65 * SECOND, 200 * SECOND)
            elif fault in (Fault.NODE_SHRINKS, Fault.NODE_GROWS):
                length = random.randrange(10 * SECOND, 150 * SECOND)
            elif fault is Fault.ENGINE_DOWN:
                length = random.randrange(10 * SECOND)
            elif fault is Fault.CLOCK_BACK:
                length = -random.choice((SECOND // 2, 20 * SECOND, 9000 * SECOND))
            elif fault is Fault.CLOCK_FORWARD:
                length = random.choice((SECOND, 100 * SECOND, 5000 * SECOND))
            node = random.choice(names) if fault in NODES else ""
            yield Incident(time, fault, node, length)


def _asks(random: Random, lasts: int, machines: list[Machine], settings: Settings) -> Iterator[Ask]:
    tenants = [tenant.name for tenant in settings.tenants]
    names: list[tuple[int, str]] = []
    for number in range(random.randint(2, 7)):
        time = START + random.randrange(lasts)
        jobs = tuple(
            _job(random, f"j{number}" if not part else f"j{number}-{part}", tenants, machines)
            for part in range(random.choice((1, 1, 1, 3)))
        )
        names += [(time, job.name) for job in jobs]
        key = f"k{number}" if random.random() < 0.6 else None
        yield Ask(time, SubmitJobs(_caller(random, jobs), jobs, key))
    admin = Caller("admin")
    for time, name in names:
        later = time + random.randrange(30 * SECOND)
        dice = random.random()
        if dice < 0.25:
            yield Ask(later, CancelJob(admin, name))
        elif dice < 0.4:
            yield Ask(later, ChangeJob(admin, name, random.randint(1, 9)))
        if random.random() < 0.2:
            yield Ask(time + random.randrange(60 * SECOND), ForgetJob(admin, name))
            if random.random() < 0.5:
                again = (_job(random, name, tenants, machines),)
                yield Ask(time + 61 * SECOND, SubmitJobs(admin, again, f"again {name}"))
    for machine in machines:
        if random.random() < 0.2:
            time = START + random.randrange(lasts)
            yield Ask(time, DrainMachine(admin, machine.name))
            yield Ask(time + random.randrange(60 * SECOND), DrainMachine(admin, machine.name, True))
    for number in range(random.randint(0, 3)):
        time = START + random.randrange(lasts)
        known = random.choice(settings.tenants)
        tenant = Tenant(known.name, weight=random.randint(1, 5), parent=known.parent)
        yield Ask(time, PutTenant(admin, tenant))
        if random.random() < 0.5:
            token = f"token-{number}"
            yield Ask(
                time, MakeToken(admin, token, Role.TENANT, random.choice(tenants), "00", "11" * 32)
            )
            if random.random() < 0.5:
                yield Ask(time + random.randrange(20 * SECOND), RevokeToken(admin, token))
    yield from _mistakes(random, lasts, tenants)


def _caller(random: Random, jobs: tuple[Job, ...]) -> Caller:
    tenants = {job.tenant for job in jobs}
    tenant = jobs[0].tenant
    if len(tenants) == 1 and tenant is not None and random.random() < 0.4:
        return Caller(f"of-{tenant}", Role.TENANT, tenant)
    return Caller("admin")


def _job(random: Random, name: str, tenants: list[str], machines: list[Machine]) -> Job:
    tasks = random.choice((1, 1, 2, 3, 5, 8))
    demand: dict[str, Fraction | int] = {"cpu": random.choice((Fraction(1, 2), 1, 1))}
    if random.random() < 0.5:
        demand["memory"] = random.choice((1, 2)) * 2**30
    most = max((machine.capacity.get("gpu", Fraction(0)) for machine in machines), default=0)
    if most and random.random() < 0.4:
        demand["gpu"] = random.choice((Fraction(1, 4), Fraction(1, 2), 1))
        if all(
            demand["cpu"] > m.capacity["cpu"] or demand.get("gpu", 0) > m.capacity.get("gpu", 0)
            for m in machines
        ):
            del demand["gpu"]
    zone = random.choice(machines).labels["zone"]
    constrained = "gpu" not in demand and "memory" not in demand and random.random() < 0.25
    return Job(
        name,
        demand,
        tenant=random.choice(tenants) if random.random() < 0.8 else None,
        tasks=tasks,
        command=("work", name),
        where=f"zone = {zone}" if constrained else "",
        spread=random.random() < 0.1,
        retries=random.choice((None, None, 0, 2)),
        rerunnable=random.random() < 0.7,
        duration=random.choice((None, 5)),
    )


def _mistakes(random: Random, lasts: int, tenants: list[str]) -> Iterator[Ask]:
    """What cannot be, each refused for its own reason."""
    admin = Caller("admin")
    stranger = Caller("of-t0", Role.TENANT, "t0")
    viewer = Caller("eyes", Role.VIEWER)
    cpu = {"cpu": 1}
    wrong: list[Request] = [
        SubmitJobs(admin, (Job("w1", cpu, tasks=1, command="x", tenant="nobody"),), "w"),
        SubmitJobs(admin, (Job("w2", cpu, tasks=1),)),
        SubmitJobs(admin, (Job("w3", cpu, command="x"),)),
        SubmitJobs(admin, (Job("w4", {"lamps": 1}, tasks=1, command="x"),)),
        SubmitJobs(admin, (Job("w5", cpu, tasks=1, command="x"),) * 2),
        SubmitJobs(viewer, (Job("w6", cpu, tasks=1, command="x", tenant=tenants[0]),)),
        CancelJob(admin, "never-there"),
        ForgetJob(admin, 999),
        ChangeJob(admin, "never-there", 3),
        DrainMachine(admin, "no-such-machine"),
        PutTenant(stranger, Tenant("t0", weight=100)),
        MakeToken(viewer, "mine", Role.ADMIN, None, "00", "11" * 32),
        RevokeToken(admin, "never-made"),
        PutTenant(admin, Tenant("orphan", parent="nobody")),
    ]
    for request in random.sample(wrong, random.randint(0, 3)):
        yield Ask(START + random.randrange(lasts), request, mistaken=True)
