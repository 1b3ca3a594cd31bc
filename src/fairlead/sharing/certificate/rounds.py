"""The heart of the check: the level of every round, from the equations that its prices satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from flint import fmpq, fmpz

from fairlead.model.errors import CertificateError
from fairlead.model.proof import Round
from fairlead.sharing.certificate.arithmetic import NONE, nearest, proportions
from fairlead.sharing.certificate.arrays import Ints
from fairlead.sharing.certificate.scarce import Row, Rows
from fairlead.sharing.numbers.sums import total

# A cost is a sum of products without signs, so doubles are off by some roundings of its own size.
# Costs further apart than this, relative, are in that order; the others are compared exactly.
SURE = 1e-12
# Prices further apart than this may be nothing in doubles, which then decide nothing.
FAR = 1e-250

Terms = list[tuple[fmpq, fmpq]]
"""A share as a sum of levels, each times something: (level, times)."""


class Filling:
    """The rounds as far as they were checked: who rises, what is frozen, which places are open.

    Let S be all allocations that give everybody at least what he has now. A place that is closed
    carries nothing in any of them, and who is frozen has exactly his share in all of them.
    """

    def __init__(self, rows: Rows, weight: Sequence[fmpq], scale: Sequence[fmpq]) -> None:
        self.rows, self._weight, self.scale = rows, weight, scale
        self.level = NONE
        self.active = {job for job, each in enumerate(scale) if each > 0}
        self.open = (
            rows.classes.usable & np.array([each > 0 for each in scale], dtype=np.bool_)[:, None]
        )
        self._places = self.open.sum(axis=1)
        self.rate: dict[int, fmpq] = {}
        for top in rows.tree.under:
            self.rate |= rows.tree.rates(weight, self.active, top)
        self._base: dict[int, fmpq] = {}  # share - rate * level of who rises, if not 0
        self.share: dict[int, Terms] = {}  # of who is frozen
        self.levels: list[fmpq] = []  # of each round
        self.priced: list[tuple[Row, ...]] = []  # what machines had too little of, by rounds

    def terms(self, job: int) -> tuple[Terms, fmpq]:
        """A job's share: a sum, and what it grows by with the level."""
        if job in self.active:
            base = self._base.get(job)
            return ([] if base is None else [(fmpq(1), base)]), self.rate[job]
        return self.share.get(job, []), NONE

    def check(self, each: Round, where: str) -> None:
        """The next round. Raises CertificateError with the first thing that does not hold."""
        rows = self.rows.all_rows(each.scarce, where)
        if not rows:
            raise CertificateError(f"{where}: nothing is scarce")
        if any(row[0] in ("tasks", "limit") for row in rows):
            if len(rows) > 1 or each.even:
                raise CertificateError(f"{where}: a number stops jobs by itself")
            worth = self._by_number(rows[0])
            price = {rows[0]: fmpz(1)}
            closed = None
        else:
            price = self._prices(each, rows, where)
            worth, closed = self._by_machines(price)
            self.priced.append(tuple(rows))
        level = self._level(price, worth, where)
        if level < self.level:
            raise CertificateError(f"{where}: its level is below that of the round before")
        if each.share != nearest(level):
            raise CertificateError(
                f"{where}: its share is {each.share!r}, and its prices say {nearest(level)!r}"
            )
        self._freeze(each, worth, level, where)
        if closed is not None:
            self.open[closed] = False
            self._places = self.open.sum(axis=1)

    def _by_number(self, row: Row) -> dict[int, fmpz]:
        """The worth of a task of each job where a number is all that is scarce."""
        if row[0] == "tasks":
            return {row[1]: fmpz(1)}
        return {job: fmpz(need) for job, need in self.rows.tree.caps[row[1]].takes.items()}

    def _prices(self, each: Round, rows: Sequence[Row], where: str) -> dict[Row, fmpz]:
        """The prices by which tasks of each job of `even` cost the same on all its classes."""
        at = {row: index for index, row in enumerate(rows)}
        on: dict[int, list[Row]] = {}
        for row in rows:
            on.setdefault(row[1], []).append(row)
        equations = []
        for places in each.even:
            if len(places.jobs) != 1 or len(places.classes) < 2:
                raise CertificateError(f"{where}: `even` is one job, and two classes or more")
            job = self.rows.job(places.jobs[0], where)
            first, *others = self.rows.columns(places.classes, job, where)
            if not all(self.open[job, column] for column in (first, *others)):
                raise CertificateError(
                    f"{where}: job {places.jobs[0]} is even where an earlier round has ruled it out"
                )
            for column in others:
                equation: dict[int, int] = {}
                for sign, there in ((1, column), (-1, first)):
                    for row in on.get(there, ()):
                        takes = self.rows.takes(row, job, there)
                        if takes:
                            equation[at[row]] = equation.get(at[row], 0) + sign * takes
                equations.append(equation)
        found = proportions(equations, len(rows))
        if found is None:
            raise CertificateError(f"{where}: what is even does not say the prices")
        sign = 1 if found[0] > 0 else -1
        if not all(sign * price > 0 for price in found):
            raise CertificateError(f"{where}: a price is not above 0")
        return {row: sign * price for row, price in zip(rows, found, strict=True)}

    def _by_machines(self, price: Mapping[Row, fmpz]) -> tuple[dict[int, fmpz], tuple[Ints, Ints]]:
        """The worth of a task of each job: what it costs where that is least; and the open places
        (jobs, classes) that cost more. Jobs that are not named are worth nothing."""
        rows = self.rows
        columns = sorted({row[1] for row in price})
        index = {column: i for i, column in enumerate(columns)}
        top = int(max(price.values()))
        near = np.zeros((len(columns), len(rows.seen.resources)))
        spread: dict[tuple[int, int], float] = {}
        for (kind, column, second), each in price.items():
            if kind == "on":
                # Demands are in doubles as they are written, prices per part.
                near[index[column], second] = nearest(fmpq(each * rows.seen.parts[second], top))
            else:
                spread[second, index[column]] = int(each) / top
        usable = self.open[:, columns]
        with np.errstate(over="ignore", invalid="ignore"):  # then nothing is decided in doubles
            cost = rows.seen.demand @ near.T
        for (job, i), part in spread.items():
            cost[job, i] += part
        demand = rows.seen.demand
        tiniest = min(int(each) / top for each in price.values()) * demand[demand > 0].min()
        exact = not tiniest > FAR or not np.isfinite(cost).all()
        free = self._places > usable.sum(axis=1)  # somewhere where nothing costs anything
        least = np.where(usable, cost, np.inf).min(axis=1, initial=np.inf)
        least = np.where(free, 0.0, least)
        if exact:
            asked = usable
        else:
            asked = usable & (cost <= (least * (1.0 + SURE))[:, None]) & (least > 0)[:, None]
        closed = usable & ~asked & (cost > 0)
        worth: dict[int, fmpz] = {}
        by_job: dict[int, list[int]] = {}
        for job, i in np.argwhere(asked).tolist():
            by_job.setdefault(job, []).append(i)
        on: dict[int, list[tuple[Row, fmpz]]] = {}
        for row, each in price.items():
            on.setdefault(row[1], []).append((row, each))
        for job, places in by_job.items():
            costs = []
            for i in places:
                column = columns[i]
                found = fmpz(0)
                for row, each in on[column]:
                    takes = rows.takes(row, job, column)
                    if takes:
                        found = found + each * takes
                costs.append(found)
            cheapest = fmpz(0) if free[job] else min(costs)
            if cheapest > 0:
                worth[job] = cheapest
            for i, found in zip(places, costs, strict=True):
                closed[job, i] = found > cheapest
        jobs, at = np.nonzero(closed)
        return worth, (jobs, np.array(columns, dtype=np.int64)[at])

    def _level(self, price: Mapping[Row, fmpz], worth: Mapping[int, fmpz], where: str) -> fmpq:
        """The level at which what all have is worth all that there is."""
        held: dict[int, tuple[fmpq, list[fmpq]]] = {}
        rising = []
        for job, each in worth.items():
            terms, rate = self.terms(job)
            unit = self.scale[job] * each
            if rate != 0:
                rising.append(rate * unit)
            for level, times in terms:
                held.setdefault(id(level), (level, []))[1].append(times * unit)
        rise = total(rising)
        if not rise > 0:
            raise CertificateError(f"{where}: nobody who rises has a price")
        there = total([each * self.rows.there_is(row) for row, each in price.items()])
        return (there - total([level * total(times) for level, times in held.values()])) / rise

    def _freeze(self, each: Round, worth: Mapping[int, fmpz], level: fmpq, where: str) -> None:
        stopped = {job for job in worth if job in self.active}
        named = {self.rows.job(name, where) for name in each.frozen}
        names = self.rows.seen.names
        if len(named) != len(each.frozen):
            raise CertificateError(f"{where}: a job freezes twice")
        if wrong := named - stopped:
            job = min(wrong)
            how = "has no price" if job in self.active else "does not rise any more"
            raise CertificateError(f"{where}: job {names[job]} freezes, but {how}")
        if missing := stopped - named:
            raise CertificateError(
                f"{where}: job {names[min(missing)]} has a price and does not freeze"
            )
        self.level = level
        self.levels.append(level)
        tree = self.rows.tree
        tops = set()
        for job in named:
            terms, rate = self.terms(job)
            self.share[job] = [*terms, (level, rate)]
            tops.add(tree.top[int(tree.of_job[job])])
        for job in named:
            self.active.discard(job)
            del self.rate[job]
        for top in tops:
            for job, rate in tree.rates(self._weight, self.active, top).items():
                before = self.rate[job]
                if rate != before:
                    self._base[job] = self._base.get(job, NONE) + (before - rate) * level
                    self.rate[job] = rate


def check_rounds(
    rows: Rows, weight: Sequence[fmpq], scale: Sequence[fmpq], rounds: Iterable[Round]
) -> Filling:
    """The filling that these rounds are. Raises CertificateError where they are none, or not all of
    it."""
    filling = Filling(rows, weight, scale)
    for number, each in enumerate(rounds, 1):
        filling.check(each, f"round {number}")
    if filling.active:
        name = rows.seen.names[min(filling.active)]
        raise CertificateError(f"job {name} does not freeze in any round")
    return filling
