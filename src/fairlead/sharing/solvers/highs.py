"""HiGHS as all programs set it up: silent, on one thread, rows first and columns after them."""

from __future__ import annotations

from collections.abc import Mapping

import highspy
import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.problem.problem import Floats, Ints

Options = Mapping[str, bool | int | float | str]


def start_highs(options: Options) -> highspy.Highs:
    """HiGHS with these options and no program yet."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]  # not in its stubs
    set_options(highs, {"output_flag": False, "threads": 1, **options})
    return highs


def set_options(highs: highspy.Highs, options: Options) -> None:
    for option, value in options.items():
        highs.setOptionValue(option, value)


def add_rows(highs: highspy.Highs, lower: Floats, upper: Floats) -> None:
    """Rows in which no column has an entry yet."""
    starts, none = np.zeros(len(lower), dtype=np.int32), np.zeros(0, dtype=np.int32)
    highs.addRows(len(lower), lower, upper, 0, starts, none, np.zeros(0))


def add_columns(
    highs: highspy.Highs, cost: Floats, upper: Floats, starts: Ints, rows: Ints, values: Floats
) -> None:
    """Columns from 0 to `upper`; column k has the entries from starts[k] on."""
    highs.addCols(
        len(cost),
        cost,
        np.zeros(len(cost)),
        upper,
        len(rows),
        starts.astype(np.int32),
        rows.astype(np.int32),
        values,
    )


def add_table(
    highs: highspy.Highs, cost: Floats, upper: Floats, table: Floats, *, whole: bool
) -> None:
    """The columns of a table (rows, columns), from 0 to `upper`; in whole numbers or not."""
    column, row = np.nonzero(table.T)
    columns = table.shape[1]
    starts = np.searchsorted(column, np.arange(columns))
    add_columns(highs, cost, upper, starts, row, table[row, column])
    if whole:
        every = np.arange(columns, dtype=np.int32)
        kinds = np.full(columns, highspy.HighsVarType.kInteger)
        highs.changeColsIntegrality(columns, every, kinds)


def failure(highs: highspy.Highs) -> SolverError:
    """The error that says how a linear program ended, with the gap."""
    info = highs.getInfo()
    gap = info.primal_dual_objective_error  # type: ignore[attr-defined]  # not in its stubs
    return SolverError(
        f"the linear program ended as {highs.modelStatusToString(highs.getModelStatus())!r}: "
        f"primal infeasibility {info.max_primal_infeasibility:.3g}, "
        f"dual infeasibility {info.max_dual_infeasibility:.3g}, "
        f"gap {gap:.3g}"
    )
