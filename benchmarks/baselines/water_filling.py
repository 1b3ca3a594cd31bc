"""Water filling as Gavel does it (OSDI 2020), with cvxpy and HiGHS.

In each iteration a linear program raises the least normalised share of the jobs that are left;
then a mixed-integer program finds the bottlenecked ones: a binary for each job says whether it can
be a little above the level while all others keep theirs, and as many as possible shall. Both are
built once, with parameters, and solved again, as in Gavel (which uses ECOS and GLPK). Like Gavel's,
it takes two levels for one if they are closer than 1e-4 of themselves.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.baselines.pairs import BaselineError, pairs, runnable
from fairlead.sharing.problem import Floats, Problem

ABOVE = 1e-4  # Gavel's slack, relative: a job that is no bottleneck must get so far above the level
LP_OPTIONS = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
MIP_OPTIONS = {"mip_rel_gap": 0.0}  # tighter tolerances make HiGHS lose jobs in its presolve


def water_filling(problem: Problem, scale: Floats, weight: Floats) -> Floats:
    """Each job's share divided by its weight."""
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
