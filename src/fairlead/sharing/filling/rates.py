"""Effective weights: how fast each job's share rises, given who is still active in the tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from flint import fmpq

from fairlead.sharing.problem.problem import Bools, Floats, Ints, Tree

NONE = fmpq(0)


class Rates:
    """The rate of every active job, kept up to date as jobs freeze.

    A tenant at the top rises at its weight; below, a parent's rate is split among its active
    children in proportion to their weights, jobs counting 1. Active: an active job below it.
    """

    def __init__(self, tree: Tree, weight: Sequence[fmpq], active: Bools) -> None:
        self._weight = weight
        self._parent = tree.parent.tolist()
        self._own = tree.job_tenant.tolist()
        # Whoever freezes changes the rates below the same top only.
        self._top = list(range(len(self._parent)))
        self._below: dict[int, list[int]] = {}  # the nodes below each top, parents first
        self._jobs: dict[int, list[int]] = {}
        for node, parent in enumerate(self._parent):
            if parent >= 0:
                self._top[node] = self._top[parent]
                self._below.setdefault(self._top[node], []).append(node)
        self._active = active.copy()
        self.rate = [NONE] * len(active)
        for job in np.flatnonzero(active).tolist():
            self._jobs.setdefault(self._top[self._own[job]], []).append(job)
        for top in self._jobs:
            self._split(top)

    def freeze(self, jobs: Iterable[int]) -> set[int]:
        """These jobs rise no more. Returns the active jobs whose rates may have changed."""
        tops = set()
        for job in jobs:
            self._active[job] = False
            self.rate[job] = NONE
            tops.add(self._top[self._own[job]])
        faster: set[int] = set()
        for top in tops:
            self._jobs[top] = [job for job in self._jobs[top] if self._active[job]]
            self._split(top)
            faster.update(self._jobs[top])
        return faster

    def _split(self, top: int) -> None:
        # What a node's rate is divided by: its active jobs and the weights of its active children.
        divisor: dict[int, fmpq] = {}
        for job in self._jobs[top]:
            divisor[self._own[job]] = divisor.get(self._own[job], NONE) + 1
        nodes = self._below.get(top, ())
        for node in reversed(nodes):
            if node in divisor:
                above = self._parent[node]
                divisor[above] = divisor.get(above, NONE) + self._weight[node]
        rate = {top: self._weight[top]}
        for node in nodes:
            if node in divisor:
                above = self._parent[node]
                rate[node] = rate[above] * self._weight[node] / divisor[above]
        for job in self._jobs[top]:
            own = self._own[job]
            self.rate[job] = rate[own] / divisor[own]


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


def siblings(tree: Tree) -> Ints:
    """(J,) equal for two jobs where their rates keep a fixed proportion while both are active.

    A job that is all its tenant has goes by the tenant's parent, the others by their tenant.
    """
    nodes = len(tree.parent)
    children = np.bincount(tree.parent[tree.parent >= 0], minlength=nodes)
    jobs = np.bincount(tree.job_tenant, minlength=nodes)
    own = tree.job_tenant
    alone = (jobs[own] == 1) & (children[own] == 0)
    return np.where(alone, tree.parent[own], nodes + own)
