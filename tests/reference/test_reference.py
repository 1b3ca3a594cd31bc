"""The reference's simplex against a solver in floating point.

That its shares, weights and rates are Fairlead's says tests/sharing/test_agreement.py, and that
these are the papers' tests/papers.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.reference.simplex import Row, Simplex


@pytest.mark.parametrize("seed", range(40))
def test_the_simplex_finds_lexicographic_optima(seed: int) -> None:
    random = Random(seed)
    columns = random.randint(1, 10)
    rows: list[tuple[Row, Fraction]] = [(dict.fromkeys(range(columns), Fraction(1)), Fraction(20))]
    for _ in range(random.randint(1, 8)):
        row = {
            column: Fraction(random.randint(-1, 3), random.randint(1, 4))
            for column in range(columns)
            if random.random() < 0.7
        }
        rows.append((row, Fraction(random.randint(0, 6))))
    first, second = (
        {column: Fraction(random.randint(-2, 5)) for column in range(columns)} for _ in range(2)
    )
    simplex = Simplex(columns, rows)
    best = simplex.maximise(first, keep=True)
    then = simplex.maximise(second)

    def dense(row: Row) -> list[float]:
        return [float(row.get(column, 0)) for column in range(columns)]

    matrix = np.array([dense(row) for row, _ in rows])
    bounds = [float(bound) for _, bound in rows]
    costs = -np.array([dense(first), dense(second)])
    one = linprog(costs[0], matrix, bounds)
    two = linprog(costs[1], matrix, bounds, costs[:1], [one.fun])
    assert float(best) == pytest.approx(-one.fun, abs=1e-7)
    assert float(then) == pytest.approx(-two.fun, abs=1e-6)


def test_a_column_may_be_added_later() -> None:
    simplex = Simplex(1, [({0: Fraction(1)}, Fraction(3)), ({0: Fraction(2)}, Fraction(4))])
    assert simplex.maximise({0: Fraction(1)}) == 2
    column = simplex.add_column({0: Fraction(2)})
    assert simplex.maximise({0: Fraction(1), column: Fraction(1)}) == Fraction(5, 2)
    assert [simplex.value(0), simplex.value(column)] == [2, Fraction(1, 2)]
