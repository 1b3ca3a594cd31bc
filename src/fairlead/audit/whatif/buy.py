"""The machines to buy for so much money: found by solving again, ordered by the prices.

What is raised is the smallest share, or a named tenant's, counted in the units of today (tasks ÷
today's scale): buying machines changes the scales, and a share can fall while its tasks rise. Where
the smallest cannot rise, the next one counts, and so on: shares are compared from the smallest up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, Rule, solve
from fairlead.audit.whatif.buy_value import cheapest_first, scarcest, values
from fairlead.audit.whatif.catalogue import Offer
from fairlead.audit.whatif.compare import WhatIf, what_if
from fairlead.audit.whatif.edits import Add, apply_edits
from fairlead.model.errors import InputError
from fairlead.model.hints import Known
from fairlead.model.quantity import written_plain
from fairlead.model.unrounded import compared
from fairlead.model.words import listing
from fairlead.sharing.analysis.yardstick import shares_by

TRIED = 12
"""Offers that are tried at most: those that are worth most per money by the prices."""

MANY = 10_000
"""Machines of one offer that the money may buy: each is one to be shared."""

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
    the units of today: those that are raised, from the smallest up, each with its tenant."""

    counts: tuple[tuple[str, int], ...]
    cost: Fraction
    shares: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True)
class Buying:
    """The best purchase that was found, beside the naive one and none at all.

    `exact`: every purchase that the money allows was solved; else a greedy search with exchanges
    found it, which may miss a better one; `spent` says that it ran out of solves before it came to
    rest. `scarcest` is what the naive purchase goes by. `within` is to what part of themselves
    shares are known: 0 where they are exact.
    """

    tenant: str | None
    budget: Fraction
    offers: tuple[Valued, ...]
    nothing: Bought
    best: Bought
    naive: Bought
    scarcest: str | None
    exact: bool
    spent: bool
    solves: int
    result: WhatIf
    within: Fraction

    @property
    def rank(self) -> int | None:
        """The number of the share, counted from the smallest, that is the first that the purchase
        raises; None where it raises none."""
        pairs = zip(self.nothing.shares, self.best.shares, strict=True)
        for index, ((_, before), (_, after)) in enumerate(pairs):
            if compared(before, after, self.within) > 0:
                return index
        return None


def buy(
    given: Input,
    rule: str | Rule,
    offers: Sequence[Offer],
    budget: Fraction,
    tenant: str | None = None,
    solves: int = 200,
) -> Buying:
    """The purchase that raises the smallest share (or the tenant's) most. It is never worse than
    the naive one: the machines that have the scarcest resource, the cheapest per unit first."""
    for offer in offers:
        if offer.price is None:
            raise InputError(f"{offer.name} has no price in the catalogue", "write price: 30000")
    before = solve(given, rule)
    known = [share.name for share in before.allocation.tenants]
    if tenant is not None and tenant not in known:
        otherwise = f"the tenants are {listing(known, most=5)}"
        own = next((job.tenant for job in given.jobs if job.name == tenant), None)
        if own is not None:
            otherwise = f"the tenant of this job is {own}"
        raise InputError(f'there is no tenant "{tenant}"', Known(known).hint(tenant, otherwise))
    affordable = [offer for offer in offers if _most(offer, budget) > 0]
    if not affordable:
        raise InputError(
            f"{written_plain(budget)} buys no machine of the catalogue",
            "give a larger budget, or a catalogue with cheaper machines",
        )
    for offer in affordable:
        if _most(offer, budget) > MANY:
            raise InputError(
                f"{written_plain(budget)} buys {_most(offer, budget)} machines of {offer.name}",
                f"give a smaller budget, or at_most: {MANY} or fewer",
            )
    search = _Search(before, affordable, budget, tenant, solves)
    return search.run()


def _most(offer: Offer, money: Fraction) -> int:
    """The number of its machines that the money allows."""
    assert offer.price is not None  # buy() has refused it
    most = int(money // offer.price)
    return most if offer.at_most is None else min(most, offer.at_most)


class _Search:
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
        self._unit = dict(before.allocation.unrounded.unit)
        self._within = before.allocation.unrounded.within
        self._offers = list(offers)
        if not all(self._unit.values()):
            # Who could not run anything today is counted by what it could run alone beside the
            # machines that there are to buy.
            all_of_them = self._with(tuple(_most(o, budget) for o in offers))
            wide = solve(all_of_them, before.rule).allocation.unrounded.unit
            self._unit = {name: unit or wide[name] for name, unit in self._unit.items()}
        self._nothing = self._solve((0,) * len(offers))
        self._valued = self._by_value()
        self._order = [self._offers.index(each.offer) for each in self._valued if each.tried]

    def _with(self, counts: Counts) -> Input:
        return apply_edits(self._before.input, self._edits(counts)).input

    def _edits(self, counts: Counts) -> list[Add]:
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

    def _solve(self, counts: Counts) -> Bought:
        """The purchase, solved."""
        if counts not in self._known:
            now = self._before
            if any(counts):
                self._left -= 1
                now = solve(self._with(counts), self._before.rule)
            shares = shares_by(self._unit, self._before.allocation, now.allocation)
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
            self._known[counts] = Bought(bought, self._cost(counts), tuple(ranked))
        return self._known[counts]

    def _by_value(self) -> tuple[Valued, ...]:
        """The offers, the most valuable per money first, by the prices of the poorest tenant whom
        prices hold back."""
        worth = dict.fromkeys((offer.name for offer in self._offers), 0.0)
        for name, _ in self._nothing.shares:
            worth = values(self._before, name, self._offers)
            if any(worth.values()):
                break
        order = sorted(self._offers, key=lambda offer: -worth[offer.name] / float(offer.price or 1))
        return tuple(
            Valued(offer, worth[offer.name], index < TRIED) for index, offer in enumerate(order)
        )

    def run(self) -> Buying:
        """All purchases if there are few, else the best that greed and exchanges find."""
        resource = scarcest(self._before)
        naive = self._naive(resource)
        best = self._better((0,) * len(self._offers), naive)
        every = self._all()
        exact = every is not None
        if every is not None:
            for counts in every:
                best = self._better(best, counts)
        else:
            best = self._better(best, self._exchanged(self._greedy()))
            # The naive purchase may be where an exchange begins that greed never comes to.
            best = self._better(best, self._exchanged(best))
        edits = self._edits(best)
        return Buying(
            tenant=self._tenant,
            budget=self._budget,
            offers=self._valued,
            nothing=self._nothing,
            best=self._solve(best),
            naive=self._solve(naive),
            scarcest=resource,
            exact=exact,
            spent=not exact and self._left <= 0,
            solves=self._solves - self._left,
            result=what_if(self._before.input, edits, self._before.rule),
            within=self._within,
        )

    def _naive(self, resource: str | None) -> Counts:
        """As much of the scarcest resource as the money buys, the cheapest per unit first."""
        counts = [0] * len(self._offers)
        money = self._budget
        for offer in cheapest_first(resource, self._offers):
            count = _most(offer, money)
            counts[self._offers.index(offer)] = count
            money -= count * (offer.price or 0)
        return tuple(counts)

    def _all(self) -> list[Counts] | None:
        """All purchases that the money allows; None where they are more than may be solved."""
        found: list[Counts] = []
        for counts in self._each(0, self._budget):
            found.append(counts)
            if len(found) > self._left:
                return None
        return found

    def _each(self, index: int, money: Fraction) -> Iterator[Counts]:
        if index == len(self._offers):
            yield ()
            return
        offer = self._offers[index]
        for count in range(_most(offer, money) + 1):
            for rest in self._each(index + 1, money - count * (offer.price or 0)):
                yield (count, *rest)

    def _gain(self, counts: Counts, over: Counts) -> Iterator[Fraction]:
        """By how much each share is above that of another purchase, from the smallest up; what is
        no difference is 0."""
        for (_, then), (_, now) in zip(
            self._solve(over).shares, self._solve(counts).shares, strict=True
        ):
            yield Fraction(0) if compared(then, now, self._within) == 0 else now - then

    def _better(self, one: Counts, other: Counts) -> Counts:
        """The purchase that raises the smallest share more, then the next; of equals the cheaper,
        then the first."""
        first = next((gain for gain in self._gain(other, one) if gain), Fraction(0))
        if first:
            return other if first > 0 else one
        return other if self._cost(other) < self._cost(one) else one

    def _more(self, counts: Counts, index: int, most: int | None = None) -> Counts:
        """With as many more of an offer as the rest of the money allows, `most` at most."""
        offer = self._offers[index]
        room = _most(offer, self._budget - self._cost(counts))
        if offer.at_most is not None:
            room = min(room, offer.at_most - counts[index])
        count = room if most is None else min(room, most)
        return (*counts[:index], counts[index] + count, *counts[index + 1 :])

    def _greedy(self) -> Counts:
        """Step by step what raises the shares most for its money, in smaller and smaller steps."""
        now: Counts = (0,) * len(self._offers)
        largest = max(_most(self._offers[index], self._budget) for index in self._order)
        step = 1
        while step * 16 <= largest:
            step *= 2
        while step and self._left > 0:
            best: tuple[list[Fraction], Counts] | None = None
            for index in self._order:
                then = self._more(now, index, step)
                if then == now or self._left <= 0:
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
