"""A problem in arrays: names become indices here, and nowhere else for a whole problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fairlead.sharing.numbers.amounts import Amounts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Limit:
    """A hard cap: what the jobs below a tenant hold together of one resource."""

    tenant: int
    resource: int
    amount: float


@dataclass(frozen=True)
class Tree:
    """Tenants and who is below whom. A job without a tenant has a node of its own, weight 1.

    `parent` is -1 at the top; a parent comes before its children. `weight` is nan where a pool
    says the weight; `pool_count[t, c]` then counts its machines of class c.
    """

    names: tuple[str, ...]
    parent: Ints  # (T,)
    weight: Floats  # (T,)
    pool_count: Ints  # (T, C)
    job_tenant: Ints  # (J,) the node that a job hangs on
    limits: tuple[Limit, ...]


@dataclass(frozen=True)
class Problem:
    """Jobs x classes of machines x resources, in an order that names do not influence.

    `holds[j, c]`: tasks of j that one empty machine of class c holds, constraints ignored,
    divisible, at most 1 if the job spreads. `eligible[j, c]`: the constraint allows it, and j is no
    job that can never run. `usable` is both: eligible and holds > 0. `tasks` is inf where
    unlimited. `written` is where each job stands in what the user wrote, for sentences alone; it
    may be unknown. `known` are the amounts as rationals, where they are not those that the doubles
    stand for.
    """

    resources: tuple[str, ...]
    job_names: tuple[str, ...]
    class_machines: tuple[tuple[str, ...], ...]
    demand: Floats  # (J, R)
    tasks: Floats  # (J,)
    spread: Bools  # (J,)
    capacity: Floats  # (C, R) of one machine
    count: Ints  # (C,)
    eligible: Bools  # (J, C)
    holds: Floats  # (J, C)
    usable: Bools  # (J, C)
    tree: Tree
    written: tuple[int, ...] | None = None  # (J,)
    known: Amounts | None = None
    whole: bool = False  # `holds` are whole tasks

    @cached_property
    def amounts(self) -> Amounts:
        from fairlead.sharing.numbers.amounts import of_doubles

        if self.known is not None:
            return self.known
        limits = ((limit.resource, limit.amount) for limit in self.tree.limits)
        return of_doubles(self.demand, self.capacity, limits, self.tasks, self.tree.weight)

    @property
    def alone(self) -> Floats:
        """(J,) tasks that each job could run alone in the cluster, constraints ignored."""
        alone: Floats = self.holds @ self.count
        return alone

    @property
    def alone_allowed(self) -> Floats:
        """(J,) tasks that each job could run alone on the machines that it may use."""
        alone: Floats = (self.holds * self.usable) @ self.count
        return alone

    @property
    def total(self) -> Floats:
        """(R,) the whole cluster's resources."""
        total: Floats = self.count @ self.capacity
        return total


def tasks_that_fit(demand: Floats, capacity: Floats, spread: Bools) -> Floats:
    """(J, C) tasks that one empty machine of each class holds, at most 1 where a job spreads."""
    holds = np.full((demand.shape[0], capacity.shape[0]), np.inf)
    for r in range(demand.shape[1]):
        needs = demand[:, r] > 0
        holds[needs] = np.minimum(holds[needs], capacity[None, :, r] / demand[needs, r, None])
    return np.where(spread[:, None], np.minimum(holds, 1.0), holds)


def jobs_below(tree: Tree) -> list[list[int]]:
    """For each tenant the jobs that hang on it or on a tenant below it."""
    below: list[list[int]] = [[] for _ in tree.names]
    for j, tenant in enumerate(tree.job_tenant):
        below[int(tenant)].append(j)
    for t in reversed(range(len(below))):  # parents come before their children
        if tree.parent[t] >= 0:
            below[int(tree.parent[t])] += below[t]
    return below
