"""A plain warm linear program: every pair is a column, HiGHS keeps its basis from round to round.

A good programmer's first version: no coalescing of jobs, no column generation. A round adds one
column for its step; whoever's share row has a positive dual freezes, and whoever has no more tasks.
Of the baselines only this one knows jobs that end or spread. `warm_lp_closing` also keeps a
pair with a positive reduced cost at zero from then on, which is an insight of ours (complementary
slackness); without it HiGHS does not end on the largest instances with many levels.
"""

from __future__ import annotations

import highspy
import numpy as np
from scipy import sparse

from benchmarks.baselines.pairs import BaselineError, Pairs, pairs, runnable
from fairlead.sharing.problem.problem import Floats, Problem

TIGHT = 1e-5  # a dual above this is positive; the duals of the active jobs add up to their number
END = 1e-9  # a job whose last task is this near, relative, has no more
DUAL, PRIMAL = 1, 4  # HiGHS's numbers of the simplex methods


def warm_lp(problem: Problem, scale: Floats, weight: Floats) -> Floats:
    """Each job's share divided by its weight, with all columns in all rounds."""
    return _levels(problem, scale, weight, closing=False)


def warm_lp_closing(problem: Problem, scale: Floats, weight: Floats) -> Floats:
    """Each job's share divided by its weight; closes columns by their reduced costs."""
    return _levels(problem, scale, weight, closing=True)


def _levels(problem: Problem, scale: Floats, weight: Floats, *, closing: bool) -> Floats:
    program = pairs(problem, scale, weight, simple=False)
    number = program.job_rows.shape[1]
    first_row = program.capacity_rows.shape[0]
    solver = _solver(program)
    open_columns = np.ones(number, dtype=np.bool_)
    active = runnable(problem)
    level = 0.0
    levels = np.zeros(program.jobs)
    ends = problem.tasks / scale / weight * program.unit
    column = number
    while active.any():
        jobs = np.flatnonzero(active)
        solver.addCol(
            -float(len(jobs)),
            0.0,
            ends[jobs].min() - level,
            len(jobs),
            (first_row + jobs).astype(np.int32),
            np.full(len(jobs), -1.0),
        )
        _solve(solver, warm=column > number)
        solution = solver.getSolution()
        step = max(0.0, solution.col_value[column])
        dual = np.abs(np.asarray(solution.row_dual)[first_row:])
        level += step
        frozen = active & ((dual > TIGHT) | (ends <= level * (1 + END)))
        levels[frozen] = level
        active &= ~frozen
        solver.changeColBounds(column, step, step)
        solver.changeColCost(column, 0.0)
        if closing:
            # What costs something now is zero in every later round. Without saying so, prices grow
            # to millions with the rounds, and rounding errors as much.
            costly = np.asarray(solution.col_dual)[:number] > TIGHT
            gone = np.flatnonzero(costly & open_columns).astype(np.int32)
            open_columns[gone] = False
            solver.changeColsBounds(len(gone), gone, np.zeros(len(gone)), np.zeros(len(gone)))
        column += 1
    return levels / program.unit


def _solve(solver: highspy.Highs, *, warm: bool) -> None:
    """Solves the round. The last basis is feasible but no longer optimal, so the primal simplex
    goes on from there; where it ends in rounding errors, once more from nothing."""
    solver.setOptionValue("simplex_strategy", PRIMAL if warm else DUAL)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        solver.clearSolver()
        solver.setOptionValue("simplex_strategy", DUAL)
        solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise BaselineError(f"HiGHS stopped: {solver.modelStatusToString(status)}")


def _solver(program: Pairs) -> highspy.Highs:
    """HiGHS with the capacity rows and, after them, the share rows: sum of x - steps >= 0."""
    matrix = sparse.vstack([program.capacity_rows, program.job_rows], format="csc")
    rows, columns = matrix.shape
    lp = highspy.HighsLp()
    lp.num_col_ = columns
    lp.num_row_ = rows
    lp.col_cost_ = np.zeros(columns)
    lp.col_lower_ = np.zeros(columns)
    lp.col_upper_ = program.most
    lp.row_lower_ = np.append(
        np.full(len(program.capacity), -highspy.kHighsInf), np.zeros(program.jobs)
    )
    lp.row_upper_ = np.append(program.capacity, np.full(program.jobs, highspy.kHighsInf))
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()  # type: ignore[no-untyped-call]  # not in its stubs
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("primal_feasibility_tolerance", 1e-9)
    solver.setOptionValue("dual_feasibility_tolerance", 1e-9)
    solver.passModel(lp)
    return solver
