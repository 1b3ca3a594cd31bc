"""TSF's Algorithm 1 taken literally, with SciPy's HiGHS.

One linear program a round raises all active users together; then one linear program for every
active user, all others held at what they have, asks whether it could go on alone.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from benchmarks.baselines.pairs import BaselineError, Pairs, pairs, runnable, stuck
from fairlead.sharing.problem.problem import Bools, Floats, Problem

SAME_SHARE = 1e-7  # relative: the test "s' = s_t" in floating point
OPTIONS = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}


def algorithm1(problem: Problem, scale: Floats, weight: Floats) -> Floats:
    """Each job's share divided by its weight."""
    program = pairs(problem, scale, weight)
    active = runnable(problem)
    held = np.zeros(program.jobs)  # what those that are inactive must keep
    while active.any():
        level, shares = _raise(program, active, held)
        rise = np.full(program.jobs, np.inf)
        for user in np.flatnonzero(active):
            alone = np.zeros(program.jobs, dtype=np.bool_)
            alone[user] = True
            higher, _ = _raise(program, alone, np.where(active, shares, held))
            rise[user] = higher / level - 1.0
        frozen = stuck(rise, SAME_SHARE)
        held[frozen] = shares[frozen]
        active[frozen] = False
    return held / program.unit


def _raise(program: Pairs, active: Bools, held: Floats) -> tuple[float, Floats]:
    """The paper's LP: the largest common share of the active users, and what everyone has then."""
    number = program.job_rows.shape[1]
    step = -np.ones((int(active.sum()), 1))
    keep = program.job_rows[~active]
    result = linprog(
        np.append(np.zeros(number), -1.0),
        A_ub=sparse.vstack(
            [sparse.hstack([rows, _empty(rows)]) for rows in (program.capacity_rows, -keep)],
            format="csc",
        ),
        b_ub=np.append(program.capacity, -held[~active]),
        A_eq=sparse.hstack([program.job_rows[active], step], format="csc"),
        b_eq=np.zeros(len(step)),
        method="highs",
        options=OPTIONS,
    )
    if result.status != 0:
        raise BaselineError(f"linprog stopped: {result.message}")
    return float(result.x[-1]), program.job_rows @ result.x[:-1]


def _empty(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    return sparse.csr_matrix((rows.shape[0], 1))
