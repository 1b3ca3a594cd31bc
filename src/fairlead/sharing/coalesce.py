"""Jobs that no machine can tell apart become one group, and the answer for it is split again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.problem import Bools, Floats, Ints, Problem
from fairlead.sharing.rates import siblings


@dataclass(frozen=True)
class Groups:
    """What the rounds work on, all in units of share: G groups, C classes, R resources, L limits.

    A group of several jobs has the share of its first job's kind: a member j with share s adds
    `part[j]` * s to the group's share. `use[g, r]` is what one unit of share takes.
    """

    use: Floats  # (G, R)
    usable: Bools  # (G, C)
    capacity: Floats  # (C, R) of all machines of the class together
    most: Floats  # (G,) the share at which its tasks run out
    most_on: Floats  # (G, C) the share that fits on a class, where jobs spread, else inf
    limit_use: Floats  # (L, G) what one unit of share takes of a limit
    limit: Floats  # (L,)
    group: Ints  # (J,) the group of a job, -1 where a job can get nothing
    part: Floats  # (J,)


def coalesce(problem: Problem, scale: Floats, *, merge: bool = True) -> Groups:
    """The groups of the jobs that can get something. Without `merge`, each job is a group.

    Jobs are merged where they are unlimited, do not spread, can use the same classes, need
    resources in the same proportion, and rise at rates in a fixed proportion: then they freeze
    together, whatever their weights and scales.
    """
    alive = np.flatnonzero((scale > 0) & problem.usable.any(axis=1))
    use = problem.demand[alive] * scale[alive, None]
    usable = problem.usable[alive]
    count = problem.count.astype(np.float64)
    most = np.full(len(alive), np.inf)
    finite = np.flatnonzero(np.isfinite(problem.tasks[alive]))
    holds_all = np.where(usable[finite], problem.holds[alive[finite]], 0.0) @ count
    # A count of tasks that the machines cannot hold anyway says nothing.
    finite = finite[problem.tasks[alive[finite]] < holds_all]
    most[finite] = problem.tasks[alive[finite]] / scale[alive[finite]]
    spread = problem.spread[alive]
    below = _jobs_below(problem)[:, alive]
    limit_use = below * np.array([use[:, limit.resource] for limit in problem.tree.limits]).reshape(
        below.shape
    )
    leader = np.arange(len(alive))
    part = np.ones(len(alive))
    if merge:
        own_limit = np.isin(
            problem.tree.job_tenant[alive], [limit.tenant for limit in problem.tree.limits]
        )
        leader = _leaders(
            use, usable, siblings(problem.tree)[alive], ~spread & np.isinf(most) & ~own_limit
        )
        largest = np.argmax(use > 0, axis=1)  # proportional: any resource that is needed will do
        rows = np.arange(len(alive))
        part = use[rows, largest] / use[leader, largest]
    first, group = np.unique(leader, return_inverse=True)
    most_on = np.full(usable[first].shape, np.inf)
    spreads = np.flatnonzero(spread[first])
    most_on[spreads] = count / scale[alive[first[spreads]], None]
    of_job = np.full(len(problem.demand), -1, dtype=np.int64)
    of_job[alive] = group
    all_parts = np.zeros(len(problem.demand))
    all_parts[alive] = part
    return Groups(
        use=use[first],
        usable=usable[first],
        capacity=problem.capacity * count[:, None],
        most=most[first],
        most_on=most_on,
        limit_use=limit_use[:, first],
        limit=np.array([limit.amount for limit in problem.tree.limits]),
        group=of_job,
        part=all_parts,
    )


def _jobs_below(problem: Problem) -> Floats:
    """(L, J) 1 where a job counts against a limit."""
    tree = problem.tree
    below = np.zeros((len(tree.limits), len(problem.demand)))
    for row, limit in enumerate(tree.limits):
        node = tree.job_tenant.copy()
        while (node >= 0).any():
            below[row, node == limit.tenant] = 1.0
            node = np.where(node >= 0, tree.parent[node], -1)
    return below


def _leaders(use: Floats, usable: Bools, family: Ints, may_merge: Bools) -> Ints:
    """(J,) the first job that each job is like; itself where it is like nobody before it."""
    shape = use / use.max(axis=1, keepdims=True)
    mantissa, exponent = np.frexp(shape)
    # Twelve digits: what division rounds differently is still the same proportion.
    shape = np.ldexp(np.rint(mantissa * 2.0**40), exponent)
    seen = np.concatenate(
        [family[:, None].view(np.uint8), np.packbits(usable, axis=1), shape.view(np.uint8)], axis=1
    )
    keys = seen.view(np.dtype((np.void, seen.shape[1]))).ravel().tolist()
    first: dict[object, int] = {}
    leader = np.arange(len(use))
    for job in np.flatnonzero(may_merge).tolist():
        leader[job] = first.setdefault(keys[job], job)
    return leader
