"""The highest corner in rationals alone: slow, and always right; it needs nothing of doubles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from flint import fmpq, fmpq_mat

from fairlead.sharing.filling.corner import NONE, Corner, Row, there_is
from fairlead.sharing.filling.groups import Groups
from fairlead.sharing.numbers.amounts import nearest
from fairlead.sharing.problem.problem import Floats

# After so many pivots by which the level did not rise, the first that gains is taken instead of
# what gains most, until it rises: that ends for sure (Bland 1977).
_FAST = 100
# Sums of products of doubles are off by less than this part of the products for each of them.
_OFF = 2.0**-51

Numbers = Mapping[int, fmpq]
"""By group."""

Place = tuple[int, int]


class NoRoomError(Exception):
    """All were to have room at the level from which a climb starts, and have not: an earlier level
    was too high."""


class Climb:
    """The simplex method on what tells a corner: places and rows that are used up.

    Groups have base + rate * level bundles. As long as the rows do not say the level, there are as
    many of them as there are places beyond the first of their groups; then one more.
    """

    def __init__(
        self, groups: Groups, open_places: Sequence[Place], base: Numbers, rate: Numbers
    ) -> None:
        self._groups = groups
        self._open = sorted(open_places)
        self._at = {place: index for index, place in enumerate(self._open)}
        self._group = np.array([g for g, _ in self._open], dtype=np.int64)
        self._class = np.array([c for _, c in self._open], dtype=np.int64)
        self._needs = {
            g: [(r, int(need)) for r, need in enumerate(groups.demand[g]) if need] for g in base
        }
        self._places: dict[int, list[int]] = {}
        self._tight: list[Row] = []
        self._free = False
        self._stands = False
        self._stalled = 0
        self.level = NONE
        self._base, self._rate = base, rate
        self._leave()

    def highest(self) -> Corner:
        """The highest corner, from a level at which all have room; NoRoomError where they have
        none."""
        if not self._free and not self._stands:
            self._from_nothing()
        self._rise(None)
        return Corner.of(self._places, self._tight)

    def _from_nothing(self) -> None:
        """To the level at which all have room, where what all have then is given to all at once."""
        base, rate, level = self._base, self._rate, self.level
        self.level = NONE
        if any(base.values()):
            now = {g: base[g] + rate[g] * level for g in base}
            self._have(dict.fromkeys(base, NONE), now)
            self._rise(fmpq(1))
            self._have(base, rate)
            self.level = level

    def start_in(self, corner: Corner) -> None:
        """Goes on from this corner if it fits, and is no lower than the level that is known."""
        solved = self._try(corner, corner.tight, free=True)
        if solved is not None and solved[0] >= self.level and self._fits(*solved):
            self.level = solved[0]
        else:
            self._leave()

    def stand_in(self, corner: Corner, tight: Sequence[Row]) -> None:
        """Goes on from the places of this corner, where these rows say how much is where at the
        level that is known, if that fits."""
        if self._free:
            return
        solved = self._try(corner, tight, free=False)
        if solved is not None and self._fits(*solved):
            self._stands = True
        else:
            self._leave()

    def _try(
        self, corner: Corner, tight: Sequence[Row], *, free: bool
    ) -> tuple[fmpq, dict[Place, fmpq]] | None:
        """The level, and how much is in the corner's places; None where its rows do not say."""
        places = {
            g: [c for c in corner.places(g) if (g, c) in self._at] if g in corner.first else classes
            for g, classes in self._places.items()
        }
        others = sum(len(classes) - 1 for classes in places.values())
        if not all(places.values()) or len(tight) != others + int(free):
            return None
        self._places, self._tight, self._free = places, list(tight), free
        self._have(self._base, self._rate)
        try:
            (solved,) = self._solve(self._now())
        except ZeroDivisionError:
            return None
        return solved

    def _leave(self) -> None:
        """As before a corner was tried: each group in its first open place."""
        self._places, self._tight, self._free = {}, [], False
        for g, c in self._open:
            self._places.setdefault(g, [c])
        self._have(self._base, self._rate)

    def _fits(self, level: fmpq, amount: Mapping[Place, fmpq]) -> bool:
        load = self._load(fmpq(1), level, amount)
        return all(much >= 0 for much in self._all(fmpq(1), level, amount).values()) and all(
            used <= there_is(self._groups, row) for row, used in load.items()
        )

    def start_at(self, level: fmpq) -> None:
        """All are known to have room at this level."""
        self.level = level

    def settle(self) -> Corner:
        """A corner in which each group has its base."""
        self._have(dict.fromkeys(self._base, NONE), self._base)
        self.level = NONE
        self._rise(fmpq(1))
        return Corner.of(self._places, self._tight)

    def _have(self, base: Numbers, rate: Numbers) -> None:
        """From now on groups have base + rate * level bundles."""
        self._base, self._rate = base, rate
        # What those take of each row who are in their first places.
        self._base_held: dict[Row, fmpq] = {}
        self._rate_held: dict[Row, fmpq] = {}
        for g, classes in self._places.items():
            self._hold(g, classes[0], 1)
        last = self._group.max(initial=0) + 1
        self._near_base, self._near_rate = np.zeros(last), np.zeros(last)
        for g in self._places:
            self._near_base[g], self._near_rate[g] = nearest(base[g]), nearest(rate[g])

    def _hold(self, g: int, c: int, sign: int) -> None:
        for held, amounts in ((self._base_held, self._base), (self._rate_held, self._rate)):
            much = amounts[g] * sign
            if much:
                for row, part in self._parts(g, c):
                    held[row] = held.get(row, NONE) + much * part

    def _parts(self, g: int, c: int) -> Iterator[tuple[Row, int]]:
        """The rows that a bundle of a group takes of on a class, and how much."""
        for r, need in self._needs[g]:
            yield ("on", c, r), need
        if (g, c) in self._groups.most_on:
            yield ("spread", g, c), 1

    def _moved(self, g: int, c: int) -> Iterator[tuple[Row, int]]:
        """The same less what the bundle no longer takes in its group's first place."""
        yield from self._parts(g, c)
        for row, part in self._parts(g, self._places[g][0]):
            yield row, -part

    def _rise(self, bound: fmpq | None) -> None:
        """Up to the highest level, or to the bound if that comes first."""
        self._stalled = 0
        while True:
            enters: Place | Row | None = None
            if self._free:
                enters = self._entering()
                if enters is None:
                    if bound is not None:
                        raise NoRoomError
                    return
            if self._move(enters, bound):
                return

    def _others(self) -> list[Place]:
        return [(g, c) for g, classes in self._places.items() for c in classes[1:]]

    def _matrix(self) -> fmpq_mat:
        """(rows, columns): what the level (if it is free) and each other place take of each row."""
        others, at = self._others(), {row: index for index, row in enumerate(self._tight)}
        size, free = len(self._tight), int(self._free)
        assert len(others) + free == size
        entries: list[fmpq | int] = [0] * (size * size)
        if free:
            for row, index in at.items():
                entries[index * size] = self._rate_held.get(row, NONE)
        for column, (g, c) in enumerate(others, free):
            for row, part in self._moved(g, c):
                if row in at:
                    entries[at[row] * size + column] += part
        return fmpq_mat(size, size, entries)

    def _entering(self) -> Place | Row | None:
        """A place or a row by which the level rises; None where there is none. Doubles say which
        gains most; rationals are asked where they do not tell a gain from none."""
        size = len(self._tight)
        unit = fmpq_mat(size, 1, [int(i == 0) for i in range(size)])
        solved = self._matrix().transpose().solve(unit)
        price = {row: solved[i, 0] for i, row in enumerate(self._tight)}
        gain, off = self._gains(price)
        loose = [row for row, each in price.items() if each < 0]
        if self._stalled >= _FAST:
            for p in np.flatnonzero(~(gain < -off)).tolist():
                if gain[p] > off[p] or self._gains_exactly(price, p):
                    return self._open[p]
            return min(loose, key=self._order, default=None)
        # All of what a group has would gain so much, or all of what there is of a row.
        level = nearest(self.level)
        worth = gain * (self._near_base + self._near_rate * level)[self._group]
        worth[~(gain > off)] = 0.0
        most = int(worth.argmax())
        by_row = {row: -nearest(price[row] * there_is(self._groups, row)) for row in loose}
        if worth[most] > max(by_row.values(), default=0.0):
            return self._open[most]
        if by_row:
            return max(loose, key=lambda row: by_row[row])
        for p in np.flatnonzero(~(gain < -off)).tolist():
            if self._gains_exactly(price, p):
                return self._open[p]
        return None

    def _gains(self, price: Mapping[Row, fmpq]) -> tuple[Floats, Floats]:
        """By how much a bundle costs less in each open place than in its group's first, and how far
        off that is at most."""
        table = np.zeros(self._groups.room.shape)
        spread = np.zeros(len(self._open))
        for row, each in price.items():
            if row[0] == "on":
                table[row[1:]] = nearest(each)
            elif row[1:] in self._at:
                spread[self._at[row[1:]]] = nearest(each)
        products = self._groups.use[self._group] * table[self._class]
        cost = products.sum(axis=1) + spread
        off = (np.abs(products).sum(axis=1) + np.abs(spread)) * (_OFF * (products.shape[1] + 2))
        first = np.zeros(self._group.max(initial=0) + 1, dtype=np.int64)
        for g, classes in self._places.items():
            first[g] = self._at[g, classes[0]]
        there = first[self._group]
        return cost[there] - cost, 2 * (off[there] + off)

    def _gains_exactly(self, price: Mapping[Row, fmpq], place: int) -> bool:
        costs = [price[row] * part for row, part in self._moved(*self._open[place]) if row in price]
        return sum(costs, NONE) < 0

    def _order(self, variable: Place | Row) -> tuple[int, int, int, int]:
        if len(variable) == 2:
            return (0, variable[0], variable[1], 0)
        return (1, int(variable[0] == "on"), variable[1], variable[2])

    def _move(self, enters: Place | Row | None, bound: fmpq | None) -> bool:
        """While the level (None), a place or what is left of a row grows from where it is, until a
        place is empty or a row used up. Whether the bound is reached before."""
        (level, amount), (up, move) = self._solve(self._now(), self._by(enters))
        up += int(enters is None)
        if enters is not None and len(enters) == 2:
            amount[enters], move[enters] = NONE, fmpq(1)
        leaving = self._leaving(level, amount, up, move, enters)
        far = None if leaving is None else leaving[0]
        if bound is not None and up > 0:
            until = (bound - level) / up
            if far is None or until <= far:
                self.level = bound
                if enters is not None:
                    self._free = False
                    if len(enters) == 2:
                        self._places[enters[0]].append(enters[1])
                    else:
                        self._tight.remove(enters)
                return True
        assert leaving is not None, "nothing stops a level from rising"
        rises = up * leaving[0]
        self._stalled = 0 if rises else self._stalled + 1
        self.level = level + rises
        self._exchange(enters, leaving[1])
        return False

    def _now(self) -> list[fmpq]:
        """The part of the rows that are used up which those in their first places leave."""
        level = NONE if self._free else self.level
        return [
            there_is(self._groups, row)
            - self._base_held.get(row, NONE)
            - self._rate_held.get(row, NONE) * level
            for row in self._tight
        ]

    def _by(self, enters: Place | Row | None) -> list[fmpq]:
        """The part of the rows that are used up which is free again for one more of what enters:
        the level itself (None), a place or what is left of a row."""
        if enters is None:
            return [-self._rate_held.get(row, NONE) for row in self._tight]
        if len(enters) == 3:
            return [fmpq(-int(row == enters)) for row in self._tight]
        less = dict.fromkeys(self._tight, 0)
        for row, part in self._moved(*enters):
            if row in less:
                less[row] -= part
        return [fmpq(each) for each in less.values()]

    def _solve(self, *rights: Sequence[fmpq]) -> list[tuple[fmpq, dict[Place, fmpq]]]:
        """For each of these right-hand sides the level, as it is known or 0 where it is not free,
        and how much of each group is in each other place."""
        others, size = self._others(), len(self._tight)
        known = [self.level, *[NONE] * len(rights)]
        if not size:
            return [(known[number], {}) for number in range(len(rights))]
        solved = self._matrix().solve(
            fmpq_mat(size, len(rights), [right[i] for i in range(size) for right in rights])
        )
        found = []
        for number in range(len(rights)):
            each = [solved[i, number] for i in range(size)]
            level = each.pop(0) if self._free else known[number]
            found.append((level, dict(zip(others, each, strict=True))))
        return found

    def _all(self, one: fmpq, level: fmpq, amount: Mapping[Place, fmpq]) -> dict[Place, fmpq]:
        """With the first places of those who are in several: what of base * one + rate * level is
        in no other."""
        found, rest = dict(amount), dict[int, fmpq]()
        for (g, _), much in amount.items():
            if g not in rest:
                rest[g] = self._base[g] * one + self._rate[g] * level
            rest[g] -= much
        return found | {(g, self._places[g][0]): much for g, much in rest.items()}

    def _load(self, one: fmpq, level: fmpq, amount: Mapping[Place, fmpq]) -> dict[Row, fmpq]:
        """The amounts that base * one + rate * level take of each row, so much of it in other
        places."""
        load = {row: held * level for row, held in self._rate_held.items()}
        if one:
            for row, held in self._base_held.items():
                load[row] = load.get(row, NONE) + held
        for (g, c), much in amount.items():
            if much:
                for row, part in self._moved(g, c):
                    load[row] = load.get(row, NONE) + much * part
        return load

    def _leaving(
        self,
        level: fmpq,
        amount: Mapping[Place, fmpq],
        up: fmpq,
        move: Mapping[Place, fmpq],
        enters: Place | Row | None,
    ) -> tuple[fmpq, Place | Row] | None:
        """The variable that is first at its end, and after how much. Those who are in one place
        only have no less of it when the level rises."""
        found: list[tuple[fmpq, Place | Row]] = []
        there = self._all(fmpq(1), level, amount)
        for place, grows in self._all(NONE, up, move).items():
            if grows < 0:
                found.append((there[place] / -grows, place))
        tight = {*self._tight, enters}
        load = self._load(fmpq(1), level, amount)
        for row, grows in self._load(NONE, up, move).items():
            if grows > 0 and row not in tight:
                left = there_is(self._groups, row) - load.get(row, NONE)
                found.append((left / grows, row))
        if not found:
            return None
        least = min(far for far, _ in found)
        return least, min((each for far, each in found if far == least), key=self._order)

    def _exchange(self, enters: Place | Row | None, leaves: Place | Row) -> None:
        if enters is None:
            self._free = True
        elif len(enters) == 2:
            self._places[enters[0]].append(enters[1])
        else:
            self._tight.remove(enters)
        if len(leaves) == 2:
            g, c = leaves
            classes = self._places[g]
            if classes[0] == c:
                self._hold(g, c, -1)
                self._hold(g, classes[1], 1)
            classes.remove(c)
        else:
            self._tight.append(leaves)
