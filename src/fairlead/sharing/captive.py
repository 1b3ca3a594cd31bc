"""Groups that fill all the machines they may use: how high they can rise is told by a division.

A group with few machines stops where they are full, and so do the groups that can use a single
class only. Both bound the level of all, whatever the others do. Where such a bound is the level,
most often, a round needs no program of its own: one program with those groups at their bounds says
how high the others get, and proves that all of these bounds are reached if that is higher.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairlead.sharing.problem import Bools, Floats, Ints
from fairlead.sharing.rise import Basis, Rise, Risen

# What is left of a capacity, relative, that counts as nothing; and how exactly a plan must fit.
_NOTHING = 1e-12
_SUM_ROUNDING = 4 * np.finfo(np.float64).eps  # of a sum of some terms, as a part of them

# Near the level that even one machine of everything would not pass, all stop together.
_LIKELY = 0.9


@dataclass(frozen=True)
class Stop:
    """Who stops first among those that fill all they may use, with the prices that prove it."""

    level: float
    members: Bools  # (G,) who stops, and who was frozen and has a part of the same
    share: Floats  # (G, C) what the members have; 0 for all others
    price: Floats  # (C, R)
    group: Floats  # (G,)


def first_stop(problem: Rise) -> Stop | None:
    """The least level at which a group by itself, or the groups that can use a single class only,
    fill what they may use. None where somebody spreads."""
    if problem.most_on is not None:
        return None
    size, shape = len(problem.use), problem.capacity.shape
    group, machine_class = problem.places
    rising = problem.rate > 0
    alone = np.bincount(group, problem.fits, minlength=size)
    bound = np.full(size, np.inf)
    np.divide(alone - problem.base, problem.rate, out=bound, where=rising)
    first = int(bound.argmin())
    bound_to = np.where(np.bincount(group, minlength=size) == 1, problem.pairs.argmax(axis=1), -1)
    captive = np.flatnonzero(bound_to >= 0)
    taken, wanted = np.empty(shape), np.empty(shape)
    for r, use in enumerate(problem.use[captive].T):
        for into, times in ((taken, problem.base[captive]), (wanted, problem.rate[captive])):
            into[:, r] = np.bincount(bound_to[captive], use * times, minlength=shape[0])
    room = np.full(shape, np.inf)
    np.divide(problem.capacity - taken, wanted, out=room, where=wanted > 0)
    at, scarce = divmod(int(room.argmin()), shape[1])
    members = np.zeros(size, dtype=np.bool_)
    share, price, worth = np.zeros((size, shape[0])), np.zeros(shape), np.zeros(size)
    if bound[first] < room[at, scarce]:
        own = group == first
        classes = machine_class[own]
        there = problem.capacity[classes]
        parts = np.divide(
            problem.use[first], there, out=np.zeros_like(there), where=problem.use[first] > 0
        )
        full = parts.argmax(axis=1)
        members[first], worth[first] = True, 1.0
        share[first, classes] = problem.fits[own]
        price[classes, full] = 1.0 / problem.use[first, full]
        return Stop(float(bound[first]), members, share, price, worth)
    level = float(room[at, scarce])
    members = (bound_to == at) & (problem.use[:, scarce] > 0)
    share[members, at] = (problem.base + problem.rate * level)[members]
    price[at, scarce] = 1.0
    worth[members] = problem.use[members, scarce]
    return Stop(level, members, share, price, worth)


def _pooled(problem: Rise) -> float:
    """A level that is out of reach even if all classes were one."""
    room = problem.capacity.sum(axis=0) - problem.base @ problem.use
    wanted = problem.rate @ problem.use
    return float(np.divide(room, wanted, out=np.full(len(room), np.inf), where=wanted > 0).min())


def _without(problem: Rise, stop: Stop) -> Rise:
    """What is left for the others."""
    others = ~stop.members
    left = problem.capacity - stop.share[stop.members].T @ problem.use[stop.members]
    left[(left <= _NOTHING * problem.capacity) | (stop.price > 0)] = 0.0
    use = problem.use[others]
    lacks = (use > 0).astype(np.float64) @ (left <= 0).astype(np.float64).T > 0
    return Rise(
        use,
        problem.pairs[others] & ~lacks,
        left,
        None,
        problem.base[others],
        problem.rate[others],
    )


@dataclass(frozen=True)
class Guess:
    """That these groups stop at their bounds, one after the other, and what that leaves."""

    stops: tuple[tuple[Ints, Stop], ...]  # with the groups (of the problem) that each is about
    others: Ints  # the groups that are left
    classes: Ints  # the classes that these may still use
    rest: Rise  # of both


def guess(problem: Rise, most: int) -> Guess | None:
    """The groups that seem to stop first at bounds of their own, in at most so many steps; None
    where none does, or where nobody would be left to rise."""
    stops: list[tuple[Ints, Stop]] = []
    groups, rest = np.arange(len(problem.use)), problem
    before = groups, rest
    while len(stops) < most:
        stop = first_stop(rest)
        if stop is None or stop.level > _LIKELY * _pooled(rest):
            break
        if stops and stop.level < stops[-1][1].level * (1 - _NOTHING):
            # With the last of them at its bound this one could not get there.
            stops.pop()
            groups, rest = before
            break
        left = _without(rest, stop)
        if not left.pairs.any(axis=1).all() or not (left.rate > 0).any():
            break
        frozen = ~stop.members & (rest.rate == 0) & (rest.base > 0)
        if (rest.pairs[frozen] & stop.share.any(axis=0)).any():
            break  # it could be that not even these have what they need
        before = groups, rest
        stops.append((groups, stop))
        groups, rest = groups[~stop.members], left
    if not stops:
        return None
    classes = np.flatnonzero(rest.pairs.any(axis=0))
    basis = problem.basis
    if basis is not None:
        basis = Basis(basis.pairs[groups[:, None], classes], basis.slack[classes])
    rest = replace(rest, pairs=rest.pairs[:, classes], capacity=rest.capacity[classes], basis=basis)
    return Guess(tuple(stops), groups, classes, rest)


@dataclass(frozen=True)
class Plan:
    """Shares that all groups can have together, and prices under which some can have no more.

    Of groups and classes by their numbers in the whole problem, so that what a part falls into
    can go on with it: what is enough for now is a part of what there is in the end.
    """

    groups: Ints
    classes: Ints
    share: Floats  # (groups, classes)
    total: Floats  # (groups,)
    stops: tuple[tuple[Ints, Stop], ...]  # who was left at each, by its number in the whole problem
    last: Risen  # of all these groups; those at bounds of their own have no price

    def at(self, groups: Ints, classes: Ints, wanted: Floats) -> Floats | None:
        """Shares of so much for some of the groups on some of the classes, if the plan has them."""
        row, column = self._find(groups, classes)
        have = self.total[row]
        if (wanted > have * (1 + _NOTHING)).any():
            return None
        share = self.share[row[:, None], column]
        found = share.sum(axis=1)
        if (found < have * (1 - _NOTHING)).any():
            return None  # some of it is elsewhere
        share *= (wanted / found)[:, None]
        return share

    def stop(self, problem: Rise, groups: Ints, classes: Ints) -> Risen | None:
        """The bound at which some of just these groups were found to stop, by what they have now,
        if the plan's shares reach it."""
        for known, stop in self.stops:
            if len(known) != len(groups) or (known != groups).any():
                continue
            price = stop.price[np.searchsorted(self.classes, classes)]
            worth = float(stop.group @ problem.rate)
            if worth == 0 or problem.pairs[stop.group > 0][:, ~price.any(axis=1)].any():
                return None  # they are out of tasks, or there is more that they may use
            proven = float((price * problem.capacity).sum() - stop.group @ problem.base)
            return self.reached(problem, groups, classes, proven / worth, price, stop.group)
        return None

    def reached(
        self, problem: Rise, groups: Ints, classes: Ints, level: float, price: Floats, group: Floats
    ) -> Risen | None:
        """The answer where these prices bound the level, if the plan's shares reach it."""
        if level > self.last.level * (1 + _NOTHING):
            return None
        # What those hold who rise no more was subtracted: what is left may be rounding alone.
        rounding = _SUM_ROUNDING * float((price * problem.capacity).sum())
        if not rounding <= _NOTHING * level * float(group @ problem.rate):
            return None
        share = self.at(groups, classes, problem.base + problem.rate * level)
        return None if share is None else Risen(level, share, price, group, problem.basis)

    def end(self, problem: Rise, groups: Ints, classes: Ints) -> Risen | None:
        """The highest level of these groups if the plan's last one is, which its prices say."""
        level, rising = self.last.level, problem.rate > 0
        share = self.at(groups, classes, problem.base + problem.rate * level)
        if share is None:
            return None
        row, column = self._find(groups, classes)
        price = self.last.price[column]
        cheapest = np.where(problem.pairs, problem.use @ price.T, np.inf).min(axis=1)
        group = np.where(rising, np.minimum(self.last.group[row], cheapest), cheapest)
        worth, held = float(group @ problem.rate), float(group @ problem.base)
        all_worth = float((price * problem.capacity).sum())
        proven = all_worth - held + _SUM_ROUNDING * all_worth
        # Where nobody who rises has a price to speak of, these prove nothing.
        if worth * level <= _NOTHING * held or proven > worth * level * (1 + _NOTHING):
            return None
        return Risen(level, share, price, group, self.basis(groups, classes))

    def basis(self, groups: Ints, classes: Ints) -> Basis | None:
        """Where these groups stand on these classes at the plan's last level."""
        row, column = self._find(groups, classes)
        basis = self.last.basis
        if basis is None:
            return None
        return Basis(basis.pairs[row[:, None], column], basis.slack[column])

    def _find(self, groups: Ints, classes: Ints) -> tuple[Ints, Ints]:
        return np.searchsorted(self.groups, groups), np.searchsorted(self.classes, classes)


def plan(problem: Rise, found: Guess, risen: Risen, groups: Ints, classes: Ints) -> Plan | None:
    """The plan that a guess and the highest level of the rest make; None where it does not fit
    to the last digits. Whether the bounds are reached shows where the plan is asked for them."""
    if risen.level <= 0:
        return None
    share = np.zeros(problem.pairs.shape)
    worth = np.zeros(len(problem.use))
    for members, stop in found.stops:
        share[members[stop.members]] = stop.share[stop.members]
    inside = found.others[:, None], found.classes
    share[inside] = risen.share
    worth[found.others] = risen.group
    price = np.zeros(problem.capacity.shape)
    price[found.classes] = risen.price
    total = share.sum(axis=1)
    wanted = problem.base[found.others] + problem.rate[found.others] * risen.level
    if (abs(total[found.others] - wanted) > _NOTHING * wanted).any():
        return None
    if (share.T @ problem.use > problem.capacity * (1 + _NOTHING)).any():
        return None
    basis = None
    if risen.basis is not None:
        pairs = np.zeros(problem.pairs.shape, dtype=np.bool_)
        pairs[inside] = risen.basis.pairs
        slack = np.ones(problem.capacity.shape, dtype=np.bool_)
        slack[found.classes] = risen.basis.slack
        for members, stop in found.stops:
            _stand(pairs, slack, members, stop, risen.level)
        basis = Basis(pairs, slack)
    stops = tuple((groups[members], stop) for members, stop in found.stops)
    last = Risen(risen.level, share, price, worth, basis)
    return Plan(groups, classes, share, total, stops, last)


def _stand(pairs: Bools, slack: Bools, members: Ints, stop: Stop, level: float) -> None:
    """Where those who stop stand at a level below: on their first machines, one after the other."""
    full = stop.price > 0
    row, own = np.nonzero(stop.share)
    if np.count_nonzero(stop.members) > 1:  # all on one class
        pairs[members[row], own] = True
        slack[full] = level < stop.level
        return
    end = np.cumsum(stop.share[row, own])
    last = int(np.searchsorted(end, min(level / stop.level, 1.0) * end[-1]))
    pairs[members[row[: last + 1]], own[: last + 1]] = True
    slack[full] = False
    slack[own[last:]] |= full[own[last:]]


def stop_by_plan(problem: Rise, made: Plan, groups: Ints, classes: Ints) -> Risen | None:
    """The highest level where a plan tells it: at a bound that a plan reaches, or at its end."""
    risen = made.stop(problem, groups, classes)
    if risen is None:
        stop = first_stop(problem)
        if stop is not None:
            risen = made.reached(problem, groups, classes, stop.level, stop.price, stop.group)
    return risen or made.end(problem, groups, classes)
