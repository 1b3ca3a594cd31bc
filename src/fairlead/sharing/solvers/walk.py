"""All rounds of a filling on one basis: each goes on from the corner where the last one stopped.

A program for each round begins with telling it: arrays of all pairs, a basis, an answer to be read
back. Where a round takes a few pivots and few capacities are used up, that takes longer than the
pivots. Here nothing is told anew: who is stopped leaves with the machines that stop it, and the
others rise on. What is kept is what tells a corner: for each group its first place, the other
places with a share of their own, and as many capacities that are used up.
"""

from __future__ import annotations

import numpy as np

from fairlead.sharing.problem import Floats, Ints
from fairlead.sharing.rise import Basis, Rise
from fairlead.sharing.solvers.corners import Corner, End, Left, Line, Stop, bordered
from fairlead.sharing.solvers.crash import crash
from fairlead.sharing.solvers.places import Places

# Where there is more to choose, or more takes part, other ways are the faster.
MOST_PAIRS = 20_000
_MOST_PLACES = 4  # of a group, in the mean
_MOST_PIVOTS = 60  # in a round
_MOST_TIGHT = 40
_TURNS = 16  # at the start: a turn takes as long as a pivot
# Shares are in units of the rates at first, capacities are 1, prices times rates add up to 1.
_NOTHING = 1e-11
_GAIN = 1e-12
_ROUNDING = 1e-13  # what is less of a share is none
_PIVOT = 1e-9
# How closely the prices must prove the level, and shares keep to the capacities.
_PROVEN = 1e-12
_SUM_ROUNDING = 4 * np.finfo(np.float64).eps  # of a sum of some terms, as a part of them
# Prices below this part of all (of a capacity), and of the mean (of a group), are rounding.
_NOISE, _NO_PRICE = 1e-13, 1e-11
# A group is stopped whose part in the prices is above this, or this part of the largest; with less
# of a part it takes a closer look. A place is ruled out that loses more than this part of a price.
_STOPPED, _MOST_LEFT = 1e-8, 1e-3
_LOSS = 1e-6


class Walk(Places):
    """Where a filling stands, from its level 0 on.

    `level` is what is reached: there all groups can have what they want. Shares are in units of
    the rates at first, capacities are 1.
    """

    def __init__(self, problem: Rise) -> None:
        """From level 0, where nobody is frozen, everybody rises, and nobody spreads."""
        unit, self._least = problem.units()
        super().__init__(problem, crash(problem, unit, _TURNS), _MOST_TIGHT)
        self._tight: list[int] = []  # capacities that are used up
        self._line: Line | None = None  # with these, if it is known
        self._free = False  # whether they say the level, too; then one more of them is tight
        self.level = 0.0

    def change(self, base: Floats, rate: Floats) -> None:
        """From the present level on shares are base + rate * level (G,)."""
        self._base = np.where(self._done, 0.0, base / self._unit)
        self._rate = np.where(self._done, 0.0, rate / self._unit)
        self._count()
        self._line = None

    def climb(self, bound: float) -> tuple[End, Stop | None]:
        """Up to where machines stop somebody, or to the bound, whichever comes first."""
        found: Corner | End | None = None
        for _ in range(_MOST_PIVOTS):
            try:
                if not self._free:
                    found = self._rise(bound)
                if isinstance(found, End):
                    return found, None
                corner = found or self._corner()
                price = corner.inverse[:, 0].tolist()
                cost, loss = self._costs(price)
                pair, cheapest = int(loss.argmin()), min(price)
                least, negative = loss.item(pair), cheapest / self._scale()
                if least >= -_GAIN and negative >= -_GAIN:
                    return self._stopped(corner, price, (cost, loss, least), bound)
                if least < negative:
                    found = self._move(corner, bound, pair=pair)
                else:
                    found = self._move(corner, bound, cell=price.index(cheapest))
            except np.linalg.LinAlgError:
                break
        return End.LOST, None

    def _scale(self) -> float:
        """What a share is like."""
        return max(self._least, self.level)

    def _costs(self, price: list[float]) -> tuple[Floats, Floats]:
        """(pairs,) what a unit costs there at these prices of the tight capacities, and how much
        more that is than in its group's first place."""
        cost = self._cost(self._tight, price)
        return cost, cost - cost[self._key_of]

    def _inverted(self, rows: Floats) -> Floats:
        """Of what these take of the tight capacities. LinAlgError where there is no inverse, or its
        numbers are many."""
        if len(rows) > _MOST_TIGHT:
            raise np.linalg.LinAlgError("too large")
        own = rows.take(self._tight, axis=1)
        inverse = np.asarray(np.linalg.inv(own) if len(own) > 1 else 1.0 / own)
        if not np.abs(inverse).max() * _PIVOT < self._scale():
            raise np.linalg.LinAlgError("singular but for rounding")
        return inverse

    def _corner(self) -> Corner:
        """Where all are. LinAlgError as above."""
        held, rows = self._rows[0], self._rows[1 : 2 + len(self._basic)]
        inverse = self._inverted(rows)
        found = (1.0 - held.take(self._tight)) @ inverse
        level, *share = found.tolist()
        if not abs(level) < np.inf:
            raise np.linalg.LinAlgError("numbers lie too far apart")
        self.level = level
        return Corner(share, found @ rows + held, inverse)

    def _along(self) -> Line:
        """Where all are at each level. LinAlgError as above."""
        load, rows = self._rows[:2].copy(), self._rows[2 : 2 + len(self._basic)]
        inverse, share = np.zeros((0, 0)), np.zeros((2, 0))
        if self._basic:
            inverse = self._inverted(rows)
            taken = load.take(self._tight, axis=1)
            taken[0] -= 1.0
            share = -taken @ inverse
            load += share @ rows
        full = np.full(len(load[0]), np.inf)
        np.divide(1.0 - load[0], load[1], out=full, where=load[1] * self._scale() > _PIVOT)
        return Line(inverse, share, load, full)

    def _rise(self, bound: float) -> Corner | End | None:
        """The level rises until a capacity is used up or a place is empty; the corner where that is
        known already."""
        line = self._line = self._line or self._along()
        cell = int(line.full.argmin())
        level, empty = max(line.full.item(cell), self.level), -1
        share, moves = line.share.tolist()
        for place, amount, fall in self._amounts(0.0, share, 1.0, moves):
            if fall > _PIVOT and amount / fall < level:
                level, empty = amount / fall, place
        level = max(level, self.level)
        if bound < np.inf and bound <= level:
            self.level = bound
            return End.BOUND
        if not level < np.inf:
            return End.LOST
        self.level, self._free = level, True
        share = [a + b * level for a, b in zip(share, moves, strict=True)]
        if empty >= 0:
            self._line = None
            self._empty(empty, share)
            return None
        self._tight.append(cell)
        column = line.inverse @ self._rows[2 : 2 + len(share), cell]
        by = line.load.item(1, cell)
        inverse = bordered(line.inverse, column, line.share[1], by, first=True)
        return Corner(share, line.load[0] + line.load[1] * level, inverse)

    def _move(
        self, corner: Corner, bound: float, *, pair: int = -1, cell: int = -1
    ) -> Corner | End | None:
        """To the next corner, while `pair`'s share, or what is left of the tight capacity number
        `cell`, grows from 0; the corner where that is known already."""
        scale, share, rows = self._scale(), corner.share, self._rows[1 : 2 + len(self._basic)]
        self._line = None
        if pair >= 0:
            effect = self._enter(pair)
            toward = -effect.take(self._tight) @ corner.inverse
            change = effect + toward @ rows
            rise, *moves = toward.tolist()
            share, moves = [*share, 0.0], [*moves, 1.0]
            times = scale  # shares are of the size of the level
        else:
            toward = -corner.inverse[cell]
            change = toward @ rows
            rise, *moves = toward.tolist()
            times = 1.0
        # How far it is until a capacity is used up or a place is empty, and how fast that comes.
        least = _PIVOT / times
        (some,) = (change > least).nonzero()
        falls = change[some]
        full = np.maximum(1.0 - corner.load[some], 0.0) / falls
        empty = [
            (max(amount, 0.0) / fall, fall / scale, place)
            for place, amount, fall in self._amounts(self.level, share, rise, moves)
            if fall / scale > least
        ]
        far = min((at for at, _, _ in empty), default=np.inf)
        if len(full):
            far = min(far, full.item(full.argmin()))
        reaches = bound < np.inf and bound - self.level <= far * rise
        if not (far < np.inf or reaches):
            del self._basic[len(rows) - 1 :]
            return End.LOST
        if cell >= 0:
            del self._tight[cell]
        if reaches:
            self.level, self._free = bound, False
            return End.BOUND
        # Of what comes first, the fastest.
        near = far + _NOTHING * times
        (cells,) = (full <= near).nonzero()
        fastest, used_up, emptied = 0.0, -1, -1
        if len(cells):
            first = cells[falls[cells].argmax()]
            fastest, used_up = falls.item(first), some.item(first)
        for at, fall, place in empty:
            if at <= near and fall > fastest:
                fastest, emptied = fall, place
        self.level += far * rise
        share = [a + far * b for a, b in zip(share, moves, strict=True)]
        if emptied >= 0:
            self._empty(emptied, share)
            return None
        self._tight.append(used_up)
        if pair < 0 or len(share) >= _MOST_TIGHT:
            return None
        column, by = corner.inverse @ rows[:, used_up], change.item(used_up)
        inverse = bordered(corner.inverse, column, toward, by, first=False)
        return Corner(share, corner.load + far * change, inverse)

    def _stopped(
        self, corner: Corner, price: list[float], costs: tuple[Floats, Floats, float], bound: float
    ) -> tuple[End, Stop | None]:
        """Who is stopped at this corner, which is the highest; they are done with then. `costs`: of
        all pairs, the losses of these, and the least loss."""
        cost, loss, least = costs
        level, all_worth, dearest = self.level, sum(price), price.index(max(price))
        if min(price) <= _NOISE * all_worth:
            price = [each if each > _NOISE * all_worth else 0.0 for each in price]
            all_worth, (cost, loss) = sum(price), self._costs(price)
            least = float(loss.min())
        own = cost[self._key]
        if least < 0:
            (below,) = (loss < 0).nonzero()
            np.minimum.at(own, self._group[below], cost[below])
        rising = self._worth(own)
        total, held = float(rising.sum()), float(own @ self._base)
        proven = all_worth - held + _SUM_ROUNDING * all_worth <= total * level * (1 + _PROVEN)
        if not (total > 0 and proven and self._fits(corner.load, corner.share)):
            return End.LOST, None
        if level * (1 + _PROVEN) >= bound:
            # Both at once: this one waits for the next round.
            del self._tight[dearest]
            self._free, self._line, self.level = False, None, bound
            return End.BOUND, None
        if rising[0] <= min(_STOPPED * total, _MOST_LEFT * rising[-1]):
            return End.LOST, None
        stop = self._stop(corner, price, cost, own, total)
        return (End.LOST, None) if stop is None else (End.MACHINES, stop)

    def _stop(
        self, corner: Corner, price: list[float], cost: Floats, own: Floats, total: float
    ) -> Stop | None:
        """Takes out the groups that have an `own` price, with all that has a price; None where that
        is not all that they use, or others may use it."""
        (members,) = own.nonzero()
        worth, resources = own[members], self._shape[1]
        size = self._base[members] + self._rate[members] * self.level
        dear: dict[int, list[float]] = {}  # the prices by class
        for cell, each in zip(self._tight, price, strict=True):
            if each:
                dear.setdefault(cell // resources, [0.0] * resources)[cell % resources] = each
        gone = np.concatenate([self._itself[self._pairs_of[c]] for c in dear])
        others = gone[own[self._group[gone]] == 0]
        if len(others):
            typical, group = float(worth @ size) / len(members), self._group[others]
            loses = cost[others] * (self._base[group] + self._rate[group] * self.level)
            if (loses <= _LOSS * typical).any():
                return None  # somebody who rises can use some of what they leave
        tight = [cell for cell in self._tight if cell // resources not in dear]
        at = [i for i, pair in enumerate(self._basic) if self._class.item(pair) in dear]
        if len(self._basic) - len(at) != len(tight):
            return None
        here, classes = self._key[members], np.array(list(dear))
        if at:
            pairs, share = [self._basic[i] for i in at], [corner.share[i] for i in at]
            np.subtract.at(size, members.searchsorted(self._group[pairs]), share)
            here, size = np.concatenate([here, pairs]), np.concatenate([size, share])
        some = size > _ROUNDING * self._scale()
        here = here[some]
        group = self._group[here]
        stop = Stop(
            members,
            classes,
            (group, self._class[here]),
            size[some] * self._unit[group],
            np.array(list(dear.values())) * self._inverse.take(classes, axis=0) / total,
            worth / (self._unit[members] * total),
        )
        if tight != self._tight[:-1]:
            self._line = None
        self._tight, self._free = tight, False
        self._leave(members, list(dear), gone, at)
        return stop

    def _worth(self, own: Floats) -> Floats:
        """What the rates of those who rise are worth at these prices of all groups, in order; a
        price that is rounding becomes 0."""
        worth = own * self._rate
        rising = worth[worth > 0]
        rising.sort()
        least = _NO_PRICE * float(rising.sum()) / max(len(rising), 1)
        if len(rising) and rising[0] <= least:
            own[(worth > 0) & (worth <= least)] = 0.0
            return rising[rising > least]
        return rising

    def _leave(self, members: Ints, classes: list[int], pairs: Ints, basic: list[int]) -> None:
        """These are done with; `basic` are numbers of basic pairs."""
        self._load[pairs], self._key_of[pairs] = 0.0, pairs
        self._rate[members] = self._base[members] = 0.0
        self._done[members] = True
        line = self._line
        for cells in (self._cells_of[c] for c in classes):
            self._rows[:2, cells] = 0.0
            if line is not None:
                line.load[:, cells], line.full[cells] = 0.0, np.inf
        for i in reversed(basic):
            self._remove(i)

    def _fits(self, load: Floats, share: list[float]) -> bool:
        """Whether these loads, and shares of the basic pairs, fit at the present level to the last
        digits."""
        amounts = self._amounts(self.level, share, 0.0, share)
        least = min((amount for _, amount, _ in amounts), default=0.0)
        return bool(load.max() <= 1 + _PROVEN and least >= -_PROVEN * self._scale())

    def rest(self) -> tuple[tuple[Ints, Ints], Floats] | None:
        """Where those are who are left, groups and classes, and how much they have there at the
        present level; None where it is not certain to the last digits."""
        try:
            line = self._line or self._along()
        except np.linalg.LinAlgError:
            return None
        share = (line.share[0] + line.share[1] * self.level).tolist()
        if not self._fits(line.load[0] + line.load[1] * self.level, share):
            return None
        amount = np.zeros(len(self._group))
        amount[self._key] = self._base + self._rate * self.level
        for pair, there in zip(self._basic, share, strict=True):
            amount[pair] = there
            amount[self._key_of[pair]] -= there
        some = np.flatnonzero(amount > _ROUNDING * self._scale())
        group = self._group[some]
        return (group, self._class[some]), amount[some] * self._unit[group]

    def left(self) -> Left:
        """Who is left to rise, where these may be, and where they are."""
        pairs = np.zeros((len(self._unit), self._shape[0]), dtype=np.bool_)
        basic = pairs.copy()
        left = self._load.any(axis=1)
        pairs[self._group[left], self._class[left]] = True
        here = np.append(self._key[~self._done], np.array(self._basic, dtype=np.int64))
        basic[self._group[here], self._class[here]] = True
        slack = np.ones(self._rows.shape[1], dtype=np.bool_)
        slack[self._tight] = False
        return Left(pairs, Basis(basic, slack.reshape(self._shape)))


def start(problem: Rise) -> Walk | None:
    """A walk from level 0; None where there is much to choose or nothing, or somebody spreads."""
    pairs, size = len(problem.places[0]), len(problem.use)
    much = pairs > min(MOST_PAIRS, _MOST_PLACES * size)
    if much or min(problem.pairs.shape) == 1 or problem.most_on is not None:
        return None
    return Walk(problem)
