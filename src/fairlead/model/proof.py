"""The proof that goes with an allocation: data that anyone can check against the input alone."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.model.shares import MachineClass, Placement, Stop


@dataclass(frozen=True)
class Round:
    """One round of filling and the multipliers that show it could not go further.

    `share` is the level that the round reached (the sum of all steps so far); `frozen` the jobs
    that froze; `job_prices` the multiplier of each job's share row (those above zero); `stops`
    the multipliers of everything that is scarce. They are scaled so that the multipliers of the
    active jobs, each times its rate, add up to 1. The multipliers of each (job, class) that the
    job may use satisfy: price of a task's demand there + task, limit and spread prices that it
    pays >= job price / scale.
    """

    share: float
    frozen: tuple[str, ...]
    job_prices: tuple[tuple[str, float], ...]
    stops: tuple[Stop, ...]
    machine_class: int | None = None


@dataclass(frozen=True)
class PoolProof:
    """What a tenant's pool alone could give it, in share: placements that reach it, prices that
    bound it. Needed where a tenant with a pool has several jobs or limits.

    `classes` are those with machines of the pool, whole: the real ones, even where the policy
    looks at one machine that holds everything. The amounts are those of the pool's part of each.
    """

    tenant: str
    share: float
    placements: tuple[tuple[str, tuple[Placement, ...]], ...]
    stops: tuple[Stop, ...]
    classes: tuple[MachineClass, ...] = ()


@dataclass(frozen=True)
class Scale:
    """The tasks of a job that make one unit of share (on one machine of a class, where each class
    of machines is filled by itself)."""

    job: str
    tasks: float
    machine_class: int | None = None


@dataclass(frozen=True)
class Proof:
    """All rounds of one filling, over classes of machines that every job sees alike.

    `view` is what the cluster looks like to the policy: `machines` as they are, `pooled` into one
    that holds everything, or `each machine` by itself. `scales` are those of all jobs that can run:
    a check computes those of the built-in policies again, and has to take those of a user's own
    policy as they are.
    """

    policy: str
    classes: tuple[MachineClass, ...]
    placements: tuple[tuple[str, tuple[Placement, ...]], ...]
    rounds: tuple[Round, ...]
    pools: tuple[PoolProof, ...] = ()
    view: str = "machines"
    scales: tuple[Scale, ...] = ()
