"""A plain warm linear program: every pair is a column, HiGHS keeps its basis from round to round.

A good programmer's first version: no coalescing of jobs, no column generation. A round adds one
column for its step; whoever's share row has a positive dual freezes.
"""

from __future__ import annotations

import highspy
import numpy as np
from scipy import sparse

from benchmarks.baselines.pairs import BaselineError, Pairs, pairs, runnable
from fairlead.sharing.problem import Floats, Problem

TIGHT = 1e-6  # a dual above this is positive; the duals of the active jobs add up to their number


def warm_lp(problem: Problem, scale: Floats, weight: Floats) -> Floats:
    """Each job's share divided by its weight."""
    program = pairs(problem, scale, weight)
    number = program.job_rows.shape[1]
    first_row = program.capacity_rows.shape[0]
    solver = _solver(program)
    active = runnable(problem)
    level = 0.0
    levels = np.zeros(program.jobs)
    column = number
    while active.any():
        jobs = np.flatnonzero(active)
        solver.addCol(
            -float(len(jobs)),
            0.0,
            highspy.kHighsInf,
            len(jobs),
            (first_row + jobs).astype(np.int32),
            np.full(len(jobs), -1.0),
        )
        solver.run()
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise BaselineError(f"HiGHS stopped: {solver.modelStatusToString(status)}")
        solution = solver.getSolution()
        step = max(0.0, solution.col_value[column])
        dual = np.abs(np.asarray(solution.row_dual)[first_row:])
        level += step
        frozen = active & (dual > TIGHT)
        levels[frozen] = level
        active &= ~frozen
        solver.changeColBounds(column, step, step)
        solver.changeColCost(column, 0.0)
        # The last basis is feasible for the next round but no longer optimal: the primal simplex.
        solver.setOptionValue("simplex_strategy", 4)
        column += 1
    return levels / program.unit


def _solver(program: Pairs) -> highspy.Highs:
    """HiGHS with the capacity rows and, after them, the share rows: sum of x - steps >= 0."""
    matrix = sparse.vstack([program.capacity_rows, program.job_rows], format="csc")
    rows, columns = matrix.shape
    lp = highspy.HighsLp()
    lp.num_col_ = columns
    lp.num_row_ = rows
    lp.col_cost_ = np.zeros(columns)
    lp.col_lower_ = np.zeros(columns)
    lp.col_upper_ = np.full(columns, highspy.kHighsInf)
    lp.row_lower_ = np.append(
        np.full(len(program.capacity), -highspy.kHighsInf), np.zeros(program.jobs)
    )
    lp.row_upper_ = np.append(program.capacity, np.full(program.jobs, highspy.kHighsInf))
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("primal_feasibility_tolerance", 1e-9)
    solver.setOptionValue("dual_feasibility_tolerance", 1e-9)
    solver.passModel(lp)
    return solver
