"""Linear equations in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = dict[int, Fraction]
"""The entries of a row that are not 0, by column."""


def solve(rows: Sequence[Row], right: Sequence[Fraction], unknowns: int) -> list[Fraction] | None:
    """The one solution of these equations; None if there is none, or more than one."""
    system = [(dict(row), value) for row, value in zip(rows, right, strict=True)]
    pivots: list[tuple[int, Row, Fraction]] = []
    while system:
        # The row with the fewest entries: what is sparse stays sparse.
        at = min(range(len(system)), key=lambda i: len(system[i][0]))
        row, value = system.pop(at)
        if not row:
            if value != 0:
                return None
            continue
        column = min(row, key=lambda c: (sum(c in other for other, _ in system), c))
        factor = row.pop(column)
        row = {c: entry / factor for c, entry in row.items()}
        value /= factor
        pivots.append((column, row, value))
        for i, (other, its) in enumerate(system):
            times = other.pop(column, None)
            if times is None:
                continue
            for c, entry in row.items():
                new = other.get(c, 0) - times * entry
                if new == 0:
                    other.pop(c, None)
                else:
                    other[c] = Fraction(new)
            system[i] = (other, its - times * value)
    if len(pivots) < unknowns:
        return None
    found: dict[int, Fraction] = {}
    for column, row, value in reversed(pivots):
        found[column] = value - sum(
            (entry * found[c] for c, entry in row.items()), start=Fraction(0)
        )
    return [found[c] for c in range(unknowns)]
