"""Sharing incentive: does everybody run at least what it could in its own pool, or its own part?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from fairlead.audit.finding import Finding
from fairlead.audit.holdings import exact
from fairlead.audit.holdings.arrays import Held, Party, hold
from fairlead.audit.holdings.bundle import Bundles, better_share, machine_bundle, may_hold
from fairlead.audit.holdings.exact import Has, satisfied
from fairlead.audit.holdings.slack import shortfall
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.properties.base import Property, holds, not_applicable, not_found, violated
from fairlead.audit.properties.tenant_shares import amounts
from fairlead.model.words import percent
from fairlead.sharing.certificate.arrays import Floats

NAME = "sharing-incentive"
POOLS = "against the pools that the tenants brought (TSF, Definition 1)"
SPLIT = "against a part of each machine by the weights, an equal one where they are equal"
STAND_ALONE = (
    "against a part, by the weights, of the whole tasks that it could run if it had everything for"
    " itself{} (CDRF, section 2.2); a part of each machine is less"
)


def check(outcome: Outcome, options: Options) -> Finding:  # noqa: ARG001  exact: nothing to search
    """Whether anybody runs less than it could alone with what is its own (TSF, Definition 1).

    Where tenants brought pools, that is its pool; Choosy's constrained sharing incentive (section
    3.1) is the case of one resource and pools that their owners can use. Where nobody did, it is a
    part of each machine in proportion to the weights: with equal weights the equal split of DRF
    (section 3). A tenant with several jobs is worse off where, with what is its own, it could run
    at least as much of every job and reach a larger share.

    In whole tasks that part is one of what it could run alone, rounded down (CDRF, section 2.2), or
    not where a lottery is judged before it is drawn; a tenant with several jobs is compared with
    its part of each machine, and before a draw with so many whole machines in expectation.
    """
    held = hold(outcome)
    if not held.parties:
        return not_applicable(NAME, outcome, "nobody can run anything")
    found = []
    pooled = has_pools(held)
    parties = own_parts(held)
    unsure: list[str] = []
    for own in parties:
        shown = compare(held, own, unsure)
        if shown.slack > 0:
            found.append(((own.party.name,), None, shown))
    counts: tuple[tuple[str, int], ...] = (("tenants", len(parties)), ("below", len(found)))
    note = POOLS if pooled else SPLIT
    if held.drawn and not pooled:
        note = STAND_ALONE.format("" if held.ex_ante else ", rounded down")
        below = sum(_below_split(held, each.party) for each in parties)
        counts += (("below a part of each machine", below),)
    if found:
        return violated(NAME, outcome, found, note=note, counts=counts)
    if unsure:
        more = f"{note}; {len(unsure)} of {len(parties)} were too large to be sure"
        return not_found(NAME, outcome, len(parties) - len(unsure), note=more, counts=counts)
    return holds(NAME, outcome, note=note, counts=counts)


def measure(outcome: Outcome, _changed: Outcome | None, who: tuple[str, ...]) -> Shown | None:
    """The tasks that the tenant could run with what is its own, and those that it runs."""
    held = hold(outcome)
    for own in own_parts(held):
        if (own.party.name,) == who:
            return compare(held, own, [])
    return None


def has_pools(held: Held) -> bool:
    """Did any tenant bring machines?"""
    return any(tenant.pool is not None for tenant in held.tenants)


@dataclass(frozen=True)
class Own:
    """A party, and what is its own: a part of each of so many machines of every class."""

    party: Party
    part: Fraction
    count: Floats

    def bundle(self, held: Held) -> Bundles:
        """It in doubles."""
        if held.ex_ante:
            return machine_bundle(held, 1.0, self.count).times(float(self.part))
        return machine_bundle(held, float(self.part), self.count)

    def has(self, held: Held) -> Has:
        """It exactly."""
        if held.ex_ante:
            return exact.times(exact.machines(held, Fraction(1), self.count), self.part)
        return exact.machines(held, self.part, self.count)


def own_parts(held: Held) -> list[Own]:
    """Everybody who is compared, with what is its own."""
    if not has_pools(held):
        count = held.classes.count
        return [
            Own(party, part, count) for party, part in zip(held.parties, held.part, strict=True)
        ]
    found = []
    for tenant in held.tenants:
        party = held.below(tenant.name)
        if tenant.pool is not None and len(party.jobs):
            mine = held.column[[held.seen.machine[name] for name in tenant.pool]]
            count = np.bincount(mine, minlength=len(held.classes.count)).astype(float)
            found.append(Own(party, Fraction(1), count))
    return found


def compare(held: Held, mine: Own, unsure: list[str]) -> Shown:
    """A comparison of what the party could run with its own and what it runs. `unsure` gets a party
    for which that could not be decided."""
    party, within = mine.party, held.numbers.within
    if len(party.jobs) == 1:
        job = int(party.jobs[0])
        if held.drawn and not has_pools(held):
            alone = _part_of_alone(held, party)
        else:
            alone = exact.could_run(held, job, mine.has(held))
        alone = exact.at_most(held, job, alone)
        runs = held.runs(job)
        unit = "tasks"
    else:
        runs = alone = held.worth(party.jobs, [held.runs(job) for job in party.jobs.tolist()])
        unit = "share"
        bundle = mine.bundle(held)
        if not satisfied(held, party) and may_hold(held, party, bundle)[0]:
            reach = better_share(held, party, bundle, partial(mine.has, held))
            alone = runs if reach.share is None else reach.share
            within = max(within, reach.within)
            if not reach.proved:
                unsure.append(party.name)
    own = "its pool" if has_pools(held) else f"its {_part(held, party)} of each machine"
    if held.drawn and not has_pools(held) and len(party.jobs) == 1:
        own = f"its {_part(held, party)} of what it could run alone"
    what, could = amounts(runs, alone, unit)
    return Shown(
        before=float(alone),
        after=float(runs),
        slack=shortfall(alone, runs, within),
        sentence=f"{party.name} gets {what}; in {own} it could have {could}.",
        unit=unit,
    )


def _part_of_alone(held: Held, party: Party) -> Fraction:
    """The part, by the weights, of the whole tasks that its only job could run alone."""
    everything = exact.machines(held, Fraction(1), held.classes.count)
    part = _weight(held, party) * exact.could_run(held, int(party.jobs[0]), everything)
    return part if held.ex_ante else exact.whole_part(part)


def _below_split(held: Held, party: Party) -> bool:
    """Does a party with one job run fewer whole tasks than its part of each machine would hold?"""
    if len(party.jobs) > 1:
        return False
    has = exact.machines(held, _weight(held, party), held.classes.count)
    job = int(party.jobs[0])
    return exact.at_most(held, job, exact.could_run(held, job, has)) > held.runs(job)


def _weight(held: Held, party: Party) -> Fraction:
    names = [each.name for each in held.parties]
    return held.part[names.index(party.name)]


def _part(held: Held, party: Party) -> str:
    return percent(float(_weight(held, party)), 1.0)


PROPERTY = Property(
    NAME,
    "everybody runs at least what it could in its own pool, or its own part",
    check,
    measure,
    after_draw=True,
)
