"""Effective weights: how fast each job's share rises, given who is still active in the tree."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem.problem import Bools, Floats, Ints, Tree


def rates(tree: Tree, weight: Floats, active: Bools) -> Floats:
    """(J,) the rate of every active job, 0 for the others.

    A tenant at the top rises at its weight; below, a parent's rate is split among its active
    children in proportion to their weights, jobs counting 1. Active: an active job below it.
    """
    nodes, parent = len(tree.parent), tree.parent
    # What a node's rate is divided by: its active jobs and the weights of its active children.
    divisor = np.bincount(tree.job_tenant[active], minlength=nodes).astype(np.float64)
    levels = _levels(parent)
    for level in reversed(levels):
        # From the last on: sums of the same terms in another order are other numbers.
        there = level[divisor[level] > 0][::-1]
        np.add.at(divisor, parent[there], weight[there])
    rate = np.where(divisor > 0, weight, 0.0)
    for level in levels:
        there = level[divisor[level] > 0]
        above = parent[there]
        rate[there] = rate[above] * (weight[there] / divisor[above])
    own = tree.job_tenant[active]
    result = np.zeros(len(active))
    result[active] = rate[own] / divisor[own]
    return result


def _levels(parent: Ints) -> list[Ints]:
    """The nodes that have a parent: those below the top, those below these, and so on."""
    levels = []
    at = np.flatnonzero(parent >= 0)
    above = parent[at]  # of each node, one step further up every time
    while len(at):
        high = parent[above] < 0
        levels.append(at[high])
        at, above = at[~high], parent[above[~high]]
    return levels
