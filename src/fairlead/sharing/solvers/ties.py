"""Which of several scarce things is the scarcest, where they would run out almost together."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from fairlead.sharing.problem import Floats
from fairlead.sharing.solvers.scaled import Program, System

# Of a system scaled to a diagonal of 1: prices along such a direction are all as good, so far.
_SINGULAR = 1e-8
# A price below this part of the largest, at a vertex, is none.
_ZERO = 1e-9


@dataclass(frozen=True)
class Tie:
    """The level that prices of one vertex prove, and what of each capacity it then takes."""

    level: float
    price: Floats  # (C, R)
    group: Floats  # (G,)
    load: Floats  # (C, R)


def break_tie(program: Program, system: System, p: Floats, y: Floats) -> Tie | None:
    """The prices with the least bound among all at which the shares cost what they are worth.

    An interior point lies amid all prices that are optimal to its tolerance. Where four resources
    run out within 1e-7 of each other all four have a price there, and no shares use up all four.
    None where the bound has no least value, or less would have to be left than nothing.
    """
    size, vectors = np.linalg.eigh(system.matrix)
    along = vectors[:, size < _SINGULAR]
    if along.shape[1] == 0:
        return None
    prices = np.zeros((along.shape[1], *p.shape))
    prices[:, system.row] = (along * system.scale[:, None]).T
    groups = []
    for direction in prices:
        level = -float(system.border @ direction[system.row]) / system.square
        moved = (system.theta * program.cost(direction)).sum(axis=1)
        groups.append((moved + program.rate * level) / system.total)
    worth = np.array(groups)
    slope = prices.sum(axis=(1, 2)) - worth @ program.base
    moves = _least(slope, prices[:, system.row], p[system.row])
    if moves is None:
        return None
    price = np.maximum(p + np.tensordot(moves, prices, axes=1), 0.0)
    price = np.where(price > _ZERO * price.max(), price, 0.0)
    group = y + moves @ worth
    level = float(price.sum() - program.base @ group) / program.number
    # What must be left of the things that have no price any more, spread as evenly as can be.
    left = prices.sum(axis=(1, 2)) - worth @ (program.base + program.rate * level)
    free = system.row & (price == 0)
    spread, *_ = np.linalg.lstsq(prices[:, free], left, rcond=1e-9)
    load = np.ones(p.shape)
    load[free] -= spread
    return None if (load > 1.0).any() else Tie(level, price, group, load)


def _least(slope: Floats, directions: Floats, start: Floats) -> Floats | None:
    """How far to go along each direction for the least slope·moves with all prices >= 0."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]  # not in its stubs
    highs.setOptionValue("output_flag", False)
    number, rows = directions.shape
    none = np.zeros(0, dtype=np.int32)
    most = np.full(rows, highspy.kHighsInf)
    highs.addRows(rows, -start, most, 0, np.zeros(rows, dtype=np.int32), none, np.zeros(0))
    largest = abs(slope).max()
    highs.addCols(
        number,
        slope / largest if largest > 0 else slope,
        np.full(number, -highspy.kHighsInf),
        np.full(number, highspy.kHighsInf),
        directions.size,
        np.arange(number, dtype=np.int32) * rows,
        np.tile(np.arange(rows, dtype=np.int32), number),
        directions.ravel(),
    )
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(highs.getSolution().col_value)
