"""Small whole-task problems, and everything that can be done in them, by enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from fairlead.model.check import with_implied_tenants
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.problem.compile import compile_problem
from fairlead.sharing.whole_tasks.counts import Counts, counts_of

Input = tuple[Cluster, tuple[Job, ...]]


def counted(cluster: Cluster, jobs: Sequence[Job]) -> Counts:
    cluster = with_implied_tenants(cluster, tuple(jobs))
    return counts_of(cluster, jobs, compile_problem(cluster, jobs))


@dataclass(frozen=True)
class Draw:
    """The traits of drawn problems beside machines and jobs."""

    finite: bool = False
    weights: bool = False
    limits: bool = False
    pools: bool = False
    tree: bool = False


def drawn(seed: int, what: Draw = Draw()) -> Input:
    """At most 3 machines, 4 jobs, 3 resources, with ties, zeros and jobs that run nowhere."""
    draw = np.random.default_rng(seed)
    names = ("a", "b", "c")[: draw.integers(1, 4)]
    machines = [
        Machine(f"m{i}", {name: int(draw.integers(0, 9)) for name in names})
        for i in range(draw.integers(1, 4))
    ]
    jobs = []
    for j in range(draw.integers(1, 5)):
        demand = draw.integers(0, 5, len(names))
        if not demand.any():
            demand[0] = 1
        jobs.append(
            Job(
                f"j{j}",
                dict(zip(names, demand.tolist(), strict=True)),
                tenant=f"t{draw.integers(0, 3) if what.tree else j}",
                tasks=int(draw.integers(1, 6)) if what.finite and draw.random() < 0.5 else None,
                exclude=[machine.name for machine in machines if draw.random() < 0.2],
                spread=bool(draw.random() < 0.15),
            )
        )
    owner = draw.integers(0, 3, len(machines))
    tenants = [
        Tenant(
            f"t{t}",
            weight=Fraction(int(draw.integers(1, 5)), 2)
            if what.weights and not what.pools
            else None,
            pool=[m.name for m, of in zip(machines, owner, strict=True) if of == t]
            if what.pools
            else None,
            parent="t0" if what.tree and t == 2 else None,
            limit={name: int(draw.integers(0, 13)) for name in names if draw.random() < 0.5}
            if what.limits
            else None,
        )
        for t in range(3 if what.tree else len(jobs))
        if not what.pools or t in owner
    ]
    if what.pools:
        own = {tenant.name for tenant in tenants}
        jobs = [job for job in jobs if job.tenant in own]
    return Cluster(machines, tenants, []), tuple(jobs)


def packings(counts: Counts, c: int) -> list[tuple[int, ...]]:
    """Every packing of a machine of class c."""
    most = counts.most[:, c].tolist()
    return [
        packing
        for packing in product(*(range(each + 1) for each in most))
        if (np.array(packing) @ counts.demand <= counts.capacity[c]).all()
    ]


def feasible(counts: Counts) -> np.ndarray:
    """(K, J) every number of whole tasks that the machines can run together."""
    reached = {(0,) * len(counts.demand)}
    for c, number in enumerate(counts.problem.count.tolist()):
        choices = packings(counts, c)
        for _ in range(number):
            reached = {
                tuple(a + b for a, b in zip(one, more, strict=True))
                for one in reached
                for more in choices
            }
    points = np.array(sorted(reached))
    able = (points <= counts.problem.tasks).all(axis=1)
    for limit in counts.problem.tree.limits:
        below = [limit.tenant in above(counts, tenant) for tenant in counts.problem.tree.job_tenant]
        able &= points[:, below] @ counts.problem.demand[below, limit.resource] <= limit.amount
    return points[able]


def above(counts: Counts, tenant: int) -> list[int]:
    """The tenant and those that it is below."""
    found = []
    while tenant >= 0:
        found.append(int(tenant))
        tenant = counts.problem.tree.parent[tenant]
    return found
