"""Stints, plainly: who held more than its part while others waited rests after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from fairlead.scheduling.state.terms import needed_by, satisfies
from fairlead.scheduling.transitions import MachineState
from tests.reference.online_line import held_by
from tests.reference.online_order import SHARE, active_tenants, exact_weight
from tests.reference.online_state import PlainJob, PlainMachine, Stint, World, needed

COARSE, HEAVIEST = 2**20, 2**40
"""A tenant counts as so heavy where its part is found, and others as no more than that."""
POINTS = 2**10
"""A rest is counted in microseconds / POINTS."""
MOST, LONG, DEBT = 2**20, 2**42, 2**61
"""A rate, a time and what is owed are no more than this."""
LOOKS = 4
"""A part is found so often at most in `after`."""

Whose = str | int


def _nodes(world: World, job: PlainJob) -> list[Whose]:
    """The job's tenant and those above it; the job itself where it has none."""
    return [tenant.name for tenant in world.ancestors(job)] or [job.seq]


def begin(world: World, job: PlainJob, machines: Sequence[PlainMachine], active: Set[int]) -> None:
    """A gang of the job was started, its tasks on these machines, the last one first."""
    if world.levelled and world.filling and world.hold_for is not None:
        for whose in _nodes(world, job):
            stint = world.stints.setdefault(whose, Stint())
            took = [stint.took] if stint.owes > 0 or stint.measured is None else []
            took = [*took, *(machine.seq for machine in machines)]
            stint.took = max(
                (seq for seq in took if seq is not None),
                key=lambda seq: len(_beside(world, whose, world.machines[seq], active)),
            )
            stint.measured = None


def charge(world: World, time: int) -> None:
    """What they owe when time has come so far."""
    for stint in world.stints.values():
        owed = stint.owes
        more = owed + min(time - world.now, LONG) * stint.rate
        stint.owes = min(max(more, 0), DEBT)
        world.rested |= owed > 0 and stint.owes == 0


def rests(world: World, job: PlainJob, scales: Mapping[int, float]) -> bool:
    """Would a tenant that rests be above its part with the gang?"""
    together = needed(job)
    if together == 1 or not world.stints:
        return False
    more = together * round(SHARE / scales[job.seq])
    return any(
        stint.owes > 0 and not stint.alone and held_by(world, whose, scales) + more > stint.part
        for whose in _nodes(world, job)
        if (stint := world.stints.get(whose)) is not None
    )


def end_rests(world: World) -> None:
    """Machines may be reserved for those who owe nothing any more."""
    if world.rested:
        world.rested = False
        world.stir()
        world.look_at = world.now


def measure(world: World, active: Set[int], scales: Mapping[int, float]) -> None:
    """How fast each owes more, or less, from now on."""
    for whose, stint in list(world.stints.items()):
        held = held_by(world, whose, scales)
        stint.stale = True
        if stint.measured is None or world.now >= _until(world, stint):
            _find_part(world, whose, stint, active, scales)
        stint.rate = -POINTS
        if not stint.alone:
            stint.rate += int(min(float(held) * POINTS / stint.part, MOST))
        if stint.owes == 0 and stint.rate <= 0 and (not stint.alone or held == 0):
            del world.stints[whose]


def _find_part(
    world: World, whose: Whose, stint: Stint, active: Set[int], scales: Mapping[int, float]
) -> None:
    """What it has where it and those beside it that wait and could use what it took hold alike."""
    assert stint.took is not None
    others = _beside(world, whose, world.machines[stint.took], active)
    weights = COARSE + sum(_weight(world, whose, other) for other in others)
    held = sum(held_by(world, each, scales) for each in (whose, *others))
    stint.part = max(int(float(held) * COARSE / weights), 1)
    stint.alone, stint.measured, stint.stale = not others, world.now, False


def _beside(world: World, whose: Whose, machine: PlainMachine, active: Set[int]) -> list[Whose]:
    """Those beside it who wait, could use the machine, and may have more."""
    parent = world.tenants[whose].parent if isinstance(whose, str) else None
    busy = active_tenants(world, set(active))
    beside: list[Whose] = [t.name for t in world.tenants.values() if t.parent == parent]
    beside = [name for name in beside if name in busy]
    if parent is None:
        beside += [seq for seq in active if world.jobs[seq].job.tenant is None]
    return [
        other
        for other in beside
        if other != whose
        and _could_use(world, other, machine, active)
        and not _is_full(world, other, active)
    ]


def _could_use(world: World, whose: Whose, machine: PlainMachine, active: Set[int]) -> bool:
    """Could a job of it use the machine, by the least that all its jobs that wait ask for?"""
    if machine.state is not MachineState.UP:
        return True
    names = _waiting(world, whose, active)
    terms = [
        {*needed_by(job.job)}
        | ({*job.job.prefer.requirements} if world.now < job.since + job.patience else set())
        for job in names
    ]
    least = [min(amounts) for amounts in zip(*(job.demand for job in names), strict=True)]
    fits = all(d <= there for d, there in zip(least, machine.capacity, strict=True))
    return fits and all(satisfies(machine.machine, term) for term in set.intersection(*terms))


def _waiting(world: World, whose: Whose, active: Set[int]) -> list[PlainJob]:
    return [job for job in world.jobs if job.seq in active and whose in _nodes(world, job)]


def _is_full(world: World, whose: Whose, active: Set[int]) -> bool:
    """Is so much held that its own limits leave less than the least that its jobs ask for?"""
    if not isinstance(whose, str):
        return False
    for r, measure in enumerate(world.measures):
        need = min(job.demand[r] for job in _waiting(world, whose, active))
        held = sum(job.demand[r] * len(world.tasks_of(job)) for job in world.holders(whose))
        limit = world.tenants[whose].limit.get(measure.name)
        if limit is not None and need and (held + need) * measure.unit > limit:
            return True
    return False


def _weight(world: World, whose: Whose, other: Whose) -> int:
    """What the other one weighs where this one weighs COARSE."""
    one, beside = (
        float(exact_weight(world, each)) if isinstance(each, str) else 1.0
        for each in (whose, other)
    )
    return int(min(max(beside / one * COARSE, 1), HEAVIEST))


def next_rested(world: World) -> int | None:
    """When the first will owe nothing any more, as it is now, or its part is found again."""
    times = [
        world.now + -(-stint.owes // -stint.rate)
        for stint in world.stints.values()
        if stint.owes > 0 and stint.rate < 0
    ]
    times += [_until(world, each) for each in world.stints.values() if each.stale]
    return min(times, default=None)


def _until(world: World, stint: Stint) -> int:
    """For so long its part stays."""
    assert stint.measured is not None
    return stint.measured + max(world.after // LOOKS, 1)
