"""The rounds of progressive filling over groups: one growing linear program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.sharing.coalesce import Groups
from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.solvers.simplex import INFINITY, Simplex

# Pairs of a group and a class are entered at once up to here; beyond, only those that may matter.
_ALL_COLUMNS = 20_000
_FIRST_COLUMNS = 4
_MORE_COLUMNS = 3
# In scaled units the duals of the active groups add up to their number.
_REDUCED_COST = 1e-9
_POSITIVE_DUAL = 1e-5


@dataclass(frozen=True)
class Prices:
    """Multipliers of a round that hold for every pair of a group and a class exactly:
    use·price + task + limits' use·price + spread >= group, all per unit of the group's share."""

    capacity: Floats  # (C, R)
    task: Floats  # (G,)
    limit: Floats  # (L,)
    spread: Floats  # (G, C) or (0, 0) where nothing spreads
    group: Floats  # (G,)


class Rounds:
    """The linear program of all rounds so far. Its columns are shares of a group on a class."""

    def __init__(self, groups: Groups, rate: Floats) -> None:
        self.groups = groups
        alone = _alone(groups)
        # What everyone can have at once, each with its part of each machine: a level below the
        # first, and of its order of magnitude. In these units the first step is 1 or a bit more.
        self.unit = rate / (rate / alone).sum()
        self._lay_out_rows()
        lower = np.zeros(self._rows)
        upper = np.full(self._rows, INFINITY)
        use = self._scaled_use
        lower[len(rate) :] = -INFINITY
        upper[len(rate) :] = self._bounds
        self._simplex = Simplex(lower, upper)
        self._column = np.full(groups.usable.shape, -1, dtype=np.int64)
        self._pairs_group: list[Ints] = []
        self._pairs_class: list[Ints] = []
        if int(groups.usable.sum()) <= _ALL_COLUMNS:
            self._enter(groups.usable)
        else:
            start = use @ (1.0 / np.maximum(self._capacity_bound, 1e-300)).T
            self._enter(_cheapest(np.where(groups.usable, start, np.inf), _FIRST_COLUMNS))
        self._step: int | None = None
        self.pivots = 0

    def _lay_out_rows(self) -> None:
        """Rows: a share for each group; capacities that someone takes from; task counts; limits.

        Each is divided by its mean coefficient, so that 1 means much in any of them.
        """
        groups = self.groups
        size = len(groups.use)
        self._scaled_use = groups.use * self.unit[:, None]
        takers = groups.usable.T.astype(np.float64) @ (self._scaled_use > 0)
        mean = groups.usable.T.astype(np.float64) @ self._scaled_use
        taken = takers > 0
        mean[taken] /= takers[taken]
        mean[~taken] = 1.0
        self._capacity_scale = mean
        self._capacity_bound = groups.capacity / mean
        self._capacity_row = np.full(taken.shape, -1, dtype=np.int64)
        self._capacity_row[taken] = size + np.arange(taken.sum())
        finite = np.isfinite(groups.most)
        self._task_row = np.full(size, -1, dtype=np.int64)
        first = size + int(taken.sum())
        self._task_row[finite] = first + np.arange(finite.sum())
        self._first_limit = first + int(finite.sum())
        scaled = groups.limit_use * self.unit
        self._limit_scale = np.array(
            [row[row > 0].mean() if (row > 0).any() else 1.0 for row in scaled]
        )
        self._rows = self._first_limit + len(groups.limit)
        self._bounds = np.concatenate(
            [
                self._capacity_bound[taken],
                (groups.most / self.unit)[finite],
                groups.limit / self._limit_scale,
            ]
        )

    def _enter(self, pairs: Bools) -> None:
        """Adds the columns of these pairs of a group and a class, in order."""
        group, machine_class = np.nonzero(pairs)
        self._column[group, machine_class] = self._simplex.columns + np.arange(len(group))
        self._pairs_group.append(group)
        self._pairs_class.append(machine_class)
        rows: list[Ints] = [group]
        values: list[Floats] = [np.ones(len(group))]
        for resource in range(self.groups.use.shape[1]):
            rows.append(self._capacity_row[machine_class, resource])
            values.append(
                self._scaled_use[group, resource] / self._capacity_scale[machine_class, resource]
            )
        rows.append(self._task_row[group])
        values.append(np.ones(len(group)))
        for limit in range(len(self.groups.limit)):
            rows.append(np.full(len(group), self._first_limit + limit))
            values.append(
                (self.groups.limit_use[limit] * self.unit)[group] / self._limit_scale[limit]
            )
        row = np.array(rows).T
        value = np.array(values).T
        keep = (row >= 0) & (value > 0)
        self._simplex.add_columns(
            cost=np.zeros(len(group)),
            upper=self.groups.most_on[group, machine_class] / self.unit[group],
            starts=np.concatenate([[0], keep.sum(axis=1).cumsum()[:-1]]),
            rows=row[keep],
            values=value[keep],
        )

    def rise(self, rate: Floats) -> tuple[float, Prices]:
        """The step by which all groups with a rate can rise together, and the proof of it."""
        active = np.flatnonzero(rate > 0)
        scaled_rate = rate / self.unit
        # One unit of the step column is this much of a level: about what the first round takes.
        level_unit = 1.0 / scaled_rate[active].mean()
        step = self._simplex.columns
        self._simplex.add_columns(
            cost=np.array([-float(len(active))]),
            upper=np.array([INFINITY]),
            starts=np.array([0]),
            rows=active,
            values=-scaled_rate[active] * level_unit,
        )
        self._pairs_group.append(np.array([-1]))
        self._pairs_class.append(np.array([-1]))
        while True:
            solution = self._simplex.solve()
            self.pivots += solution.pivots
            prices, reduced = self._prices(solution.row_dual)
            missing = (self._column < 0) & self.groups.usable & (reduced < -_REDUCED_COST)
            if not missing.any():
                break
            self._enter(_cheapest(np.where(missing, reduced, np.inf), _MORE_COLUMNS))
        value = float(solution.column_value[step])
        self._simplex.fix_column(step, value)
        self.value = solution.column_value
        return value * level_unit, prices

    def _prices(self, row_dual: Floats) -> tuple[Prices, Floats]:
        """The prices, with every inequality that a dual must satisfy restored exactly, and the
        reduced costs (G, C) before that, in the solver's units."""
        groups = self.groups
        size = len(groups.use)
        dual = np.maximum(-row_dual, 0.0)
        capacity = np.zeros(self._capacity_row.shape)
        taken = self._capacity_row >= 0
        capacity[taken] = dual[self._capacity_row[taken]] / self._capacity_scale[taken]
        task = np.zeros(size)
        finite = self._task_row >= 0
        task[finite] = dual[self._task_row[finite]] / self.unit[finite]
        limit = dual[self._first_limit :] / self._limit_scale
        cost = groups.use @ capacity.T
        cost += (task + limit @ groups.limit_use)[:, None]
        group = np.maximum(row_dual[:size], 0.0) / self.unit
        reduced = (cost - group[:, None]) * self.unit[:, None]
        spreads = np.isfinite(groups.most_on[:, 0])
        cheapest = np.where(groups.usable, cost, np.inf).min(axis=1)
        group = np.where(spreads, group, cheapest)
        spread = np.zeros((0, 0))
        if spreads.any():
            spread = np.where(
                groups.usable & spreads[:, None], np.maximum(group[:, None] - cost, 0.0), 0.0
            )
        return Prices(capacity, task, limit, spread, group), reduced

    def shares(self) -> Floats:
        """(G, C) the share of each group on each class, after the last round."""
        result = np.zeros(self.groups.usable.shape)
        group = np.concatenate(self._pairs_group)
        machine_class = np.concatenate(self._pairs_class)
        real = group >= 0
        result[group[real], machine_class[real]] = np.maximum(self.value[real], 0.0)
        result *= self.unit[:, None]
        return result


def _alone(groups: Groups) -> Floats:
    """(G,) the share that each group could have alone."""
    fits = np.full(groups.usable.shape, np.inf)
    for resource in range(groups.use.shape[1]):
        needs = groups.use[:, resource] > 0
        fits[needs] = np.minimum(
            fits[needs], groups.capacity[None, :, resource] / groups.use[needs, resource, None]
        )
    fits = np.where(groups.usable, np.minimum(fits, groups.most_on), 0.0)
    alone: Floats = np.minimum(fits.sum(axis=1), groups.most)
    return alone


def _cheapest(cost: Floats, number: int) -> Bools:
    """(G, C) the finite entries among the `number` smallest of each row, ties by index."""
    if cost.shape[1] > number:
        order = np.argsort(cost, axis=1, kind="stable")[:, :number]
        chosen = np.zeros(cost.shape, dtype=np.bool_)
        np.put_along_axis(chosen, order, True, axis=1)
    else:
        chosen = np.ones(cost.shape, dtype=np.bool_)
    return chosen & np.isfinite(cost)
