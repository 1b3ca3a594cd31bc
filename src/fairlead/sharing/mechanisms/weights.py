"""The jobs that take part in a mechanism, and their parts of the tenants' weights."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem.problem import Bools, Floats, Ints, Problem, jobs_below


def runnable(problem: Problem, weight: Floats) -> Bools:
    """(J,) whether a job can run at least a part of a task somewhere, is allowed to by the limits
    above it, and has a weight above it (a pool that gives nothing weighs nothing)."""
    runs: Bools = problem.usable.any(axis=1) & (problem.tasks > 0)
    heavy = weight > 0
    for node, parent in enumerate(problem.tree.parent.tolist()):  # parents come first
        heavy[node] &= parent < 0 or heavy[parent]
    runs &= heavy[problem.tree.job_tenant]
    for limit, capped in zip(problem.tree.limits, jobs_capped(problem), strict=True):
        if limit.amount <= 0:
            runs[capped] = False
    return runs


def jobs_capped(problem: Problem) -> tuple[Ints, ...]:
    """For each limit of the tree, in order, the jobs below it that demand its resource."""
    if not problem.tree.limits:
        return ()
    below = jobs_below(problem.tree)
    return tuple(
        np.array(
            sorted(j for j in below[limit.tenant] if problem.demand[j, limit.resource] > 0),
            dtype=np.int64,
        )
        for limit in problem.tree.limits
    )
