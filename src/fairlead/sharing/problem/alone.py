"""The tasks that jobs could run alone, as rationals: a sum of quotients, few of them different."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpq

from fairlead.sharing.numbers.amounts import Whole, rational
from fairlead.sharing.problem.problem import Bools, Ints, Problem

# Quotients this close, relative, are compared as rationals: a double is right to 1e-15.
_NEAR = 1e-12
# Products of numbers below this fit into 64 bits, and so do sums of as many.
_SHORT = 2**31


def alone(
    problem: Problem, jobs: Sequence[int] | None = None, *, allowed: bool = False
) -> list[fmpq]:
    """The tasks that each of these jobs (all, where none are named) could run alone in the cluster,
    on the machines that it may use or, unless `allowed`, on all."""
    chosen = list(range(len(problem.job_names))) if jobs is None else list(jobs)
    count = problem.count[None, :] * np.ones((len(chosen), 1), dtype=np.int64)
    if allowed:
        count = count * problem.usable[chosen]
    return held(problem, chosen, count)


def held(problem: Problem, jobs: Sequence[int], count: Ints) -> list[fmpq]:
    """The tasks that each of these jobs could run alone on so many machines (jobs, C) of each
    class."""
    if problem.whole:
        holds = problem.holds[jobs]
        return [
            sum((rational(x) * int(n) for x, n in zip(row, many, strict=True) if n), fmpq(0))
            for row, many in zip(holds.tolist(), count.tolist(), strict=True)
        ]
    amounts = problem.amounts
    demand, capacity = amounts.demand[jobs], amounts.capacity
    if max((int(max(a.ravel(), default=0)) for a in (demand, capacity)), default=0) < _SHORT:
        demand, capacity = demand.astype(np.int64), capacity.astype(np.int64)
    scarce = _scarcest(demand, capacity)
    # What all machines together have of what is scarcest on them.
    found = [fmpq(0)] * len(jobs)
    spread = problem.spread[jobs]
    if spread.any():
        # At most one task on a machine: nothing is scarce where a whole one fits.
        fits = (demand[:, None, :] <= capacity[None, :, :]).all(axis=2) & spread[:, None]
        found = [fmpq(int(n)) for n in (fits * count).sum(axis=1)]
        count = count * ~fits
    for r in range(demand.shape[1]):
        there = np.where(scarce == r, count, 0) @ capacity[:, r]
        for index, (amount, need) in enumerate(
            zip(there.tolist(), demand[:, r].tolist(), strict=True)
        ):
            if amount:
                found[index] += fmpq(int(amount), int(need))
    return found


def _scarcest(demand: Whole | Ints, capacity: Whole | Ints) -> Ints:
    """(J, C) the resource of which a class has the least for each job."""
    scarce = np.full((len(demand), len(capacity)), -1, dtype=np.int64)
    least = np.full(scarce.shape, np.inf)
    for r in range(demand.shape[1]):
        needs = np.flatnonzero(demand[:, r] > 0)
        fits = capacity[:, r].astype(np.float64) / demand[needs, r].astype(np.float64)[:, None]
        known, which = least[needs], scarce[needs]
        less = fits < known
        near = abs(fits - known) <= _NEAR * fits
        less[near] = _is_less(demand, capacity, needs, which, near, r)
        scarce[needs] = np.where(less, r, which)
        least[needs] = np.where(less, fits, known)
    return scarce


def _is_less(
    demand: Whole | Ints, capacity: Whole | Ints, needs: Ints, which: Ints, near: Bools, r: int
) -> Bools:
    """Whether less tasks fit by resource r than by the one that is known, for these pairs."""
    row, c = np.nonzero(near)
    job, other = needs[row], which[row, c]
    less: Bools = capacity[c, r] * demand[job, other] < capacity[c, other] * demand[job, r]
    return less.astype(np.bool_)
