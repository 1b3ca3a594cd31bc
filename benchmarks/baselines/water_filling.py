"""Water filling as Gavel does it (OSDI 2020), with cvxpy and HiGHS.

In each iteration a linear program raises the least normalised share of the jobs that are left;
then a mixed-integer program finds the bottlenecked ones: a binary for each job says whether its
share is above the level while all others keep theirs, and as many as possible shall be.

`water_filling` solves these programs as they are published: both are made anew in every iteration,
jobs that are done have exactly what they have, and the binary and the share imply each other by one
large number. `water_filling_lean` makes them once, with parameters, as a careful user of cvxpy
would: jobs that are done have at least what they have, and the binary implies the share only, which
is all that a largest number of them needs. Both are sparse and in vectors where Gavel has an
expression for each job, and use HiGHS where it uses ECOS and GLPK. Like Gavel's, they take two
levels for one if they are closer than 1e-4 of themselves.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.baselines.pairs import BaselineError, Pairs, pairs, runnable
from fairlead.sharing.problem.problem import Bools, Floats, Problem

ABOVE = 1e-4  # Gavel's slack, relative: a job that is no bottleneck must get so far above the level
LP_OPTIONS = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
# For the lean one. Tighter tolerances make HiGHS lose jobs in its presolve.
MIP_OPTIONS = {"mip_rel_gap": 0.0}
# As published. Looser ones leave a binary times the large number more than ABOVE.
TIGHT_MIP_OPTIONS = {**MIP_OPTIONS, **LP_OPTIONS, "mip_feasibility_tolerance": 1e-9}
BELOW = 1e-5  # Gavel's epsilon: a bottlenecked job's share is so much below what is above
ROUNDED = 1e-8  # relative: rounding of the first program would make the second infeasible


def water_filling(problem: Problem, scale: Floats, weight: Floats) -> Floats:
    """Each job's share divided by its weight, by the programs as published."""
    cp: Any = importlib.import_module("cvxpy")
    program = pairs(problem, scale, weight)
    alone = np.where(problem.usable, problem.holds, 0.0) @ problem.count
    large = float((alone / scale / weight).max()) * program.unit
    active = runnable(problem)
    levels = np.zeros(program.jobs)
    while active.any():
        shares, kept = _filled(cp, program, active, levels)
        fill = cp.Problem(cp.Maximize(cp.min(shares)), kept)
        fill.solve(solver=cp.HIGHS, **LP_OPTIONS)
        _must_be_optimal(fill)
        reached = float(fill.value)
        left = np.flatnonzero(active)
        frozen = left[:0]
        distance = ABOVE
        while len(frozen) == 0:  # all above: the solver's slack, amplified; ask for more
            shares, kept = _filled(cp, program, active, levels)
            above = cp.Variable(len(left), boolean=True)
            higher = reached * (1.0 + distance)
            test = cp.Problem(
                cp.Maximize(cp.sum(above)),
                [
                    *kept,
                    shares >= reached * (1.0 - ROUNDED),
                    large * above >= shares - higher + BELOW * reached,
                    large * (1 - above) >= higher - shares,
                ],
            )
            test.solve(solver=cp.HIGHS, **TIGHT_MIP_OPTIONS)
            _must_be_optimal(test)
            frozen = left[above.value < 0.5]
            distance *= 10.0
        levels[frozen] = reached
        active[frozen] = False
    return levels / program.unit


def _filled(cp: Any, program: Pairs, active: Bools, levels: Floats) -> tuple[Any, list[Any]]:
    """The shares of the jobs that are left, and what both programs ask for: that everything fits
    and that the others have what they have."""
    x = cp.Variable(program.job_rows.shape[1], nonneg=True)
    kept = [program.capacity_rows @ x <= program.capacity]
    if not active.all():
        kept.append(program.job_rows[~active] @ x == levels[~active] * (1.0 - ROUNDED))
    return program.job_rows[active] @ x, kept


def water_filling_lean(problem: Problem, scale: Floats, weight: Floats) -> Floats:
    """Each job's share divided by its weight, by programs that are made once."""
    cp: Any = importlib.import_module("cvxpy")
    program = pairs(problem, scale, weight)
    x = cp.Variable(program.job_rows.shape[1], nonneg=True)
    fits = program.capacity_rows @ x <= program.capacity
    shares = program.job_rows @ x

    level = cp.Variable()
    rising = cp.Parameter(program.jobs, nonneg=True)  # 1 for the jobs that are left
    held = cp.Parameter(program.jobs, nonneg=True)  # what the others keep
    fill = cp.Problem(cp.Maximize(level), [fits, shares >= cp.multiply(rising, level) + held])

    above = cp.Variable(program.jobs, boolean=True)
    least = cp.Parameter(program.jobs, nonneg=True)
    little = cp.Parameter(program.jobs, nonneg=True)  # 0 for the jobs that are done
    test = cp.Problem(
        cp.Maximize(cp.sum(above)),
        [fits, shares >= least + cp.multiply(little, above), above <= rising],
    )

    active = runnable(problem)
    levels = np.zeros(program.jobs)
    while active.any():
        rising.value = active.astype(float)
        held.value = np.where(active, 0.0, levels)
        fill.solve(solver=cp.HIGHS, **LP_OPTIONS)
        _must_be_optimal(fill)
        reached = float(level.value)
        # Without the last 1e-9, or the rounding of the first program makes this one infeasible.
        least.value = np.where(active, reached, levels) * (1.0 - 1e-9)
        frozen = np.zeros(program.jobs, dtype=np.bool_)
        distance = ABOVE * reached
        while not frozen.any():  # all above: the solver's slack, amplified; ask for more
            little.value = np.where(active, distance, 0.0)
            test.solve(solver=cp.HIGHS, **MIP_OPTIONS)
            _must_be_optimal(test)
            frozen = active & (above.value < 0.5)
            distance *= 10.0
        levels[frozen] = reached
        active &= ~frozen
    return levels / program.unit


def _must_be_optimal(solved: Any) -> None:
    if solved.status != "optimal":
        raise BaselineError(f"cvxpy stopped: {solved.status}")
