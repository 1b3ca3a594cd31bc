"""The highest corner in rationals alone: slow, and always right; it needs nothing of doubles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flint import fmpq, fmpq_mat

from fairlead.sharing.filling.corner import NONE, Corner, Row, takes, there_is
from fairlead.sharing.filling.groups import Groups

# So many pivots take what gains most; from then on the first that gains, which ends for sure
# (Bland 1977).
_FAST = 500

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
        self._open = list(open_places)
        self._base, self._rate = dict(base), dict(rate)
        self._places: dict[int, list[int]] = {}
        for g, c in self._open:
            self._places.setdefault(g, [c])
        self._rows = self._all_rows()
        self._tight: list[Row] = []
        self._free = False
        self._pivots = 0
        self.level = NONE

    def highest(self) -> Corner:
        """The highest corner, from a level at which all have room; NoRoomError where they have
        none."""
        if not self._free:
            self._from_nothing()
        self._rise(None)
        return Corner.of(self._places, self._tight)

    def _from_nothing(self) -> None:
        """To the level at which all have room, where what all have then is given to all at once."""
        base, rate, level = self._base, self._rate, self.level
        self.level = NONE
        if any(base.values()):
            now = {g: base[g] + rate[g] * level for g in base}
            self._base, self._rate = dict.fromkeys(base, NONE), now
            self._rise(fmpq(1))
            self._base, self._rate, self.level = base, rate, level

    def start_in(self, corner: Corner) -> None:
        """Goes on from this corner if it fits, and is no lower than the level that is known."""
        before, usable = self._places, set(self._open)
        places = {
            g: [c for c in corner.places(g) if (g, c) in usable] if g in corner.first else classes
            for g, classes in before.items()
        }
        if not all(places.values()):
            return
        if len(corner.tight) != 1 + sum(len(classes) - 1 for classes in places.values()):
            return
        self._places, self._tight, self._free = places, list(corner.tight), True
        try:
            level, amount = self._point(self._matrix())
        except ZeroDivisionError:
            level, amount = NONE, {}
        if level < self.level or not amount or not self._fits(amount):
            self._places, self._tight, self._free = before, [], False
        else:
            self.level = level

    def _fits(self, amount: Mapping[Place, fmpq]) -> bool:
        load = self._load(amount)
        return all(much >= 0 for much in amount.values()) and all(
            used <= there_is(self._groups, row) for row, used in load.items()
        )

    def start_at(self, level: fmpq) -> None:
        """All are known to have room at this level."""
        self.level = level

    def settle(self) -> Corner:
        """A corner in which each group has its base."""
        base = self._base
        self._base, self._rate, self.level = dict.fromkeys(base, NONE), base, NONE
        self._rise(fmpq(1))
        return Corner.of(self._places, self._tight)

    def _all_rows(self) -> list[Row]:
        groups = self._groups
        found: dict[Row, None] = {}
        for g, c in self._open:
            for r in range(groups.demand.shape[1]):
                if groups.demand[g, r]:
                    found["on", c, r] = None
            if (g, c) in groups.most_on:
                found["spread", g, c] = None
        return list(found)

    def _rise(self, bound: fmpq | None) -> None:
        """Up to the highest level, or to the bound if that comes first."""
        while True:
            self._pivots += 1
            if not self._free:
                enters: Place | Row | None = None
            else:
                chosen = self._entering()
                if chosen is None:
                    if bound is not None:
                        raise NoRoomError
                    return
                enters = chosen
            if self._move(enters, bound):
                return

    def _others(self) -> list[Place]:
        return [(g, c) for g, classes in self._places.items() for c in classes[1:]]

    def _matrix(self) -> fmpq_mat:
        """(rows, columns): what the level (if it is free) and each other place take of each row."""
        others = self._others()
        columns = []
        if self._free:
            columns.append([self._taken(self._rate, row) for row in self._tight])
        for g, c in others:
            columns.append([self._difference(row, g, c) for row in self._tight])
        size = len(self._tight)
        assert len(columns) == size
        return fmpq_mat(size, size, [columns[j][i] for i in range(size) for j in range(size)])

    def _taken(self, amounts: Numbers, row: Row) -> fmpq:
        """What is taken of a row where all are in their first places."""
        found = NONE
        for g, classes in self._places.items():
            if amounts[g]:
                part = takes(self._groups, row, g, classes[0])
                if part:
                    found += amounts[g] * part
        return found

    def _difference(self, row: Row, g: int, c: int) -> fmpq:
        first = self._places[g][0]
        return fmpq(takes(self._groups, row, g, c) - takes(self._groups, row, g, first))

    def _entering(self) -> Place | Row | None:
        """A place or a row by which the level rises; None where there is none."""
        size = len(self._tight)
        unit = fmpq_mat(size, 1, [fmpq(int(i == 0)) for i in range(size)])
        solved = self._matrix().transpose().solve(unit)
        price = {row: solved[i, 0] for i, row in enumerate(self._tight)}
        gains: list[tuple[fmpq, Place | Row]] = []
        first: dict[int, fmpq] = {}
        for g, c in self._open:
            if g not in first:
                first[g] = self._cost(price, g, self._places[g][0])
            gain = first[g] - self._cost(price, g, c)
            if gain > 0:
                gains.append((gain, (g, c)))
        gains += [(-each, row) for row, each in price.items() if each < 0]
        if not gains:
            return None
        if self._pivots > _FAST:
            return min(gains, key=lambda gain: self._order(gain[1]))[1]
        return max(gains, key=lambda gain: gain[0])[1]

    def _order(self, variable: Place | Row | None) -> tuple[int, int, int, int]:
        if variable is None:
            return (-1, 0, 0, 0)
        if len(variable) == 2:
            return (0, variable[0], variable[1], 0)
        return (1, int(variable[0] == "on"), variable[1], variable[2])

    def _cost(self, price: Mapping[Row, fmpq], g: int, c: int) -> fmpq:
        found = NONE
        for r in range(self._groups.demand.shape[1]):
            need = int(self._groups.demand[g, r])
            if need:
                each = price.get(("on", c, r))
                if each is not None:
                    found += each * need
        each = price.get(("spread", g, c))
        return found if each is None else found + each

    def _move(self, enters: Place | Row | None, bound: fmpq | None) -> bool:
        """While the level (None), a place or what is left of a row grows from where it is, until a
        place is empty or a row used up. Whether the bound is reached before."""
        rows = self._tight
        matrix = self._matrix() if rows else None
        level, amount = self._point(matrix)
        level_move, move = self._direction(matrix, enters)
        if enters is not None and len(enters) == 2:
            amount[enters] = NONE
        leaving = self._leaving(amount, move, enters)
        far = None if leaving is None else leaving[0]
        if bound is not None and level_move > 0:
            until = (bound - level) / level_move
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
        self.level = level + level_move * leaving[0]
        self._exchange(enters, leaving[1])
        return False

    def _point(self, matrix: fmpq_mat | None) -> tuple[fmpq, dict[Place, fmpq]]:
        """The level, and how much of each group is in each of its places."""
        level = NONE if self._free else self.level
        solved = self._solved(
            matrix,
            [
                there_is(self._groups, row)
                - self._taken(self._base, row)
                - self._taken(self._rate, row) * level
                for row in self._tight
            ],
        )
        if self._free:
            level, *solved = solved
        amount = dict(zip(self._others(), solved, strict=True))
        self._first(amount, {g: self._base[g] + self._rate[g] * level for g in self._places})
        return level, amount

    def _direction(
        self, matrix: fmpq_mat | None, enters: Place | Row | None
    ) -> tuple[fmpq, dict[Place, fmpq]]:
        """How the level and all places change with what enters: the level itself (None), a place
        or what is left of a row."""
        rows = self._tight
        if enters is None:
            right = [-self._taken(self._rate, row) for row in rows]
        elif len(enters) == 2:
            right = [-self._difference(row, *enters) for row in rows]
        else:
            right = [fmpq(-int(row == enters)) for row in rows]
        solved, level = self._solved(matrix, right), fmpq(int(enters is None))
        if self._free:
            level, *solved = solved
        move = dict(zip(self._others(), solved, strict=True))
        if enters is not None and len(enters) == 2:
            move[enters] = fmpq(1)
        self._first(move, {g: self._rate[g] * level for g in self._places})
        return level, move

    def _first(self, amount: dict[Place, fmpq], whole: Numbers) -> None:
        """Adds the groups' first places: what of the whole is in no other."""
        rest = dict(whole)
        for (g, _), much in amount.items():
            rest[g] -= much
        for g, classes in self._places.items():
            amount[g, classes[0]] = rest[g]

    def _load(self, amount: Mapping[Place, fmpq]) -> dict[Row, fmpq]:
        """What these take of each row."""
        load: dict[Row, fmpq] = {}
        demand = self._groups.demand
        for (g, c), much in amount.items():
            if not much:
                continue
            for r in range(demand.shape[1]):
                need = int(demand[g, r])
                if need:
                    row = ("on", c, r)
                    load[row] = load.get(row, NONE) + much * need
            if (g, c) in self._groups.most_on:
                load["spread", g, c] = much
        return load

    def _solved(self, matrix: fmpq_mat | None, right: Sequence[fmpq]) -> list[fmpq]:
        if matrix is None:
            return []
        solved = matrix.solve(fmpq_mat(len(right), 1, list(right)))
        return [solved[i, 0] for i in range(len(right))]

    def _leaving(
        self, amount: Mapping[Place, fmpq], move: Mapping[Place, fmpq], enters: Place | Row | None
    ) -> tuple[fmpq, Place | Row] | None:
        """What comes first, and after how much."""
        found: list[tuple[fmpq, Place | Row]] = []
        for place, grows in move.items():
            if grows < 0:
                found.append((amount[place] / -grows, place))
        tight = set(self._tight)
        load, more = self._load(amount), self._load(move)
        for row, grows in more.items():
            if grows > 0 and row not in tight and row != enters:
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
            self._places[leaves[0]].remove(leaves[1])
        else:
            self._tight.append(leaves)
