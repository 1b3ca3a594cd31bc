"""A linear program in whole numbers, by the branch and cut of HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from fairlead.sharing.problem.problem import Floats
from fairlead.sharing.solvers.highs import add_rows, add_table, start_highs

NODES = 20_000
"""So many branches are looked at, at most: a limit of time would give other answers on another
day."""

_OPTIMAL = highspy.HighsModelStatus.kOptimal
_STOPPED = (highspy.HighsModelStatus.kSolutionLimit, highspy.HighsModelStatus.kIterationLimit)


@dataclass(frozen=True)
class WholeSolution:
    """Whole numbers that keep all rows, None where none were found; and whether that is proved:
    none cost less, or there are none."""

    value: Floats | None
    proved: bool


def whole_program(
    cost: Floats, upper: Floats, matrix: Floats, row_lower: Floats, row_upper: Floats
) -> WholeSolution:
    """minimise cost·x for whole x from 0 to `upper`, row_lower <= matrix·x <= row_upper."""
    highs = start_highs(
        {"random_seed": 0, "mip_rel_gap": 0.0, "mip_abs_gap": 0.0, "mip_max_nodes": NODES}
    )
    add_rows(highs, row_lower, row_upper)
    add_table(highs, cost, upper, matrix, whole=True)
    highs.run()
    status = highs.getModelStatus()
    if status != _OPTIMAL and status not in _STOPPED:
        return WholeSolution(None, status == highspy.HighsModelStatus.kInfeasible)
    found = np.rint(np.array(highs.getSolution().col_value))
    if len(found) != len(cost):
        return WholeSolution(None, proved=False)
    kept = matrix @ found
    slack = 1e-9 * np.maximum(np.abs(matrix) @ np.abs(found), 1.0)
    if (kept < row_lower - slack).any() or (kept > row_upper + slack).any():
        return WholeSolution(None, proved=False)
    return WholeSolution(found, status == _OPTIMAL)
