"""The search for a purchase: each that is tried is solved once, and the better of two is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, solve
from fairlead.audit.whatif.beyond import Reached, limits_that_stop
from fairlead.audit.whatif.buy_value import cheapest_first, values
from fairlead.audit.whatif.catalogue import Offer
from fairlead.audit.whatif.edits import Add, apply_edits
from fairlead.model.unrounded import compared
from fairlead.sharing.analysis.yardstick import shares_by

TRIED = 12
"""Offers that are tried at most: those that are worth most per money by the prices."""

Counts = tuple[int, ...]
"""The number of machines of each offer."""


@dataclass(frozen=True)
class Valued:
    """An offer that the money allows, with what one machine is worth by the prices (0 where they
    do not say), and whether the search tried it."""

    offer: Offer
    value: float
    tried: bool


@dataclass(frozen=True)
class Bought:
    """A purchase, solved: how many of each offer, what it costs, and the shares it leads to, in
    the units of today: those that are raised, from the smallest up, each with its tenant. Of a
    tenant that limits stop before and after it, the share is that of today: with other machines
    one of its jobs gains what another loses. `losing`: the jobs that run fewer tasks with it."""

    counts: tuple[tuple[str, int], ...]
    cost: Fraction
    shares: tuple[tuple[str, Fraction], ...]
    losing: frozenset[str]


def most_of(offer: Offer, money: Fraction) -> int:
    """The number of its machines that the money allows."""
    assert offer.price is not None  # buy() has refused it
    most = int(money // offer.price)
    return most if offer.at_most is None else min(most, offer.at_most)


class Search:
    """Purchases tried so far, each solved once."""

    def __init__(
        self,
        before: Outcome,
        offers: Sequence[Offer],
        budget: Fraction,
        tenant: str | None,
        solves: int,
    ) -> None:
        self._before, self._budget, self._tenant = before, budget, tenant
        self._left = self._solves = solves
        self._known: dict[Counts, Bought] = {}
        self.unit = dict(before.allocation.unrounded.unit)
        self._within = before.allocation.unrounded.within
        self._offers = list(offers)
        if not all(self.unit.values()):
            # Who could not run anything today is counted by what it could run alone beside the
            # machines that there are to buy.
            all_of_them = self._with(tuple(most_of(o, budget) for o in offers))
            wide = solve(all_of_them, before.rule).allocation.unrounded.unit
            self.unit = {name: unit or wide[name] for name, unit in self.unit.items()}
        self.none: Counts = (0,) * len(offers)
        self.limits = self._limits()
        self._unharmed: frozenset[str] = frozenset()
        self.nothing = self.solve(self.none)
        self.valued = self._by_value()
        self._order = [self._offers.index(each.offer) for each in self.valued if each.tried]

    def _with(self, counts: Counts) -> Input:
        return apply_edits(self._before.input, self.edits(counts)).input

    def edits(self, counts: Counts) -> list[Add]:
        return [
            Add(count, offer.machine)
            for offer, count in zip(self._offers, counts, strict=True)
            if count
        ]

    def _cost(self, counts: Counts) -> Fraction:
        cost = Fraction(0)
        for offer, count in zip(self._offers, counts, strict=True):
            cost += count * (offer.price or 0)
        return cost

    def solve(self, counts: Counts) -> Bought:
        if counts not in self._known:
            now = self._before
            if any(counts):
                self._left -= 1
                now = solve(self._with(counts), self._before.rule)
            shares = self._shares(now)
            own = {job.tenant for job in self._before.allocation.jobs}
            ranked = sorted(
                (
                    (name, share)
                    for name, share in shares.items()
                    if (name == self._tenant if self._tenant is not None else name in own)
                ),
                key=lambda each: (each[1], each[0]),
            )
            bought = tuple(
                (offer.name, count)
                for offer, count in zip(self._offers, counts, strict=True)
                if count
            )
            self._known[counts] = Bought(
                bought, self._cost(counts), tuple(ranked), self._losing(now)
            )
        return self._known[counts]

    def _shares(self, now: Outcome) -> dict[str, Fraction]:
        """The shares by which purchases are compared."""
        shares = shares_by(self.unit, self._before.allocation, now.allocation)
        if now is not self._before and any(self.limits.values()):
            today = shares_by(self.unit, self._before.allocation, self._before.allocation)
            for name, limits in self.limits.items():
                if limits and limits_that_stop(now, name):
                    shares[name] = today[name]
        return shares

    def _losing(self, now: Outcome) -> frozenset[str]:
        before, after = self._before.allocation.unrounded, now.allocation.unrounded
        within = max(before.within, after.within)
        return frozenset(
            name
            for name, tasks in before.tasks.items()
            if compared(tasks, after.tasks[name], within) < 0
        )

    def _limits(self) -> dict[str, tuple[Reached, ...]]:
        """The tenants that no machine can help, with the limits that stop them."""
        whose = dict.fromkeys(job.tenant for job in self._before.allocation.jobs)
        if self._tenant is not None:
            whose = {self._tenant: None}
        found = {name: limits_that_stop(self._before, name) for name in whose}
        return {name: limits for name, limits in found.items() if limits is not None}

    def _by_value(self) -> tuple[Valued, ...]:
        """The offers, the most valuable per money first, by the prices of the poorest tenant whom
        prices hold back."""
        worth = dict.fromkeys((offer.name for offer in self._offers), 0.0)
        for name, _ in self.nothing.shares:
            if name in self.limits:
                continue
            worth = values(self._before, name, self._offers)
            if any(worth.values()):
                break
        order = sorted(self._offers, key=lambda offer: -worth[offer.name] / float(offer.price or 1))
        return tuple(
            Valued(offer, worth[offer.name], index < TRIED) for index, offer in enumerate(order)
        )

    @property
    def solves(self) -> int:
        """So many purchases were solved."""
        return self._solves - self._left

    def best(self, naive: Counts, unharmed: Collection[str] = ()) -> tuple[Counts, bool]:
        """The best purchase by which none of these jobs loses a task, and whether none is better:
        all were solved if they are few, else it is the best that greed and exchanges find."""
        self._unharmed = frozenset(unharmed)
        best = self._better(self.none, naive)
        every = self._all()
        if every is not None:
            for counts in every:
                best = self._better(best, counts)
            return best, True
        for counts in [counts for counts in self._known if unharmed]:
            best = self._better(best, counts)
        best = self._better(best, self._exchanged(self._greedy()))
        # The naive purchase may be where an exchange begins that greed never comes to.
        return self._better(best, self._exchanged(best)), False

    @property
    def spent(self) -> bool:
        """No further purchase may be solved."""
        return self._left <= 0

    def naive(self, resource: str | None) -> Counts:
        """As much of the scarcest resource as the money buys, the cheapest per unit first."""
        counts = [0] * len(self._offers)
        money = self._budget
        for offer in cheapest_first(resource, self._offers):
            count = most_of(offer, money)
            counts[self._offers.index(offer)] = count
            money -= count * (offer.price or 0)
        return tuple(counts)

    def _all(self) -> list[Counts] | None:
        """All purchases that the money allows; None where they are more than may be solved."""
        found: list[Counts] = []
        for counts in self._each(0, self._budget):
            found.append(counts)
            if len(found) > self._solves:
                return None
        return found

    def _each(self, index: int, money: Fraction) -> Iterator[Counts]:
        if index == len(self._offers):
            yield ()
            return
        offer = self._offers[index]
        for count in range(most_of(offer, money) + 1):
            for rest in self._each(index + 1, money - count * (offer.price or 0)):
                yield (count, *rest)

    def _gain(self, counts: Counts, over: Counts) -> Iterator[Fraction]:
        """By how much each share is above that of another purchase, from the smallest up; what is
        no difference is 0."""
        for (_, then), (_, now) in zip(
            self.solve(over).shares, self.solve(counts).shares, strict=True
        ):
            yield Fraction(0) if compared(then, now, self._within) == 0 else now - then

    def _better(self, one: Counts, other: Counts) -> Counts:
        """The purchase that raises the smallest share more, then the next; of equals the cheaper,
        then the first. One that harms a job that is to be unharmed is never better."""
        if self.solve(other).losing & self._unharmed:
            return one
        first = next((gain for gain in self._gain(other, one) if gain), Fraction(0))
        if first:
            return other if first > 0 else one
        return other if self._cost(other) < self._cost(one) else one

    def _more(self, counts: Counts, index: int, most: int | None = None) -> Counts:
        """With as many more of an offer as the rest of the money allows, `most` at most."""
        offer = self._offers[index]
        room = most_of(offer, self._budget - self._cost(counts))
        if offer.at_most is not None:
            room = min(room, offer.at_most - counts[index])
        count = room if most is None else min(room, most)
        return (*counts[:index], counts[index] + count, *counts[index + 1 :])

    def _greedy(self) -> Counts:
        """Step by step what raises the shares most for its money, in smaller and smaller steps."""
        now: Counts = (0,) * len(self._offers)
        largest = max(most_of(self._offers[index], self._budget) for index in self._order)
        step = 1
        while step * 16 <= largest:
            step *= 2
        while step and self._left > 0:
            best: tuple[list[Fraction], Counts] | None = None
            for index in self._order:
                then = self._more(now, index, step)
                if then == now or self._left <= 0:
                    continue
                if self.solve(then).losing & self._unharmed:
                    continue
                money = self._cost(then) - self._cost(now)
                gain = [each / money for each in self._gain(then, now)]
                if best is None or gain > best[0]:
                    best = gain, then
            if best is not None and self._better(now, best[1]) == best[1]:
                now = best[1]
            else:
                step //= 2
        return now

    def _exchanged(self, start: Counts) -> Counts:
        """Better purchases by giving one offer back (one machine, or all) and taking as many of
        another, until none is better."""
        now, going = start, True
        while going:
            going = False
            for then in self._exchanges(now):
                if self._left <= 0:
                    return now
                if self._better(now, then) == then != now:
                    now, going = then, True
                    break
        return now

    def _exchanges(self, now: Counts) -> Iterator[Counts]:
        for back in (index for index, count in enumerate(now) if count):
            for count in dict.fromkeys((1, now[back])):
                less = (*now[:back], now[back] - count, *now[back + 1 :])
                yield less
                for index in self._order:
                    if index != back:
                        then = self._more(less, index)
                        if then != less:
                            yield then
                            # What is left of the money may be enough for a third.
                            for third in self._order:
                                if third not in (index, back):
                                    filled = self._more(then, third)
                                    if filled != then:
                                        yield filled
