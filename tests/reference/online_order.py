"""The next task, plainly: scales, shares, idle holdings, levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from tests.reference.online_state import PlainJob, World, holds_empty, may_use

SHARE = 2**40
"""Idle holdings are counted in units of 1 / SHARE of a share, as whole numbers."""


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


def idle_units(world: World, job: PlainJob, scales: Mapping[int, float]) -> int:
    """The job's holdings, in units of 1 / SHARE of a share: each task counts a whole number."""
    scale = scales[job.seq]
    return round(SHARE / scale) * len(world.tasks_of(job)) if scale > 0 else 0


def levels(world: World, scales: Mapping[int, float]) -> dict[int, float]:
    """The level of every active job, rounded once; what is idle is counted in whole units."""
    rational = {seq: Fraction(scale) for seq, scale in scales.items()}
    found = exact_levels(
        world, rational, lambda job: Fraction(idle_units(world, job, scales), SHARE)
    )
    return {seq: float(level) for seq, level in found.items()}


def exact_levels(
    world: World,
    scales: Mapping[int, Fraction],
    counted: Callable[[PlainJob], Fraction] | None = None,
) -> dict[int, Fraction]:
    """The same in fractions. `counted`: what the idle holdings of a job count, its share unless
    told."""
    active = active_jobs(world, scales)
    busy = active_tenants(world, active)
    found: dict[int, Fraction] = {}

    def held(job: PlainJob) -> Fraction:
        scale = scales[job.seq]
        return len(world.tasks_of(job)) / scale if scale > 0 else Fraction(0)

    idly = held if counted is None else counted

    def below(tenant: str, effective: Fraction, above: Fraction) -> None:
        jobs = [j for j in world.jobs if j.job.tenant == tenant]
        children = [t for t in world.tenants.values() if t.parent == tenant]
        idle = sum((idly(j) for j in jobs if j.seq not in active), Fraction(0))
        rising = [t for t in children if t.name in busy]
        for child in children:
            if child.name not in busy:
                idle += sum((idly(j) for j in world.holders(child.name)), Fraction(0))
        total = sum((exact_weight(world, t.name) for t in rising), Fraction(0))
        total += sum(1 for j in jobs if j.seq in active)
        for child in rising:
            part = effective * exact_weight(world, child.name) / total
            below(child.name, part, above + idle / effective)
        for j in jobs:
            if j.seq in active:
                found[j.seq] = above + idle / effective + held(j) / (effective / total)

    for tenant in world.tenants.values():
        if tenant.parent is None and tenant.name in busy:
            below(tenant.name, exact_weight(world, tenant.name), Fraction(0))
    for j in world.jobs:
        if j.job.tenant is None and j.seq in active:
            found[j.seq] = held(j)
    return found


def exact_weight(world: World, tenant: str) -> Fraction:
    """The tenant's weight; 1 if nothing is said."""
    weight = world.tenants[tenant].weight
    return Fraction(1) if weight is None else weight
