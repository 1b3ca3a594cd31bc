"""Views: the cluster as policies see it that do not look at the machines as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from flint import fmpq

from fairlead.sharing.filling.per_machine import Parts
from fairlead.sharing.numbers.amounts import nearest
from fairlead.sharing.problem.problem import Problem, Tree, tasks_that_fit


def pool_machines(problem: Problem) -> Problem:
    """The same jobs on one machine that holds everything.

    A job that can run somewhere may use it, whatever its constraint; one that can run nowhere
    may not. A job that spreads still has at most one task for each real machine. The weights of
    tenants with pools are those of the real machines (`tenant_weights`), so the pools are gone.
    """
    capacity = problem.total[None, :]
    whole = np.zeros_like(problem.spread)
    holds = tasks_that_fit(problem.demand, capacity, whole)
    eligible = problem.usable.any(axis=1).reshape(-1, 1)
    machines = int(problem.count.sum())
    amounts = problem.amounts
    everything = np.zeros(len(problem.resources), dtype=object)
    for row, count in zip(amounts.capacity, problem.count.tolist(), strict=True):
        everything = everything + row * count
    every = fmpq(machines)
    tasks = tuple(
        every if spreads and (most is None or every < most) else most
        for most, spreads in zip(amounts.tasks, problem.spread.tolist(), strict=True)
    )
    return replace(
        problem,
        class_machines=(tuple(sorted(name for names in problem.class_machines for name in names)),),
        tasks=np.where(problem.spread, np.minimum(problem.tasks, machines), problem.tasks),
        spread=whole,
        capacity=capacity,
        count=np.ones(1, dtype=np.int64),
        eligible=eligible,
        holds=holds,
        usable=eligible & (holds > 0),
        tree=_without_pools(problem.tree),
        known=replace(amounts, capacity=everything[None, :], tasks=tasks),
        whole=False,
    )


def one_class(problem: Problem, machine_class: int, shared: Parts | None = None) -> Problem:
    """The same jobs on a single machine of one class.

    `shared` says what the machine may have of finite jobs and limits; without it, all of them.
    """
    at = slice(machine_class, machine_class + 1)
    tree, tasks = _without_pools(problem.tree), problem.tasks
    amounts = replace(problem.amounts, capacity=problem.amounts.capacity[at])
    if shared is not None:
        parts = shared.tasks[machine_class]
        tasks = np.array([np.inf if part is None else nearest(part) for part in parts])
        amounts = replace(amounts, tasks=parts, limits=shared.limits[machine_class])
        limits = zip(tree.limits, amounts.limits, strict=True)
        tree = replace(
            tree,
            limits=tuple(
                replace(each, amount=nearest(part / amounts.parts[each.resource]))
                for each, part in limits
            ),
        )
    return replace(
        problem,
        class_machines=(problem.class_machines[machine_class][:1],),
        tasks=tasks,
        capacity=problem.capacity[at],
        count=np.ones(1, dtype=np.int64),
        eligible=problem.eligible[:, at],
        holds=problem.holds[:, at],
        usable=problem.usable[:, at],
        tree=tree,
        known=amounts,
    )


def _without_pools(tree: Tree) -> Tree:
    return replace(tree, pool_count=np.zeros((len(tree.names), 1), dtype=np.int64))
