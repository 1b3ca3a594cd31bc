"""The machines to buy for so much money: found by solving again, ordered by the prices.

What is raised is the smallest share, or a named tenant's, counted in the units of today (tasks ÷
today's scale): buying machines changes the scales, and a share can fall while its tasks rise. Where
the smallest cannot rise, the next one counts, and so on: shares are compared from the smallest up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlead.audit.finding import Input
from fairlead.audit.outcome import Outcome, Rule, solve
from fairlead.audit.whatif.beyond import Beyond, beyond, jobs_of
from fairlead.audit.whatif.buy_search import Bought, Search, Valued, most_of
from fairlead.audit.whatif.buy_value import scarcest
from fairlead.audit.whatif.catalogue import Offer
from fairlead.audit.whatif.compare import Moved, WhatIf, what_if
from fairlead.model.eligibility import may_use
from fairlead.model.errors import InputError
from fairlead.model.hints import Known
from fairlead.model.never import whole_tasks
from fairlead.model.quantity import write_plain
from fairlead.model.unrounded import compared
from fairlead.model.words import listing
from fairlead.sharing.analysis.explanation import has_all

MANY = 10_000
"""Machines of one offer that the money may buy: each is one to be shared."""

EXPLAINED = 5
"""Tenants that no purchase helps of whom it is computed what their share would be without their
limits: each is one more to be shared."""


@dataclass(frozen=True)
class Left:
    """A tenant whose share was to be raised before, and stays. `unable`: those of its jobs that
    lack tasks, where no machine that the money buys can run one of them; else none."""

    tenant: str
    share: Fraction
    unable: tuple[str, ...]


@dataclass(frozen=True)
class Buying:
    """The best purchase that was found, beside the naive one and none at all.

    `exact`: every purchase that the money allows was solved; else a greedy search with exchanges
    found it, which may miss a better one; `spent` says that it ran out of solves before it came to
    rest. `scarcest` is what the naive purchase goes by. `within` is to what part of themselves
    shares are known: 0 where they are exact.

    `beyond` are those whose share was to be raised and whom no machine can help, `left` the others
    whose share was to be raised before. `moved` are the jobs of the tenant whose share the best
    purchase raises, of which some may lose by it; then `harmless` is the best purchase found by
    which none of them does, None where there is none.
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
    beyond: tuple[Beyond, ...]
    left: tuple[Left, ...]
    moved: tuple[Moved, ...]
    harmless: Bought | None

    @property
    def raised(self) -> str | None:
        """The tenant whose share the purchase raises, as it is today."""
        return None if self.rank is None else self.nothing.shares[self.rank][0]

    @property
    def rank(self) -> int | None:
        """The number of the share, counted from the smallest, that is the first that the purchase
        raises; None where it raises none."""
        return first_raised(self.nothing, self.best, self.within)


def first_raised(nothing: Bought, bought: Bought, within: Fraction) -> int | None:
    """The number of the share, from the smallest up, that is the first to be raised."""
    for index, ((_, before), (_, after)) in enumerate(
        zip(nothing.shares, bought.shares, strict=True)
    ):
        if compared(before, after, within) > 0:
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
    affordable = [offer for offer in offers if most_of(offer, budget) > 0]
    if not affordable:
        raise InputError(
            f"{write_plain(budget)} buys no machine of the catalogue",
            "give a larger budget, or a catalogue with cheaper machines",
        )
    for offer in affordable:
        if (count := most_of(offer, budget)) > MANY:
            raise InputError(
                f"{write_plain(budget)} buys {count} machines of {offer.name}",
                f"give a smaller budget, or at_most: {MANY} or fewer",
            )
    search = Search(before, affordable, budget, tenant, solves)
    return _best_purchase(search, before, affordable, budget, tenant)


def _best_purchase(
    search: Search,
    before: Outcome,
    affordable: Sequence[Offer],
    budget: Fraction,
    tenant: str | None,
) -> Buying:
    """The best purchase of the search, and who gains and loses by it."""
    resource = scarcest(before)
    naive = search.naive(resource)
    if tenant in search.limits:
        best, exact = search.none, True
    else:
        best, exact = search.best(naive)
    within = before.allocation.unrounded.within
    nothing, bought = search.nothing, search.solve(best)
    rank = first_raised(nothing, bought, within)
    result = what_if(before.input, search.edits(best), before.rule)
    moved: tuple[Moved, ...] = ()
    harmless = None
    if rank is not None:
        own = {job.name for job in jobs_of(before, nothing.shares[rank][0])}
        moved = tuple(job for job in result.jobs if job.name in own)
        if bought.losing & own:
            other = search.solve(search.best(naive, own)[0])
            if first_raised(nothing, other, within) is not None:
                harmless = other
    lower = nothing.shares[:rank]
    stopped = [name for name, _ in lower if name in search.limits]
    return Buying(
        tenant=tenant,
        budget=budget,
        offers=search.valued,
        nothing=nothing,
        best=bought,
        naive=search.solve(naive),
        scarcest=resource,
        exact=exact,
        spent=not exact and search.spent,
        solves=search.solves,
        result=result,
        within=within,
        beyond=tuple(
            beyond(before, search.unit, name, search.limits[name], explained=at < EXPLAINED)
            for at, name in enumerate(stopped)
        ),
        left=tuple(
            Left(name, share, _unable(before, name, affordable))
            for name, share in lower
            if name not in search.limits
        ),
        moved=moved,
        harmless=harmless,
    )


def _unable(before: Outcome, tenant: str, offers: Sequence[Offer]) -> tuple[str, ...]:
    """The jobs of the tenant that lack tasks, if none of these machines can run one of them."""
    lack = [job for job in jobs_of(before, tenant) if not has_all(before.allocation, job)]
    devices = before.input.cluster.devices
    if any(
        may_use(job, offer.machine) and whole_tasks(job, offer.machine.capacity, devices)
        for job in lack
        for offer in offers
    ):
        return ()
    return tuple(job.name for job in lack)
