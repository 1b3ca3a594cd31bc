"""Prices that go on ruling out, in later rounds, what the parts of earlier rounds use up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.model.errors import InternalError
from fairlead.sharing.coalesce import Groups
from fairlead.sharing.problem import Floats, Ints
from fairlead.sharing.solvers.corners import Stop


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

    Nobody in a part could use what later ones used up, so that a guard calls for earlier ones only.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._parts: list[Stop] = []

    def add(self, part: Stop) -> None:
        """Takes the next part."""
        self._parts.append(part)

    def complete(self) -> tuple[Floats, Floats]:
        """(parts, C, R) and (parts, G): the prices of every part, of capacities and of groups, made
        to hold for every usable pair by the least multiples of the earlier parts' guards.

        What the groups' prices, each times its rate, add up to is the same as before: all that are
        in earlier parts rise no more.
        """
        parts, groups = self._parts, self._groups
        number = len(parts)
        price, worth = np.zeros(groups.capacity.shape), np.zeros(len(groups.use))
        # The last stands for what is in no part.
        part_of_class, part_of_group = np.full(len(price), number), np.full(len(worth), number)
        if parts:
            members = np.concatenate([part.members for part in parts])
            classes = np.concatenate([part.classes for part in parts])
            price[classes] = np.concatenate([part.price for part in parts])
            worth[members] = np.concatenate([part.group for part in parts])
            part_of_class[classes] = np.repeat(np.arange(number), [len(p.classes) for p in parts])
            part_of_group[members] = np.repeat(np.arange(number), [len(p.members) for p in parts])
        times = np.eye(number, number + 1)  # of the guards of all parts, for each part
        group, outside = np.divmod(np.flatnonzero(groups.usable), len(price))
        calling, called = part_of_group[group], part_of_class[outside]
        (between,) = ((called < calling) & (calling < number)).nonzero()
        if len(between):
            group, outside = group[between], outside[between]
            use = groups.use.take(group, axis=0)
            cost = np.einsum("pr,pr->p", use, price.take(outside, axis=0))
            if cost.min() <= 0:
                raise InternalError("a class that costs nothing was ruled out")
            np.maximum.at(times, (calling[between], called[between]), worth[group] / cost)
            for part, row in enumerate(times):
                (some,) = row[:part].nonzero()
                if len(some):
                    row[:part] = (row[some, None] * times[some, :part]).max(axis=0)
        return times[:, part_of_class, None] * price, times.take(part_of_group, axis=1) * worth

    def share(self) -> Floats:
        """(G, C) what the members of all parts have."""
        share = np.zeros(self._groups.usable.shape)
        if self._parts:
            places = zip(*(part.places for part in self._parts), strict=True)
            groups, classes = map(np.concatenate, places)
            share[groups, classes] = np.concatenate([part.share for part in self._parts])
        return share

    def guards(self) -> Guards:
        """The same guards, for parts that fall into pieces in any order."""
        guards = Guards(self._groups)
        for part in self._parts:
            price, worth = np.zeros(self._groups.capacity.shape), np.zeros(len(self._groups.use))
            price[part.classes], worth[part.members] = part.price, part.group
            guards.add(Prices(price, worth, None), [(part.members, part.classes)])
        return guards
