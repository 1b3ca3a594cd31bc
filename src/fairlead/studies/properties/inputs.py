"""Small odd inputs to look for counterexamples in: ties, zeros, closed machines, tight pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TypeVar

import numpy as np

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, solve
from fairlead.audit.properties.bottleneck import simpler
from fairlead.audit.properties.strategy_lies import in_small_tasks, unusable_pools
from fairlead.model.eligibility import holds, may_use
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant

_T = TypeVar("_T")

DRAWS = 5000
"""Inputs drawn for one that is of its family and is accepted: far more than any family needs."""

HARD = 4
"""Every fourth input is hard: constrained, contended and with several levels. What is open to all
is never constrained, so those families have none."""

AMOUNTS = (0, 1, 1, 2, 2, 3, 4, 6)
NEEDS = ("0", "1/2", "1", "1", "2", "3")
WHOLE_AMOUNTS = (0, 2, 3, 4, 4, 5, 6, 8, 9, 12)
WHOLE_NEEDS = ("0", "1", "1", "2", "2", "3", "4", "3/2")


class Family(Enum):
    """A kind of inputs. The values are what people and files call them."""

    GENERAL = "general"  # equal weights
    POOLS = "pools"  # every tenant brought machines, and its job can run on each of them
    UNUSABLE_POOLS = "unusable-pools"  # some owner cannot use all that it brought
    ONE_MACHINE = "one-machine"  # open to all
    ONE_RESOURCE = "one-resource"
    BOTTLENECK = "bottleneck"  # all want most of the same resource
    WHOLE_OPEN = "whole-open"  # whole tasks fit, no constraints, no end of tasks
    WHOLE = "whole"  # whole tasks fit


POOLED = (Family.POOLS, Family.UNUSABLE_POOLS)


@dataclass(frozen=True)
class Traits:
    """The traits that make an input hard. `constrained`: a constraint keeps a job from a machine on
    which it would fit; `contended`: some job that runs has fewer tasks than it could have alone on
    the machines that it may use; `levels`: TSF's allocation stops at more than one share."""

    constrained: bool
    contended: bool
    levels: bool

    @property
    def hard(self) -> bool:
        """All three."""
        return self.constrained and self.contended and self.levels


def instance(family: Family, seed: int, number: int, unlimited: bool = False) -> Input:
    """The input of this number: the same for the same four. Two tenants at least have a job that
    runs. `unlimited`: no job ever runs out of tasks."""
    return drawn(family, seed, number, unlimited)[0]


def drawn(
    family: Family, seed: int, number: int, unlimited: bool = False
) -> tuple[Input, Outcome | None]:
    """The input of this number, and its outcome under TSF where the draw had to know it."""
    place = list(Family).index(family)
    draw = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, place, number])))
    hard = number % HARD == 0 and family not in (Family.ONE_MACHINE, Family.WHOLE_OPEN)
    for _ in range(DRAWS):
        given = _draw_input(family, draw)
        if given is not None and unlimited:
            given = replace(given, jobs=tuple(replace(job, tasks=None) for job in given.jobs))
        if given is None or not _may_be_of(family, given, hard):
            continue
        if not hard and family not in (*POOLED, Family.BOTTLENECK):
            return given, None
        outcome = _of(family, given, hard)
        if outcome is not None:
            return given, outcome
    raise AssertionError(f"{DRAWS} draws gave no input of the family {family.value}")


def traits(outcome: Outcome) -> Traits:
    """The traits that make the input hard, by its outcome under TSF."""
    given = outcome.input
    contended = False
    for job in given.jobs:
        alone = sum((holds(job, m) for m in given.cluster.machines if may_use(job, m)), Fraction(0))
        could = alone if job.tasks is None else min(alone, job.tasks)
        contended |= outcome.numbers.tasks[job.name] < could
    return Traits(
        constrained=_constrained(given),
        contended=contended,
        levels=len({round(level.share, 9) for level in outcome.allocation.levels}) > 1,
    )


def _constrained(given: Input) -> bool:
    """Whether a constraint keeps a job from a machine on which it would fit."""
    return any(
        not may_use(job, machine)
        for job in given.jobs
        for machine in given.cluster.machines
        if holds(job, machine) > 0
    )


def _may_be_of(family: Family, given: Input, hard: bool) -> bool:
    """Whether it can be of its family, by what is known before anything is shared."""
    least = 1 if family in (Family.WHOLE_OPEN, Family.WHOLE) else Fraction(1, 10**9)
    runs = [
        any(may_use(job, m) and holds(job, m) >= least for m in given.cluster.machines)
        for job in given.jobs
    ]
    return sum(runs) >= 2 and (not hard or _constrained(given))


def _of(family: Family, given: Input, hard: bool) -> Outcome | None:
    """The outcome under TSF of an input that is of its family; None where it is not."""
    if family in POOLED and bool(unusable_pools(given)) is (family is Family.POOLS):
        return None
    try:
        outcome = solve(given, "tsf")
    except InputError:  # a pool of no use to its owner is refused
        return None
    if family is Family.BOTTLENECK and simpler(outcome)[0] is None:
        return None
    return None if hard and not traits(outcome).hard else outcome


def _draw_input(family: Family, draw: np.random.Generator) -> Input | None:
    pools = family in POOLED
    whole = family in (Family.WHOLE_OPEN, Family.WHOLE)
    resources = "abc"[: 1 if family is Family.ONE_RESOURCE else _one(draw, (1, 2, 2, 3, 3))]
    if family is Family.ONE_MACHINE:
        count = 1
    elif pools:
        count = int(draw.integers(2, 5))
    else:
        count = _one(draw, (1, 2, 2, 3, 3, 3))
    machines = [
        Machine(f"m{i}", {r: _one(draw, WHOLE_AMOUNTS if whole else AMOUNTS) for r in resources})
        for i in range(1, count + 1)
    ]
    tenants = min(_one(draw, (2, 2, 3, 3, 4)), count if pools else 4)
    names = [machine.name for machine in machines]
    owner = [*range(tenants), *(int(draw.integers(tenants)) for _ in range(count))][:count]
    jobs = []
    for i in range(tenants):
        demand = {r: Fraction(_one(draw, WHOLE_NEEDS if whole else NEEDS)) for r in resources}
        if not any(demand.values()):
            return None
        open_ = [name for name in names if draw.random() < 0.6]
        if family is Family.POOLS:
            mine = {name for name, of in zip(names, owner, strict=True) if of == i}
            open_ = [name for name in names if name in mine or name in open_]
        open_to_all = family in (Family.ONE_MACHINE, Family.WHOLE_OPEN)
        free = open_to_all or draw.random() < 0.25 or not open_
        job = Job(
            f"u{i + 1}",
            demand,
            tenant=f"T{i + 1}" if pools else None,
            machines=None if free else open_,
            tasks=int(draw.integers(1, 5))
            if family is not Family.WHOLE_OPEN and draw.random() < 0.1
            else None,
        )
        jobs.append(job if whole else in_small_tasks(job, machines))
    if pools:
        return Input(Cluster(machines, _owners(names, owner)), tuple(jobs))
    return Input(Cluster(machines), tuple(jobs))


def _owners(names: Sequence[str], owner: Sequence[int]) -> list[Tenant]:
    return [
        Tenant(f"T{i + 1}", pool=[n for n, of in zip(names, owner, strict=True) if of == i])
        for i in sorted(set(owner))
    ]


def _one(draw: np.random.Generator, of: Sequence[_T]) -> _T:
    return of[int(draw.integers(len(of)))]
