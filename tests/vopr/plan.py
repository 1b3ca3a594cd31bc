"""What a seed means: the cluster, the settings, which faults happen how often, who asks for what
when. All of it is drawn before the run begins, so that a run can be repeated with less of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import TypeVar

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.options import USUAL, Options
from fairlead.service.api.settings import ApiSettings
from fairlead.service.requests import (
    Caller,
    CancelJob,
    CancelJobs,
    ChangeJob,
    DrainMachine,
    DrainMachines,
    ForgetJob,
    ForgetJobs,
    MakeToken,
    PutTenant,
    PutTenants,
    Request,
    RevokeToken,
    SubmitJobs,
)
from fairlead.service.settings import Limits, Settings
from fairlead.wire.kinds import Role
from tests.vopr.faults import CRASHES, NODES, SECOND, Fault
from tests.vopr.looks import Look, What

ADMIN = Caller("admin")
VIEWER = Caller("eyes", Role.VIEWER)

START = 1_800_000_000 * SECOND
"""When every run begins, in microseconds since 1970."""

POLICIES = ("tsf", "tsf", "drfh", "cdrf", "fifo")
PLACEMENTS = ("best-fit", "scarce-last", "first-fit", "worst-fit", "price-guided")

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
    Fault.NODE_RETURNS_BUSY: 1.0,
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

T = TypeVar("T")


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
    others: tuple[Settings, ...]  # of which policy, placement and options may be taken later
    pace: float
    poll: int  # microseconds between two looks at the engine's reports
    lasts: int
    rates: dict[Fault, float]
    asks: tuple[Ask, ...]
    looks: tuple[Look, ...]
    api: ApiSettings
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
    lasts = random.choice((5, 15, 40, 100)) * SECOND
    rates = _rates(random)
    settings = _settings(random, machines)
    incidents = sorted(
        _incidents(random, rates, [m.name for m in machines], joins, lasts),
        key=lambda each: each.time,
    )
    asks = sorted(_asks(random, lasts, machines, settings), key=lambda each: each.time)
    asks += _of_one_name(Random(f"names {seed}"), lasts, settings.tenants)
    asks.sort(key=lambda each: each.time)
    return Plan(
        seed=seed,
        machines=tuple(machines),
        joins=tuple(joins),
        settings=settings,
        others=tuple(_settings(Random(f"other {seed} {i}"), machines) for i in range(2)),
        pace=random.choice((0.5, 3, 15)),
        poll=random.choice((1, 50_000, 500_000)),
        lasts=lasts,
        rates=rates,
        asks=tuple(asks),
        looks=_looks(Random(f"looks {seed}"), lasts, settings),
        api=_api(Random(f"api {seed}")),
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
    if Fault.NODE_CUT_OFF in rates:  # or it would hardly be met
        rates[Fault.NODE_RETURNS_BUSY] = random.choice((0.0, 1.0))
    return rates


def _tenants(random: Random, machines: list[Machine]) -> list[Tenant]:
    """In a tree with weights, or side by side, each with machines that it brought. Some with a
    limit, in which every task that is drawn fits."""
    names = [f"t{i}" for i in range(random.randint(1, 3))]
    pooled = random.random() < 0.2
    tenants = []
    for i, name in enumerate(names):
        limit = {"cpu": random.choice((2, 3))} if random.random() < 0.25 else {}
        if pooled:
            pool = random.sample([m.name for m in machines], random.randint(1, len(machines)))
            tenants.append(Tenant(name, pool=pool, limit=limit))
        else:
            parent = random.choice((None, *names[:i], *names[i - 1 : i]))
            weight = random.choice((1, 1, 2))
            tenants.append(Tenant(name, weight=weight, parent=parent, limit=limit))
    return tenants


def _options(reserve_after: int | None, preempt_after: int | None) -> Options:
    """Where reservations are made soon they end soon, and in vain."""
    least = USUAL if reserve_after == 60 * SECOND else 5 * SECOND
    return Options(reserve_after=reserve_after, reserve_for=least, preempt_after=preempt_after)


def _settings(random: Random, machines: list[Machine]) -> Settings:
    tenants = _tenants(random, machines)
    preempt = random.choice((None, 2 * SECOND, 10 * SECOND))
    return Settings(
        policy=random.choice(POLICIES),
        placement=random.choice(PLACEMENTS),
        options=_options(random.choice((None, 10 * SECOND, 60 * SECOND)), preempt),
        tenants=tuple(tenants),
        limits=Limits(jobs_per_tenant=random.choice((4, 100))),
        journal_keep=random.choice((None, None, 10 * SECOND, 86_400 * SECOND)),
        snapshot_every=random.choice((0, 20, 60)),
        requests_per_step=random.choice((2, 1000)),
        node_interval=random.choice((SECOND, 5 * SECOND, 10 * SECOND)),
        advise_every=random.choice((2 * SECOND, 10 * SECOND, 30 * SECOND)),
    )


def _api(random: Random) -> ApiSettings:
    """Now and then one that allows little, so that its limits are met."""
    few = random.random() < 0.1
    return ApiSettings(
        threads=False,
        kept_events=random.choice((4, 40, 20_000)),
        token_rate=1.0 if few else 1000.0,
        token_burst=3.0 if few else 2000.0,
    )


def _looks(random: Random, lasts: int, settings: Settings) -> tuple[Look, ...]:
    """Who looks at what."""
    callers = [ADMIN, VIEWER, *(of(tenant.name) for tenant in settings.tenants)]
    most = list(What) if random.random() < 0.5 else [What.JOBS, What.JOB, What.REVOKED, What.OUTPUT]
    looks = [
        Look(START + random.randrange(lasts), random.choice(callers), random.choice(most))
        for _ in range(random.randint(1, 6))
    ]
    if random.random() < 0.4:
        looks.append(Look(START + random.randrange(lasts), random.choice(callers), What.EVENTS))
    return tuple(sorted(looks, key=lambda look: look.time))


def of(tenant: str) -> Caller:
    """Who acts for a tenant."""
    return Caller(f"of-{tenant}", Role.TENANT, tenant)


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
            elif fault is Fault.NODE_CUT_OFF:  # short: what runs there is still there after it
                length = random.randrange(2 * SECOND, 15 * SECOND)
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
    known = settings.tenants
    tenants = [tenant.name for tenant in known]
    for caller in (VIEWER, *map(of, tenants)):
        name = str(caller.token)
        yield Ask(START, MakeToken(ADMIN, name, caller.role, caller.tenant, "", ""))
    names: list[tuple[int, str]] = []
    for number in range(random.randint(1, 5)):
        time = START + random.randrange(lasts)
        jobs = tuple(
            _job(random, f"j{number}" if not part else f"j{number}-{part}", known, machines)
            for part in range(random.choice((1, 1, 1, 3)))
        )
        names += [(time, job.name) for job in jobs]
        key = f"k{number}" if random.random() < 0.6 else None
        yield Ask(time, SubmitJobs(_caller(random, jobs), jobs, key))
    admin = ADMIN
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
                again = (_job(random, name, known, machines),)
                yield Ask(time + 61 * SECOND, SubmitJobs(admin, again, f"again {name}"))
    for machine in machines:
        if random.random() < 0.2:
            time = START + random.randrange(lasts)
            yield Ask(time, DrainMachine(admin, machine.name))
            yield Ask(time + random.randrange(60 * SECOND), DrainMachine(admin, machine.name, True))
    for number in range(random.randint(0, 3)):
        time = START + random.randrange(lasts)
        old = random.choice(known)
        weight = None if old.pool else random.randint(1, 5)
        tenant = Tenant(old.name, weight=weight, pool=old.pool, parent=old.parent, limit=old.limit)
        yield Ask(time, PutTenant(admin, tenant))
        if random.random() < 0.5:
            token = f"token-{number}"
            yield Ask(time, MakeToken(admin, token, Role.TENANT, random.choice(tenants), "", ""))
            if random.random() < 0.5:
                yield Ask(time + random.randrange(20 * SECOND), RevokeToken(admin, token))
    yield from _mistakes(random, lasts, tenants)
    yield from _several(random, lasts, [name for _, name in names], machines, known)


def _several(
    random: Random,
    lasts: int,
    names: list[str],
    machines: list[Machine],
    tenants: Sequence[Tenant],
) -> Iterator[Ask]:
    """Requests over several at once, which are done whole or not at all."""

    def some(all_of: Sequence[T]) -> tuple[T, ...]:
        return tuple(random.sample(all_of, random.randint(1, min(3, len(all_of)))))

    drained = some([machine.name for machine in machines])
    wanted: list[Request] = [
        CancelJobs(ADMIN, some(names)),
        ForgetJobs(ADMIN, some(names)),
        PutTenants(ADMIN, some(tenants)),
        DrainMachines(ADMIN, drained),
    ]
    for request in random.sample(wanted, random.randint(0, 2)):
        at = START + random.randrange(lasts)
        yield Ask(at, request)
        if isinstance(request, DrainMachines):
            later = at + random.randrange(60 * SECOND)
            yield Ask(later, DrainMachines(ADMIN, drained, True))


def _of_one_name(random: Random, lasts: int, tenants: Sequence[Tenant]) -> Iterator[Ask]:
    """In some runs, several tenants have a job of one name. Whoever then asks for one of them says
    the name or the tenant with it."""
    if random.random() >= 0.3:
        return
    pooled = any(tenant.pool for tenant in tenants)
    owners = [tenant.name for tenant in tenants] + [None] * (not pooled)
    for owner in random.sample(owners, min(len(owners), random.randint(2, 4))):
        own = ADMIN if owner is None else of(owner)
        job = Job(
            "same",
            {"cpu": Fraction(1, 2)},
            tenant=owner,
            tasks=random.randint(1, 3),
            command=("work", f"secret-of-{owner or 'same'}!"),
        )
        time = START + random.randrange(lasts)
        yield Ask(time, SubmitJobs(random.choice((own, ADMIN)), (job,), f"same {owner}"))
        for request in random.sample((CancelJob, ChangeJob, ForgetJob), random.randint(0, 2)):
            time += random.randrange(1, 30 * SECOND)
            caller = random.choice((own, ADMIN))
            name = random.choice(("same", f"{owner or ''}/same"))
            if request is ChangeJob:
                yield Ask(time, ChangeJob(caller, name, random.randint(1, 5)))
            else:
                yield Ask(time, request(caller, name))


def _caller(random: Random, jobs: tuple[Job, ...]) -> Caller:
    tenants = {job.tenant for job in jobs}
    tenant = jobs[0].tenant
    if len(tenants) == 1 and tenant is not None and random.random() < 0.4:
        return of(tenant)
    return ADMIN


def _job(random: Random, name: str, tenants: Sequence[Tenant], machines: list[Machine]) -> Job:
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
    plain = "gpu" not in demand and "memory" not in demand
    constrained = plain and random.random() < 0.25
    prefers = random.random() < 0.2
    pooled = any(tenant.pool for tenant in tenants)
    owner = random.choice(tenants).name if pooled or random.random() < 0.8 else None
    spread = random.random() < 0.15
    there = [m for m in machines if not constrained or m.labels["zone"] == zone]
    gang = 1
    if tasks > 1 and random.random() < 0.3:
        gang = random.randint(2, min(tasks, 3))
        if gang > _room(demand, there, spread) or (owner and gang * demand["cpu"] > 2):
            gang = 1
    return Job(
        name,
        demand,
        tenant=owner,
        tasks=tasks,
        command=("work", f"secret-of-{owner or name}!"),
        where=f"zone = {zone}" if constrained else "",
        prefer=f"zone = {random.choice('ab')}" if prefers else "",
        prefer_for=random.choice((2, 10, 40)) if prefers else None,
        spread=spread,
        gang=gang,
        retries=random.choice((None, None, 0, 2)),
        rerunnable=random.random() < 0.7,
        duration=random.choice((None, 5)),
    )


def _room(demand: dict[str, Fraction | int], machines: list[Machine], spread: bool) -> int:
    """So many of its tasks run at once in the empty cluster, at least."""
    room = 0
    for machine in machines:
        fits = [int(machine.capacity.get(r, Fraction(0)) / amount) for r, amount in demand.items()]
        room += min(1 if spread else 100, *fits)
    return room


def _mistakes(random: Random, lasts: int, tenants: list[str]) -> Iterator[Ask]:
    """What cannot be, each refused for its own reason."""
    admin = ADMIN
    stranger, viewer = of("t0"), VIEWER
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
        MakeToken(viewer, "mine", Role.ADMIN, None, "", ""),
        RevokeToken(admin, "never-made"),
        PutTenant(admin, Tenant("orphan", parent="nobody")),
    ]
    for request in random.sample(wrong, random.randint(0, 3)):
        yield Ask(START + random.randrange(lasts), request, mistaken=True)
