"""Reservations, plainly: who is first in line, and which machines are kept free for him."""

from __future__ import annotations

from collections.abc import Mapping, Set
from fractions import Fraction

from fairlead.scheduling.state.terms import needed_by
from fairlead.scheduling.transitions import MachineState
from tests.reference.online_state import (
    PlainJob,
    PlainMachine,
    PlainTask,
    Reservation,
    World,
    holds_empty,
    may_use,
    room,
    tasks_that_fit,
)

NEVER = float("inf")
KINDS = 16
"""So many kinds of jobs are asked until machines can be reserved for one."""


def owner(world: World, machine: PlainMachine) -> int | None:
    """The job that the machine is reserved for."""
    for job, reservation in world.reserved.items():
        if machine.seq in reservation.machines:
            return job
    return next((job for job, machines in world.kept.items() if machine.seq in machines), None)


def give_up(world: World, job: int) -> None:
    """Nothing is reserved or kept for the job any more."""
    world.reserved.pop(job, None)
    world.kept.pop(job, None)
    world.vain = False


def may_pass(world: World, job: PlainJob, machine: PlainMachine) -> bool:
    """May the job be placed there in spite of reservations? It may if nobody else has reserved
    the machine, or if its task, whose duration is told, ends before the other is to start."""
    other = owner(world, machine)
    if other is None or other == job.seq:
        return True
    if machine.seq in world.kept.get(other, ()):
        return False
    start = world.reserved[other].start
    return job.expected > 0 and start is not None and world.now + job.expected <= start


def needed(job: PlainJob) -> int:
    """The tasks of the job that start together: a gang, or 1 where fewer wait than a gang has."""
    return job.gang if job.waiting >= job.gang else 1


def under_caps(world: World, job: PlainJob, count: int) -> bool:
    """Do the caps of the job's tenant, and of those above it, allow so many tasks more? What the
    job does not demand does not matter."""
    for tenant in world.ancestors(job):
        for r, measure in enumerate(world.measures):
            if measure.name not in tenant.limit or job.demand[r] == 0:
                continue
            held = sum(j.demand[r] * len(world.tasks_of(j)) for j in world.holders(tenant.name))
            if (held + count * job.demand[r]) * measure.unit > tenant.limit[measure.name]:
                return False
    return True


def release(world: World, job: PlainJob, machine: PlainMachine) -> float:
    """When a task of the job is expected to fit: now, when enough tasks of told duration have
    ended, or NEVER where nobody knows."""
    told = [t for t in world.tasks_on(machine) if world.jobs[t.job].expected > 0]
    told.sort(key=lambda t: _end(world, t))

    def fits(ended: list[PlainTask]) -> bool:
        there = [t for t in world.tasks_on(machine) if not any(t is other for other in ended)]
        if job.job.spread and any(t.job == job.seq for t in there):
            return False
        return tasks_that_fit(world, job, room(world, machine, ended)) > 0

    if fits([]):
        return world.now
    for count in range(1, len(told) + 1):
        if fits(told[:count]):
            return max(world.now, _end(world, told[count - 1]))
    return NEVER


def _end(world: World, task: PlainTask) -> int:
    return task.launched + world.jobs[task.job].expected


def missing(world: World, job: PlainJob, machine: PlainMachine) -> Fraction:
    """The largest part of the machine that is missing for a task, over its resources."""
    left = room(world, machine)
    return max(
        Fraction(max(0, d - left.free[r]), machine.capacity[r])
        for r, d in enumerate(job.demand)
        if d > 0
    )


def misses(world: World, job: PlainJob, machine: PlainMachine) -> list[int]:
    """The resources of which a task of the job finds too little free on the machine."""
    left, found = room(world, machine), []
    for r, need in enumerate(job.demand):
        unit = world.measures[r].piece
        if not unit:
            most = left.free[r]
        elif need <= unit:
            most = max(left.pieces[r], default=0)
        else:
            most = unit * sum(free == unit for free in left.pieces[r])
        if need > max(most, 0):
            found.append(r)
    return found


def others(world: World, job: PlainJob, machine: PlainMachine, order: Mapping[int, float]) -> bool:
    """Has nobody of a higher level a task on the machine that is too small to make room alone? What
    ends there is then somebody else's to start again, or, of a single task, the job's own, or it
    makes room for that. Who has room for another task already is kept from it by something else,
    and does not miss the room."""
    single = needed(job) == 1

    def starts_again(other: PlainJob) -> bool:
        if other.seq == job.seq:
            return single
        if other.seq not in order or tasks_that_fit(world, other, room(world, machine)) > 0:
            return False
        return order[other.seq] <= order[job.seq] if world.levelled else other.seq < job.seq

    def makes_room(other: PlainJob) -> bool:
        if job.job.spread and any(t.job == job.seq for t in there):
            return False
        return all(other.demand[r] >= job.demand[r] for r in missed)

    there = world.tasks_on(machine)
    missed = misses(world, job, machine)
    if not there:
        return single
    return all(
        starts_again(other) or (single and makes_room(other))
        for other in (world.jobs[task.job] for task in there)
    )


def _kind(job: PlainJob) -> tuple[object, ...]:
    """What the job asks machines for."""
    return (needed(job), job.job.spread, tuple(job.demand), frozenset(needed_by(job.job)))


def choose(world: World, job: PlainJob, order: Mapping[int, float]) -> Reservation | None:
    """The machines to reserve for the job, among those that nobody else has reserved; None if
    even all of them together are too few."""
    able = [m for m in world.machines if _stands(job, m, world) and owner(world, m) is None]
    if world.filling:
        able = [m for m in able if not others(world, job, m, order)]
    elif needed(job) == 1:
        # Where nobody else has a task, those of its own that end make room for its next.
        able = [m for m in able if _own(world, job, m) < len(world.tasks_on(m))]
    able.sort(
        key=lambda m: (
            release(world, job, m),
            _own(world, job, m),
            missing(world, job, m),
            m.seq,
        )
    )
    # What is kept for it already is a part of it.
    chosen = [m for m in world.machines if m.seq in world.kept.get(job.seq, ())]
    while able and sum(holds_empty(world, job, m) for m in chosen) < needed(job):
        chosen.append(able.pop(0))
    if sum(holds_empty(world, job, m) for m in chosen) < needed(job):
        return None
    start = max(release(world, job, m) for m in chosen)
    return Reservation([m.seq for m in chosen], None if start == NEVER else int(start))


def _own(world: World, job: PlainJob, machine: PlainMachine) -> int:
    return sum(task.job == job.seq for task in world.tasks_on(machine))


def drop_idle(world: World, active: Set[int]) -> None:
    """Nothing stays reserved for a job that has no task that it could launch."""
    for seq in {*world.reserved, *world.kept} - active:
        give_up(world, seq)


def review(world: World, machine: PlainMachine, active: Set[int]) -> None:
    """After a machine drained, changed or left: a reservation that it no longer serves is dropped
    whole, and made anew after the next round of decisions."""
    seq = owner(world, machine)
    world.vain = False
    if seq is not None and not _stands(world.jobs[seq], machine, world):
        whole = seq in world.reserved
        give_up(world, seq)
        # Whether a machine could run it is asked once all of the moment has happened.
        if whole and (seq in active or world.jobs[seq].waiting > 0):
            world.due.append(seq)


def look(world: World, order: Mapping[int, float], after: int | None) -> None:
    """At the end of a round of decisions: make anew what was dropped, find the first in line, and
    reserve for it if it has been first for so long without holding more than it ever did then. In
    vain, it is tried again after as long; by a version without filling, each time.

    `order` gives the active jobs' levels.
    """
    if after is None:
        return
    for seq in sorted(world.due):
        if seq in order:
            _reserve(world, seq, order)
    world.due = []
    while True:
        line = [
            (level, world.turn(world.jobs[seq]), seq)
            for seq, level in order.items()
            if seq not in world.reserved
            and under_caps(world, world.jobs[seq], needed(world.jobs[seq]))
        ]
        if not line:
            world.first = None
            return
        line.sort()
        first = line[0][2]
        held = len(world.tasks_of(world.jobs[first]))
        if first != world.first or held > world.first_held:
            world.first, world.first_since, world.first_held = first, world.now, held
            world.vain = False
        if world.now - world.first_since < after:
            return
        if not world.filling:
            if not _reserve(world, first, order):
                return
        elif _reserve(world, first, order):
            pass
        elif _reserve_behind(world, [seq for *_, seq in line], order):
            world.first = None  # begins anew
        else:
            world.first_since, world.vain = world.now, True
            return


def _reserve_behind(world: World, line: list[int], order: Mapping[int, float]) -> bool:
    """Reserve for the first one behind the first in line for whom there are machines. Of those that
    are alike one is asked, and of so many kinds."""
    kinds = [_kind(world.jobs[line[0]])]
    for seq in line[1:]:
        kind = _kind(world.jobs[seq])
        if kind in kinds:
            continue
        if _reserve(world, seq, order):
            return True
        if len(kinds) == KINDS:
            return False
        kinds.append(kind)
    return False


def _reserve(world: World, seq: int, order: Mapping[int, float]) -> bool:
    made = choose(world, world.jobs[seq], order)
    if made is not None:
        world.reserved[seq] = made
        world.kept.pop(seq, None)
    return made is not None


def _stands(job: PlainJob, machine: PlainMachine, world: World) -> bool:
    return (
        machine.state is MachineState.UP
        and may_use(job, machine)
        and holds_empty(world, job, machine) > 0
    )
