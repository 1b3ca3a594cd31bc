"""Small whole-task problems, and everything that can be done in them, by enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from fairlead.model.check import with_implied_tenants
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.compile import compile_problem
from fairlead.sharing.integral.counts import Counts, counts_of

Input = tuple[Cluster, tuple[Job, ...]]


def counted(cluster: Cluster, jobs: Sequence[Job]) -> Counts:
    cluster = with_implied_tenants(cluster, tuple(jobs))
    return counts_of(cluster, jobs, compile_problem(cluster, jobs))


def drawn(seed: int, *, finite: bool = False, weights: bool = False) -> Input:
    """At most 3 machines, 4 jobs, 3 resources, with ties, zeros and jobs that run nowhere."""
    draw = np.random.default_rng(seed)
    names = ("a", "b", "c")[: draw.integers(1, 4)]
    machines = [
        Machine(f"m{i}", {name: int(draw.integers(0, 9)) for name in names})
        for i in range(draw.integers(1, 4))
    ]
    jobs, tenants = [], []
    for j in range(draw.integers(1, 5)):
        demand = draw.integers(0, 5, len(names))
        if not demand.any():
            demand[0] = 1
        if weights:
            tenants.append(Tenant(f"t{j}", weight=Fraction(int(draw.integers(1, 5)), 2)))
        jobs.append(
            Job(
                f"j{j}",
                dict(zip(names, demand.tolist(), strict=True)),
                tenant=f"t{j}" if weights else None,
                tasks=int(draw.integers(1, 6)) if finite and draw.random() < 0.5 else None,
                exclude=[machine.name for machine in machines if draw.random() < 0.2],
                spread=bool(draw.random() < 0.15),
            )
        )
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
    return points[(points <= counts.problem.tasks).all(axis=1)]
