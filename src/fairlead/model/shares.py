"""Parts of an answer: shares, placements, levels and their stops."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class Tasks(Enum):
    """The two worlds that a result may be about."""

    DIVISIBLE = "divisible"
    WHOLE = "whole"


@dataclass(frozen=True)
class MachineClass:
    """Machines that no present job can tell apart, in the order of their names."""

    index: int
    machines: tuple[str, ...]


@dataclass(frozen=True)
class Placement:
    """Tasks of a job on all the machines of a class together (each holds an equal part)."""

    machine_class: int
    tasks: float


@dataclass(frozen=True)
class Stop:
    """Cause of a level's end, with its price: the rise of the level's share per unit more of it.

    Exactly one of these kinds: a resource on a class of machines (`machine_class`, `resource`);
    a tenant's limit (`tenant`, `resource`); a job that has no more tasks (`job`); a job that has a
    task on every machine of a class (`job`, `machine_class`).
    """

    price: float
    machine_class: int | None = None
    resource: str | None = None
    tenant: str | None = None
    job: str | None = None


@dataclass(frozen=True)
class Level:
    """A share at which filling stopped, who froze there, and what stopped them.

    `frozen` are tenants none of whose jobs can rise any more; `jobs` the jobs that froze.
    `machine_class` is None, except where each class of machines is filled by itself.
    """

    share: float
    frozen: tuple[str, ...]
    jobs: tuple[str, ...]
    stopped_by: tuple[Stop, ...]
    machine_class: int | None = None


@dataclass(frozen=True)
class Freeze:
    """One round of filling as people read it: who froze, and the prices that held them.

    `job_prices` are the multipliers of the jobs' shares (those above zero), `stops` those of all
    that is scarce, earlier rounds' too where it holds the same jobs. They are scaled so that the
    multipliers of the active jobs, each times its rate, add up to 1, and for every class that a job
    may use: price of a task's demand there + task, limit and spread prices that it pays >= job
    price / scale.
    """

    share: float
    frozen: tuple[str, ...]
    job_prices: tuple[tuple[str, float], ...]
    stops: tuple[Stop, ...]
    machine_class: int | None = None


@dataclass(frozen=True)
class TenantShare:
    """A tenant's weighted share. `level` is an index into the levels, None where there is none."""

    name: str
    parent: str | None
    weight: float
    share: float
    level: int | None


@dataclass(frozen=True)
class JobShare:
    """A job's part. `alone`: tasks it could run alone in the cluster, constraints ignored.

    `scale` is the policy's (None where a mechanism has none); `level` the index of the level at
    which it froze; `placements` is None where the policy looks at one machine that holds
    everything; `nowhere` tells why a job that can never run cannot.
    """

    name: str
    tenant: str
    tasks: float
    alone: float
    scale: float | None
    share: float
    level: int | None
    placements: tuple[Placement, ...] | None
    nowhere: Nowhere | None = None


@dataclass(frozen=True)
class GangTooLarge:
    """So many tasks start together, and empty machines hold only `fit` of them. `machines` counts
    those that could run one."""

    size: int
    fit: int
    machines: int


@dataclass(frozen=True)
class OverLimit:
    """So many tasks that start together need more than a tenant may ever hold."""

    tenant: str
    resource: str
    tasks: int
    needed: Fraction
    limit: Fraction


@dataclass(frozen=True)
class Nowhere:
    """Why a job can never run: of so many machines, each part excludes so many.

    Every machine is counted once for each part of the constraint that excludes it (`where` parts
    as written, `machines`, `exclude`) and, among those that satisfy the constraint, for each
    resource of which it has nothing though a task needs it (`resources`), or less than a task needs
    (`small`). Where machines are left: a `gang` that they do not hold. `limits` are those that are
    too low.
    """

    machines: int
    constraint: tuple[tuple[str, int], ...]
    resources: tuple[tuple[str, int], ...]
    small: tuple[tuple[str, int], ...] = ()
    gang: GangTooLarge | None = None
    limits: tuple[OverLimit, ...] = ()


@dataclass(frozen=True)
class Certificate:
    """Errors found by the check of an answer, whose code shares nothing with the solver.

    `exact`: the shares are proved to be the fair ones, in rationals, and both figures are 0.
    Otherwise `feasibility` is the largest violation of a capacity, task count or limit, relative,
    and `gap` None: a mechanism has no levels to prove. `assumed` are sentences on what was taken as
    stated, because nobody but its owner can check it.
    """

    feasibility: float
    gap: float | None
    assumed: tuple[str, ...] = ()
    exact: bool = False
