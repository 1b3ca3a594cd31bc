"""The market: Nash welfare, the competitive equilibrium from equal incomes, with its prices."""

from __future__ import annotations

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.filling.rates import rates
from fairlead.sharing.mechanisms.rows import Rows, rows
from fairlead.sharing.mechanisms.weights import runnable
from fairlead.sharing.problem.problem import Floats, Problem
from fairlead.sharing.rules.mechanism import Outcome
from fairlead.sharing.rules.registry import mechanism

TOLERANCE = 1e-9
"""The largest relative residual of the equilibrium conditions that is let through."""
ZERO = 1e-12
"""Parts below this of a job's tasks, or of the smallest budget for all of a resource, are 0."""


@mechanism("market")
def market(problem: Problem, weight: Floats) -> Outcome:
    """The competitive equilibrium from equal incomes (DRF section 5), weighted, with its prices.

    Every job is a buyer; its budget is its effective weight, its use the number of its tasks. The
    equilibrium is the allocation that maximises the sum of budget x log(tasks) (Eisenberg and
    Gale), with finite tasks, spread and limits as further rows. A price is per unit of the
    resource on one class: a job that none of those rows stops spends exactly its budget. Raises
    SolverError with the gap where the conditions of the equilibrium do not hold to TOLERANCE.
    """
    present = runnable(problem, weight)
    tasks = np.zeros(problem.usable.shape)
    prices = np.zeros(problem.capacity.shape)
    if not present.any():
        return Outcome(tasks, prices)
    from fairlead.sharing.solvers.conic import maximise_logs  # slow to import

    budget = rates(problem.tree, weight, present)
    must = rows(problem, present)
    buyers, buyer = np.unique(must.job, return_inverse=True)
    mean = float(budget[buyers].mean())
    # Tasks in units of the job's part of what it could run alone, rows in units of their bound.
    alone = np.where(problem.usable, problem.holds, 0.0) @ problem.count
    unit = (alone * budget / budget.sum())[must.job]
    coefficient = must.coefficient * unit[must.pair] / must.bound[must.row]
    amount, multiplier = maximise_logs(
        buyer, budget[buyers] / mean, must.row, must.pair, coefficient, len(must.bound)
    )
    # What an interior method leaves instead of zeros.
    buyer_has = np.bincount(buyer, amount)[buyer]
    amount[amount < ZERO * buyer_has] = 0.0
    multiplier[multiplier < ZERO * budget[buyers].min() / mean] = 0.0
    amount *= unit
    multiplier *= mean / must.bound
    gap = equilibrium_gap(must, budget, amount, multiplier)
    if not gap <= TOLERANCE:
        raise SolverError(f"the market is not at its equilibrium: gap {gap:.3g}")
    tasks[must.job, must.machine_class] = amount
    prices[must.cls, must.resource] = multiplier[: len(must.cls)]
    return Outcome(tasks, prices)


def equilibrium_gap(must: Rows, budget: Floats, amount: Floats, multiplier: Floats) -> float:
    """The largest relative residual of the conditions that prove an equilibrium.

    They are: no row is exceeded; what is not fully sold is free; no job could buy a task for less
    than its budget over its tasks; and it buys only at exactly that price.
    """
    sold = np.bincount(must.row, must.coefficient * amount[must.pair], len(must.bound))
    slack = 1.0 - sold / must.bound
    worth = multiplier * must.bound / budget.sum()
    total = np.bincount(must.job, amount, len(budget))[must.job]
    cost = np.bincount(must.pair, must.coefficient * multiplier[must.row], len(amount))
    loss = cost * total / budget[must.job] - 1.0
    return float(
        max(
            np.max(-slack),
            np.max(-loss),
            np.max(-amount / total),
            np.max(-worth),
            np.max(np.minimum(np.abs(worth), np.abs(slack))),
            np.max(np.minimum(np.abs(amount / total), np.abs(loss))),
        )
    )
