"""A linear program that grows and is solved again from where it stood, by HiGHS's simplex."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.problem.problem import Floats, Ints

INFINITY = highspy.kHighsInf
_PRIMAL_SIMPLEX = 4
# Both solver tolerances. HiGHS accepts nothing finer than 1e-10.
_TOLERANCE = 1e-9
# Entries below this are dropped by HiGHS. 1e-12 is the finest that it accepts.
_SMALLEST_ENTRY = 1e-12


@dataclass(frozen=True)
class Solution:
    """An optimal vertex. `row_dual` is the rise of the objective per unit of a row's bound."""

    column_value: Floats
    row_dual: Floats


class Program:
    """minimise cost·x, lower <= A x <= upper, with bounds on x. Stays warm between calls."""

    def __init__(self, row_lower: Floats, row_upper: Floats) -> None:
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]  # not in its stubs
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("threads", 1),
            ("simplex_strategy", _PRIMAL_SIMPLEX),
            ("simplex_scale_strategy", 0),  # the rows come scaled
            ("primal_feasibility_tolerance", _TOLERANCE),
            ("dual_feasibility_tolerance", _TOLERANCE),
            ("small_matrix_value", _SMALLEST_ENTRY),
        ):
            self._highs.setOptionValue(option, value)
        nothing = np.zeros(0, dtype=np.int32)
        starts = np.zeros(len(row_lower), dtype=np.int32)
        self._highs.addRows(len(row_lower), row_lower, row_upper, 0, starts, nothing, np.zeros(0))
        self.columns = 0

    def add_columns(
        self, cost: Floats, upper: Floats, starts: Ints, rows: Ints, values: Floats
    ) -> None:
        """Columns from 0 to `upper`; column k has the entries from starts[k] on."""
        self._highs.addCols(
            len(cost),
            cost,
            np.zeros(len(cost)),
            upper,
            len(rows),
            starts.astype(np.int32),
            rows.astype(np.int32),
            values,
        )
        self.columns += len(cost)

    def fix_column(self, column: int, value: float) -> None:
        """The column keeps this value and costs nothing from now on."""
        self._highs.changeColCost(column, 0.0)
        self._highs.changeColBounds(column, value, value)

    def solve(self) -> Solution:
        """The optimum. Anything else is a SolverError with the status and the gap."""
        self._highs.run()
        status = self._highs.getModelStatus()
        info = self._highs.getInfo()
        if status != highspy.HighsModelStatus.kOptimal:
            gap = info.primal_dual_objective_error  # type: ignore[attr-defined]  # not in its stubs
            raise SolverError(
                f"the linear program ended as {self._highs.modelStatusToString(status)!r}: "
                f"primal infeasibility {info.max_primal_infeasibility:.3g}, "
                f"dual infeasibility {info.max_dual_infeasibility:.3g}, "
                f"gap {gap:.3g}"
            )
        solution = self._highs.getSolution()
        return Solution(np.array(solution.col_value), np.array(solution.row_dual))
