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


def job_weights(problem: Problem, weight: Floats, present: Bools) -> Floats:
    """(J,) the effective weight of each present job, 0 for the others.

    A tenant's weight is split in proportion to their weights among its children that have a
    present job below them, a job of its own counting 1. Nothing of it is lost, and absent jobs
    dilute nobody.
    """
    tree = problem.tree
    tenants = len(tree.names)
    jobs = np.bincount(tree.job_tenant[present], minlength=tenants)
    occupied = jobs > 0
    children = jobs.astype(np.float64)
    for node in range(tenants - 1, -1, -1):  # children come after their parent
        if occupied[node] and tree.parent[node] >= 0:
            occupied[tree.parent[node]] = True
            children[tree.parent[node]] += weight[node]
    per_child = np.zeros(tenants)
    for node in np.flatnonzero(occupied).tolist():
        parent = tree.parent[node]
        above = per_child[parent] if parent >= 0 else 1.0
        per_child[node] = weight[node] * above / children[node]
    weights: Floats = np.where(present, per_child[tree.job_tenant], 0.0)
    return weights
