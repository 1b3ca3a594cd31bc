"""The memory of the online core's plain reference, and what follows from it directly.

Nothing is kept twice: free room, held tasks, pieces in use and tenants' amounts are counted anew
from the list of held tasks whenever somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from fairlead.model.constraint import Selector
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.transitions import MachineState, TaskState

UNLIMITED = float("inf")


@dataclass(frozen=True)
class Measure:
    """A resource in multiples of `unit`; a device comes in pieces of `piece` units (0: none)."""

    name: str
    unit: Fraction
    piece: int = 0


@dataclass
class PlainMachine:
    """A machine that joined; one that comes back is another one."""

    seq: int
    machine: Machine
    capacity: list[int]
    state: MachineState = MachineState.UP

    @property
    def present(self) -> bool:
        """Is it not gone?"""
        return self.state in (MachineState.UP, MachineState.DRAINING)


@dataclass
class PlainTask:
    """A held task: launched, running or stopping."""

    job: int
    number: int
    machine: int
    state: TaskState
    attempt: int
    launched: int
    pieces: list[tuple[int, int]]  # (resource, index of the piece)


@dataclass
class PlainJob:
    """A job; `queue` are the numbers of its tasks that wait again, `next` the first that never
    was launched."""

    seq: int
    job: Job
    demand: list[int]
    gang: int
    expected: int
    patience: int
    total: float
    since: int
    next: int = 0
    turn: int = 0  # when it was submitted, or had a task launched
    queue: list[int] = field(default_factory=list)
    launches: dict[int, int] = field(default_factory=dict)
    ended: dict[int, TaskState] = field(default_factory=dict)
    cancelled: bool = False

    @property
    def waiting(self) -> float:
        """The number of tasks that wait."""
        return 0 if self.cancelled else self.total - self.next + len(self.queue)


@dataclass
class Reservation:
    """Machines kept free for a job, each with how many of its tasks are counted on there. The job
    is expected to start at `start` (None: nobody knows)."""

    machines: dict[int, int]
    start: int | None


@dataclass
class Lease:
    """Machines are held for so many tasks that start together, in vain `since` then, and from
    `begun` on."""

    since: int
    end: int
    tasks: int
    begun: int


@dataclass
class Clock:
    """A tenant waits since then, or has not held more than `best` at a launch since."""

    since: int
    best: int = 0
    failed: int | None = None  # the world's `stirs` when nothing could be reserved


@dataclass
class Stint:
    """What somebody owes in microseconds / 1024, how much more with each microsecond, its part,
    whether nobody beside it waits who could use a machine that it took, when that was
    found, and whether it was decided since."""

    owes: int = 0
    rate: int = 0
    part: int = 0
    alone: bool = False
    took: int | None = None
    measured: int | None = None
    stale: bool = False


@dataclass(frozen=True)
class Told:
    """The advice on a job on some machines."""

    job: int
    machines: tuple[int, ...]
    rank: int
    target: int


@dataclass
class World:
    """All that is remembered."""

    measures: tuple[Measure, ...]
    filling: bool = True  # of tenants, and turns; an older version left what goes on without
    levelled: bool = True  # else the first come are first served
    turns: int = 0
    now: int = 0
    machines: list[PlainMachine] = field(default_factory=list)
    jobs: list[PlainJob] = field(default_factory=list)
    tasks: list[PlainTask] = field(default_factory=list)
    tenants: dict[str, Tenant] = field(default_factory=dict)  # in the order of declaration
    advice: list[Told] = field(default_factory=list)
    last_rank: int = 0  # after all that the advice says
    reserved: dict[int, Reservation] = field(default_factory=dict)  # by job
    # Machines, by the gang they wait for, as those of a reservation.
    kept: dict[int, dict[int, int]] = field(default_factory=dict)
    after: int = 0  # so long a tenant waits before machines are reserved
    hold_for: int | None = None  # a lease is so long at least; an older version gave none
    longest: int = 0  # run of a task, lately
    longest_at: int = 0  # and when it ended
    never_together: set[int] = field(default_factory=set)  # gangs, when it was last decided
    aside: dict[int, int] = field(default_factory=dict)  # of jobs: for so many tasks, below caps
    leases: dict[int, Lease] = field(default_factory=dict)  # of jobs
    rests: dict[str | int, int] = field(default_factory=dict)  # until when, by tenant
    stints: dict[str | int, Stint] = field(default_factory=dict)  # of tenants above their parts
    rested: bool = False  # one of them owes nothing any more
    clocks: dict[str | int, Clock] = field(default_factory=dict)  # of tenants who wait
    look_at: float = UNLIMITED  # when it is looked next for whom to reserve
    crowded: bool = False  # more kinds waited than were asked
    stirs: int = 0  # how often something changed by which something could be reserved
    due: list[int] = field(default_factory=list)  # jobs whose reservation is to be made anew
    first: int | None = None  # the job that is first in line, and since when
    first_since: int = 0
    first_held: int = 0
    vain: bool = False  # nothing could be reserved, and nothing happened since
    # What empty machines hold, by demand and capacity: it is asked for again and again.
    held_empty: dict[tuple[int, ...], int] = field(default_factory=dict, repr=False, compare=False)

    def machine_named(self, name: str) -> PlainMachine | None:
        """The machine that is present under this name."""
        return next((m for m in self.machines if m.present and m.machine.name == name), None)

    def job_named(self, name: str) -> PlainJob | None:
        """The job of this name that is not over: something of it waits or is held."""
        there = (j for j in self.jobs if j.job.name == name and not self.over(j))
        return next(there, None)

    def take_turn(self, job: PlainJob) -> None:
        """It comes behind all others of its level."""
        job.turn = self.turns
        self.turns += 1

    def turn(self, job: PlainJob) -> int:
        """Of jobs of equal levels that of the least is first."""
        return job.turn if self.levelled and self.filling else job.seq

    def over(self, job: PlainJob) -> bool:
        """Is it over? Then it is forgotten, and its name is free again."""
        return job.waiting == 0 and not self.tasks_of(job)

    def stir(self) -> None:
        """Something could be reserved now where nothing could before."""
        self.vain = False
        self.stirs += 1

    def whose(self, job: int) -> str | int:
        """The job's tenant, or the job itself where it has none."""
        return self.jobs[job].job.tenant or job

    def is_resting(self, job: int) -> bool:
        """Is nothing held for it, as its tenant held something in vain?"""
        return self.rests.get(self.whose(job), 0) > self.now

    def tasks_of(self, job: PlainJob) -> list[PlainTask]:
        """Its held tasks."""
        return [t for t in self.tasks if t.job == job.seq]

    def tasks_on(self, machine: PlainMachine) -> list[PlainTask]:
        """The held tasks on it."""
        return [t for t in self.tasks if t.machine == machine.seq]

    def ancestors(self, job: PlainJob) -> Iterator[Tenant]:
        """The job's tenant, the tenant above it, and so on."""
        name = job.job.tenant
        while name is not None:
            yield self.tenants[name]
            name = self.tenants[name].parent

    def holders(self, tenant: str) -> list[PlainJob]:
        """The jobs of the tenant and of all tenants below it."""
        return [j for j in self.jobs if any(t.name == tenant for t in self.ancestors(j))]


def needed(job: PlainJob) -> int:
    """The tasks of the job that start together: a gang, or 1 where fewer wait than a gang has."""
    return job.gang if job.waiting >= job.gang else 1


def may_use(job: PlainJob, machine: PlainMachine) -> bool:
    """Does the hard constraint allow the machine?"""
    j, m = job.job, machine.machine
    listed = j.machines is None or m.name in j.machines
    return listed and m.name not in j.exclude and j.where.matches(m.labels)


def preferred(job: PlainJob, machine: PlainMachine) -> bool:
    """Is it one of the machines that the job prefers? All are where it prefers none."""
    selector: Selector = job.job.prefer
    return selector.matches(machine.machine.labels)


@dataclass
class Room:
    """The free amounts on a machine: of each resource, and of each device's pieces."""

    free: list[int]
    pieces: dict[int, list[int]]


def empty(world: World, machine: PlainMachine) -> Room:
    """The room of a machine that nothing runs on."""
    pieces = {
        r: [measure.piece] * (machine.capacity[r] // measure.piece)
        for r, measure in enumerate(world.measures)
        if measure.piece
    }
    return Room(list(machine.capacity), pieces)


def room(world: World, machine: PlainMachine, without: list[PlainTask] | None = None) -> Room:
    """The amounts that are free now; `without`: as if these tasks had ended.

    Where a machine has lost pieces that are in use, those have a capacity of 0 and a negative
    rest until their tasks end.
    """
    left = empty(world, machine)
    gone = without or []
    for task in world.tasks_on(machine):
        if any(task is other for other in gone):
            continue
        demand = world.jobs[task.job].demand
        for r, d in enumerate(demand):
            left.free[r] -= d
        for r, piece in task.pieces:
            units = left.pieces[r]
            units.extend([0] * (piece + 1 - len(units)))
            units[piece] -= min(demand[r], world.measures[r].piece)
    return left


def tasks_that_fit(world: World, job: PlainJob, left: Room) -> int:
    """The number of the job's tasks that fit into this room, `spread` aside. What a task does not
    demand does not matter, even where less than nothing of it is free."""
    counts = []
    for r, d in enumerate(job.demand):
        if d == 0:
            continue
        unit = world.measures[r].piece
        if not unit:
            counts.append(max(0, left.free[r] // d))
        elif d <= unit:
            counts.append(sum(max(0, free // d) for free in left.pieces[r]))
        else:
            counts.append(sum(1 for free in left.pieces[r] if free == unit) // (d // unit))
    return min(counts)


def take(world: World, job: PlainJob, left: Room) -> None:
    """One more task of the job has its room there."""
    for r, piece in choose_pieces(world, job, left):
        left.pieces[r][piece] -= min(job.demand[r], world.measures[r].piece)
    for r, d in enumerate(job.demand):
        left.free[r] -= d


def must_end(world: World, other: PlainJob, tasks: int, machine: PlainMachine) -> list[int]:
    """How much becomes free of each resource before so many tasks of another job can start there:
    what those hold beside which they would not fit on the machine, were there nothing else."""
    ends = [0] * len(other.demand)
    for task in world.tasks_on(machine):
        demand = world.jobs[task.job].demand
        if any(
            its > 0
            and not world.measures[r].piece
            and demand[r] + tasks * its > machine.capacity[r]
            for r, its in enumerate(other.demand)
        ):
            ends = [amount + d for amount, d in zip(ends, demand, strict=True)]
    return ends


def leaves(
    world: World, job: PlainJob, other: PlainJob, tasks: int, left: Room, ends: list[int]
) -> bool:
    """Would a task of the job leave so many of another one what they want, of each resource that
    both want, once so much `ends`? Of one of which they miss something, it would not, nor of
    devices of which the other job takes parts."""
    after = Room([*left.free], {r: [*pieces] for r, pieces in left.pieces.items()})
    take(world, job, after)
    for r, d in enumerate(job.demand):
        its, unit = other.demand[r], world.measures[r].piece
        if d == 0 or its == 0:
            continue
        if not unit:
            enough = after.free[r] + ends[r] >= tasks * its
        elif its < unit:
            enough = False
        else:
            enough = after.pieces[r].count(unit) >= tasks * (its // unit)
        if not enough:
            return False
    return True


def choose_pieces(world: World, job: PlainJob, left: Room) -> list[tuple[int, int]]:
    """The pieces that a task of the job takes: a part of the fullest piece that has room, or the
    first whole ones."""
    chosen = []
    for r, d in enumerate(job.demand):
        unit = world.measures[r].piece
        if not unit or d == 0:
            continue
        if d <= unit:
            fitting = [(free, i) for i, free in enumerate(left.pieces[r]) if free >= d]
            chosen.append((r, min(fitting)[1]))
        else:
            whole = [i for i, free in enumerate(left.pieces[r]) if free == unit]
            chosen.extend((r, i) for i in whole[: d // unit])
    return chosen


def holds_empty(world: World, job: PlainJob, machine: PlainMachine) -> int:
    """Whole tasks of the job that the empty machine holds, at most 1 if the job spreads."""
    kind = (*job.demand, *machine.capacity)
    if kind not in world.held_empty:
        world.held_empty[kind] = tasks_that_fit(world, job, empty(world, machine))
    count = world.held_empty[kind]
    return min(count, 1) if job.job.spread else count


def fits_now(world: World, job: PlainJob, machine: PlainMachine) -> int:
    """Tasks of the job that the machine holds beside what runs there."""
    count = tasks_that_fit(world, job, room(world, machine))
    if job.job.spread:
        there = any(t.job == job.seq for t in world.tasks_on(machine))
        return 0 if there else min(count, 1)
    return count
