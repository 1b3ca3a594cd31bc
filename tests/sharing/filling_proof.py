"""What a filling claims, checked in arrays: it fits, keeps its levels, and none could be higher."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.filling.fill import Filling, fill
from fairlead.sharing.problem import Floats, Problem
from fairlead.sharing.rates import rates


@dataclass(frozen=True)
class Errors:
    """The largest error of each kind, relative."""

    fit: float  # of a capacity, task count, limit or spread
    level: float  # of a job's share
    price: float  # of a pair that costs less than its share is worth
    gap: float  # between a level and the bound by its prices
    rise: float  # that the prices leave open to a job that freezes


def errors(problem: Problem, scale: Floats, weight: Floats, filling: Filling) -> Errors:
    """The errors of a filling; that everyone freezes exactly once, at prices >= 0, is asserted."""
    usable = problem.usable & (scale > 0)[:, None]
    alive = np.asarray(usable.any(axis=1))
    below = _below(problem)
    amount = np.array([limit.amount for limit in problem.tree.limits])
    capacity = problem.capacity * problem.count[:, None]
    active, share, level = alive.copy(), np.zeros(len(scale)), 0.0
    price_error = gap_error = rise_error = 0.0
    for found in filling.rounds:
        rate = rates(problem.tree, weight, active)
        for multipliers in (found.job_price, found.price, found.task_price, found.limit_price):
            assert (multipliers >= 0).all()
        assert np.isclose(found.job_price @ rate, 1.0, rtol=1e-9)
        cost = problem.demand @ found.price.T
        cost += (found.task_price + found.limit_price @ below)[:, None]
        for (job, machine_class), price in found.spread_price.items():
            assert price > 0
            cost[job, machine_class] += price
        worth = np.divide(found.job_price, scale, out=np.zeros_like(scale), where=scale > 0)
        short = np.where(usable & (worth > 0)[:, None], worth[:, None] - cost, 0.0)
        price_error = max(price_error, float((short / np.maximum(worth, 1e-300)[:, None]).max()))
        bound = float((capacity * found.price).sum() + found.limit_price @ amount)
        bound += float(np.where(found.task_price > 0, problem.tasks, 0.0) @ found.task_price)
        bound += sum(price * problem.count[c] for (_, c), price in found.spread_price.items())
        gap = abs(bound - float(found.job_price @ share) - (found.share - level))
        share = share + rate * (found.share - level)
        assert len(found.frozen)
        assert active[found.frozen].all()
        assert (found.job_price[found.frozen] > 0).all()
        if found.share > 0:
            gap_error = max(gap_error, gap / found.share)
            part = found.job_price[found.frozen] * np.maximum(share[found.frozen], 1e-300)
            rise_error = max(rise_error, float((gap / part)[share[found.frozen] > 0].max()))
        assert found.share >= level
        active[found.frozen] = False
        level = found.share
    assert not active.any()
    wanted = share * scale
    level_error = abs(filling.tasks.sum(axis=1) - wanted) / np.where(wanted > 0, wanted, 1.0)
    return Errors(
        _fit(problem, filling.tasks, below, amount),
        float(level_error.max()),
        price_error,
        gap_error,
        rise_error,
    )


def filled(problem: Problem) -> Filling:
    """The filling by the jobs' stand-alone numbers, which holds what it claims."""
    filling = fill(problem, problem.alone, problem.tree.weight)
    found = errors(problem, problem.alone, problem.tree.weight, filling)
    assert max(found.level, found.price, found.gap) < 1e-9
    assert found.fit < 1e-12
    return filling


def _fit(problem: Problem, tasks: Floats, below: Floats, amount: Floats) -> float:
    assert (tasks >= 0).all()
    assert not tasks[~problem.usable].any()
    total = tasks.sum(axis=1)
    pairs = [
        (tasks.T @ problem.demand, problem.capacity * problem.count[:, None]),
        (total, problem.tasks),
        (tasks[problem.spread], np.broadcast_to(problem.count, tasks.shape)[problem.spread]),
        (below @ total, amount),
    ]
    worst = 0.0
    for used, there in pairs:
        over = np.where(there > 0, used / np.where(there > 0, there, 1.0) - 1.0, used)
        worst = max(worst, float(over.max(initial=0.0)))
    return worst


def _below(problem: Problem) -> Floats:
    """(L, J) what a task takes of a limit."""
    tree = problem.tree
    below = np.zeros((len(tree.limits), len(problem.demand)))
    for row, limit in enumerate(tree.limits):
        for job, node in enumerate(tree.job_tenant):
            while node >= 0:
                if node == limit.tenant:
                    below[row, job] = problem.demand[job, limit.resource]
                node = tree.parent[node]
    return below
