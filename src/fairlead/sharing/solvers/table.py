"""The highest level of some groups at once where they are few: a simplex on one small table.

HiGHS takes a third of a millisecond to be told a program, however small. A program with few pairs
is a table of some hundred or thousand numbers, and a pivot one outer product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.rise import Basis, Rise, Risen
from fairlead.sharing.solvers.crash import crash

# Numbers in a table, and in the tables of all pivots, above which HiGHS is the faster.
MOST_NUMBERS = 60_000
_MOST_WORK = 500_000
_MOST_PIVOTS = 40
_TURNS = 16  # at the start: a turn takes as long as two pivots
# Shares and what is left of capacities are of the order of 1, rows of prices add up to 1.
_NOTHING = 1e-11
_GAIN = 1e-12
_ROUNDING = 1e-13  # what is less of a share is none
_PIVOT = 1e-9
# How closely the prices must prove the level.
_PROVEN = 1e-12
_SUM_ROUNDING = 4 * np.finfo(np.float64).eps  # of a sum of some terms, as a part of them


@dataclass
class _Table:
    """Basic variables as what is left when the others are 0: basic = last column - rest · others.

    Variables are numbered: the pairs, the level (how far it is above the start), the slacks.
    """

    numbers: Floats
    rows: Ints  # the basic variable of each row
    columns: Ints

    def exchange(self, rows: Ints, columns: Ints) -> None:
        """These basic variables for those others. LinAlgError where that is no basis."""
        numbers = self.numbers
        inverse = np.linalg.inv(numbers[rows[:, None], columns])
        if not np.abs(inverse).max() < 1 / _PIVOT:
            raise np.linalg.LinAlgError("singular but for rounding")
        top = inverse @ numbers[rows]
        top[:, columns] = inverse
        left = numbers[:, columns]
        numbers[:, columns] = 0.0
        numbers -= left @ top
        numbers[rows] = top
        self.rows[rows], self.columns[columns] = self.columns[columns], self.rows[rows]

    def pivot(self, row: int, column: int) -> None:
        """This basic variable for that other."""
        numbers = self.numbers
        by = 1.0 / numbers[row, column]
        top = numbers[row] * by
        top[column] = by
        left = numbers[:, column, None].copy()
        numbers[:, column] = 0.0
        numbers -= left * top
        numbers[row] = top
        self.rows[row], self.columns[column] = self.columns[column], self.rows[row]

    def leaves(self, column: int) -> int:
        """The row of the variable that is 0 first when this other grows; -1 where none is."""
        grows, left = self.numbers[:, column], self.numbers[:, -1]
        some = np.flatnonzero(grows > _PIVOT)
        if len(some) == 0:
            return -1
        ratio = np.maximum(left[some], 0.0) / grows[some]
        near = some[ratio <= ratio.min() + _NOTHING]
        return int(near[grows[near].argmax()])


def rise(problem: Rise) -> Risen | None:
    """The highest level with its proof; None where this is too large for a table, or the table did
    not end as it should."""
    if problem.most_on is not None:
        return None
    several = np.bincount(problem.places[0], minlength=len(problem.use)) > 1
    rows = problem.capacity.size + np.count_nonzero(several)
    if rows * (len(problem.places[0]) - len(several) + 2) > MOST_NUMBERS:
        return None
    # Numbers that lie too far apart overflow, and prove nothing then.
    with np.errstate(all="ignore"):
        if problem.basis is not None and problem.least > 0:
            risen = _rise(problem, several, problem.basis, problem.least, problem.least)
            if risen is not None:
                return risen
        if problem.base.any() or not problem.rate.all():
            return None  # where they stand may be out of reach from where they would be put
        unit, level_unit = problem.units()
        return _rise(problem, several, crash(problem, unit, _TURNS), 0.0, level_unit)


def _rise(
    problem: Rise, several: Bools, basis: Basis, least: float, level_unit: float
) -> Risen | None:
    """The highest level, from this basis, which must have room for everybody at `least`.

    `several` (G,): who has more than one pair. The others take what they must have, and need no
    row.
    """
    group, machine_class = problem.places
    pairs, (size, classes) = len(group), problem.pairs.shape
    resources, cells = problem.capacity.shape[1], problem.capacity.size
    unit = problem.base + problem.rate * level_unit
    scarce = problem.capacity > 0
    inverse = np.divide(1.0, problem.capacity, out=np.zeros((classes, resources)), where=scarce)
    load = (problem.use * unit[:, None])[group] * inverse[machine_class]
    # One pair of each group is basic from the start and what its other pairs leave.
    basic = basis.pairs[group, machine_class]
    some = np.flatnonzero(basic)
    first = np.searchsorted(group[some], np.arange(size))
    if len(some) < size or first[-1] == len(some) or (group[some[first]] != np.arange(size)).any():
        return None
    key = some[first]
    basic[key] = False
    is_other = np.ones(pairs, dtype=np.bool_)
    is_other[key] = False
    other = np.flatnonzero(is_other)
    column = np.arange(len(other))
    # Rows: what is left of capacities, class by class, then the first pairs of groups with others.
    number = int(np.count_nonzero(several))
    row_of = several.cumsum() + (cells - 1)
    numbers = np.zeros((cells + number, len(other) + 2))
    of_class = numbers[:cells].reshape(classes, resources, -1)
    of_class[machine_class[other], :, column] = load[other]
    instead = key[group[other]]
    of_class[machine_class[instead], :, column] -= load[instead]
    numbers[row_of[group[other]], column] = 1.0
    rate = problem.rate * level_unit / unit
    now = np.ones(size) if least else np.zeros(size)
    numbers[cells:, -2], numbers[cells:, -1] = -rate[several], now[several]
    cell = ((machine_class[key] * resources)[:, None] + np.arange(resources)).ravel()
    taken = load[key]
    numbers[:cells, -2] = np.bincount(cell, (taken * rate[:, None]).ravel(), minlength=cells)
    full = np.bincount(cell, (taken * now[:, None]).ravel(), minlength=cells)
    numbers[:cells, -1] = 1.0 - full
    table = _Table(
        numbers,
        np.concatenate([np.arange(pairs + 1, pairs + 1 + cells), key[several]]),
        np.append(other, pairs),
    )
    tight = np.flatnonzero(~basis.slack.ravel() & scarce.ravel())
    entering = np.flatnonzero(basic[other])
    if len(tight) == len(entering) + 1:
        entering = np.append(entering, len(other))
    if not _climbs(table, tight, entering, pairs):
        return None
    return _risen(problem, table, key[~several], unit, inverse, least, level_unit)


def _climbs(table: _Table, tight: Ints, entering: Ints, level: int) -> bool:
    """Whether the table could be brought to its optimum."""
    if len(tight) != len(entering):
        return False
    if len(tight):
        try:
            table.exchange(tight, entering)
        except np.linalg.LinAlgError:
            return False
        if not table.numbers[:, -1].min() >= -_NOTHING:
            return False
    if table.columns[-1] == level:
        row = table.leaves(-2)
        if row < 0:
            return False
        table.pivot(row, len(table.columns) - 1)
    at = int(np.flatnonzero(table.rows == level)[0])
    for _ in range(min(_MOST_PIVOTS, _MOST_WORK // table.numbers.size)):
        gain = table.numbers[at, :-1]
        column = int(gain.argmin())
        if gain[column] >= -_GAIN:
            return True
        row = table.leaves(column)
        if row < 0:
            return False
        table.pivot(row, column)
    return False


def _risen(
    problem: Rise,
    table: _Table,
    alone: Ints,
    unit: Floats,
    inverse: Floats,
    least: float,
    level_unit: float,
) -> Risen | None:
    """What the table says in the problem's units; None where its prices do not prove its level.
    `alone`: the pairs that are all that their groups have."""
    group, machine_class = problem.places
    pairs, cells = len(group), problem.capacity.size
    value = np.where(table.numbers[:, -1] > _ROUNDING, table.numbers[:, -1], 0.0)
    is_pair = table.rows < pairs
    held = table.rows[is_pair]
    share = np.zeros(problem.pairs.shape)
    share[group[held], machine_class[held]] = value[is_pair] * unit[group[held]]
    at = int(np.flatnonzero(table.rows == pairs)[0])
    level = least + float(table.numbers[at, -1]) * level_unit
    only = group[alone]
    share[only, machine_class[alone]] = (problem.base + problem.rate * level)[only]
    price = np.zeros(cells)
    is_slack = table.columns > pairs
    gain = table.numbers[at, :-1][is_slack]
    price[table.columns[is_slack] - pairs - 1] = np.where(gain > _GAIN, gain, 0.0)
    price = price.reshape(problem.capacity.shape) * inverse
    cost = np.einsum("pr,pr->p", problem.use[group], price[machine_class])
    worth = np.minimum.reduceat(cost, problem.first)
    total = float(worth @ problem.rate)
    all_worth = float((price * problem.capacity).sum())
    # What those hold who rise no more is subtracted: what is left may be nothing but rounding.
    proven = all_worth - float(worth @ problem.base) + _SUM_ROUNDING * all_worth
    if not (total > 0 and proven <= total * level * (1 + _PROVEN)):
        return None
    basic = np.zeros(problem.pairs.shape, dtype=np.bool_)
    basic[group[held], machine_class[held]] = True
    basic[only, machine_class[alone]] = True
    slack = np.zeros(cells, dtype=np.bool_)
    slack[table.rows[table.rows > pairs] - pairs - 1] = True
    return Risen(level, share, price, worth, Basis(basic, slack.reshape(price.shape)))
