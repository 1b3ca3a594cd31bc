"""Linear equations in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import fmpq, fmpq_mat

from fairlead.sharing.numbers.amounts import fraction, rational

Row = dict[int, Fraction]
"""The entries of a row that are not 0, by column."""


def solve(rows: Sequence[Row], right: Sequence[Fraction], unknowns: int) -> list[Fraction] | None:
    """The one solution of these equations; None if there is none, or more than one."""
    table = [[fmpq(0)] * unknowns + [rational(value)] for value in right]
    for entries, row in zip(table, rows, strict=True):
        for column, entry in row.items():
            entries[column] = rational(entry)
    reduced, rank = fmpq_mat(table).rref()
    # A pivot in the last unknown's row and column: all others before it have theirs, too.
    if rank != unknowns or (unknowns and not reduced[unknowns - 1, unknowns - 1]):
        return None
    return [fraction(reduced[index, unknowns]) for index in range(unknowns)]
