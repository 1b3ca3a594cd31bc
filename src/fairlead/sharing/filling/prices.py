"""The prices of a corner, its level and whom it stops: rationals, signs without tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpz

from fairlead.sharing.filling.corner import Corner, Row, blocks, differences, null_vector, there_is
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.progress import Progress
from fairlead.sharing.numbers.amounts import nearest
from fairlead.sharing.numbers.sums import total
from fairlead.sharing.problem.problem import Bools, Floats, Ints

# A cost in doubles is a sum of products without signs: it is right to a dozen roundings. Costs
# that differ by more than this, relative, differ in the same way as rationals.
_SURE = 1e-13
# Prices further apart than this may lose their digits in doubles, which then decide nothing.
_FAR = 1e-200


@dataclass(frozen=True)
class Priced:
    """Proof that a component can rise no further than to this level.

    `price` is above 0 for each of its rows; a bundle of group g is worth `worth[g]`, what the
    cheapest of its open places costs; those that are not named are worth nothing. `closed` are the
    open places (groups, classes) that cost more than that.
    """

    level: fmpq
    price: Mapping[Row, fmpz]
    worth: Mapping[int, fmpz]
    rise: fmpq  # of what all are worth, with the level
    closed: tuple[Ints, Ints]
    over: Floats  # by how much each of the closed costs more, in parts of `rise`


def price(
    groups: Groups, places: tuple[Ints, Ints], corner: Corner, progress: Progress
) -> Priced | None:
    """The prices that follow from a corner, where the open places (groups, classes), group by
    group, are those of its component; None where the corner is not the highest."""
    prices = _prices(groups, corner)
    if prices is None:
        return None
    cost = _near_costs(groups, places, prices)
    group, machine_class = places
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    least = np.minimum.reduceat(cost, first)
    lengths = np.diff(np.r_[first, len(group)])
    bound = np.repeat(least * (1.0 + _SURE), lengths)
    near = cost <= bound if np.isfinite(cost).all() else np.ones(len(cost), dtype=np.bool_)
    near &= ~((np.repeat(least, lengths) == 0.0) & np.isfinite(cost))
    closed = ~near & (cost > 0.0)
    exact = _Costs(groups, prices)
    some = np.flatnonzero(near)
    costs = exact.of_all(group[some], machine_class[some])
    least_of: dict[int, fmpz | int] = {}
    owners = group[some].tolist()
    for g, each in zip(owners, costs, strict=True):
        if g not in least_of or each < least_of[g]:
            least_of[g] = each
    closed[some] = [each > least_of[g] for g, each in zip(owners, costs, strict=True)]
    worth = {g: fmpz(each) for g, each in least_of.items() if each}
    # No place of the corner may be dearer than another that its group has.
    first_of = np.full(len(groups.members), -1)
    first_of[list(corner.first)] = list(corner.first.values())
    if closed[machine_class == first_of[group]].any():
        return None
    for g, c in corner.beyond_first():
        if exact.of(g, c) != worth.get(g, 0):
            return None
    rise = total([progress.rate[g] * each for g, each in worth.items() if progress.rate[g]])
    if not rise > 0:
        return None
    there = total([fmpq(each * there_is(groups, row)) for row, each in prices.items()])
    held = total([progress.base[g] * each for g, each in worth.items() if progress.base[g]])
    where = np.flatnonzero(closed)
    top = max(prices.values())
    by = nearest(rise / top)
    over = (cost - np.repeat(least, lengths))[where] / by
    return Priced(
        (there - held) / rise, prices, worth, rise, (group[where], machine_class[where]), over
    )


def _prices(groups: Groups, corner: Corner) -> dict[Row, fmpz] | None:
    """The prices above 0, which the block with one row more than equations has; None where there is
    no such block, or a price is below 0."""
    tight = corner.tight
    entries = differences(groups, corner, tight)
    if not all(entries):
        return None
    priced = None
    for equations, rows in blocks(entries, len(tight)):
        if len(rows) == len(equations):
            continue
        if priced is not None or len(rows) != len(equations) + 1:
            return None
        priced = equations, rows
    if priced is None:
        return None
    numbers, rows = priced
    found = null_vector([entries[number] for number in numbers], rows)
    if found is None:
        return None
    sign = 1 if sum(1 for each in found if each > 0) else -1
    if any(sign * each < 0 for each in found):
        return None
    return {tight[row]: sign * each for row, each in zip(rows, found, strict=True) if each}


def _near_costs(groups: Groups, places: tuple[Ints, Ints], prices: Mapping[Row, fmpz]) -> Floats:
    """The cost of a bundle in each place, in parts of the greatest price; infinite where doubles
    cannot say."""
    group, machine_class = places
    top = int(max(prices.values()))
    table = np.zeros(groups.room.shape)
    cost = np.zeros(len(group))
    spread: dict[tuple[int, int], float] = {}
    for (kind, first, second), each in prices.items():
        part = int(each) / top
        if part < _FAR:
            return np.full(len(group), np.inf)
        if kind == "on":
            table[first, second] = part
        else:
            spread[first, second] = part
    priced: Bools = np.asarray(table.any(axis=1))
    for _, c in spread:
        priced[c] = True
    some = np.flatnonzero(priced[machine_class])
    cost[some] = np.einsum(
        "pr,pr->p", groups.use.take(group[some], axis=0), table.take(machine_class[some], axis=0)
    )
    if spread:
        for index in some.tolist():
            cost[index] += spread.get((int(group[index]), int(machine_class[index])), 0.0)
    return cost


class _Costs:
    """The exact costs of bundles."""

    def __init__(self, groups: Groups, prices: Mapping[Row, fmpz]) -> None:
        self._demand = groups.demand
        self._on: dict[int, list[tuple[int, fmpz]]] = {}
        self._spread: dict[tuple[int, int], fmpz] = {}
        for (kind, first, second), each in prices.items():
            if kind == "on":
                self._on.setdefault(first, []).append((second, each))
            else:
                self._spread[first, second] = each
        self._short: tuple[Ints, Ints] | None = None
        most = max(1, int(max(prices.values()))) * max(1, int(groups.demand.max(initial=0)))
        if most * groups.demand.shape[1] < 2**62:
            table = np.zeros(groups.room.shape, dtype=np.int64)
            for c, there in self._on.items():
                for r, each in there:
                    table[c, r] = int(each)
            self._short = groups.demand.astype(np.int64), table

    def of_all(self, groups: Ints, classes: Ints) -> Sequence[fmpz | int]:
        """A bundle of each of these groups on each of these classes: all at once where the numbers
        are short."""
        if self._short is None:
            return [self.of(g, c) for g, c in zip(groups.tolist(), classes.tolist(), strict=True)]
        needs, table = self._short
        found: list[int] = (needs[groups] * table[classes]).sum(axis=1).tolist()
        for index, pair in enumerate(zip(groups.tolist(), classes.tolist(), strict=True)):
            if pair in self._spread:
                found[index] += int(self._spread[pair])
        return found

    def of(self, g: int, c: int) -> fmpz:
        """A bundle of this group on this class."""
        needs = self._demand[g]
        found = self._spread.get((g, c), fmpz(0))
        for r, each in self._on.get(c, ()):
            if needs[r]:
                found = found + each * needs[r]
        return found
