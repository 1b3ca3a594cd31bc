"""Advice: what the exact allocation of the present jobs says of each job on each kind of machine.

It is computed outside the core, by a solver, and enters the core as an event, in integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.scheduling.events import Advice
from fairlead.sharing.present import Exact, Filled
from fairlead.sharing.problem.problem import Floats, Ints, jobs_below
from fairlead.sharing.solvers.support import support

MILLION = 1_000_000

# Prices are doubles that explain and prove nothing: a cost below this is none. Costs are in parts
# of the level, if all tasks of the job's exact share ran there.
COST = 1e-9
# Prices are looked for once more where they leave a pair open that the exact allocation does not
# use. With more open pairs than this that would take longer than the filling.
MOST_OPEN = 20_000


@dataclass(frozen=True)
class Ranks:
    """For each job and class of machines the rank (-1 where the job may not run) and the exact
    target, in millionths of a task."""

    rank: Ints  # (J, C)
    target: Ints  # (J, C)


def advice_of(exact: Exact, jobs: Sequence[str], machines: Sequence[str]) -> tuple[Advice, ...]:
    """The advice for each job of a moment on each kind of machine, from the exact allocation."""
    found = ranks(exact.filled)
    kinds: list[list[str]] = [[] for _ in range(found.rank.shape[1])]
    for name, kind in zip(machines, exact.machine_class.tolist(), strict=True):
        kinds[kind].append(name)
    named = [tuple(each) for each in kinds]
    # A group of alike jobs was solved as one job.
    target = np.rint(found.target / exact.members[:, None]).astype(np.int64)
    return tuple(
        Advice(job, named[kind], int(found.rank[group, kind]), int(target[group, kind]))
        for job, group in zip(jobs, exact.group.tolist(), strict=True)
        for kind in np.flatnonzero(found.rank[group] >= 0).tolist()
    )


def ranks(exact: Filled) -> Ranks:
    """Ranks by the reduced costs, compared level by level, and targets.

    A pair that the allocation uses costs nothing at any level. The prices of a level need not be
    unique, and may leave a pair open that no exact allocation uses. The last cost compared is
    therefore that of prices which leave open only what some exact allocation does use.
    """
    usable, scale = exact.problem.usable, exact.scale
    pairs = usable & (scale > 0)[:, None]
    target = np.rint(exact.filling.tasks * MILLION).astype(np.int64)
    used = target > 0
    order = np.zeros(int(pairs.sum()), dtype=np.int64)
    for cost in reduced_costs(exact):
        order = _refined(order, np.where(used, 0.0, cost)[pairs] / COST)
    open_pairs = np.zeros_like(pairs)
    open_pairs[pairs] = order == 0
    if (open_pairs & ~used).any() and open_pairs.sum() <= MOST_OPEN:
        closed = support(exact.problem, exact.filling.tasks, open_pairs)
        order = _refined(order, np.where(used, 0.0, closed)[pairs] / COST)
    rank = np.full(pairs.shape, -1, dtype=np.int64)
    rank[pairs] = order
    return Ranks(rank, target)


def reduced_costs(exact: Filled) -> Iterator[Floats]:
    """(J, C) for each round: by how much a task costs more there than its share is worth.

    In parts of the level, for as many tasks as the job's exact share has (for a whole unit of
    share where it has none), so that jobs of any size compare.
    """
    problem = exact.problem
    each = exact.filling.tasks.sum(axis=1)
    measure = np.where(each > 0, each, exact.scale)
    value = np.divide(1.0, exact.scale, out=np.zeros_like(measure), where=exact.scale > 0)
    capped = _under_limits(exact)
    for part in exact.filling.rounds:
        own = part.task_price + part.limit_price @ capped - part.job_price * value
        cost = problem.demand @ part.price.T + own[:, None]
        for (j, c), price in part.spread_price.items():
            cost[j, c] += price
        yield cost * (measure / (part.share or 1.0))[:, None]


def _under_limits(exact: Filled) -> Floats:
    """(L, J) what a task of each job takes of what each limit caps."""
    tree = exact.problem.tree
    need = np.zeros((len(tree.limits), len(exact.scale)))
    below = jobs_below(tree) if tree.limits else []
    for row, limit in enumerate(tree.limits):
        at = below[limit.tenant]
        need[row, at] = exact.problem.demand[at, limit.resource]
    return need


def _refined(order: Ints, cost: Floats) -> Ints:
    """The order refined by a further cost: 0, 1, 2 … without gaps, equals where all are equal."""
    step = np.maximum(np.rint(cost), 0.0)
    if not step.any():
        return order
    values, step_order = np.unique(step, return_inverse=True)
    _, refined = np.unique(order * len(values) + step_order, return_inverse=True)
    # Nothing costs nothing: the first must be those that cost nothing so far, if there are none.
    least = 0 if (order[step == 0] == 0).any() else 1
    ranked: Ints = refined.astype(np.int64) + least
    return ranked
