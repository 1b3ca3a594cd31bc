"""The filling of one resource, of which a flow gives all levels at once, and the proof of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.coalesce import Groups
from fairlead.sharing.problem import Bools, Floats, Problem

# From so many pairs of a job and a class on it is worth SciPy, which takes a while to import.
_MANY_PAIRS = 5000
_AT_ITS_END = 1e-12  # relative: a group that takes all its tasks need stops for lack of tasks


@dataclass(frozen=True)
class FlowLevel:
    """A level, who stops there, and multipliers in units of the groups' shares: use·price + task
    >= group for every pair of a group and a class."""

    level: float
    stopped: Bools  # (G,)
    group: Floats  # (G,)
    capacity: Floats  # (C, R)
    task: Floats  # (G,)


@dataclass(frozen=True)
class Flowed:
    """The levels from the lowest up, and (G, C) what share each group has where in the end."""

    levels: tuple[FlowLevel, ...]
    share: Floats


def is_flow(problem: Problem, groups: Groups) -> bool:
    """Whether there are many who all need a single resource, at rates that nobody's freezing
    changes, and neither limits nor spreading."""
    tree = problem.tree
    return (
        int(problem.usable.sum()) >= _MANY_PAIRS
        and int(np.count_nonzero((groups.use > 0).any(axis=0))) == 1
        and bool((tree.parent < 0).all())
        and int(np.bincount(tree.job_tenant).max()) == 1
        and not tree.limits
        and bool(np.isinf(groups.most_on).all())
    )


def fill_by_flow(groups: Groups, rate: Floats) -> Flowed:
    """The exact filling where `is_flow`; `rate` (G,) is everybody's until it stops."""
    from fairlead.sharing.solvers.flow import flow_levels

    resource = int(np.flatnonzero((groups.use > 0).any(axis=0))[0])
    use = groups.use[:, resource]
    most = groups.most * use
    level, taken = flow_levels(groups.usable, use * rate, most, groups.capacity[:, resource])
    ended = use * rate * level >= most * (1.0 - _AT_ITS_END)
    levels = []
    for height in np.unique(level):
        stopped = level == height
        # All that those have who could pass on to each other what these would take more: full,
        # and worth the same everywhere. Who has no more tasks is stopped by that alone.
        held, full = _closure(groups.usable, taken > 0, stopped & ~ended)
        alone = stopped & ended & ~held
        worth = np.where(alone | held, use, 0.0)
        total = float(worth[stopped] @ rate[stopped])
        capacity = np.zeros(groups.capacity.shape)
        capacity[full, resource] = 1.0 / total
        task = np.where(alone, use, 0.0) / total
        levels.append(FlowLevel(float(height), stopped, worth / total, capacity, task))
    return Flowed(tuple(levels), taken / use[:, None])


def _closure(usable: Bools, has: Bools, start: Bools) -> tuple[Bools, Bools]:
    """The groups and the classes that `start` reaches: classes that a group can use, groups that
    have something of a class."""
    reached, classes = start, np.asarray(usable[start].any(axis=0))
    while True:
        reached = start | has[:, classes].any(axis=1)
        more = np.asarray(usable[reached].any(axis=0))
        if (more == classes).all():
            return reached, classes
        classes = more
