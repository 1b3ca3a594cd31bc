"""The highest level of some groups at once, by HiGHS's simplex: shares on few classes each."""

from __future__ import annotations

import highspy
import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.rise import Basis, Rise, Risen

_BASIC = highspy.HighsBasisStatus.kBasic
_LOWER = highspy.HighsBasisStatus.kLower
_UPPER = highspy.HighsBasisStatus.kUpper
# The objective is this many times the number of rising groups: reduced costs count to 1e-14.
_COST = 1e5
# Tried in turn where the finest has no solution; what is left of it shows in the certificate.
_COARSER = (1e-8, 1e-6)
_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "presolve": "off",
    "threads": 1,
    "simplex_strategy": 4,  # primal: the start is feasible
    "simplex_scale_strategy": 0,  # the rows come scaled
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-9,
    "small_matrix_value": 1e-12,  # the finest that HiGHS accepts; what is smaller it drops
}


def rise(problem: Rise) -> Risen:
    """The highest level with its proof. SolverError, with status and gap, if there is no optimum.

    Scaled: a group's share is about 1 at the answer, each capacity row has the mean coefficient
    1, and the prices of the rising groups add up to their number.
    """
    unit, level_unit = problem.units()
    use = problem.use * unit[:, None]
    inside = problem.pairs.astype(np.float64)
    takers = inside.T @ (use > 0)
    row = takers > 0
    mean = np.divide(inside.T @ use, takers, out=np.ones_like(takers), where=row)
    # A capacity that is little for those who may use it counts itself: tolerances are absolute.
    mean[row] = np.minimum(mean, problem.capacity)[row]
    size = len(use)
    row_of = np.full(row.shape, -1)
    row_of[row] = size + np.arange(row.sum())
    base = problem.base / unit
    rising = np.flatnonzero(problem.rate > 0)
    group, machine_class = np.nonzero(problem.pairs)

    highs = highspy.Highs()  # type: ignore[no-untyped-call]  # not in its stubs
    for option, value in _OPTIONS.items():
        highs.setOptionValue(option, value)
    bound = (problem.capacity / mean)[row]
    none = np.zeros(0, dtype=np.int32)
    highs.addRows(
        size + len(bound),
        np.concatenate([base, np.full(len(bound), -highspy.kHighsInf)]),
        np.concatenate([base, bound]),
        0,
        np.zeros(size + len(bound), dtype=np.int32),
        none,
        np.zeros(0),
    )
    rows = np.concatenate([group[:, None], row_of[machine_class]], axis=1)
    values = np.concatenate([np.ones((len(group), 1)), use[group] / mean[machine_class]], axis=1)
    kept = (rows >= 0) & (values > 0)
    _add(
        highs,
        np.zeros(len(group)),
        np.zeros(len(group)),
        problem.most_on[group, machine_class] / unit[group],
        np.concatenate([[0], kept.sum(axis=1).cumsum()[:-1]]),
        rows[kept],
        values[kept],
    )
    _add(
        highs,
        np.array([-float(len(rising)) * _COST]),
        np.array([problem.least / level_unit]),
        np.array([highspy.kHighsInf]),
        np.array([0]),
        rising,
        -(problem.rate * level_unit / unit)[rising],
    )
    _start(highs, problem.basis or _crash(problem, use), problem.pairs, row, size)
    values_found, row_dual, basis = _solve(highs)
    share = np.zeros(problem.pairs.shape)
    share[group, machine_class] = np.maximum(values_found[:-1], 0.0) * unit[group]
    price = np.zeros(row.shape)
    price[row] = np.maximum(-row_dual[size:], 0.0) / mean[row]
    basic_pairs = np.zeros(problem.pairs.shape, dtype=np.bool_)
    basic_pairs[group, machine_class] = [status == _BASIC for status in basis.col_status[:-1]]
    slack = np.zeros(row.shape, dtype=np.bool_)
    slack[row] = [status == _BASIC for status in basis.row_status[size:]]
    return Risen(
        level=float(values_found[-1]) * level_unit,
        share=share,
        price=price,
        group=np.maximum(row_dual[:size], 0.0) / unit,
        basis=Basis(basic_pairs, slack),
    )


def _add(
    highs: highspy.Highs,
    cost: Floats,
    lower: Floats,
    upper: Floats,
    starts: Ints,
    rows: Ints,
    values: Floats,
) -> None:
    highs.addCols(
        len(cost),
        cost,
        lower,
        upper,
        len(rows),
        starts.astype(np.int32),
        rows.astype(np.int32),
        values,
    )


def _crash(problem: Rise, use: Floats) -> Basis:
    """Everyone on the class of which it takes the least: right at the level 0, and saves a pivot
    for each group on the way up."""
    there = np.where(problem.capacity > 0, problem.capacity, np.inf)
    taken = np.where(problem.pairs, use @ (1.0 / there).T, np.inf)
    pairs = np.zeros(problem.pairs.shape, dtype=np.bool_)
    pairs[np.arange(len(use)), taken.argmin(axis=1)] = True
    return Basis(pairs, np.ones(problem.capacity.shape, dtype=np.bool_))


def _start(highs: highspy.Highs, start: Basis, pairs: Bools, row: Bools, size: int) -> None:
    """Shares as they stood; the level waits at its least."""
    basis = highspy.HighsBasis()
    basis.col_status = [_BASIC if basic else _LOWER for basic in start.pairs[pairs]] + [_LOWER]
    basis.row_status = [_LOWER] * size + [_BASIC if basic else _UPPER for basic in start.slack[row]]
    basis.alien = True  # HiGHS makes a basis of it where it is none
    highs.setBasis(basis)


def _solve(highs: highspy.Highs) -> tuple[Floats, Floats, highspy.HighsBasis]:
    highs.run()
    status = highs.getModelStatus()
    for tolerance in _COARSER:
        # Shares that froze earlier, of huge groups, may overfill a tiny class by a rounding error.
        if status == highspy.HighsModelStatus.kOptimal:
            break
        highs.setOptionValue("primal_feasibility_tolerance", tolerance)
        highs.clearSolver()
        highs.run()
        status = highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        info = highs.getInfo()
        gap = info.primal_dual_objective_error  # type: ignore[attr-defined]  # not in its stubs
        raise SolverError(
            f"the linear program ended as {highs.modelStatusToString(status)!r}: "
            f"primal infeasibility {info.max_primal_infeasibility:.3g}, "
            f"dual infeasibility {info.max_dual_infeasibility:.3g}, gap {gap:.3g}"
        )
    solution = highs.getSolution()
    return np.array(solution.col_value), np.array(solution.row_dual), highs.getBasis()
