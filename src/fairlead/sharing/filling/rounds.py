"""Rounds as they are told: who froze, what proves it, and prices for people in doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq

from fairlead.sharing.filling.corner import Corner, Row
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.kept_prices import Kept, Prices
from fairlead.sharing.filling.prices import Priced
from fairlead.sharing.numbers.amounts import nearest
from fairlead.sharing.problem.problem import Floats, Ints, Problem


@dataclass(frozen=True)
class FillingRound:
    """One round. `level` is what is reached.

    Prices are for people: in doubles, scaled so that sum(job_price * rate) over active jobs is 1,
    per unit of the resource (task, limit, machine) as written; they hold for every place that a job
    may use. What proves the round are the rows of `scarce` alone, with the places of `even`.
    """

    level: fmpq
    frozen: Ints  # jobs that froze in this round
    job_price: Floats  # (J,) multiplier of each share, per unit of share (tasks / scale)
    price: Floats  # (C, R)
    task_price: Floats  # (J,) of a finite job's last task
    limit_price: Floats  # (L,)
    spread_price: dict[tuple[int, int], float]  # (job, class), those above zero
    scarce: tuple[
        Row, ...
    ]  # ("on", class, resource), ("spread", job, class), ("tasks", job, 0), ("limit", limit, 0)
    even: tuple[tuple[int, tuple[int, ...]], ...] = ()  # a job, and two classes or more

    @property
    def share(self) -> float:
        """The level in doubles."""
        return nearest(self.level)


@dataclass(frozen=True)
class Filling:
    """Tasks of each job on each class of machines, and the rounds that led there.

    `places`: jobs, and the classes that they are on in the same proportions; `full`: what their
    tasks use up, one row for each class beyond the first of its jobs.
    """

    share: tuple[fmpq, ...]  # (J,)
    tasks: Floats  # (J, C)
    rounds: tuple[FillingRound, ...]
    places: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    full: tuple[Row, ...] = ()


class Telling:
    """The rounds of a filling as they are reported, each with the prices that earlier ones left."""

    def __init__(self, problem: Problem, groups: Groups, scale: Sequence[fmpq]) -> None:
        self._problem, self._groups = problem, groups
        # What a unit of a job's share is in bundles.
        self._bundles = [
            nearest(each) * size for each, size in zip(scale, groups.size, strict=True)
        ]
        self._prices = Prices(groups)

    def by_number(
        self, row: Row, stopped: Sequence[int], level: fmpq, rate: Sequence[fmpq]
    ) -> FillingRound:
        """A round in which tasks run out or a limit is reached; `rate` of the groups till then."""
        groups = self._groups
        kind, first, _ = row
        takes = {stopped[0]: 1} if kind == "tasks" else groups.caps[first].takes
        rise = nearest(sum((rate[g] * takes[g] for g in stopped), fmpq(0)))
        worth = {g: need / rise for g, need in takes.items()}
        task_price, limit_price = np.zeros(len(groups.group)), np.zeros(len(groups.caps))
        if kind == "tasks":
            task_price[first] = groups.size[first] / rise
        else:
            resource = self._problem.tree.limits[first].resource
            limit_price[first] = self._problem.amounts.parts[resource] / rise
        none = np.zeros(groups.room.shape)
        prices = self._job_price(worth), none, task_price, limit_price
        return FillingRound(level, self._frozen(stopped), *prices, {}, (row,))

    def by_machines(self, priced: Priced, corner: Corner, stopped: Sequence[int]) -> FillingRound:
        """A round in which machines stop these groups."""
        groups = self._groups
        top = max(priced.price.values())
        by = nearest(priced.rise / top)
        kept = Kept(
            {g: nearest(fmpq(each, top)) / by for g, each in priced.worth.items()},
            {row: nearest(fmpq(each, top)) / by for row, each in priced.price.items()},
            priced.closed,
            priced.over,
        )
        worth, rows = self._prices.complete(kept)
        self._prices.add(kept)
        table = np.zeros(groups.room.shape)
        spread: dict[tuple[int, int], float] = {}
        parts = self._problem.amounts.parts
        for (kind, first, second), each in rows.items():
            if kind == "on":
                table[first, second] = each * parts[second]
            else:
                job = groups.members[first][0]
                spread[job, second] = each * groups.size[job]
        classes = {first if kind == "on" else second for kind, first, second in priced.price}
        even = tuple(
            (groups.members[g][0], tuple(sorted(corner.places(g))))
            for g in corner.others
            if g in priced.worth and not classes.isdisjoint(corner.places(g))
        )
        scarce = tuple(
            (kind, groups.members[first][0] if kind == "spread" else first, second)
            for kind, first, second in sorted(priced.price)
        )
        no_task, no_limit = np.zeros(len(groups.group)), np.zeros(len(groups.caps))
        prices = self._job_price(worth), table, no_task, no_limit, spread
        return FillingRound(priced.level, self._frozen(stopped), *prices, scarce, even)

    def _job_price(self, worth: dict[int, float]) -> Floats:
        found = np.zeros(len(self._groups.group))
        for g, each in worth.items():
            for j in self._groups.members[g]:
                found[j] = each * self._bundles[j]
        return found

    def _frozen(self, stopped: Sequence[int]) -> Ints:
        jobs = [j for g in stopped for j in self._groups.members[g]]
        return np.array(sorted(jobs), dtype=np.int64)
