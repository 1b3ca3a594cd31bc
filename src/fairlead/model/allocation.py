"""The answer: who gets what, at which level each was stopped and by what."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the proof is made of placements and stops
    from fairlead.model.proof import Proof


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


@dataclass(frozen=True)
class Allocation:
    """The whole answer, as printed. `warnings` are sentences for the user.

    `prices` are a market's; `proof` is what `certificate` was checked by (None for a mechanism).
    """

    policy: str
    tasks: Tasks
    tenants: tuple[TenantShare, ...]
    jobs: tuple[JobShare, ...]
    classes: tuple[MachineClass, ...]
    levels: tuple[Level, ...]
    certificate: Certificate | None
    warnings: tuple[str, ...] = ()
    prices: tuple[Stop, ...] = ()
    proof: Proof | None = field(default=None, repr=False)

    def job(self, name: str) -> JobShare:
        """The share of the job with this name; KeyError if there is none."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise KeyError(name)

    def tenant(self, name: str) -> TenantShare:
        """The share of the tenant with this name; KeyError if there is none."""
        for tenant in self.tenants:
            if tenant.name == name:
                return tenant
        raise KeyError(name)

    def to_json(self) -> str:
        """The answer as `fairlead.allocation/1`, the same bytes for the same answer."""
        from fairlead.model.report import allocation_tree, json_text

        return json_text(allocation_tree(self))

    def table(self) -> list[dict[str, str | float | int | None]]:
        """One row per job, with its tenant's share beside it, as pandas and polars take them."""
        from fairlead.model.report import rows

        return rows(self)
