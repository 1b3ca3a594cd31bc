"""What machines bound: groups that share machines, and how high each such part can rise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairlead.model.errors import SolverError
from fairlead.sharing.captive import Plan, guess, plan, stop_by_plan
from fairlead.sharing.coalesce import Groups
from fairlead.sharing.guards import Guards, Prices
from fairlead.sharing.pieces import connected, indices
from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.rise import Basis, Rise, Risen, rise_at_once
from fairlead.sharing.solvers import interior, table
from fairlead.sharing.solvers.exact import polish
from fairlead.sharing.solvers.simplex import Simplex

# The simplex gives shares on few classes each, and is fast where there is little to choose. An
# interior point method takes a few dense steps however much there is.
_LITTLE, _MUCH = 3000, 30_000  # pairs
_LOOSE = 0.5  # of all pairs of the part's groups and classes
# In between the simplex goes first. If so many pivots for each row do not suffice, from nothing or
# from where the last one ended, the interior point method takes less than the rest of them.
_FIRST_PIVOTS, _NEXT_PIVOTS = 1.5, 0.25
# Below so many pairs a program costs no more than to guess what will be found without it.
_SEVERAL = 1000
_FEWER = 4
# Prices below these parts of all (of a capacity) and of the mean (of a group, times its rate) are
# rounding errors.
_NOISE = 1e-13
_NO_PRICE = 1e-11
# A group whose price is small is left to the next round, where it is large: a rounding error of
# the bound, _ROUNDING, must not leave it open to rise by more than _RISE.
_ROUNDING = 1e-15
_RISE = 1e-7
_MOST_LEFT = 1e-3
# So much may a group that had a price seem to rise, over its price times its rate, and at most.
_HELD_ROUNDING = 1e-13
_MOST_HELD = 1e-5
# Parts whose levels are closer than this, relative, stop together.
_TOGETHER = 1e-12
# Reduced costs where the prices of the rising groups, each times its rate, add up to their number.
_LOSS = 1e-6

Ahead = Callable[[int], tuple[float, Floats]]
"""The level and the groups' shares so many rounds from now, if no machine stops anybody."""


@dataclass(frozen=True)
class Begun:
    """How far a filling is: from this level on shares are base + rate * level (G,)."""

    base: Floats
    rate: Floats
    share: Floats  # (G, C) of those who are done with, 0 for all others
    pairs: Bools  # (G, C) where the others may be
    guards: Guards
    level: float = 0.0
    basis: Basis | None = None  # where the others stand at this level


@dataclass(eq=False)
class Part:
    """Groups and classes that nobody else uses or is used by, as far as it still matters.

    `highest` is its highest level if `known`, else a level that it is known to reach.
    """

    groups: Ints
    classes: Ints
    highest: float
    known: bool = False
    problem: Rise | None = None  # what it was last asked
    risen: Risen | None = None  # the answer
    loss: Floats | None = None  # the reduced costs of the problem's pairs, once there are prices
    hard: bool = False  # the simplex took too long for it, or for what it is a piece of
    sure: float = 0.0  # the level up to which it stops nobody, if no machine elsewhere does
    ahead: int = 1  # so many rounds from now it is looked at next
    plan: Plan | None = None  # what was found for it, or for what it is a piece of
    guesses: int = 10  # so many stops are guessed at once; fewer where it was wrong


class Parts:
    """All parts, and what is known for good: settled shares and pairs that are ruled out.

    `base` + `rate` * level is the share of each group; rate 0 where it is frozen. `steady`: nobody
    rises faster because somebody else is frozen.
    """

    def __init__(self, groups: Groups, begun: Begun, *, steady: bool) -> None:
        self.groups = groups
        self.guards = begun.guards
        self._steady = steady
        self.base, self.rate = begun.base, begun.rate
        self.share = begun.share
        self.pairs = begun.pairs.copy()
        self._spreads = np.asarray(np.isfinite(groups.most_on).any(axis=1))
        self._any_spreads = bool(self._spreads.any())
        self._basic = np.zeros(groups.usable.shape, dtype=np.bool_)
        self._slack = np.ones(groups.capacity.shape, dtype=np.bool_)
        self._with_basis = False
        # The largest price, times its rate, that a group had without being frozen for it.
        self._held = np.zeros(len(self.rate))
        self._loose: list[Part] = []
        # Whose part has not just fallen into pieces.
        self._whole = np.ones(len(self.rate), dtype=np.bool_)
        self.parts: list[Part] = []
        for members, classes in zip(*map(indices, connected(self.pairs)), strict=True):
            part = Part(members, classes, begun.level)
            if begun.basis is not None:
                self._keep(part, begun.basis.of(members, classes))
            if (self.rate[members] > 0).any():
                self.parts.append(part)
            else:
                self._settle(part)

    @cached_property
    def _simplex(self) -> Simplex:
        """Only where it is needed: to set it up takes as long as a small program."""
        return Simplex()

    def lowest(self, ceiling: float, ahead: Ahead) -> tuple[float, list[Part]]:
        """The level at which the first parts stop, if that is not above the ceiling, and those
        parts; otherwise some level above the ceiling and no part. `ahead` says where the groups
        will be so many rounds from now if no machine stops anybody."""
        while True:
            level = min((part.highest for part in self.parts), default=np.inf)
            if level > ceiling:
                return level, []
            first = [part for part in self.parts if part.highest <= level * (1 + _TOGETHER)]
            unknown = [part for part in first if not part.known]
            if not unknown:
                return level, first
            for part in unknown:
                if not self._is_sure(part, ahead):
                    self._solve(part)

    def _is_sure(self, part: Part, ahead: Ahead) -> bool:
        """Whether the part stops nobody for some rounds. With several jobs to a tenant, rates rise
        whenever tasks run out, and what was known of the part is too high: so it is asked for a
        point further on, twice as far each time that it holds and half as far where it does not."""
        while part.ahead > 1:
            level, share = ahead(part.ahead)
            if level > part.highest and self._holds(part, share[part.groups]):
                part.highest = part.sure = level
                part.ahead *= 2
                return True
            part.ahead //= 2
        return False

    def _holds(self, part: Part, share: Floats) -> bool:
        """Whether the part's groups can have these shares all together."""
        risen = self._rise(part, self._problem(part, np.zeros(len(share)), share, 0.0))
        return risen.level >= 1.0

    def _solve(self, part: Part) -> None:
        base, rate = self.base[part.groups], self.rate[part.groups]
        risen = self._highest(part, base, rate)
        at_least = part.highest
        # Whoever had a price cannot rise: what is found above is what rounding left to others,
        # much where a little of it is a lot to somebody small.
        held = float((self._held[part.groups] * (rate > 0)).max())
        rounding = min(_HELD_ROUNDING / held, _MOST_HELD) if held > 0 else 0.0
        if at_least < risen.level <= at_least * (1 + rounding):
            part_of_it = (base + rate * at_least) / (base + rate * risen.level)
            risen = replace(risen, level=at_least, share=risen.share * part_of_it[:, None])
        part.risen = risen
        part.highest = max(risen.level, at_least)
        part.known = True

    def _highest(self, part: Part, base: Floats, rate: Floats) -> Risen:
        """The highest level: where it is a bound of few, or what was found behind such bounds, a
        plan tells it. A plan that fails may have got further than the part has."""
        problem = part.problem = self._problem(part, base, rate, part.highest)
        guessed = part.plan is None and self._guess(part, problem)
        if part.plan is None and not guessed:
            return self._rise(part, problem)
        if part.plan is not None:
            risen = stop_by_plan(problem, part.plan, part.groups, part.classes)
            if risen is not None:
                return risen
            self._keep(part, part.plan.basis(part.groups, part.classes))
            level = part.plan.last.level
            if part.plan.at(part.groups, part.classes, base + rate * level) is not None:
                part.highest = max(part.highest, level)
            part.plan = None
        if guessed:
            part.guesses //= _FEWER
        part.problem = self._problem(part, base, rate, part.highest)
        return self._rise(part, part.problem)

    def _guess(self, part: Part, problem: Rise) -> bool:
        """Whether it seemed worth while to guess who stops at bounds of their own; the part has a
        plan then, if one came of it."""
        if not self._steady or part.guesses == 0 or len(problem.places[0]) < _SEVERAL:
            return False
        found = guess(problem, part.guesses)
        if found is None:
            return False
        # Behind such bounds many stop together: seldom is the simplex the faster there.
        risen = self._by_program(part, found.rest, together=True)
        part.plan = plan(problem, found, risen, part.groups, part.classes)
        return True

    def _rise(self, part: Part, problem: Rise) -> Risen:
        risen = rise_at_once(problem) or self._by_program(part, problem)
        self._keep(part, risen.basis)
        return risen

    def _keep(self, part: Part, basis: Basis | None) -> None:
        if basis is not None:
            self._basic[part.groups[:, None], part.classes] = basis.pairs
            self._slack[part.classes] = basis.slack
            self._with_basis = True

    def _problem(self, part: Part, base: Floats, rate: Floats, at_least: float) -> Rise:
        inside = part.groups[:, None], part.classes
        spreads = self._any_spreads and self._spreads[part.groups].any()
        return Rise(
            use=self.groups.use[part.groups],
            pairs=self.pairs[inside],
            capacity=self.groups.capacity[part.classes],
            most_on=self.groups.most_on[inside] if spreads else None,
            base=base,
            rate=rate,
            least=at_least,
            basis=Basis(self._basic[inside], self._slack[part.classes])
            if self._with_basis
            else None,
        )

    def _by_program(self, part: Part, problem: Rise, *, together: bool = False) -> Risen:
        number = int(np.count_nonzero(problem.pairs))
        much = number > _MUCH or (number > _LITTLE and number > _LOOSE * problem.pairs.size)
        if (much or number > _LITTLE) and problem.most_on is None:
            if not much and not part.hard:
                pivots = _NEXT_PIVOTS if problem.basis or together else _FIRST_PIVOTS
                rows = len(problem.use) + problem.capacity.size
                risen = self._simplex.rise(problem, int(pivots * rows))
                if risen is not None:
                    return polish(problem, risen)
                part.hard = True
            risen = interior.rise(problem)
            if risen is not None:
                return risen
        risen = table.rise(problem) or self._simplex.rise(problem)
        assert risen is not None
        return polish(problem, risen)

    def prices(self, part: Part) -> Prices:
        """The prices of the level that a part has reached, for every usable pair.

        The rising groups' prices, each times its rate, add up to 1.
        """
        problem, risen = part.problem, part.risen
        assert problem is not None and risen is not None
        group, machine_class = problem.places
        worth = risen.price * problem.capacity
        # Not 0 for rounding only; it would spoil the proof where all true prices are small.
        own_price = np.where(worth > _NOISE * worth.sum(), risen.price, 0.0)
        cost = np.einsum("pr,pr->p", problem.use[group], own_price[machine_class])
        # What rounding left: no group's price is above what its cheapest class costs, except
        # where spreading is what stops it.
        own = np.minimum(risen.group, np.minimum.reduceat(cost, problem.first))
        spreads = self._spreads[part.groups]
        if self._any_spreads:
            own = np.where(spreads, risen.group, own)
        rate = problem.rate
        worth = own * rate
        # A rising group's price that is next to nothing would make the bound rise with the level.
        tiny = worth * np.count_nonzero(worth) <= _NO_PRICE * worth.sum()
        own[(rate > 0) & tiny] = 0.0
        total = float(own @ rate)
        if total <= 0:
            raise SolverError("no price is left of a level: numbers lie too far apart")
        part.loss = (cost - own[group]) / total
        groups = self.groups
        spread = None
        if self._any_spreads:
            spread = np.zeros(groups.usable.shape)
            over = np.where(spreads[group], -part.loss, 0.0)
            spread[part.groups[group], part.classes[machine_class]] = np.maximum(over, 0.0)
        price = np.zeros(groups.capacity.shape)
        price[part.classes] = own_price / total
        of_group = np.zeros(len(groups.use))
        of_group[part.groups] = own / total
        return Prices(price, of_group, spread)

    def stopped(self, prices: Prices) -> Bools:
        """(G,) whether a part's `prices` stop a rising group for good."""
        worth = prices.group * self.rate
        stopped: Bools = worth > min(_ROUNDING / _RISE, _MOST_LEFT * float(worth.max()))
        return stopped

    def freeze(self, part: Part, prices: Prices, level: float) -> None:
        """A part that has reached its highest level falls into smaller ones, between which its
        `prices` rule out all pairs. `change`, which says who froze, then goes on with them."""
        problem, risen = part.problem, part.risen
        assert problem is not None and risen is not None and part.loss is not None
        self.parts.remove(part)
        self._whole[part.groups] = False
        group, machine_class = problem.places
        inside = part.groups[group], part.classes[machine_class]
        size = problem.base + problem.rate * level
        worth = prices.group[part.groups] * size
        typical = float(worth.sum()) / np.count_nonzero(worth)
        left = part.loss * size[group] <= _LOSS * typical
        self.share[inside] = risen.share[group, machine_class] * left
        self._held[part.groups] = np.maximum(
            self._held[part.groups], prices.group[part.groups] * problem.rate
        )
        if not (problem.rate > 0)[~self.stopped(prices)[part.groups]].any():
            # Nobody in it rises any more.
            self.guards.add(prices, [(part.groups, part.classes)])
            return
        some = np.zeros(problem.pairs.shape, dtype=np.bool_)
        some[group[left], machine_class[left]] = True
        piece_of_group, piece_of_class = connected(some)
        self.pairs[inside] = piece_of_group[group] == piece_of_class[machine_class]
        pieces = [
            (part.groups[members], part.classes[classes])
            for members, classes in zip(
                *map(indices, (piece_of_group, piece_of_class)), strict=True
            )
        ]
        self.guards.add(prices, pieces)
        self._loose += [
            Part(
                *piece,
                level,
                hard=part.hard,
                ahead=part.ahead // 2 or 1,
                plan=part.plan,
                guesses=part.guesses,
            )
            for piece in pieces
        ]

    def change(self, base: Floats, rate: Floats, level: float, *, foreseen: bool) -> None:
        """From this level on, shares are base + rate * level. `foreseen`: no machine stopped
        anybody."""
        faster = rate > self.rate
        changed = (rate != self.rate) | (base != self.base)
        self.base, self.rate = base, rate
        rising = rate > 0
        self.pairs[~rising & (base == 0)] = False  # stopped before anything was had
        if not foreseen:
            for part in self.parts:
                if part.highest <= part.sure:
                    part.highest, part.known = level, False
                part.sure = level
        # Whoever froze in a part that fell into pieces is in none of these.
        whole = changed & self._whole
        for part in list(self.parts) if whole.any() else ():
            if not whole[part.groups].any():
                continue
            left = self.pairs[part.groups].any(axis=1)
            if not left.all():
                part.groups, part.risen = part.groups[left], None
            part.known = False
            if faster[part.groups].any():
                part.highest = max(level, part.sure)  # else what it could reach it can reach still
                part.ahead = max(part.ahead, 2)
            if not rising[part.groups].any():
                self._settle(part)
                self.parts.remove(part)
        for part in self._loose:
            if rising[part.groups].any():
                self.parts.append(part)
                self._whole[part.groups] = True
        self._loose = []

    def _settle(self, part: Part) -> None:
        """Everyone in the part is frozen: shares for all, even if they were not looked for yet."""
        if len(part.groups) == 0:
            return
        wanted = self.base[part.groups]
        inside = part.groups[:, None], part.classes
        if part.risen is None or (part.risen.share.sum(axis=1) < wanted * (1 - 1e-13)).any():
            none = np.zeros(len(wanted))
            part.risen = self._rise(part, self._problem(part, none, wanted, 0.0))
        self.share[inside] = part.risen.share
