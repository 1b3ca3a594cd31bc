"""Weights from pools, in whole tasks: what a tenant could run on the machines that it brought."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairlead.model.errors import InputError
from fairlead.sharing.problem.problem import Ints, jobs_below
from fairlead.sharing.solvers.whole.packing import Packer
from fairlead.sharing.whole_tasks.capped import together_of
from fairlead.sharing.whole_tasks.counts import Counts, total_use


def with_pools(counts: Counts) -> Counts:
    """The same with the weights that pools say.

    A tenant weighs the largest sum of its jobs' shares, whole tasks over stand-alone tasks, that
    its pool holds: for one job k / h, k being its tasks there (Theorem 1 of the TSF paper). So an
    allocation in which all have what their own pools hold is one of those the lottery is over.
    """
    tree = counts.problem.tree
    weight = list(counts.weight)
    below = jobs_below(tree)
    for tenant in np.flatnonzero(np.isnan(tree.weight)).tolist():
        jobs = np.array([j for j in below[tenant] if counts.usable[j] > 0], np.int64)
        if not jobs.size:
            weight[tenant] = Fraction(1)  # it takes part in nothing
            continue
        weight[tenant] = _largest(counts, jobs, tree.pool_count[tenant])
        if not weight[tenant]:
            raise InputError(
                "it could run no whole task in its pool, so it would weigh nothing",
                "give it a pool and limits that let one of its jobs run a task, or a weight",
                about=("tenant", tree.names[tenant], "pool"),
            )
    return replace(counts, weight=tuple(weight))


def _largest(counts: Counts, jobs: Ints, pool: Ints) -> Fraction:
    """The largest sum of shares that these jobs reach on so many machines of each class."""
    own = np.zeros(len(counts.demand), np.bool_)
    own[jobs] = True
    most = np.where(own[:, None] & (pool > 0), counts.most, 0)
    alone = np.minimum(most @ pool, counts.tasks)
    value = np.divide(1.0, counts.usable, out=np.zeros(len(own)), where=own)
    if len(jobs) == 1:
        j = int(jobs[0])
        fits = [int(alone[j])]
        fits += [cap.amount // int(cap.use[j]) for cap in counts.caps if cap.use[j]]
        return Fraction(min(fits), int(counts.usable[j]))
    tasks = np.zeros(len(own), np.int64)
    if all(total_use(cap.use, most @ pool) <= cap.amount for cap in counts.caps):
        for c in np.flatnonzero(pool).tolist():
            packer = Packer(counts.demand, counts.capacity[c], most[:, c])
            tasks += int(pool[c]) * packer.best(value)
    else:
        tasks = together_of(replace(counts, most=most), pool, counts.caps, counts.tasks).best(value)
    return sum(
        (Fraction(int(tasks[j]), int(counts.usable[j])) for j in jobs.tolist()),
        start=Fraction(0),
    )
