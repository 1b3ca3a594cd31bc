"""The next task, plainly: scales, shares, idle holdings, levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tests.reference.online_state import PlainJob, World, holds_empty, may_use, needed

SHARE = 2**40
"""Idle holdings are counted in units of 1 / SHARE of a share, as whole numbers."""
STRICT = Fraction(1, 2**10)
"""So much of what is held is counted without first tasks: who is higher always counts more."""


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
        if j.waiting > 0
        and scales[j.seq] > 0
        and usable(world, j)
        and may_ever_start(world, j, needed(j))
    }


def may_ever_start(world: World, job: PlainJob, size: int) -> bool:
    """Whether so many tasks fit together on empty machines, and no limit is lower than that."""
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
    """The level of every active job, did some hold so many tasks `more`, rounded once; what is
    idle is counted in whole units."""
    rational = {seq: Fraction(scale) for seq, scale in scales.items()}

    def counted(job: PlainJob, tasks: int) -> Fraction:
        scale = scales[job.seq]
        return Fraction(tasks * (round(SHARE / scale) if scale > 0 else 0), SHARE)

    found = exact_levels(world, rational, counted, more)
    return {seq: float(level) for seq, level in found.items()}


def first_tasks(job: PlainJob, held: int) -> int:
    """How many of the tasks that an active job holds it may hold beyond its part: those that start
    together."""
    return min(held, job.gang)


@dataclass(frozen=True)
class Child:
    """What an active child of a tenant holds, and of this its first tasks."""

    weight: Fraction
    held: Fraction
    first: Fraction

    def at(self, height: Fraction) -> Fraction:
        """What it counts at this height: no more than it holds, and no less than its part."""
        part = self.weight * height
        without, with_first = min(self.held, part), min(self.held, self.first + part)
        return STRICT * without + (1 - STRICT) * with_first


def exact_levels(
    world: World,
    scales: Mapping[int, Fraction],
    counted: Callable[[PlainJob, int], Fraction] | None = None,
    more: Mapping[int, int] | None = None,
) -> dict[int, Fraction]:
    """The same in fractions. `counted`: what so many tasks of a job count in what is idle; their
    share unless told. `more`: so many tasks more than it does each of these active jobs holds."""
    active = active_jobs(world, scales)
    busy = active_tenants(world, active)

    def share(job: PlainJob, tasks: int) -> Fraction:
        scale = scales[job.seq]
        return tasks / scale if scale > 0 else Fraction(0)

    count = counted or share
    idle: dict[str, Fraction] = {}
    children: dict[str, list[Child]] = {}

    def held_by(job: PlainJob) -> int:
        return len(world.tasks_of(job)) + (more or {}).get(job.seq, 0)

    def of_job(job: PlainJob) -> Child:
        held = held_by(job)
        return Child(Fraction(1), share(job, held), share(job, first_tasks(job, held)))

    def of_tenant(name: str) -> Child:
        """An active tenant, after all below it."""
        below = [t.name for t in world.tenants.values() if t.parent == name]
        jobs = [j for j in world.jobs if j.job.tenant == name]
        resting = [j for j in jobs if j.seq not in active]
        resting += [j for c in below if c not in busy for j in world.holders(c)]
        idle[name] = sum((count(j, len(world.tasks_of(j))) for j in resting), Fraction(0))
        children[name] = [of_job(j) for j in jobs if j.seq in active]
        children[name] += [of_tenant(c) for c in below if c in busy]
        return Child(
            exact_weight(world, name),
            idle[name] + sum(c.held for c in children[name]),
            idle[name] + max(c.first for c in children[name]),
        )

    for tenant in world.tenants.values():
        if tenant.parent is None and tenant.name in busy:
            of_tenant(tenant.name)
    found: dict[int, Fraction] = {}
    for job in world.jobs:
        if job.seq not in active:
            continue
        level = share(job, held_by(job))
        for tenant in world.ancestors(job):
            beside = children[tenant.name]
            if world.filling and len(beside) > 1:
                level = sum((child.at(level) for child in beside), Fraction(0))
            else:
                level *= sum((child.weight for child in beside), Fraction(0))
            level = (level + idle[tenant.name]) / exact_weight(world, tenant.name)
        found[job.seq] = level
    return found


def exact_weight(world: World, tenant: str) -> Fraction:
    """The tenant's weight; 1 if nothing is said."""
    weight = world.tenants[tenant].weight
    return Fraction(1) if weight is None else weight
