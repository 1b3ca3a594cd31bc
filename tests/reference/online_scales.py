"""The scales of the online core, from their definitions: whole tasks on each machine.

`exact_scale` is in fractions. `rounded_scale` does in floating point what the definition says,
operation by operation, so that shares that tie in the core tie here.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from tests.reference.online_order import usable
from tests.reference.online_state import PlainJob, World, holds_empty, may_use

FAIR = ("tsf", "cdrf", "drfh", "drf", "asset", "cmmf(resource=cpu)", "kdf(k=2)")
UNFAIR = ("fifo",)


def alone(world: World, job: PlainJob, constrained: bool) -> int:
    """Whole tasks of the job on all machines present, or on those that it may use."""
    return sum(
        holds_empty(world, job, m)
        for m in world.machines
        if m.present and (not constrained or may_use(job, m))
    )


def total(world: World, resource: int) -> int:
    """The sum of all machines that are present."""
    return sum(m.capacity[resource] for m in world.machines if m.present)


def exact_scale(world: World, job: PlainJob, policy: str) -> Fraction:
    """The tasks that make one unit of share; 0 for a job that can run nowhere."""
    if not usable(world, job):
        return Fraction(0)
    parts = [Fraction(d, total(world, r)) for r, d in enumerate(job.demand) if d]
    match policy:
        case "tsf":
            return Fraction(alone(world, job, constrained=False))
        case "cdrf":
            return Fraction(alone(world, job, constrained=True))
        case "drfh" | "drf":
            return 1 / max(parts)
        case "asset":
            return 1 / sum(parts, Fraction(0))
        case "kdf(k=2)":
            return 1 / prod(sorted(parts)[-2:], start=Fraction(1))
        case "cmmf(resource=cpu)":
            return Fraction(total(world, 0), job.demand[0])
        case "fifo":
            return Fraction(1)
    raise ValueError(policy)


def rounded_scale(world: World, job: PlainJob, policy: str) -> float:
    """The same in floating point."""
    if not usable(world, job):
        return 0.0
    parts = [d / total(world, r) for r, d in enumerate(job.demand) if d]
    match policy:
        case "drfh" | "drf":
            return 1.0 / max(parts)
        case "asset":
            together = 0.0
            for part in parts:
                together += part
            return 1.0 / together
        case "kdf(k=2)":
            product = 1.0
            for part in sorted(parts)[-2:]:
                product *= part
            return 1.0 / product
        case "cmmf(resource=cpu)":
            return 1.0 / job.demand[0] * total(world, 0)
    return float(exact_scale(world, job, policy))


def rounded_scales(world: World, policy: str) -> Mapping[int, float]:
    """The scale of every job."""
    return {job.seq: rounded_scale(world, job, policy) for job in world.jobs}
