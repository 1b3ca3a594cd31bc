"""Systems of equations whose solution need not be written down: numbers near it, and how near."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from flint import fmpq

from fairlead.sharing.numbers.threads import one_thread

# Smaller systems are solved in rationals in no time.
FEW = 48
# What is off by less than one part in so many is the same double, or the next one.
NEAR = 1 << 60
# Numbers are whole multiples of this power of one half.
_FINE = 200


def enclose(
    cells: Iterable[tuple[int, int, int]], right: Sequence[fmpq]
) -> tuple[list[fmpq], fmpq] | None:
    """Numbers that are no farther from the solution than the last one says, for as many equations
    as unknowns, in whole cells (equation, unknown, factor); None where doubles cannot tell.

    With R near the inverse of A in doubles and |I - R A| < 1/2, by row sums that count rounding in,
    A is regular, and the solution is no farther from any x than 2 |R (b - A x)|: its distance is
    the sum of (I - R A)^k R (b - A x). What x leaves of b is computed in whole numbers.
    """
    size = len(right)
    rows: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    matrix = np.zeros((size, size))
    try:
        for row, column, factor in cells:
            rows[row].append((column, factor))
            matrix[row, column] = factor
        with np.errstate(all="ignore"), one_thread():
            inverse = np.linalg.inv(matrix)
            largest = np.abs(inverse)
            off = np.abs(np.eye(size) - inverse @ matrix)
            # A product of so many terms is rounded by less than this part of its terms' sizes.
            off += (size + 8) * 2.0**-52 * (largest @ np.abs(matrix))
            if not off.sum(axis=1).max() <= 0.49:
                return None
        # Rounded down, so that up to one more is left of each.
        wanted = [int((each.p << _FINE) // each.q) for each in right]
        found, before = [0] * size, np.inf
        while True:
            left = [
                much - sum(factor * found[column] for column, factor in row)
                for much, row in zip(wanted, rows, strict=True)
            ]
            doubles = np.array([float(each) for each in left])
            change = inverse @ doubles
            most = float(np.abs(change).max())
            if not 1.0 <= most < 0.5 * before:
                break
            before = most
            found = [much + round(each) for much, each in zip(found, change.tolist(), strict=True)]
        far = largest @ (np.abs(doubles) * 1.01 + 2.0)
        radius = int(2.1 * float(far.max())) + 1
    except (np.linalg.LinAlgError, OverflowError, ValueError):
        return None
    unit = fmpq(1, 1 << _FINE)
    return [much * unit for much in found], radius * unit
