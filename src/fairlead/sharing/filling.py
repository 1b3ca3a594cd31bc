"""Exact progressive filling: the levels, who froze at each, and the prices that prove it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.coalesce import Groups, coalesce
from fairlead.sharing.problem import Bools, Floats, Ints, Problem
from fairlead.sharing.rates import rates
from fairlead.sharing.rounds import Prices, Rounds


@dataclass(frozen=True)
class FillingRound:
    """One round. `share` is the level reached: the sum of the steps so far.

    Multipliers are scaled so that sum(job_price * rate) over active jobs is 1; prices are per
    unit of the resource (task, limit, machine) as written.
    """

    share: float
    frozen: Ints  # jobs that froze in this round
    job_price: Floats  # (J,) multiplier of each share row, per unit of share (tasks / scale)
    price: Floats  # (C, R)
    task_price: Floats  # (J,) of a finite job's last task
    limit_price: Floats  # (L,)
    spread_price: dict[tuple[int, int], float]  # (job, class), those above zero


@dataclass(frozen=True)
class Filling:
    """Tasks of each job on each class of machines, and the rounds that led there."""

    tasks: Floats  # (J, C)
    rounds: tuple[FillingRound, ...]


def fill(problem: Problem, scale: Floats, weight: Floats, *, merge: bool = True) -> Filling:
    """The exact filling. `scale` (J,): tasks per unit of share, 0 for a job that gets nothing;
    `weight` (T,): the weight of every tenant, those of pools included. `merge` False solves for
    every job by itself, which is slower and gives the same shares."""
    if not problem.job_names:
        return Filling(np.zeros(problem.usable.shape), ())
    groups = coalesce(problem, scale, merge=merge)
    active = groups.group >= 0
    share = np.zeros(len(active))
    level = 0.0
    rounds: list[FillingRound] = []
    program: Rounds | None = None
    while active.any():
        rate = rates(problem.tree, weight, active)
        group_rate = _sum_by_group(groups, rate)
        if program is None:
            program = Rounds(groups, group_rate)
        step, prices = program.rise(group_rate)
        level += step
        share += rate * step
        frozen = active & _tight(group_rate, prices)[groups.group]
        if not frozen.any():
            raise SolverError(f"nobody is tight at level {level}: a step of {step:.3g}")
        rounds.append(_round(groups, scale, rate, level, np.flatnonzero(frozen), prices))
        active &= ~frozen
    tasks = np.zeros(problem.usable.shape)
    if program is not None:
        tasks = _tasks(problem, groups, scale, share, program.shares())
    return Filling(tasks, tuple(rounds))


# A group whose price, times its rate, is below this part of the mean is left to a later round:
# the smaller a price, the more a rounding error in the bound lets its owner rise.
_POSITIVE = 1e-6


def _tight(rate: Floats, prices: Prices) -> Bools:
    """(G,) whether the prices prove that an active group cannot rise."""
    worth = prices.group * rate
    tight: Bools = worth * np.count_nonzero(rate) > _POSITIVE * worth.sum()
    return tight


def _sum_by_group(groups: Groups, by_job: Floats) -> Floats:
    alive = groups.group >= 0
    total = np.zeros(len(groups.use))
    np.add.at(total, groups.group[alive], (groups.part * by_job)[alive])
    return total


def _round(
    groups: Groups, scale: Floats, rate: Floats, level: float, frozen: Ints, prices: Prices
) -> FillingRound:
    """The round with its multipliers for jobs, scaled as the docstring of FillingRound says."""
    alive = groups.group >= 0
    job_price = np.zeros(len(alive))
    job_price[alive] = prices.group[groups.group[alive]] * groups.part[alive]
    total = float(job_price @ rate)
    task_price = np.zeros(len(alive))
    task_price[alive] = prices.task[groups.group[alive]] * groups.part[alive] / scale[alive]
    spread_price: dict[tuple[int, int], float] = {}
    if prices.spread.size:
        # A group that spreads is a single job.
        job_of = {int(g): j for j, g in enumerate(groups.group) if g >= 0}
        for g, c in zip(*np.nonzero(prices.spread), strict=True):
            job = job_of[int(g)]
            spread_price[job, int(c)] = float(prices.spread[g, c] / scale[job] / total)
    return FillingRound(
        share=level,
        frozen=frozen,
        job_price=job_price / total,
        price=prices.capacity / total,
        task_price=task_price / total,
        limit_price=prices.limit / total,
        spread_price=spread_price,
    )


def _tasks(problem: Problem, groups: Groups, scale: Floats, share: Floats, found: Floats) -> Floats:
    """(J, C) the groups' shares split among their jobs, each brought to its level exactly."""
    alive = groups.group >= 0
    total = found.sum(axis=1)
    portion = np.divide(found, total[:, None], out=np.zeros_like(found), where=total[:, None] > 0)
    tasks = np.zeros(problem.usable.shape)
    tasks[alive] = portion[groups.group[alive]] * (share * scale)[alive, None]
    used = tasks.T @ problem.demand
    capacity = problem.capacity * problem.count[:, None]
    over = np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0).max(axis=1)
    fitted: Floats = tasks / np.maximum(over, 1.0)
    return fitted
