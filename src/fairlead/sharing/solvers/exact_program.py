"""A linear program in rationals: the simplex method on the part of it that doubles point to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq

from fairlead.model.errors import SolverError
from fairlead.sharing.numbers.amounts import nearest

Column = dict[int, fmpq]
"""The amount of each row that one unit takes."""

NONE = fmpq(0)
# What doubles see of a column or of what is left of a row, beyond which they need not be asked.
_SOME = 1e-7
# So many pivots go to what gains most; from then on the first that gains, which ends for sure.
_FAST = 1000


@dataclass(frozen=True)
class Optimum:
    """An optimal corner: how much of each column, the price of each row, and the value of both.

    There are as many `basic` columns as rows that are `full`; the columns' amounts follow from the
    rows, and the rows' prices from the columns.
    """

    amount: dict[int, fmpq]
    price: dict[int, fmpq]
    value: fmpq

    @property
    def basic(self) -> list[int]:
        """The columns that are in use, or might be."""
        return sorted(self.amount)

    @property
    def full(self) -> list[int]:
        """The rows that are used up."""
        return sorted(self.price)


def maximise(columns: Sequence[Column], bound: Sequence[fmpq], gain: Sequence[fmpq]) -> Optimum:
    """The largest gain of amounts of the columns, none below 0, that take no more of any row than
    its bound, none of which is below 0."""
    chosen, rows = _likely(columns, bound, gain)
    while True:
        found = _tableau(columns, bound, gain, sorted(chosen), sorted(rows))
        load: dict[int, fmpq] = {}
        for column, amount in found.amount.items():
            for row, takes in columns[column].items():
                load[row] = load.get(row, NONE) + takes * amount
        over = {row for row, used in load.items() if used > bound[row]}
        better = {
            index
            for index, column in enumerate(columns)
            if index not in chosen
            and sum(
                (found.price[r] * takes for r, takes in column.items() if r in found.price), NONE
            )
            < gain[index]
        }
        if not over and not better:
            return found
        chosen, rows = chosen | better, rows | over


def _likely(
    columns: Sequence[Column], bound: Sequence[fmpq], gain: Sequence[fmpq]
) -> tuple[set[int], set[int]]:
    """The columns and the rows that matter, as doubles see it; all of them where they fail."""
    from fairlead.sharing.solvers.linear import INFINITY, Program

    some = [index for index, column in enumerate(columns) if column]
    # Every number of the order of 1: columns in parts of what alone fits, rows of what there is.
    most = {
        index: min(bound[row] / takes for row, takes in columns[index].items()) for index in some
    }
    used = [index for index in some if most[index] > 0]
    everything = set(used), {row for index in used for row in columns[index]}
    if not used:
        return everything
    worth = np.array([nearest(most[index] * gain[index]) for index in used])
    starts = np.cumsum([0, *(len(columns[index]) for index in used)])[:-1]
    at = np.array([row for index in used for row in columns[index]])
    values = np.array(
        [
            nearest(takes * most[index] / bound[row])
            for index in used
            for row, takes in columns[index].items()
        ]
    )
    program = Program(np.full(len(bound), -INFINITY), np.ones(len(bound)))
    program.add_columns(-worth / worth.max(), np.full(len(used), INFINITY), starts, at, values)
    try:
        solution = program.solve()
    except SolverError:
        return everything
    load = np.bincount(at, values * np.repeat(solution.column_value, np.diff([*starts, len(at)])))
    chosen = {used[i] for i in np.flatnonzero(solution.column_value > _SOME).tolist()}
    return chosen, set(np.flatnonzero(load > 1 - _SOME).tolist())


def _tableau(
    columns: Sequence[Column],
    bound: Sequence[fmpq],
    gain: Sequence[fmpq],
    chosen: Sequence[int],
    rows: Sequence[int],
) -> Optimum:
    """The optimum of these columns on these rows. Columns without a row among these must come from
    rows that are added: they are bounded by the row that binds them alone."""
    rows = list(rows)
    known = set(rows)
    for index in chosen:
        if known.isdisjoint(columns[index]):
            row = min(columns[index], key=lambda r: bound[r] / columns[index][r])
            rows.append(row)
            known.add(row)
    # Variables: the columns, then what is left of the rows; a row says what its basic one is.
    basis: list[tuple[int, int]] = [(1, row) for row in rows]
    table: list[dict[tuple[int, int], fmpq]] = [
        {(0, i): columns[i][row] for i in chosen if row in columns[i]} for row in rows
    ]
    right = [bound[row] for row in rows]
    top: dict[tuple[int, int], fmpq] = {(0, i): gain[i] for i in chosen}
    pivots = 0
    while True:
        gains = [(each, variable) for variable, each in top.items() if each > 0]
        if not gains:
            break
        pivots += 1
        if pivots > _FAST:
            entering = min(variable for _, variable in gains)
        else:
            entering = max(gains, key=lambda each: (each[0], each[1]))[1]
        ratios = [
            (right[k] / row[entering], basis[k], k)
            for k, row in enumerate(table)
            if row.get(entering, NONE) > 0
        ]
        if not ratios:
            raise SolverError("a program in rationals has no bound")
        _, leaving, at = min(ratios)
        pivot = table[at].pop(entering)
        by = {variable: each / pivot for variable, each in table[at].items()}
        by[leaving] = 1 / pivot
        table[at], right[at], basis[at] = by, right[at] / pivot, entering
        for k, other in enumerate(table):
            times = other.pop(entering, None) if k != at else None
            if times is not None:
                _less(other, by, times)
                right[k] -= times * right[at]
        _less(top, by, top.pop(entering))
    amount = {basis[k][1]: right[k] for k in range(len(rows)) if basis[k][0] == 0}
    used_up = set(rows) - {row for kind, row in basis if kind == 1}
    price = {row: -top.get((1, row), NONE) for row in used_up}
    value = sum((gain[i] * much for i, much in amount.items()), NONE)
    return Optimum(amount, price, value)


def _less(row: dict[tuple[int, int], fmpq], by: dict[tuple[int, int], fmpq], times: fmpq) -> None:
    for variable, each in by.items():
        left = row.get(variable, NONE) - times * each
        if left:
            row[variable] = left
        else:
            row.pop(variable, None)
