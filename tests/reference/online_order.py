"""The next task, plainly: scales, shares, idle holdings, levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from tests.reference.online_state import PlainJob, World, holds_empty, may_use

SHARE = 2**40
"""Idle holdings and floors are counted in units of 1 / SHARE of a share, as whole numbers."""
NEARER = 2**10
"""A job below its tenant's floor is nearer to it by so much: the order of such jobs stays."""


def usable(world: World, job: PlainJob) -> bool:
    """Is there a machine, not gone, that the job may use and that holds a task when empty?"""
    return any(
        m.present and may_use(job, m) and holds_empty(world, job, m) > 0 for m in world.machines
    )


def active_jobs(world: World, scales: Mapping[int, float] | Mapping[int, Fraction]) -> set[int]:
    """The jobs that have tasks waiting and could run them."""
    return {
        j.seq
        for j in world.jobs
        if j.waiting > 0 and scales[j.seq] > 0 and usable(world, j) and may_ever_start(world, j)
    }


def may_ever_start(world: World, job: PlainJob) -> bool:
    """Whether all that start together fit on empty machines, and no limit is lower than that."""
    size = job.gang if job.waiting >= job.gang else 1
    room = sum(holds_empty(world, job, m) for m in world.machines if m.present and may_use(job, m))
    for tenant in world.ancestors(job):
        for r, measure in enumerate(world.measures):
            need = job.demand[r] * measure.unit
            if need and measure.name in tenant.limit and need * size > tenant.limit[measure.name]:
                return False
    return room >= size


def active_tenants(world: World, active: set[int]) -> set[str]:
    """The tenants that have an active job, or one below them."""
    return {t.name for j in world.jobs if j.seq in active for t in world.ancestors(j)}


def levels(
    world: World, scales: Mapping[int, float], more: Mapping[int, int] | None = None
) -> dict[int, float]:
    """The level of every active job, did it hold so many tasks `more`, rounded once; what is
    counted beside the job's own share is counted in whole units, and of first tasks one less, so
    that a job alone never counts more."""
    rational = {seq: Fraction(scale) for seq, scale in scales.items()}

    def counted(job: PlainJob, tasks: int, active: bool) -> Fraction:
        scale = scales[job.seq]
        unit = round(SHARE / scale) if scale > 0 else 0
        return Fraction(tasks * (max(unit - 1, 0) if active else unit), SHARE)

    found = exact_levels(world, rational, counted, more)
    return {seq: float(level) for seq, level in found.items()}


def first_tasks(job: PlainJob, held: int) -> int:
    """How many of the tasks that an active job holds count in floors: those that start together."""
    return min(held, job.gang)


def exact_levels(
    world: World,
    scales: Mapping[int, Fraction],
    counted: Callable[[PlainJob, int, bool], Fraction] | None = None,
    more: Mapping[int, int] | None = None,
) -> dict[int, Fraction]:
    """The same in fractions. `counted`: what so many tasks of a job count in what is idle, or in a
    floor where the job is active; their share unless told. `more`: the level of a job is what it
    would be if it, and it alone, held so many tasks more."""
    active = active_jobs(world, scales)
    busy = active_tenants(world, active)

    def share(job: PlainJob, tasks: int, _active: bool = False) -> Fraction:
        scale = scales[job.seq]
        return tasks / scale if scale > 0 else Fraction(0)

    count = counted or share

    def first(job: PlainJob) -> Fraction:
        """What a job counts in floors: of an active one the first tasks, else all."""
        held = len(world.tasks_of(job))
        moving = job.seq in active
        return count(job, first_tasks(job, held) if moving else held, moving)

    def idle(job: PlainJob) -> Fraction:
        return count(job, len(world.tasks_of(job)), False)

    beside: dict[str, Fraction] = {}
    idly: dict[str, Fraction] = {}
    floor: dict[str, Fraction] = {}
    for name in busy:
        jobs = [j for j in world.jobs if j.job.tenant == name]
        children = [t.name for t in world.tenants.values() if t.parent == name]
        beside[name] = sum(
            (exact_weight(world, child) for child in children if child in busy),
            Fraction(sum(j.seq in active for j in jobs)),
        )
        resting = [j for j in jobs if j.seq not in active]
        resting += [j for c in children if c not in busy for j in world.holders(c)]
        idly[name] = sum(map(idle, resting), Fraction(0))
        counted_first = map(first, world.holders(name)) if world.floors else ()
        floor[name] = sum(counted_first, Fraction(0))

    found: dict[int, Fraction] = {}
    for job in world.jobs:
        if job.seq not in active:
            continue
        level = share(job, len(world.tasks_of(job)) + (more or {}).get(job.seq, 0))
        for tenant in world.ancestors(job):
            level = level * beside[tenant.name] + idly[tenant.name]
            if level < floor[tenant.name]:
                level = floor[tenant.name] - (floor[tenant.name] - level) / NEARER
            level /= exact_weight(world, tenant.name)
        found[job.seq] = level
    return found


def exact_weight(world: World, tenant: str) -> Fraction:
    """The tenant's weight; 1 if nothing is said."""
    weight = world.tenants[tenant].weight
    return Fraction(1) if weight is None else weight
