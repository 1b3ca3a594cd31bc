"""A filling's claims, proved again in rationals from its structure.

A round says who froze, what was scarce, and which jobs had several classes that cost the same. The
prices follow from that alone, and with them the level, whoever freezes, and the places that are
closed from then on; the jobs' places and what they use up give the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from fairlead.sharing.filling.fill import fill
from fairlead.sharing.filling.rounds import Filling, FillingRound
from fairlead.sharing.numbers.amounts import nearest, rationals
from fairlead.sharing.problem.problem import Problem
from tests.tolerances import EXACT

NONE = fmpq(0)
Pair = tuple[int, int]


def proved(
    problem: Problem, scale: Iterable[Any], weight: Iterable[Any], filling: Filling
) -> Filling:
    """The filling, once all that it claims is seen to follow from its structure."""
    proof = _Proof(problem, rationals(scale), rationals(weight))
    for found in filling.rounds:
        proof.round(found)
    proof.end(filling)
    return filling


def filled(problem: Problem, *, merge: bool = True) -> Filling:
    """The filling by the jobs' stand-alone numbers, which holds what it claims."""
    weight = problem.tree.weight
    return proved(problem, problem.alone, weight, fill(problem, problem.alone, weight, merge=merge))


def rates(problem: Problem, weight: Sequence[fmpq], active: Iterable[int]) -> dict[int, fmpq]:
    """The rate of each active job: a tenant's rate is split among its active children."""
    tree = problem.tree
    children: dict[int, dict[tuple[str, int], fmpq]] = {}
    for job in active:
        node = int(tree.job_tenant[job])
        children.setdefault(node, {})["job", job] = fmpq(1)
        while node >= 0:
            above = int(tree.parent[node])
            children.setdefault(above, {})["tenant", node] = weight[node]
            node = above
    found: dict[int, fmpq] = {}

    def split(node: int, rate: fmpq | None) -> None:
        below = children.get(node, {})
        whole = sum(below.values(), NONE)
        for (kind, index), part in below.items():
            own = part if rate is None else rate * part / whole
            if kind == "job":
                found[index] = own
            else:
                split(index, own)

    split(-1, None)
    return found


@dataclass
class _Proof:
    """The rounds as far as they are proved."""

    problem: Problem
    scale: list[fmpq]
    weight: list[fmpq]

    def __post_init__(self) -> None:
        usable = self.problem.usable
        jobs, classes = usable.shape
        self.demand = [[int(x) for x in row] for row in self.problem.amounts.demand.tolist()]
        self.open = {
            j: [c for c in range(classes) if usable[j, c]] for j in range(jobs) if self.scale[j] > 0
        }
        self.open = {j: there for j, there in self.open.items() if there}
        self.usable = {j: list(there) for j, there in self.open.items()}
        self.active = set(self.open)
        self.rate = rates(self.problem, self.weight, self.active)
        self.share = [NONE] * jobs
        self.level = NONE

    def there_is(self, row: tuple[str, int, int]) -> fmpq:
        """The amount that there is of a row."""
        kind, first, second = row
        amounts = self.problem.amounts
        if kind == "on":
            return fmpq(int(amounts.capacity[first, second]) * int(self.problem.count[first]))
        if kind == "spread":
            return fmpq(int(self.problem.count[second]))
        if kind == "tasks":
            tasks = amounts.tasks[first]
            assert tasks is not None
            return tasks
        return amounts.limits[first]

    def round(self, found: FillingRound) -> None:
        """The level follows, everyone freezes who must, and the places are closed that cost more
        than their jobs are worth."""
        kinds = {row[0] for row in found.scarce}
        if kinds & {"tasks", "limit"}:
            (row,) = found.scarce
            assert not found.even
            price = {row: fmpq(1)}
            worth = self._number(row)
        else:
            price = self._prices(found)
            worth = {
                j: min(self._cost(price, j, c) for c in there) for j, there in self.open.items()
            }
        bound = sum((each * self.there_is(row) for row, each in price.items()), NONE)
        held = sum(
            (each * self.scale[j] * self._reached(j, NONE) for j, each in worth.items()), NONE
        )
        rise = sum(
            (worth[j] * self.scale[j] * self.rate[j] for j in worth if j in self.active), NONE
        )
        assert rise > 0
        level = (bound - held) / rise
        assert level == found.level
        assert level >= self.level
        assert found.share == nearest(level)
        stopped = {j for j in self.active if worth.get(j, NONE) > 0}
        assert sorted(stopped) == sorted(found.frozen.tolist())
        self._shown(found, price, rise)
        self._freeze(stopped, level)
        if not kinds & {"tasks", "limit"}:
            for j, there in self.open.items():
                self.open[j] = [c for c in there if self._cost(price, j, c) == worth[j]]

    def _number(self, row: tuple[str, int, int]) -> dict[int, fmpq]:
        kind, first, _ = row
        if kind == "tasks":
            return {first: fmpq(1)}
        limit = self.problem.tree.limits[first]
        return {
            j: fmpq(self.demand[j][limit.resource])
            for j in self.open
            if limit.tenant in self._above(j) and self.demand[j][limit.resource]
        }

    def _above(self, job: int) -> list[int]:
        tree, node, found = self.problem.tree, int(self.problem.tree.job_tenant[job]), []
        while node >= 0:
            found.append(node)
            node = int(tree.parent[node])
        return found

    def _prices(self, found: FillingRound) -> dict[tuple[str, int, int], fmpq]:
        """The only prices, up to a factor, by which the even places cost the same: all above 0."""
        rows = list(found.scarce)
        assert len(set(rows)) == len(rows)
        equations = []
        for j, classes in found.even:
            assert set(classes) <= set(self.open[j])
            unit = [[self._takes(row, j, c) for row in rows] for c in classes]
            equations += [[a - b for a, b in zip(one, unit[0], strict=True)] for one in unit[1:]]
        free = fmpq_mat(len(equations), len(rows), [fmpq(x) for row in equations for x in row])
        solved, rank = free.rref()
        assert rank == len(rows) - 1, "the prices do not follow"
        found_prices = [NONE] * len(rows)
        pivots = [next(c for c in range(len(rows)) if solved[r, c]) for r in range(rank)]
        (loose,) = set(range(len(rows))) - set(pivots)
        found_prices[loose] = fmpq(1)
        for r, c in enumerate(pivots):
            found_prices[c] = -solved[r, loose]
        assert all(each > 0 for each in found_prices)
        return dict(zip(rows, found_prices, strict=True))

    def _takes(self, row: tuple[str, int, int], j: int, c: int) -> int:
        kind, first, second = row
        if kind == "on":
            return self.demand[j][second] if first == c else 0
        return int((first, second) == (j, c))

    def _cost(self, price: dict[tuple[str, int, int], fmpq], j: int, c: int) -> fmpq:
        return sum((each * self._takes(row, j, c) for row, each in price.items()), NONE)

    def _reached(self, j: int, level: fmpq) -> fmpq:
        """The share at a level; a job that rises starts from where its line meets level 0."""
        if j not in self.active:
            return self.share[j]
        return self.share[j] + self.rate[j] * (level - self.level)

    def _freeze(self, stopped: set[int], level: fmpq) -> None:
        for j in self.active:
            self.share[j] = self._reached(j, level)
        self.level = level
        self.active -= stopped
        self.rate = rates(self.problem, self.weight, self.active)

    def _shown(
        self, found: FillingRound, price: dict[tuple[str, int, int], fmpq], rise: fmpq
    ) -> None:
        """Prices for people are those, and what earlier rounds add to them; they hold for every
        place that a job may use."""
        problem = self.problem
        parts = problem.amounts.parts
        rate = np.zeros(len(self.share))
        for j in self.active:
            rate[j] = nearest(self.rate[j])
        assert abs(found.job_price @ rate - 1) < EXACT
        for each in (found.job_price, found.price, found.task_price, found.limit_price):
            assert (each >= 0).all()
        assert all(each > 0 for each in found.spread_price.values())
        for (kind, first, second), exact in price.items():
            wanted = nearest(exact / rise)
            if kind == "on":
                shown = float(found.price[first, second]) / parts[second]
            elif kind == "spread":
                shown = found.spread_price[first, second]
            elif kind == "tasks":
                shown = float(found.task_price[first])
            else:
                limit = problem.tree.limits[first]
                shown = float(found.limit_price[first]) / parts[limit.resource]
            assert shown >= wanted * (1 - EXACT)
        for j, there in self.usable.items():
            if not found.job_price[j]:
                continue
            worth = found.job_price[j] / nearest(self.scale[j])
            numbers = float(found.task_price[j]) + sum(
                float(found.limit_price[index]) * problem.demand[j, limit.resource]
                for index, limit in enumerate(problem.tree.limits)
                if limit.tenant in self._above(j)
            )
            for c in there:
                cost = numbers + float(problem.demand[j] @ found.price[c])
                cost += found.spread_price.get((j, c), 0.0)
                assert cost >= worth * (1 - EXACT)

    def end(self, filling: Filling) -> None:
        """All froze; the tasks follow from their places and what these use up, and fit."""
        assert not self.active
        assert list(filling.share) == self.share
        tasks = self._tasks(filling)
        for j, exact in enumerate(self.share):
            whole = sum((each for (i, _), each in tasks.items() if i == j), NONE)
            assert whole == exact * self.scale[j]
            for c, shown in enumerate(filling.tasks[j].tolist()):
                wanted = nearest(tasks.get((j, c), NONE))
                assert abs(shown - wanted) <= 1e-15 * 8 * wanted
        assert all(each >= 0 for each in tasks.values())
        problem = self.problem
        for c in range(len(problem.count)):
            for r in range(len(problem.resources)):
                used = sum(
                    (each * self.demand[j][r] for (j, d), each in tasks.items() if d == c), NONE
                )
                assert used <= self.there_is(("on", c, r))
        for (j, c), each in tasks.items():
            assert c in self.open[j]
            assert not problem.spread[j] or each <= int(problem.count[c])
        held = [share * scale for share, scale in zip(self.share, self.scale, strict=True)]
        for each, most in zip(held, problem.amounts.tasks, strict=True):
            assert most is None or each <= most
        for index, limit in enumerate(problem.tree.limits):
            used = sum((held[j] * x for j, x in self._number(("limit", index, 0)).items()), NONE)
            assert used <= problem.amounts.limits[index], limit

    def _tasks(self, filling: Filling) -> dict[Pair, fmpq]:
        """The only tasks that are in these places and use these rows up."""
        entries = filling.places
        unknown = [(e, c) for e, (_, classes) in enumerate(entries) for c in classes]
        at = {pair: index for index, pair in enumerate(unknown)}
        assert len(filling.full) == len(unknown) - len(entries)
        part: list[dict[int, fmpq]] = []  # what of a task of an entry's first job each has
        right: list[fmpq] = []
        rows: list[list[fmpq]] = []
        for e, (jobs, classes) in enumerate(entries):
            first = self.demand[jobs[0]]
            by = [fmpq(self.demand[j][_need(first)], first[_need(first)]) for j in jobs]
            for j, times in zip(jobs, by, strict=True):
                assert [fmpq(x) for x in self.demand[j]] == [times * x for x in first]
            all_of_it = [self.share[j] * self.scale[j] * b for j, b in zip(jobs, by, strict=True)]
            whole = sum(all_of_it, NONE)
            assert whole > 0
            # A class's bundles are the jobs' in the proportion of what they have in all.
            part.append({j: self.share[j] * self.scale[j] / whole for j in jobs})
            rows.append([fmpq(int(pair[0] == e)) for pair in unknown])
            right.append(whole)
            assert len(set(classes)) == len(classes)
        placed = [j for jobs, _ in entries for j in jobs]
        assert sorted(placed) == sorted(set(placed))
        assert {j for j, each in enumerate(self.share) if each} <= set(placed)
        for row in filling.full:
            kind, first_index, second = row
            line = [NONE] * len(unknown)
            for e, (jobs, classes) in enumerate(entries):
                if kind == "on" and first_index in classes:
                    line[at[e, first_index]] = fmpq(self.demand[jobs[0]][second])
                elif kind == "spread" and jobs == (first_index,) and second in classes:
                    line[at[e, second]] = fmpq(1)
            rows.append(line)
            right.append(self.there_is(row))
        size = len(unknown)
        if not size:
            return {}
        matrix = fmpq_mat(size, size, [x for row in rows for x in row])
        solved = matrix.solve(fmpq_mat(size, 1, right))
        return {
            (j, c): solved[at[e, c], 0] * times
            for e, (_, classes) in enumerate(entries)
            for c in classes
            for j, times in part[e].items()
        }


def _need(demand: Sequence[int]) -> int:
    return next(r for r, need in enumerate(demand) if need)
