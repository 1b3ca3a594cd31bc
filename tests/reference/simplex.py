"""An exact simplex over the rationals, for programs whose origin is feasible.

Every optimum is checked against the rows as they were given, by an exact dual solution, so its
answers do not rest on the pivoting being right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm

Row = Mapping[int, Fraction]


class Simplex:
    """Maximise one objective after another over x >= 0 and rows `sum(a x) <= b` with b >= 0.

    `maximise(..., keep=True)` restricts everything that follows to the optima found (a
    lexicographic optimum). Columns may be added at any time; they enter at zero.
    """

    def __init__(self, columns: int, rows: Sequence[tuple[Row, Fraction]]) -> None:
        self._rows = [(dict(row), Fraction(bound)) for row, bound in rows]
        if any(bound < 0 for _, bound in self._rows):
            raise ValueError("the origin must be feasible")
        # A line of the tableau is a sum of given rows, in whole numbers: a number for each
        # column and slack (`_place` tells where), then the right-hand side, then how many times
        # it holds the objective (0 except in the cost line). Since a slack has the coefficient 1
        # in its own row, a line's number at a slack is how many times it holds that row.
        self._slacks = list(range(columns, columns + len(rows)))
        self._place = list(range(columns))
        self._width = columns + len(rows)
        self._shut: set[int] = set()  # places that stay at zero from now on
        self._basis = list(self._slacks)
        self._lines: list[list[int]] = []
        for (row, bound), slack in zip(self._rows, self._slacks, strict=True):
            common = lcm(bound.denominator, *(value.denominator for value in row.values()))
            line = [0] * (self._width + 2)
            for column, value in row.items():
                line[column] = int(value * common)
            line[slack] = common
            line[-2] = int(bound * common)
            self._lines.append(line)

    def add_column(self, entries: Row) -> int:
        """The number of a new column with these coefficients in the rows given at the start."""
        common = lcm(1, *(value.denominator for value in entries.values()))
        whole = {row: int(value * common) for row, value in entries.items()}
        for i, line in enumerate(self._lines):
            held = sum(value * line[self._slacks[row]] for row, value in whole.items())
            self._lines[i] = [x * common for x in line[:-2]] + [held, line[-2] * common, 0]
        self._place.append(self._width)
        self._width += 1
        for row, value in entries.items():
            self._rows[row][0][len(self._place) - 1] = value
        return len(self._place) - 1

    def maximise(self, objective: Row, *, keep: bool = False) -> Fraction:
        """The largest value of the objective; `value(column)` then gives an optimum."""
        common = lcm(1, *(value.denominator for value in objective.values()))
        cost = [0] * (self._width + 2)
        cost[-1] = common
        for column, value in objective.items():
            cost[self._place[column]] = int(value * common)
        for line, basic in zip(self._lines, self._basis, strict=True):
            cost = _eliminate(cost, line, basic)
        while True:
            # Bland's rule, the first place that improves, so that it never cycles.
            entering = next(
                (p for p in range(self._width) if cost[p] > 0 and p not in self._shut), None
            )
            if entering is None:
                break
            cost = self._pivot(entering, cost)
        best = self._checked(objective, cost)
        if keep:
            self._shut |= {p for p in range(self._width) if cost[p] < 0}
        return best

    def value(self, column: int) -> Fraction:
        """The value of a column at the present point."""
        place = self._place[column]
        for line, basic in zip(self._lines, self._basis, strict=True):
            if basic == place:
                return Fraction(line[-2], line[basic])
        return Fraction(0)

    def _pivot(self, entering: int, cost: list[int]) -> list[int]:
        limits = [
            (Fraction(line[-2], line[entering]), self._basis[i], i)
            for i, line in enumerate(self._lines)
            if line[entering] > 0
        ]
        if not limits:
            raise ValueError("the objective has no bound")
        leaving = min(limits)[2]
        pivot = self._lines[leaving]
        for i, line in enumerate(self._lines):
            if i != leaving:
                self._lines[i] = _eliminate(line, pivot, entering)
        self._basis[leaving] = entering
        return _eliminate(cost, pivot, entering)

    def _checked(self, objective: Row, cost: list[int]) -> Fraction:
        """The optimum, after both solutions were seen to be feasible and of the same value."""
        zero = Fraction(0)
        x = [self.value(column) for column in range(len(self._place))]
        slack = [b - sum((a * x[j] for j, a in row.items()), zero) for row, b in self._rows]
        for value, place in zip(x + slack, self._place + self._slacks, strict=True):
            assert value == 0 if place in self._shut else value >= 0
        prices = [Fraction(-cost[place], cost[-1]) for place in self._slacks]
        paid = [zero] * len(x)
        bound = zero
        for price, (row, b) in zip(prices, self._rows, strict=True):
            bound += price * b
            for j, a in row.items() if price else ():
                paid[j] += price * a
        for price, place in zip(prices, self._slacks, strict=True):
            assert price >= 0 or place in self._shut
        for j, place in enumerate(self._place):
            assert paid[j] >= objective.get(j, zero) or place in self._shut
        best = sum((c * x[j] for j, c in objective.items()), zero)
        assert bound == best
        return best


def _eliminate(line: list[int], pivot: list[int], place: int) -> list[int]:
    """The line, times a positive number, less the pivot's line so that the place vanishes."""
    a, p = line[place], pivot[place]
    if a == 0:
        return line
    assert p > 0
    line = [x * p - y * a for x, y in zip(line, pivot, strict=True)]
    common = gcd(*line)
    return line if common <= 1 else [x // common for x in line]
