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
_NONE, _ONE = np.zeros(1), np.ones(1)


class Walk(Places):
    """Where a filling stands, from its level 0 on.

    `level` is what is reached: there all groups can have what they want. Shares are in units of
    the rates at first, capacities are 1.
    """

    def __init__(self, problem: Rise) -> None:
        """From level 0, where nobody is frozen, everybody rises, and nobody spreads."""
        unit, self._least = problem.units()
        super().__init__(problem, crash(problem, unit, _TURNS))
        self._basic: list[int] = []  # other places
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
        corner: Corner | None = None
        for _ in range(_MOST_PIVOTS):
            try:
                if not self._free:
                    end, corner = self._rise(bound)
                    if end is not None:
                        return end, None
                corner = corner or self._corner()
                price = corner.inverse[:, 0]
                cost = self._cost(self._tight, price)
                loss = cost - cost[self._key_of]
                pair, cell = int(loss.argmin()), int(price.argmin())
                negative = float(price[cell]) / self._scale()
                if loss[pair] >= -_GAIN and negative >= -_GAIN:
                    return self._stopped(corner, cost, loss, bound)
                if loss[pair] < negative:
                    end, corner = self._move(corner, bound, pair=pair)
                else:
                    end, corner = self._move(corner, bound, cell=cell)
                self._line = None
                if end is not None:
                    return end, None
            except np.linalg.LinAlgError:
                break
        return End.LOST, None

    def _scale(self) -> float:
        """What a share is like."""
        return max(self._least, self.level)

    def _inverted(self, rows: Floats) -> Floats:
        tight = self._tight
        if len(tight) > _MOST_TIGHT:
            raise np.linalg.LinAlgError("too large")
        own = rows[:, tight]
        inverse = np.asarray(np.linalg.inv(own) if len(tight) > 1 else 1.0 / own)
        if not np.abs(inverse).max() * _PIVOT < self._scale():
            raise np.linalg.LinAlgError("singular but for rounding")
        return inverse

    def _corner(self) -> Corner:
        """Where all are. LinAlgError where there is no such corner, or its numbers are many."""
        rows = self._growing[None, :]
        if self._basic:
            rows = np.concatenate([rows, self._effects(self._basic)])
        inverse = self._inverted(rows)
        if self._held is None:
            found = inverse.sum(axis=0)
            load = found @ rows
        else:
            found = (1.0 - self._held[self._tight]) @ inverse
            load = found @ rows + self._held
        if not np.isfinite(found[0]):
            raise np.linalg.LinAlgError("numbers lie too far apart")
        self.level = float(found[0])
        return Corner(found[1:], load, rows, inverse)

    def _along(self) -> Line:
        """Where all are at each level. LinAlgError as above."""
        growing, held = self._growing, self._held
        held = np.zeros(len(growing)) if held is None else held
        load = held, growing
        none = np.zeros(0)
        rows, inverse, share = np.zeros((0, len(growing))), np.zeros((0, 0)), (none, none)
        if self._basic:
            rows = self._effects(self._basic)
            inverse = self._inverted(rows)
            share = (1.0 - held[self._tight]) @ inverse, -growing[self._tight] @ inverse
            load = held + share[0] @ rows, growing + share[1] @ rows
        full = np.full(len(growing), np.inf)
        np.divide(1.0 - load[0], load[1], out=full, where=load[1] * self._scale() > _PIVOT)
        return Line(rows, inverse, share, load, full)

    def _rise(self, bound: float) -> tuple[End | None, Corner | None]:
        """The level rises until a capacity is used up or a place is empty; the corner where that is
        known already."""
        line = self._line = self._line or self._along()
        cell = int(line.full.argmin())
        level, empty = max(float(line.full[cell]), self.level), -1
        if self._basic:
            group = self._group[self._basic]
            same = group[:, None] == group
            falls = np.concatenate([-line.share[1], same @ line.share[1] - self._rate[group]])
            left = np.concatenate([line.share[0], self._base[group] - same @ line.share[0]])
            (some,) = (falls > _PIVOT).nonzero()
            if len(some):
                first = left[some] / falls[some]
                if first.min() < level:
                    empty = int(some[first.argmin()])
                    level = max(float(first.min()), self.level)
        if bound < np.inf and bound <= level:
            self.level = bound
            return End.BOUND, None
        if not level < np.inf:
            return End.LOST, None
        self.level, self._free = level, True
        share = line.share[0] + line.share[1] * level
        if empty < 0:
            self._tight.append(cell)
            by, column = float(line.load[1][cell]), line.inverse @ line.rows[:, cell]
            inverse = bordered(line.inverse, column, line.share[1], by, 0)
            rows = self._growing[None, :]
            if self._basic:
                rows = np.concatenate([rows, line.rows])
            return None, Corner(share, line.load[0] + line.load[1] * level, rows, inverse)
        self._line = None
        self._empty(empty, self._basic, share)
        return None, None

    def _empty(self, place: int, basic: list[int], share: Floats) -> None:
        """The place with this number among the basic ones, or the first place of such a one's
        group, is basic no more."""
        if place >= len(basic):
            # The largest of the group's others becomes its first.
            group = self._group[basic]
            own = group == group[place - len(basic)]
            place = int(np.where(own, share, -np.inf).argmax())
            self._exchange(int(group[place]), basic[place])
        self._basic.remove(basic[place])

    def _move(
        self, corner: Corner, bound: float, *, pair: int = -1, cell: int = -1
    ) -> tuple[End | None, Corner | None]:
        """To the next corner, while `pair`'s share, or what is left of the tight capacity number
        `cell`, grows from 0; the corner where that is known already."""
        scale, basic, share = self._scale(), self._basic, corner.share
        if pair >= 0:
            effect = self._effects([pair])
            toward = -effect[0, self._tight] @ corner.inverse
            change = effect[0] + toward @ corner.rows
            basic, share = [*basic, pair], np.concatenate((share, _NONE))
            moves = np.concatenate((toward[1:], _ONE))
            times = scale  # shares are of the size of the level
        else:
            effect, toward = corner.rows[:0], -corner.inverse[cell]
            change = toward @ corner.rows
            moves, times = toward[1:], 1.0
        rise = float(toward[0])
        there, falls = 1.0 - corner.load, change * times
        if basic:
            group = self._group[basic]
            same, rate = group[:, None] == group, self._rate[group]
            first = self._base[group] + rate * self.level - same @ share
            there = np.concatenate([there, share / scale, first / scale])
            less = np.concatenate([-moves, same @ moves - rate * rise])
            falls = np.concatenate([falls, less * (times / scale)])
        (some,) = (falls > _PIVOT).nonzero()
        ratio = np.maximum(there[some], 0.0) / falls[some]
        far = float(ratio.min(initial=np.inf))
        reaches = bound < np.inf and bound - self.level <= far * times * rise
        if not (far < np.inf or reaches):
            return End.LOST, None
        tight = self._tight.copy()
        if cell >= 0:
            del self._tight[cell]
        if pair >= 0:
            self._basic.append(pair)
        if reaches:
            self.level, self._free = bound, False
            return End.BOUND, None
        near = some[ratio <= far + _NOTHING]
        leaves = int(near[falls[near].argmax()])
        far *= times
        self.level += far * rise
        share = share + far * moves
        if leaves >= len(change):
            self._empty(leaves - len(change), basic, share)
            return None, None
        self._tight.append(leaves)
        if pair < 0 or len(tight) >= _MOST_TIGHT:
            return None, None
        column = corner.inverse @ corner.rows[:, leaves]
        by = float(change[leaves])
        inverse = bordered(corner.inverse, column, toward, by, len(tight))
        rows = np.concatenate([corner.rows, effect])
        return None, Corner(share, corner.load + far * change, rows, inverse)

    def _stopped(
        self, corner: Corner, cost: Floats, loss: Floats, bound: float
    ) -> tuple[End, Stop | None]:
        """Who is stopped at this corner, which is the highest; they are done with then."""
        level, rate, base = self.level, self._rate, self._base
        price = corner.inverse[:, 0]
        if price.min() <= _NOISE * price.sum():
            price = np.where(price > _NOISE * price.sum(), price, 0.0)
            cost = self._cost(self._tight, price)
            loss = cost - cost[self._key_of]
        own = cost[self._key]
        if loss.min() < 0:
            (below,) = (loss < 0).nonzero()
            np.minimum.at(own, self._group[below], cost[below])
        worth = own * rate
        tiny = (worth > 0) & (worth * np.count_nonzero(worth) <= _NO_PRICE * worth.sum())
        if tiny.any():
            own[tiny] = worth[tiny] = 0.0
        total, all_worth = float(worth.sum()), float(price.sum())
        proven = all_worth - float(own @ base) + _SUM_ROUNDING * all_worth
        amount = self._amount(corner.share, corner.load)
        if amount is None or not (total > 0 and proven <= total * level * (1 + _PROVEN)):
            return End.LOST, None
        if level * (1 + _PROVEN) >= bound:
            # Both at once: this one waits for the next round.
            del self._tight[int(corner.inverse[:, 0].argmax())]
            self._free, self._line, self.level = False, None, bound
            return End.BOUND, None
        resources = self._shape[1]
        paid = zip(self._tight, price.tolist(), strict=True)
        classes = sorted({cell // resources for cell, worth_of in paid if worth_of})
        gone = np.concatenate([self._order[self._heads[c] : self._heads[c + 1]] for c in classes])
        group = self._group[gone]
        among, size = own[group] > 0, base + rate * level
        typical = float(own @ size) / np.count_nonzero(own)
        loses = (cost[gone] - own[group]) * size[group]
        if (~among & (loses <= _LOSS * typical)).any():
            return End.LOST, None  # somebody who rises can use some of what they leave
        left_to = min(_STOPPED * total, _MOST_LEFT * float(worth.max()))
        (members,) = (own > 0).nonzero()
        if ((rate[members] > 0) & (worth[members] <= left_to)).any():
            return End.LOST, None
        basic = [pair for pair in self._basic if self._class[pair] not in classes]
        tight = [cell for cell in self._tight if cell // resources not in classes]
        if len(basic) != len(tight):
            return End.LOST, None
        prices = np.zeros(self._cells.size)
        prices[self._tight] = price
        there = gone[among]
        there = there[amount[there] > _ROUNDING * self._scale()]
        own_group = self._group[there]
        stop = Stop(
            members,
            np.array(classes),
            (own_group, self._class[there]),
            amount[there] * self._unit[own_group],
            prices.reshape(self._shape) * self._inverse / total,
            own / (self._unit * total),
        )
        if len(tight) < len(self._tight) - 1:
            self._line = None
        self._basic, self._tight, self._free = basic, tight, False
        self._leave(members, stop.classes, gone)
        return End.MACHINES, stop

    def _leave(self, members: Ints, classes: Ints, pairs: Ints) -> None:
        """These are done with."""
        self._load[pairs], self._key_of[pairs] = 0.0, pairs
        self._rate[members] = self._base[members] = 0.0
        self._done[members] = True
        taken = [self._growing]
        if self._held is not None:
            taken.append(self._held)
        if self._line is not None:
            taken += self._line.load
            self._line.full.reshape(self._shape)[classes] = np.inf
        for each in taken:
            each.reshape(self._shape)[classes] = 0.0

    def _amount(self, share: Floats, load: Floats) -> Floats | None:
        """(pairs,) the shares where those of the basic pairs are these; None where they do not fit
        to the last digits."""
        amount = np.zeros(len(self._group))
        amount[self._key] = self._base + self._rate * self.level
        if self._basic:
            amount[self._basic] = share
            np.subtract.at(amount, self._key_of[self._basic], share)
        fits = load.max() <= 1 + _PROVEN and amount.min() >= -_PROVEN * self._scale()
        return amount if fits else None

    def rest(self) -> tuple[tuple[Ints, Ints], Floats] | None:
        """Where those are who are left, groups and classes, and how much they have there at the
        present level; None where it is not certain to the last digits."""
        try:
            line = self._line or self._along()
        except np.linalg.LinAlgError:
            return None
        share, load = (part[0] + part[1] * self.level for part in (line.share, line.load))
        amount = self._amount(share, load)
        if amount is None:
            return None
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
        slack = np.ones(self._cells.size, dtype=np.bool_)
        slack[self._tight] = False
        return Left(pairs, Basis(basic, slack.reshape(self._shape)))


def start(problem: Rise) -> Walk | None:
    """A walk from level 0; None where there is much to choose or nothing, or somebody spreads."""
    pairs, size = len(problem.places[0]), len(problem.use)
    much = pairs > min(MOST_PAIRS, _MOST_PLACES * size)
    if much or min(problem.pairs.shape) == 1 or problem.most_on is not None:
        return None
    return Walk(problem)
