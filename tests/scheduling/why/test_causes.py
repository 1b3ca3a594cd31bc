"""Every cause beside every other: reasons are held against what happens when causes are taken away,
one set after another, until tasks start."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from random import Random

import pytest

from fairlead.model.constraint import Selector
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import (
    Event,
    JobCancelled,
    JobSubmitted,
    MachineChanged,
    MachineDrained,
    MachineJoined,
    TaskFinished,
    TenantChanged,
    TimePassed,
)
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.why.values import (
    Cap,
    Draining,
    Excluded,
    Gang,
    GangTooLarge,
    NoRoom,
    OneEach,
    OverLimit,
    Prefers,
    Reason,
    ReservedForOthers,
    TooSmall,
)

UNITS = [Unit("cpu", Fraction(1)), Unit("gpu", Fraction(1, 4), 4)]
ASKED = {"cpu": Fraction(2), "gpu": Fraction(1, 2)}
CAPACITY = {"cpu": 4, "gpu": 2}
MINUTE = 60_000_000
LATER = 2 * MINUTE

Kind = type[Reason]
KINDS: tuple[Kind, ...] = (Cap, Gang, Draining, OneEach, NoRoom, ReservedForOthers, Prefers)


@dataclass(frozen=True)
class World:
    """For each machine what keeps the job off it; so many tasks start together; whether its tenant
    holds as much as it may."""

    machines: tuple[frozenset[str], ...]
    gang: int
    limit: bool

    @property
    def spread(self) -> bool:
        """Tasks of the job run already on some machines, which it wants one each of."""
        return any("spread" in each for each in self.machines)

    def named(self, cause: str) -> list[str]:
        """The machines with this cause."""
        return [f"m{m}" for m, each in enumerate(self.machines) if cause in each]


def drawn(number: int) -> World:
    """One cause, two or three, on some machines or on all."""
    draw = Random(number)
    some = draw.sample(("drained", "spread", "cpu", "devices", "reserved", "prefers"), 3)
    machines = [
        {cause for cause in some[: 1 + number % 3] if draw.random() < 0.7}
        for _ in range(draw.randint(1, 4))
    ]
    spread = any("spread" in each for each in machines)
    reserved = None
    for each in machines:
        if "spread" in each:  # its own task got there first
            each -= {"devices", "prefers", "reserved"}
        elif "reserved" in each:
            # One job is first in line; what is kept for it has room now, and takes tasks.
            each -= {"cpu", "devices", "drained"}
            if spread or reserved is not None:
                each -= {"reserved"}
            else:
                reserved = each
    gang = 1 if spread else draw.choice((1, 1, 2, 3))
    return World(tuple(map(frozenset, machines)), gang, draw.random() < 0.3)


def job_of(world: World) -> Job:
    """The job that is asked about."""
    prefers = bool(world.named("prefers"))
    return Job(
        "job",
        ASKED,
        tenant="t",
        tasks=20,
        gang=world.gang,
        spread=world.spread,
        prefer="good" if prefers else Selector(),
        prefer_for=3600 if prefers else None,
    )


def others(world: World, name: str) -> list[Event]:
    """Jobs that hold what the machine has but for less than a task, or have it reserved."""
    found = []
    if name in world.named("cpu"):
        count = 2 if name in world.named("spread") else 3
        found.append(Job(f"cpu-{name}", {"cpu": 1}, tasks=count, machines=[name]))
    if name in world.named("devices"):
        part = {"gpu": Fraction(3, 4)}
        found.append(Job(f"gpu-{name}", part, tasks=2, machines=[name]))
    if name in world.named("reserved"):
        found.append(Job("small", {"cpu": 1}, tasks=1, machines=[name]))
        found.append(Job("large", {"cpu": 4}, tasks=1, machines=[name]))
    return [JobSubmitted(0, job) for job in found]


def happen(core: Core, *events: Event) -> list[str]:
    """All of it at one moment. Returns the jobs of which tasks are launched."""
    for event in events:
        core.apply(event)
    return [each.job for each in core.decide() if isinstance(each, Launch)]


def lived(world: World) -> Core:
    """A core in which it is as the world says."""
    after = MINUTE if world.named("reserved") else None
    core = Core(UNITS, options=Options(reserve_after=after))
    happen(core, TenantChanged(0, Tenant("t")))
    good = {
        f"m{m}": Machine(f"m{m}", CAPACITY, {} if "prefers" in each else {"good": "yes"})
        for m, each in enumerate(world.machines)
    }
    own = world.named("spread")
    if own:
        happen(core, *(MachineJoined(0, good[name]) for name in own))
        happen(core, JobSubmitted(0, job_of(world)))
    for name, machine in good.items():
        here = [] if name in own else [MachineJoined(0, machine)]
        drain = [MachineDrained(0, name)] if name in world.named("drained") else []
        full = others(world, name)
        happen(core, *here, *full, *([] if full else drain))
        happen(core, *(drain if full else []))
    happen(core, TimePassed(LATER))
    if not own:
        happen(core, JobSubmitted(LATER, job_of(world)))
    if world.limit:
        held = core.why("job").running * 2
        happen(core, TenantChanged(LATER, Tenant("t", limit={"cpu": held + 2 * world.gang - 1})))
    core.checked = True  # from here on: hundreds of such worlds begin in the same few ways
    return core


def starts(world: World, without: frozenset[Kind]) -> bool:
    """Do tasks of the job start when these causes are taken away? What it asks for itself cannot
    be changed: another job is submitted that asks for less, and may not go where this one is."""
    core = lived(world)
    events: list[Event] = []
    if Cap in without and world.limit:
        events.append(TenantChanged(LATER, Tenant("t")))
    if Draining in without:
        events += [MachineDrained(LATER, name, back=True) for name in world.named("drained")]
    own = _machines_of(core, "job")
    if NoRoom in without:
        for job, tasks in core.ids.tasks.items():
            name = core.ids.job_at[job].name
            if name != "job":
                events += [TaskFinished(LATER, name, number) for number in tasks]
        for m, count in Counter(own).items() if not world.spread else ():
            # Its own tasks count against its limit: they stay, and the machine grows.
            more = {"cpu": 4 + 2 * count, "gpu": 2 + (count + 1) // 2}
            machine = core.ids.machine_at[m]
            events.append(MachineChanged(LATER, Machine(machine.name, more, machine.labels)))
    if ReservedForOthers in without and world.named("reserved"):
        events.append(JobCancelled(LATER, "large"))
    another = replace(job_of(world), name="another", spread=False)
    if Gang in without:
        another = replace(another, gang=1)
        events.append(JobCancelled(LATER, "job"))  # it would keep the room for itself
    if Prefers in without:
        another = replace(another, prefer=Selector(), prefer_for=None)
    if world.spread and OneEach not in without:
        another = replace(another, exclude=tuple(core.ids.machine_at[m].name for m in own))
    launched = happen(core, *events, JobSubmitted(LATER, another))
    return "job" in launched or "another" in launched


def _machines_of(core: Core, job: str) -> list[int]:
    """The machine of each task that the job runs."""
    return [
        int(core.state.task[t]["machine"])
        for t in core.ids.tasks.get(core.ids.jobs[job], {}).values()
    ]


def smallest_sets(world: World, kinds: set[Kind]) -> list[frozenset[Kind]]:
    """The sets of causes without which tasks start, and of which no part does."""
    found: list[frozenset[Kind]] = []
    for count in range(len(kinds) + 1):
        for some in map(frozenset, combinations(sorted(kinds, key=str), count)):
            if not any(known <= some for known in found) and starts(world, some):
                found.append(some)
    return found


@pytest.mark.parametrize("chunk", range(4))
def test_the_first_reason_is_one_that_has_to_change(chunk: int, cases: int) -> None:
    asked = 0
    for number in range(chunk, 28 * cases, 4):
        world = drawn(number)
        why = lived(world).why("job")
        if why.waiting == 0 or why.never:
            continue
        kinds = {kind for kind in KINDS if _there(world, kind)}
        sets = smallest_sets(world, kinds)
        assert sets, (number, world)
        reasons = [type(reason) for reason in why.reasons if type(reason) in KINDS]
        needed = frozenset.intersection(*sets)
        context = (number, world, reasons, sets)
        assert set(reasons[: len(needed)]) == needed, context
        fewest = min(map(len, sets))
        assert any(reasons[0] in each for each in sets if len(each) == fewest), context
        assert all(each <= set(reasons) for each in sets), context
        asked += 1
    assert asked > 4 * cases  # most worlds are answered for


def _there(world: World, kind: Kind) -> bool:
    """May this be in the way in such a world?"""
    causes = {
        Draining: ["drained"],
        OneEach: ["spread"],
        ReservedForOthers: ["reserved"],
        Prefers: ["prefers"],
    }
    if kind is Cap:
        return world.limit
    if kind is Gang:
        return world.gang > 1
    if kind is NoRoom:
        return True  # its own tasks may have taken it
    return any(world.named(cause) for cause in causes[kind])


def test_a_limit_comes_before_machines_that_are_full() -> None:
    core = Core(UNITS)
    happen(core, TenantChanged(0, Tenant("ops", limit={"cpu": 4})))
    for m in range(10):
        happen(core, MachineJoined(0, Machine(f"cpu{m}", {"cpu": 8})))
    happen(core, JobSubmitted(0, Job("o1", {"cpu": 4}, tenant="ops", tasks=3)))
    happen(
        core,
        *(JobSubmitted(0, Job(f"x{m}", {"cpu": 6}, machines=[f"cpu{m}"])) for m in range(1, 7)),
    )
    first, room = core.why("o1").sentences()[1:3]
    assert first == "tenant ops holds 4 cpu of the 4 that it may hold"
    assert room == "too little cpu is free on 6 of the 10 machines that could run it; 4 have room"


def test_what_can_never_run_says_so_while_the_cluster_is_busy() -> None:
    core = Core(UNITS)
    happen(core, TenantChanged(0, Tenant("ops", limit={"cpu": 4})))
    happen(core, *(MachineJoined(0, Machine(f"m{m}", {"cpu": 8, "gpu": 4})) for m in range(2)))
    happen(core, JobSubmitted(0, Job("busy", {"cpu": 8})))
    jobs = {
        OverLimit: Job("over", {"cpu": 6}, tenant="ops"),
        GangTooLarge: Job("gang", {"gpu": 4}, tasks=3, gang=3),
        TooSmall: Job("big", {"cpu": 9}),
        Excluded: Job("label", {"cpu": 1}, where="gpu-modl = a100"),
    }
    for kind, job in jobs.items():
        happen(core, JobSubmitted(0, job))
        why = core.why(job.name)
        assert why.never
        assert [type(reason) for reason in why.reasons] == [kind]
        assert str(why.reasons[0]).startswith("it can never run, because ")
    assert "because a task needs 6 cpu, and tenant ops may hold 4" in str(core.why("over"))
    assert "all 2 machines that could run one have room for 2 when empty" in str(core.why("gang"))
    assert not core.why("busy").never
