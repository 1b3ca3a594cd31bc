"""Random sequences of events for the online core, most of them legal, and how they are written.

A sequence is drawn while the plain reference lives through it, so that what is reported of tasks
is mostly possible. Any part of a sequence is a sequence: what has become illegal is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from random import Random

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling import events
from fairlead.scheduling.events import Event
from fairlead.scheduling.transitions import TaskState
from tests.reference.online import Decider
from tests.reference.online_apply import RefusedError, apply
from tests.reference.online_scales import FAIR, UNFAIR, rounded_scales
from tests.reference.online_scores import SCORES
from tests.reference.online_state import Measure, World

SECOND = 10**6
ZONES = ("a", "b")
MEASURES = (
    Measure("cpu", Fraction(1, 2)),
    Measure("memory", Fraction(1)),
    Measure("gpu", Fraction(1, 4), piece=4),
)
PLACEMENTS = tuple(SCORES)
CROWD = 5
"""Of eight seeds the one of whose sequence a tenant has more jobs than there is room for."""
TWINS = 6
"""And the one of whose sequence tenants send jobs of one task that ask for the same."""
LIMITED = 4
"""And the one of whose sequence most tenants have a limit, with room for few of their tasks."""
UNFILLED = 3
"""Of sixteen seeds the one of a core as an older version left it, without filling."""
UNENDING = 7
"""And the one of one that held whole machines, without an end."""


@dataclass(frozen=True)
class Case:
    """A core's options, and what happens to it, instant by instant."""

    seed: int
    policy: str
    placement: str
    reserve_after: int | None
    reserve_for: int | None
    filling: bool
    instants: tuple[tuple[Event, ...], ...]

    def reference(self) -> Decider:
        """A new plain reference with these options."""
        return Decider(
            World(MEASURES, self.filling),
            lambda world: rounded_scales(world, self.policy),
            placement=self.placement,
            reserve_after=self.reserve_after,
            reserve_for=self.reserve_for,
            levelled=self.policy != "fifo",
        )


@dataclass(frozen=True)
class Taste:
    """The kinds of events that a sequence is rich in; drawn anew for each."""

    tenants: bool
    devices: bool
    constraints: bool
    gangs: bool
    told: bool
    machines: int
    jobs: int
    crowd: bool
    """One tenant has most of the jobs, more than there is room for tasks."""
    twins: bool
    """Most jobs have one task, and ask for about what one of the same tenant asked for."""
    limited: bool
    """Most tenants have a limit, and most jobs one task or gang."""


@cache  # several files of tests live through the same ones
def draw(seed: int, length: int = 30) -> Case:
    """The sequence of this seed."""
    random = Random(seed)
    taste = Taste(
        tenants=random.random() < 0.5,
        devices=random.random() < 0.4,
        constraints=random.random() < 0.5,
        gangs=random.random() < 0.4,
        told=random.random() < 0.5,
        machines=random.randint(1, 5),
        jobs=random.randint(1, 7),
        crowd=seed % 8 == CROWD,
        twins=seed % 8 == TWINS,
        limited=seed % 8 == LIMITED,
    )
    if taste.crowd:
        taste = replace(taste, tenants=True, machines=min(taste.machines, 3), jobs=14)
    if taste.twins:
        taste = replace(taste, tenants=True, machines=min(taste.machines, 4), jobs=20)
    if taste.limited:
        taste = replace(taste, tenants=True, machines=max(taste.machines, 2), jobs=20)
    case = Case(
        seed=seed,
        policy=random.choice((*FAIR, *UNFAIR)),
        placement=random.choice(PLACEMENTS),
        reserve_after=random.choice((None, 20 * SECOND, 60 * SECOND)),
        reserve_for=None if seed % 16 == UNENDING else (1 + seed % 3 * 7) * SECOND,
        filling=seed % 16 != UNFILLED,
        instants=(),
    )
    return replace(case, instants=_Drawer(random, taste, case).instants(length))


class _Drawer:
    """Draws one sequence."""

    def __init__(self, random: Random, taste: Taste, case: Case) -> None:
        self.random = random
        self.taste = taste
        self.guided = case.placement == "price-guided"
        self.needs_cpu = "cmmf" in case.policy or "kdf" in case.policy
        self.decider = case.reference()
        self.world = self.decider.world
        self.time = 0

    def instants(self, length: int) -> tuple[tuple[Event, ...], ...]:
        """So many instants of one event or a few."""
        found: list[tuple[Event, ...]] = []
        start: list[Event] = []
        if self.taste.tenants:
            start += [self.told(self.tenant(f"t{i}", new=True)) for i in range(4)]
        start += [self.told(self.joined()) for _ in range(self.taste.machines)]
        found.append(tuple(start))
        self.decider.decide()
        for _ in range(length):
            self._later()
            count = self.random.choice((1, 1, 1, 2, 3))
            found.append(tuple(self.told(self.event()) for _ in range(count)))
            self.decider.decide()
        return tuple(found)

    def told(self, event: Event) -> Event:
        """The event, which the reference has lived through or refused."""
        with suppress(RefusedError):
            apply(self.decider, event)
        return event

    def _later(self) -> None:
        wake = self.decider.wake()
        if wake is not None and self.random.random() < 0.4:
            self.time = wake
        else:
            self.time = self.world.now + self.random.choice((0, 1, 1, 5, 10, 25)) * SECOND

    def event(self) -> Event:
        """Any event; most are legal now."""
        kinds = {
            self.joined: 3 if len(self._there()) < self.taste.machines else 1,
            self.left: 1,
            self.drained: 1,
            self.changed: 1,
            self.submitted: 12 if len(self.world.jobs) < self.taste.jobs else 1,
            self.grown: 1,
            self.cancelled: 1,
            self.reported: 14,
            self.passed: 3,
            self.retold: 1 if self.taste.tenants else 0,
            self.advised: 2 if self.guided else 0,
            self.illegal: 1,
        }
        draw_one = self.random.choices(list(kinds), list(kinds.values()))[0]
        return draw_one()

    def _there(self) -> list[str]:
        return [m.machine.name for m in self.world.machines if m.present]

    def machine(self, name: str) -> Machine:
        """A machine of one of few sizes."""
        capacity = {
            "cpu": self.random.choice((Fraction(1, 2), 1, 1, 2, 4)),
            "memory": self.random.choice((0, 1, 2, 4, 8)),
        }
        if self.taste.devices:
            capacity["gpu"] = self.random.choice((0, 0, 1, 2))
        labels = {"zone": self.random.choice(ZONES)} if self.taste.constraints else {}
        return Machine(name, capacity, labels)

    def joined(self) -> Event:
        """A machine, mostly with a name that nobody has."""
        return events.MachineJoined(self.time, self.machine(f"m{self.random.randrange(7)}"))

    def _some_machine(self) -> str:
        return self.random.choice(self._there() or ["m0"])

    def left(self) -> Event:
        """A machine leaves."""
        return events.MachineLeft(self.time, self._some_machine())

    def drained(self) -> Event:
        """A machine drains, or comes back."""
        name = self._some_machine()
        machine = self.world.machine_named(name)
        back = machine is not None and machine.state.name == "DRAINING"
        return events.MachineDrained(self.time, name, back)

    def changed(self) -> Event:
        """A machine gets another size or other labels."""
        return events.MachineChanged(self.time, self.machine(self._some_machine()))

    def submitted(self) -> Event:
        """A job."""
        random, taste = self.random, self.taste
        before = [job.job for job in self.world.jobs if job.job.tenant]
        if taste.twins and before and random.random() < 0.8:
            name = f"j{len(self.world.jobs)}"
            twin = random.choice(before[:3])
            twin = replace(twin, name=name, tasks=Fraction(twin.gang))
            if random.random() < 0.5:  # and asks for more or less
                cpu = random.choice((Fraction(1, 2), Fraction(1), Fraction(2)))
                twin = replace(twin, demand=FrozenMap({**twin.demand, "cpu": cpu}))
            return events.JobSubmitted(self.time, twin)
        demand: dict[str, Fraction | int] = {
            "cpu": random.choice((0, Fraction(1, 2), 1, 1, 2)),
            "memory": random.choice((0, 1, 1, 2)),
        }
        if self.needs_cpu:
            demand = {"cpu": demand["cpu"] or 1, "memory": demand["memory"] or 1}
        if taste.devices and random.random() < 0.6:
            demand["gpu"] = random.choice((Fraction(1, 4), Fraction(1, 2), 1, 2, Fraction(3, 4)))
        if not any(demand.values()):
            demand["cpu"] = 1
        tasks = random.choice((None, 1, 1, 2, 3, 5, 8))
        constrained = taste.constraints and random.random() < 0.5
        prefers = taste.constraints and random.random() < 0.25
        names = random.sample([f"m{i}" for i in range(7)], 3)
        gang = random.choice((2, 2, 3, 4)) if taste.gangs and random.random() < 0.6 else 1
        gang = min(gang, tasks or gang)
        if taste.limited and random.random() < 0.8:
            tasks = gang
        job = Job(
            f"j{len(self.world.jobs)}",
            demand,
            tenant=self._whose(),
            tasks=tasks,
            where=f"zone = {random.choice(ZONES)}" if constrained else "",
            machines=names if constrained and random.random() < 0.2 else None,
            exclude=names[:1] if constrained and random.random() < 0.2 else (),
            spread=random.random() < 0.2,
            prefer=f"zone = {random.choice(ZONES)}" if prefers else "",
            prefer_for=random.choice((5, 30)) if prefers else None,
            gang=gang,
            duration=random.choice((None, 5, 20, 60)) if taste.told else None,
        )
        return events.JobSubmitted(self.time, job)

    def _whose(self) -> str | None:
        """A tenant, or nobody."""
        if self.taste.crowd and self.random.random() < 0.7:
            return next(iter(self.world.tenants))
        return self.random.choice([*self.world.tenants, None]) if self.taste.tenants else None

    def _some_job(self) -> str:
        return self.random.choice([j.job.name for j in self.world.jobs] or ["j0"])

    def grown(self) -> Event:
        """A job grows or shrinks."""
        return events.JobChanged(
            self.time, self._some_job(), self.random.choice((None, 1, 2, 4, 6, 10))
        )

    def cancelled(self) -> Event:
        """A job is cancelled."""
        return events.JobCancelled(self.time, self._some_job())

    def reported(self) -> Event:
        """An engine reports something of a held task."""
        if not self.world.tasks:
            return self.passed()
        task = self.random.choice(self.world.tasks)
        job = self.world.jobs[task.job].job.name
        if task.state is TaskState.STOPPING and self.random.random() < 0.6:
            return events.TaskStopped(self.time, job, task.number)
        kinds: list[Callable[[int, str, int], Event]] = [events.TaskFinished] * 4
        kinds += [events.TaskStarted, events.TaskFailed, events.TaskLost]
        return self.random.choice(kinds)(self.time, job, task.number)

    def passed(self) -> Event:
        """Nothing but time."""
        return events.TimePassed(self.time)

    def tenant(self, name: str, new: bool = False) -> Event:
        """A tenant; a new one may be below another one."""
        random = self.random
        known = self.world.tenants.get(name)
        parent = known.parent if known else None
        if new and self.world.tenants and random.random() < 0.5:
            parent = random.choice(list(self.world.tenants))
        limit = {}
        if self.taste.limited and random.random() < 0.7:
            limit = {random.choice(("cpu", "memory")): random.choice((2, 2, 3, 4, 5))}
        elif random.random() < 0.3 and not self.taste.crowd:
            limit = {random.choice(("cpu", "memory")): random.choice((0, 1, 2, 3))}
        weight = random.choice((None, 1, 2, Fraction(1, 2), Fraction(1, 3), 3))
        return events.TenantChanged(
            self.time, Tenant(name, weight=weight, parent=parent, limit=limit)
        )

    def retold(self) -> Event:
        """A tenant has another weight or limit."""
        return self.tenant(self.random.choice(list(self.world.tenants)))

    def advised(self) -> Event:
        """Advice that an exact allocation could give, or not."""
        random = self.random
        found = []
        names = random.sample(there := self._there(), len(there))
        cut = random.randrange(len(names) + 1)
        jobs = [j for j in self.world.jobs if not self.world.over(j)]
        for job in jobs:
            for part in (names[:cut], names[cut:]):
                if part and random.random() < 0.6:
                    rank = random.choice((0, 0, 1, 2))
                    target = random.choice((0, 500_000, 1_000_000, 2_500_000))
                    found.append(events.Advice(job.job.name, tuple(part), rank, target))
        return events.AdviceChanged(self.time, tuple(found))

    def illegal(self) -> Event:
        """Something that is mostly refused."""
        random = self.random
        name, number = self._some_job(), random.randrange(9)
        found: list[Event] = [
            events.TaskFinished(self.time, name, number),
            events.TaskStopped(self.time, name, number),
            events.TaskLost(self.time, "nobody", 0),
            events.MachineLeft(self.time, "nowhere"),
            events.MachineDrained(self.time, self._some_machine(), random.random() < 0.5),
            events.JobCancelled(self.time, "nobody"),
            events.JobSubmitted(self.time, Job(name, {"cpu": 1, "memory": 1})),
            events.TimePassed(self.time - SECOND),
            events.MachineJoined(self.time, Machine("fine", {"cpu": Fraction(1, 3)})),
        ]
        return random.choice(found)
