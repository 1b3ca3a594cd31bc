"""Most tasks: no fairness, the largest total number of tasks."""

from __future__ import annotations

import numpy as np

from fairlead.sharing.filling.rates import rates
from fairlead.sharing.mechanisms.rows import Rows, rows
from fairlead.sharing.mechanisms.weights import runnable
from fairlead.sharing.problem.problem import Bools, Floats, Problem
from fairlead.sharing.rules.mechanism import Outcome
from fairlead.sharing.rules.registry import mechanism
from fairlead.sharing.solvers.linear import INFINITY, Program

POSITIVE = 1e-9
"""Multipliers above this are not rounding: all numbers of the programs are of the order of 1."""


@mechanism("most-tasks")
def most_tasks(problem: Problem, weight: Floats) -> Outcome:
    """The largest total number of tasks ("no fairness" of the k-DF paper, section 6.1).

    Of all allocations with that total it is the max-min fair one: tasks over `alone` over the
    effective weight, the least as large as can be, then the second least, and so on. So every
    job's tasks are determined. Weights matter for that choice only.
    """
    present = runnable(problem, weight)
    tasks = np.zeros(problem.usable.shape)
    if not present.any():
        return Outcome(tasks)
    must = rows(problem, present)
    # Tasks in units of `unit`, rows in units of their bound: numbers of the order of 1.
    alone = np.where(problem.usable, problem.holds, 0.0) @ problem.count
    unit = alone[must.job]
    coefficient = must.coefficient * unit[must.pair] / must.bound[must.row]
    worth = unit / unit.max()
    price = _prices(must, coefficient, worth)
    # Complementary slackness describes all allocations with the largest total: columns that lose
    # against the prices are 0 and rows that have a price are used up.
    cost = np.bincount(must.pair, coefficient * price[must.row], len(unit))
    kept = cost - worth <= POSITIVE
    share = rates(problem.tree, weight, present)
    share = share * problem.alone / share.max()
    amount = _fairest(must, coefficient, kept, price > POSITIVE, unit / share[must.job])
    tasks[must.job, must.machine_class] = np.maximum(amount, 0.0) * unit
    return Outcome(tasks)


def _prices(must: Rows, coefficient: Floats, worth: Floats) -> Floats:
    """The multiplier of each row at the largest worth of all columns together."""
    count = len(must.bound)
    program = Program(np.full(count, -INFINITY), np.ones(count))
    program.add_entries(-worth, np.full(len(worth), INFINITY), must.pair, must.row, coefficient)
    prices: Floats = -program.solve().row_dual
    return prices


def _fairest(
    must: Rows, coefficient: Floats, kept: Bools, used_up: Bools, per_share: Floats
) -> Floats:
    """The amounts of all columns, those not kept at 0 and rows used up as told, at which the
    least share is as large as can be, then the second least, and so on.

    One step column a round: whoever's row has a multiplier cannot do better and stays behind.
    """
    jobs, of_job = np.unique(must.job, return_inverse=True)
    count = len(must.bound)
    program = Program(
        np.concatenate([np.where(used_up, 1.0, -INFINITY), np.zeros(len(jobs))]),
        np.concatenate([np.ones(count), np.full(len(jobs), INFINITY)]),
    )
    columns = np.flatnonzero(kept)
    entries = kept[must.pair]
    program.add_entries(
        np.zeros(len(columns)),
        np.full(len(columns), INFINITY),
        np.concatenate([np.searchsorted(columns, must.pair[entries]), np.arange(len(columns))]),
        np.concatenate([must.row[entries], count + of_job[columns]]),
        np.concatenate([coefficient[entries], per_share[columns]]),
    )
    active = np.arange(len(jobs))
    found = np.zeros(0)
    while len(active):
        step = program.add_column(count + active, -np.ones(len(active)), cost=-1.0)
        answer = program.solve()
        found = answer.column_value
        program.fix_column(step, float(found[step]))
        multiplier = answer.row_dual[count + active]
        active = active[multiplier <= POSITIVE * multiplier.max()]
    amount = np.zeros(len(kept))
    amount[columns] = found[: len(columns)]
    return amount
