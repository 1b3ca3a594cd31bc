"""Any allocation keeps these linear rows over the (job, class) pairs that may be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.mechanisms.weights import jobs_capped
from fairlead.sharing.problem.problem import Bools, Floats, Ints, Problem


@dataclass(frozen=True)
class Rows:
    """`sum of coefficient * tasks of the pair <= bound`, row by row.

    Entry k is in `row[k]` at `pair[k]`. The rows of capacities come first: row i of them is
    resource `resource[i]` on all the machines of class `cls[i]`. Then finite tasks, limits and
    spread. Every bound is positive.
    """

    job: Ints  # of each pair
    machine_class: Ints  # of each pair
    row: Ints
    pair: Ints
    coefficient: Floats
    bound: Floats
    cls: Ints
    resource: Ints


def rows(problem: Problem, present: Bools) -> Rows:
    """The rows of the present jobs. Bounds that nothing could reach have no row."""
    job, machine_class = np.nonzero(problem.usable & present[:, None])
    parts: list[tuple[Ints, Floats]] = []
    bounds: list[float] = []
    where: list[tuple[int, int]] = []
    for c in range(len(problem.count)):
        pairs = np.flatnonzero(machine_class == c)
        for r in range(len(problem.resources)):
            taken = problem.demand[job[pairs], r]
            if (taken > 0).any():
                parts.append((pairs[taken > 0], taken[taken > 0]))
                bounds.append(float(problem.capacity[c, r] * problem.count[c]))
                where.append((c, r))
    alone = np.where(problem.usable, problem.holds, 0.0) @ problem.count
    for j in np.flatnonzero(present & (problem.tasks < alone)):
        pairs = np.flatnonzero(job == j)
        parts.append((pairs, np.ones(len(pairs))))
        bounds.append(float(problem.tasks[j]))
    for limit, capped in zip(problem.tree.limits, jobs_capped(problem), strict=True):
        pairs = np.flatnonzero(np.isin(job, capped))
        if len(pairs):
            parts.append((pairs, problem.demand[job[pairs], limit.resource]))
            bounds.append(limit.amount)
    for pair in np.flatnonzero(problem.spread[job]):
        parts.append((np.array([pair]), np.ones(1)))
        bounds.append(float(problem.count[machine_class[pair]]))
    return Rows(
        job=job,
        machine_class=machine_class,
        row=np.repeat(np.arange(len(parts)), [len(pairs) for pairs, _ in parts]),
        pair=np.concatenate([pairs for pairs, _ in parts]),
        coefficient=np.concatenate([values for _, values in parts]),
        bound=np.array(bounds),
        cls=np.array([c for c, _ in where], dtype=np.int64),
        resource=np.array([r for _, r in where], dtype=np.int64),
    )
