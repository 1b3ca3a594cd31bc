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

    def __init__(self, groups: Groups, spreads: bool) -> None:
        self._groups = groups
        self._price = np.zeros(groups.capacity.shape)
        self._group = np.zeros(len(groups.use))
        self._spread = np.zeros(groups.usable.shape) if spreads else None
        self._part_of_class = np.zeros(len(groups.capacity), dtype=np.int64)
        self._part_of_group = np.zeros(len(groups.use), dtype=np.int64)
        # The first stands for all that nothing has fallen into yet.
        nothing = np.zeros(0, dtype=np.int64)
        self._parts = [(nothing, nothing)]
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
                inside = np.ix_(members, classes)
                self._spread[inside] += prices.spread[inside]
        for members, classes in parts:
            self._part_of_class[classes] = len(self._parts)
            self._part_of_group[members] = len(self._parts)
            self._parts.append((members, classes))

    def _calls(self, part: int) -> Floats:
        """What the guard of this part calls for, once it is asked for. The others' guards have
        only grown since the part was made, so that it may be less than it was then."""
        if part not in self._known:
            members, classes = self._parts[part]
            self._known[part] = self._called(members, self._group[members], classes)
        return self._known[part]

    def _called(self, members: Ints, group: Floats, own: Ints) -> Floats:
        """(C,) how many times its guard a class outside must cost to be too dear for these."""
        priced = group > 0
        members, group = members[priced], group[priced]
        calls = np.zeros(len(self._price))
        if len(members) == 0:
            return calls
        outside = self._groups.usable[members]
        outside[:, own] = False
        classes = np.flatnonzero(outside.any(axis=0))
        outside = outside[:, classes]
        cost = self._groups.use[members] @ self._price[classes].T
        if (outside & (cost <= 0)).any():
            raise InternalError("a class that costs nothing was ruled out")
        worth = np.broadcast_to(group[:, None], cost.shape)
        ratio = np.divide(worth, cost, out=np.zeros_like(cost), where=outside)
        calls[classes] = ratio.max(axis=0, initial=0.0)
        return calls

    def complete(self, prices: Prices, members: Ints, classes: Ints) -> Prices:
        """The prices of one part, made to hold for every usable pair by the least multiples of
        the other parts' guards."""
        number = len(self._parts)
        called = self._called(members, prices.group[members], classes)
        if not called.any():
            return prices
        times = np.zeros(number)
        np.maximum.at(times, self._part_of_class, called)
        for _ in range(number):
            some = np.flatnonzero(times)
            called = (times[some, None] * np.array([self._calls(int(part)) for part in some])).max(
                axis=0
            )
            wanted = times.copy()
            np.maximum.at(wanted, self._part_of_class, called)
            if (wanted <= times * (1 + 1e-14)).all():
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
