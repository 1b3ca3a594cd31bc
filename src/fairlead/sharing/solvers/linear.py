"""A linear program that grows and is solved again from where it stood, by HiGHS's simplex."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from fairlead.sharing.problem.problem import Floats, Ints
from fairlead.sharing.solvers.highs import Options, add_columns, add_rows, failure, start_highs

INFINITY = highspy.kHighsInf
_OPTIONS: Options = {
    "presolve": "off",
    "simplex_strategy": 4,  # primal
    "simplex_scale_strategy": 0,  # the rows come scaled
    # HiGHS accepts nothing finer than 1e-10.
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "small_matrix_value": 1e-12,  # the finest that HiGHS accepts; what is smaller it drops
}


@dataclass(frozen=True)
class Solution:
    """An optimal vertex. `row_dual` is the rise of the objective per unit of a row's bound."""

    column_value: Floats
    row_dual: Floats


class Program:
    """minimise cost·x, lower <= A x <= upper, with bounds on x. Stays warm between calls."""

    def __init__(self, row_lower: Floats, row_upper: Floats) -> None:
        self._highs = start_highs(_OPTIONS)
        add_rows(self._highs, row_lower, row_upper)
        self.columns = 0

    def add_column(
        self, rows: Ints, values: Floats, cost: float = 0.0, upper: float = INFINITY
    ) -> int:
        """The number of a new column from 0 to `upper` with these entries."""
        start = np.zeros(1, np.int64)
        self.add_columns(np.array([cost]), np.array([upper]), start, rows, values)
        return self.columns - 1

    def add_entries(
        self, cost: Floats, upper: Floats, column: Ints, row: Ints, value: Floats
    ) -> None:
        """Columns from 0 to `upper`, whose entries come in any order."""
        order = np.lexsort((row, column))
        starts = np.searchsorted(column[order], np.arange(len(cost)))
        self.add_columns(cost, upper, starts, row[order], value[order])

    def add_columns(
        self, cost: Floats, upper: Floats, starts: Ints, rows: Ints, values: Floats
    ) -> None:
        """Columns from 0 to `upper`; column k has the entries from starts[k] on."""
        add_columns(self._highs, cost, upper, starts, rows, values)
        self.columns += len(cost)

    def fix_column(self, column: int, value: float) -> None:
        """The column keeps this value and costs nothing from now on."""
        self._highs.changeColCost(column, 0.0)
        self._highs.changeColBounds(column, value, value)

    def solve(self) -> Solution:
        """The optimum. Anything else is a SolverError with the status and the gap."""
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise failure(self._highs)
        solution = self._highs.getSolution()
        return Solution(np.array(solution.col_value), np.array(solution.row_dual))
