"""Rounds as they are told: who froze, what was scarce, and prices for people, in doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq

from fairlead.sharing.amounts import nearest, total
from fairlead.sharing.filling.corner import Corner, Row
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.kept import Kept, Prices
from fairlead.sharing.filling.prices import Priced
from fairlead.sharing.problem import Floats, Ints, Problem


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


class Told:
    """The rounds of one filling, which are told in their order: prices build on earlier ones."""

    def __init__(self, problem: Problem, groups: Groups, scale: Sequence[fmpq]) -> None:
        self._problem, self._groups = problem, groups
        self._prices = Prices(groups)
        # What a unit of a job's share is in bundles.
        self._bundles = [
            nearest(each) * size for each, size in zip(scale, groups.size, strict=True)
        ]

    def machines(self, priced: Priced, corner: Corner, stopped: Sequence[int]) -> FillingRound:
        """The round in which machines stopped these groups."""
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
        priced_classes = {first if kind == "on" else second for kind, first, second in priced.price}
        return FillingRound(
            priced.level,
            np.array(sorted(j for g in stopped for j in groups.members[g]), dtype=np.int64),
            self._of_jobs(worth),
            table,
            np.zeros(len(groups.group)),
            np.zeros(len(groups.caps)),
            spread,
            tuple(
                (kind, groups.members[first][0] if kind == "spread" else first, second)
                for kind, first, second in sorted(priced.price)
            ),
            tuple(
                (groups.members[g][0], tuple(sorted(classes)))
                for g, classes in corner.places.items()
                if len(classes) > 1 and priced.worth.get(g)
                if not priced_classes.isdisjoint(classes)
            ),
        )

    def number(
        self, row: Row, stopped: Sequence[int], level: fmpq, rate: Sequence[fmpq]
    ) -> FillingRound:
        """The round in which a job ran out of tasks, or a limit was reached: groups that rose at
        these rates. Who of their jobs froze is still to be said."""
        groups, problem = self._groups, self._problem
        task_price, limit_price = np.zeros(len(groups.group)), np.zeros(len(groups.caps))
        kind, first, _ = row
        takes = {stopped[0]: 1} if kind == "tasks" else groups.caps[first].takes
        rise = nearest(total([each * takes[g] for g, each in zip(stopped, rate, strict=True)]))
        if kind == "tasks":
            task_price[first] = groups.size[first] / rise
        else:
            resource = problem.tree.limits[first].resource
            limit_price[first] = problem.amounts.parts[resource] / rise
        return FillingRound(
            level,
            np.zeros(0, dtype=np.int64),
            self._of_jobs({g: each / rise for g, each in takes.items()}),
            np.zeros(groups.room.shape),
            task_price,
            limit_price,
            {},
            (row,),
        )

    def _of_jobs(self, worth: dict[int, float]) -> Floats:
        """What shares are worth where bundles of their groups are."""
        found = np.zeros(len(self._groups.group))
        for g, each in worth.items():
            for j in self._groups.members[g]:
                found[j] = each * self._bundles[j]
        return found
