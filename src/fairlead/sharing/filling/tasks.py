"""The amounts of each group in its places, when all shares are known: rationals, and whether they
fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from flint import fmpq, fmpz

from fairlead.sharing.filling.corner import (
    NONE,
    Corner,
    Row,
    blocks,
    differences,
    rows_on,
    solve,
    takes,
    there_is,
)
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.filling.progress import Terms
from fairlead.sharing.numbers.amounts import nearest
from fairlead.sharing.numbers.enclosure import FEW, NEAR, enclose
from fairlead.sharing.numbers.sums import total

# Loads that are less than what there is by more than this, relative, are less as rationals.
_SURE = 1e-9

Bundles = dict[tuple[int, int], fmpq]
"""By group and class."""


def place_bundles(
    groups: Groups,
    corner: Corner,
    tight: tuple[Row, ...],
    wanted: Callable[[int], Terms],
    used_up: tuple[Row, ...] = (),
) -> Bundles | None:
    """The bundles in each place, or numbers as near to them as doubles can tell, where these rows
    (and `used_up` by construction) are used up and each group has as many as it is wanted to. None
    where the rows do not say, something is below 0, or more is used than there is."""
    found = _Placed(groups, corner, tight, wanted)
    if found.solve() and found.fits({*tight, *used_up}):
        return found.bundles
    return None


class _Placed:
    """The bundles in each place: near them first, and exactly where that does not decide.

    What is exact is in parts of the levels' common denominator, for rationals of thousands of
    digits are slow to add up: each time common divisors are looked for.
    """

    def __init__(
        self,
        groups: Groups,
        corner: Corner,
        tight: tuple[Row, ...],
        wanted: Callable[[int], Terms],
    ) -> None:
        self._groups, self._corner, self._tight = groups, corner, tight
        self._has = {g: wanted(g) for g in corner.first}
        self._entries = differences(groups, corner, tight)
        self._others = list(corner.beyond_first())
        self._blocks: list[tuple[list[int], list[int]]] = []
        self._block_of: dict[tuple[int, int], int] = {}
        self.bundles: Bundles = {}
        self._off: Bundles = {}  # how far off those are that are not exact
        self._parts: Bundles = {}  # those that were asked for exactly

    def solve(self) -> bool:
        """Whether the rows say how many bundles are where."""
        if not all(self._entries):
            return False
        self._blocks = blocks(self._entries, len(self._tight))
        if any(len(equations) != len(rows) for equations, rows in self._blocks):
            return False
        for number, (equations, _) in enumerate(self._blocks):
            self._block_of |= {self._others[each]: number for each in equations}
            if not self._near(number):
                if not self._exact(number):
                    return False
                for each in equations:
                    pair = self._others[each]
                    self.bundles[pair] = self._parts[pair] / self._common
        for g, first in self._corner.first.items():
            rest, far = total([level * times for level, times in self._has[g]]), NONE
            for c in self._corner.others.get(g, ()):
                rest = rest - self.bundles[g, c]
                far += self._off.get((g, c), NONE)
            self.bundles[g, first] = rest
            if far:
                self._off[g, first] = far
        return True

    @cached_property
    def _load(self) -> list[Terms]:
        """The amount that is taken of each row where all are in their first places."""
        taken = [_Sum() for _ in self._tight]
        on = rows_on(self._tight)
        for g, first in self._corner.first.items():
            for index in on.get(first, ()):
                part = takes(self._groups, self._tight[index], g, first)
                if part:
                    taken[index].add(self._has[g], part)
        return [each.terms() for each in taken]

    @cached_property
    def _common(self) -> fmpz:
        """The common denominator of all levels."""
        levels = {id(level): level for terms in self._has.values() for level, _ in terms}
        found = fmpz(1)
        for level in levels.values():
            found = found.lcm(level.q)
        return found

    @cached_property
    def _level_parts(self) -> dict[int, fmpz]:
        return {}

    def _exact_total(self, terms: Terms) -> fmpq:
        found = NONE
        for level, times in terms:
            parts = self._level_parts.get(id(level))
            if parts is None:
                parts = self._level_parts[id(level)] = level.p * (self._common // level.q)
            found += times * parts
        return found

    def _near(self, number: int) -> bool:
        """Numbers near the bundles of a block; False where it is better solved exactly."""
        equations, rows = self._blocks[number]
        if len(rows) < FEW:
            return False
        right = [
            there_is(self._groups, self._tight[row])
            - total([level * times for level, times in self._load[row]])
            for row in rows
        ]
        at = {row: index for index, row in enumerate(rows)}
        cells = (
            (at[row], column, value)
            for column, equation in enumerate(equations)
            for row, value in self._entries[equation].items()
        )
        near = enclose(cells, right)
        if near is None:
            return False
        for equation, amount in zip(equations, near[0], strict=True):
            self.bundles[self._others[equation]] = amount
            self._off[self._others[equation]] = near[1]
        return True

    def _exact(self, number: int) -> bool:
        """The bundles of a block; False where its rows do not say how many there are."""
        equations, rows = self._blocks[number]
        right = [
            there_is(self._groups, self._tight[row]) * self._common
            - self._exact_total(self._load[row])
            for row in rows
        ]
        found = solve([self._entries[equation] for equation in equations], rows, right)
        if found is None:
            return False
        self._parts |= zip([self._others[each] for each in equations], found, strict=True)
        return True

    def _exactly(self, g: int, c: int) -> fmpq:
        """The bundles of a group on a class, in parts."""
        if (g, c) not in self._parts:
            if (number := self._block_of.get((g, c))) is not None:
                solved = self._exact(number)
                assert solved, "what doubles enclose is said"
            else:
                others = [self._exactly(g, each) for each in self._corner.others.get(g, ())]
                self._parts[g, c] = self._exact_total(self._has[g]) - sum(others, NONE)
        return self._parts[g, c]

    def fits(self, tight: set[Row]) -> bool:
        """Whether nothing is below 0, and nothing is used more than there is. `tight` are used up
        by construction."""
        groups, off = self._groups, self._off
        for pair, amount in list(self.bundles.items()):
            if amount < off.get(pair, NONE) * NEAR:
                exactly = self._exactly(*pair)
                if exactly < 0:
                    return False
                self.bundles[pair] = exactly / self._common
                del off[pair]
        for pair, most in groups.most_on.items():
            if (
                pair in self.bundles
                and ("spread", *pair) not in tight
                and self.bundles[pair] + off.get(pair, NONE) > most
                and self._exactly(*pair) > most * self._common
            ):
                return False
        on: dict[int, list[int]] = {}
        for (g, c), amount in self.bundles.items():
            if amount:
                on.setdefault(c, []).append(g)
        return all(self._holds(c, there, tight) for c, there in on.items())

    def _holds(self, c: int, there: list[int], tight: set[Row]) -> bool:
        """Whether a class has enough for the groups that are there."""
        groups = self._groups
        most = [self.bundles[g, c] + self._off.get((g, c), NONE) for g in there]
        load = np.array([nearest(each) for each in most]) @ groups.use[there]
        for r in np.flatnonzero(~(load < groups.room[c] * (1.0 - _SURE))).tolist():
            if ("on", c, r) in tight:
                continue
            needs = [int(groups.demand[g, r]) for g in there]
            used = sum((each * need for each, need in zip(most, needs, strict=True)), NONE)
            room = int(groups.capacity[c, r])
            if used > room and self._used(c, there, needs) > room * self._common:
                return False
        return True

    def _used(self, c: int, there: list[int], needs: list[int]) -> fmpq:
        """The amount of a class that these groups use, in parts."""
        alone = _Sum()
        found = NONE
        for g, need in zip(there, needs, strict=True):
            if (g, c) in self._block_of or g in self._corner.others:
                found += self._exactly(g, c) * need
            else:
                alone.add(self._has[g], need)
        return found + self._exact_total(alone.terms())


class _Sum:
    """A sum of terms, level by level."""

    def __init__(self) -> None:
        self._by_level: dict[int, tuple[fmpq, list[fmpq]]] = {}

    def add(self, terms: Terms, part: int) -> None:
        for level, times in terms:
            self._by_level.setdefault(id(level), (level, []))[1].append(times * part)

    def terms(self) -> Terms:
        """The sum, one term for each level."""
        return [(level, total(times)) for level, times in self._by_level.values()]
