"""Prices that go on ruling out, in later rounds, what the parts of earlier rounds use up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.model.errors import InternalError
from fairlead.sharing.coalesce import Groups
from fairlead.sharing.problem import Floats, Ints


@dataclass(frozen=True)
class Prices:
    """Multipliers: use·price + spread >= group price, for pairs of a group and a class."""

    capacity: Floats  # (C, R)
    group: Floats  # (G,)
    spread: Floats | None  # (G, C); None where nobody spreads


class Guards:
    """For every part, the prices of the round that made it.

    They hold for good, in any multiple: whoever rises later had the group price 0, and whoever
    was frozen keeps its share, so that all later shares are optimal for these prices too. Parts
    share no class and no group: each may have a multiple of its own.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        spreads = bool(np.isfinite(groups.most_on).any())
        self._price = np.zeros(groups.capacity.shape)
        self._group = np.zeros(len(groups.use))
        self._spread = np.zeros(groups.usable.shape) if spreads else None
        # Part 0 stands for all that nothing has fallen into yet.
        self._part_of_class = np.zeros(len(groups.capacity), dtype=np.int64)
        self._part_of_group = np.zeros(len(groups.use), dtype=np.int64)
        self._members = [np.zeros(0, dtype=np.int64)]
        # The usable pairs between parts: the group and the class of each.
        self._pairs = np.divmod(np.flatnonzero(groups.usable), groups.usable.shape[1])
        self._between = self._members[0], self._members[0]
        # For each part: the multiple of a class's guard that one of the part's own calls for.
        self._known: dict[int, Floats] = {}

    def add(self, prices: Prices, parts: list[tuple[Ints, Ints]]) -> None:
        """Takes over the prices of a part that has fallen into these: (groups, classes) each."""
        for members, classes in parts:
            if not prices.group[members].any():
                continue  # what prices there are come from rounding
            self._price[classes] += prices.capacity[classes]
            self._group[members] += prices.group[members]
            if self._spread is not None and prices.spread is not None:
                inside = members[:, None], classes
                self._spread[inside] += prices.spread[inside]
        for members, classes in parts:
            self._part_of_class[classes] = len(self._members)
            self._part_of_group[members] = len(self._members)
            self._members.append(members)
        group, machine_class = self._pairs
        between = np.flatnonzero(self._part_of_group[group] != self._part_of_class[machine_class])
        self._between = group[between], machine_class[between]

    def _calls(self, part: int) -> Floats:
        """What the guard of this part calls for, once it is asked for. The others' guards have
        only grown since the part was made, so that it may be less than it was then."""
        if part not in self._known:
            own = np.zeros(len(self._group))
            members = self._members[part]
            own[members] = self._group[members]
            self._known[part] = self._called(own)
        return self._known[part]

    def _called(self, worth: Floats) -> Floats:
        """(C,) how many times its guard a class outside must cost to be too dear for the groups
        of a part, which have these prices; all others have 0."""
        calls = np.zeros(len(self._price))
        group, machine_class = self._between
        some = np.flatnonzero(worth[group] > 0)
        if len(some) == 0:
            return calls
        group, machine_class = group[some], machine_class[some]
        cost = np.einsum("pr,pr->p", self._groups.use[group], self._price[machine_class])
        if cost.min() <= 0:
            raise InternalError("a class that costs nothing was ruled out")
        np.maximum.at(calls, machine_class, worth[group] / cost)
        return calls

    def complete(self, prices: Prices, rate: Floats) -> Prices:
        """The prices of one part, made to hold for every usable pair by the least multiples of
        the other parts' guards; the groups' prices, each times its rate, add up to 1 again."""
        whole = self._completed(prices)
        if whole is prices:
            return prices
        total = float(whole.group @ rate)
        spread = None if whole.spread is None else whole.spread / total
        return Prices(whole.capacity / total, whole.group / total, spread)

    def _completed(self, prices: Prices) -> Prices:
        called = self._called(prices.group)
        if not called.any():
            return prices
        number = len(self._members)
        times = np.zeros(number)
        np.maximum.at(times, self._part_of_class, called)
        grown = np.flatnonzero(times)
        for _ in range(number):
            calls = np.array([self._calls(part) for part in grown.tolist()])
            wanted = times.copy()
            np.maximum.at(wanted, self._part_of_class, (times[grown, None] * calls).max(axis=0))
            grown = np.flatnonzero(wanted > times * (1 + 1e-14))
            if len(grown) == 0:
                break
            times = wanted
        spread = prices.spread
        if spread is not None and self._spread is not None:
            spread = spread + times[self._part_of_group, None] * self._spread
        return Prices(
            prices.capacity + times[self._part_of_class, None] * self._price,
            prices.group + times[self._part_of_group] * self._group,
            spread,
        )


class Chain:
    """Guards of parts that were done with one after the other.

    Nobody in a part could use what later ones used up, so that a guard calls for earlier ones only,
    and what all of them call for is known when it is added.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        size, classes = groups.usable.shape
        self._price = np.zeros(groups.capacity.shape)
        self._group = np.zeros(size)
        # -1 is no part.
        self._part_of_class = np.full(classes, -1)
        self._part_of_group = np.full(size, -1)
        # The multiples of all earlier guards that a guard calls for. Each part has a class.
        self._calls = np.zeros((classes, classes))
        self._parts: list[tuple[Prices, Ints, Ints]] = []

    def complete(self, prices: Prices, groups: Ints, classes: Ints, rate: Floats) -> Prices:
        """The prices of the next part, of these groups and classes, made to hold for every usable
        pair; the groups' prices, each times its rate, add up to 1."""
        number = len(self._parts)
        self._parts.append((prices, groups, classes))
        whole = prices
        if number:
            at, outside = np.nonzero(self._groups.usable[groups] & (self._part_of_class >= 0))
            if len(at):
                group = groups[at]
                cost = np.einsum("pr,pr->p", self._groups.use[group], self._price[outside])
                if cost.min() <= 0:
                    raise InternalError("a class that costs nothing was ruled out")
                times = np.zeros(number + 1)  # the last for what is in no part
                np.maximum.at(times, self._part_of_class[outside], prices.group[group] / cost)
                called = np.flatnonzero(times)
                more = (times[called, None] * self._calls[called, :number]).max(axis=0)
                times[:number] = np.maximum(times[:number], more)
                self._calls[number, :number] = times[:number]
                capacity = prices.capacity + times[self._part_of_class, None] * self._price
                group_price = prices.group + times[self._part_of_group] * self._group
                total = float(group_price @ rate)
                whole = Prices(capacity / total, group_price / total, None)
        self._price[classes], self._group[groups] = prices.capacity[classes], prices.group[groups]
        self._part_of_class[classes] = self._part_of_group[groups] = number
        return whole

    def guards(self) -> Guards:
        """The same guards, for parts that fall into pieces in any order."""
        guards = Guards(self._groups)
        for prices, groups, classes in self._parts:
            guards.add(prices, [(groups, classes)])
        return guards
