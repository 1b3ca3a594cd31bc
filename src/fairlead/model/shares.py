"""What an answer is made of: shares, placements, levels and what stopped them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Tasks(Enum):
    """Which world a result is about."""

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
    """What stopped a level, with its price: the rise of the level's share per unit more of it.

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
class TenantShare:
    """A tenant's weighted share. `level` is an index into the levels, None where there is none."""

    name: str
    parent: str | None
    weight: float
    share: float
    level: int | None


@dataclass(frozen=True)
class JobShare:
    """What a job gets. `alone`: tasks it could run alone in the cluster, constraints ignored.

    `scale` is the policy's (None where a mechanism has none); `level` the index of the level at
    which it froze; `placements` is None where the policy looks at one machine that holds
    everything; `nowhere` tells why a job that can run on no machine cannot.
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
class Nowhere:
    """Why a job can run on no machine: of so many machines, each part excludes so many.

    Every machine is counted once for each part of the constraint that excludes it (`where` parts
    as written, `machines`, `exclude`) and, among those that satisfy the constraint, for each
    resource of which it has nothing though a task needs it.
    """

    machines: int
    constraint: tuple[tuple[str, int], ...]
    resources: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Certificate:
    """How well the answer passed its check, by code that shares nothing with the solver.

    `feasibility`: the largest violation of a capacity, task count, limit or level equation,
    relative; `gap`: the largest relative rise that the prices leave open to anyone frozen (None
    where there is nothing to prove: a mechanism has no levels). `assumed` are sentences on what
    was taken as stated, because nobody but its owner can check it.
    """

    feasibility: float
    gap: float | None
    assumed: tuple[str, ...] = ()
