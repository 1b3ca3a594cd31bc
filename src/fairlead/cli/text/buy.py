"""A purchase, in sentences and tables for people and as data."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fairlead.audit.whatif.buy import Buying
from fairlead.audit.whatif.buy_search import Bought
from fairlead.audit.whatif.compare import Moved
from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.cli.text.comparison import format_change
from fairlead.cli.text.whatif import lines
from fairlead.model.quantity import write_plain
from fairlead.model.report import rounded
from fairlead.model.words import amount, counted, escaped, listing, number, percent

STOPPED = 3
"""Tenants that no purchase helps, of whom each has its sentence."""


def buying_lines(found: Buying, screen: Screen) -> Iterator[str]:
    """The purchase and its effect, beside the naive one; then the changes it brings."""
    for text in _describe_stopped(found):
        yield from wrap(text, screen)
    yield from wrap(_answer(found), screen)
    for text in _within(found):
        yield from wrap(text, screen)
    yield ""
    rank = found.rank or 0
    rows = [
        [name, _list(bought), write_plain(bought.cost), *_share(bought, rank)]
        for name, bought in (
            ("nothing", found.nothing),
            ("naive", found.naive),
            ("this", found.best),
            ("harmless", found.harmless),
        )
        if bought is not None
    ]
    yield from table(["purchase", "machines", "costs", "share", "of"], rows, "<<>><", screen)
    yield ""
    for text in notes(found):
        yield from wrap(text, screen)
    if found.best.counts:
        yield ""
        yield from lines(found.result, screen)


def _describe_stopped(found: Buying) -> Iterator[str]:
    """Sentences on those whom no purchase helps, and on what would help them."""
    for one in found.beyond[:STOPPED]:
        name, share = escaped(one.tenant), number(float(one.share))
        start = f"No purchase raises the share of {name} ({share})"
        if not one.limits:
            yield f"{start}: it has all its tasks."
            continue
        limits = {tenant.name: tenant.limit for tenant in found.result.before.input.cluster.tenants}
        texts = [
            f"{'its' if of == one.tenant else f'the {escaped(of)}'} limit of"
            f" {amount(float(limits[of][resource]), resource)}"
            for of, resource in one.limits
        ]
        is_reached = f"{listing(texts)} {'is' if len(texts) == 1 else 'are'} reached"
        it = "it" if len(texts) == 1 else "them"
        if one.without is None:
            would = ""
        elif one.without > one.share:
            would = f" Without {it} the share would be {number(float(one.without))} today."
        else:
            would = f" Without {it} alone the share would not rise either."
        yield f"{start}: {is_reached}.{would}"
    for left in found.left[: STOPPED if found.rank is not None else 1]:
        name, share = escaped(left.tenant), number(float(left.share))
        jobs = listing(map(escaped, left.unable), most=3)
        unable = f", and no machine that the money buys can run {jobs}" if jobs else ""
        if unable or found.rank is not None:
            yield f"No purchase that was solved raises the share of {name} ({share}){unable}."
    more = max(len(found.beyond) - STOPPED, 0)
    more += max(len(found.left) - STOPPED, 0) if found.rank is not None else 0
    if more > 0:
        yield f"Nor that of {counted(more, 'other tenant')} with less than the one below."


def _within(found: Buying) -> Iterator[str]:
    """Sentences on the jobs of the tenant whose share rises, where some of them lose."""
    losing = [job for job in found.moved if job.change < 0]
    if not losing or found.raised is None:
        return
    gaining = [job for job in found.moved if job.change > 0]
    parts = [
        f"{listing(_of_job(job) for job in jobs)} {verb}{'s' * (len(jobs) == 1)}"
        for verb, jobs in (("gain", gaining), ("lose", losing))
        if jobs
    ]
    yield f"Of {escaped(found.raised)}, {listing(parts)}."
    if found.harmless is None:
        yield "No purchase that was solved raises that share and takes from none of its jobs."
        return
    machines = _list(found.harmless)
    index = next(
        at
        for at, ((_, before), (_, after)) in enumerate(
            zip(found.nothing.shares, found.harmless.shares, strict=True)
        )
        if after > before
    )
    share = number(float(found.harmless.shares[index][1]))
    yield (
        f"To take from none of them, buy {machines} for {write_plain(found.harmless.cost)}: that"
        f" share becomes {share}."
    )


def _of_job(job: Moved) -> str:
    return f"{escaped(job.name)} ({'from 0' if job.part is None else format_change(job.part)})"


def _answer(found: Buying) -> str:
    whose = f"the share of {escaped(found.tenant)}" if found.tenant else "the smallest share"
    budget = write_plain(found.budget)
    if found.rank is None:
        if found.tenant is not None and found.beyond:
            return f"So nothing is bought for {budget}."
        return f"No purchase was found for {budget} that raises {whose}."
    tenant, before = found.nothing.shares[found.rank]
    _, after = found.best.shares[found.rank]
    if found.tenant is None:
        whose = f"the {_ordinal(found.rank)}smallest share (today that of {escaped(tenant)})"
    machines = listing(f"{count} x {escaped(name)}" for name, count in found.best.counts)
    return (
        f"Buy {machines} for {write_plain(found.best.cost)} of {budget}: it raises {whose} from"
        f" {number(float(before))} to {number(float(after))}, on the old scale."
    )


def _ordinal(rank: int) -> str:
    """`` for the smallest itself, `2nd-` for the one above it."""
    if rank == 0:
        return ""
    place = rank + 1
    ending = "th" if 10 <= place % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}-"


def _list(bought: Bought) -> str:
    return listing(f"{count} x {escaped(name)}" for name, count in bought.counts) or "none"


def _share(bought: Bought, rank: int) -> list[str]:
    if not bought.shares:
        return ["-", ""]
    tenant, share = bought.shares[rank]
    return [number(float(share)), escaped(tenant)]


def notes(found: Buying) -> Iterator[str]:
    """Sentences on the search, on the naive purchase and on the prices."""
    if found.tenant is not None and found.beyond:
        pass  # nothing was searched for
    elif found.exact:
        yield (
            f"Every purchase within the budget was solved ({found.solves} of them): none is better."
        )
    else:
        yield (
            f"A greedy search with exchanges, {counted(found.solves, 'purchase')} solved: a better"
            " one may exist."
            + (" It ran out of solves; --solves N allows more." if found.spent else "")
        )
    resource = found.scarcest
    if resource is None:
        yield "Nothing runs, so no resource is the scarcest, and the naive purchase is none."
    else:
        yield (
            f"The naive purchase takes the cheapest per unit of {resource}, of which the smallest"
            " part is free."
        )
    valued = [each for each in found.offers if each.value > 0]
    if valued:
        per_money = [each.value / float(each.offer.price or 1) for each in valued]
        texts = [
            f"{escaped(each.offer.name)} {percent(part, per_money[0])}"
            for each, part in zip(valued, per_money, strict=True)
        ]
        yield f"Initial value per cost, by the prices: {listing(texts, most=6)}."
    untried = [escaped(each.offer.name) for each in found.offers if not each.tried]
    if untried and not found.exact:
        yield f"Not tried, as the prices value them least: {listing(untried, most=6)}."


def purchase_tree(found: Buying) -> dict[str, object]:
    """The purchase as part of `fairlead.whatif/1`."""
    return {
        "for": found.tenant,
        "budget": write_plain(found.budget),
        "exact": found.exact,
        "ran_out": found.spent,
        "solves": found.solves,
        "scarcest": found.scarcest,
        "raises": found.rank,
        "offers": [
            {
                "name": each.offer.name,
                "price": write_plain(each.offer.price or Fraction(0)),
                "value_by_price": rounded(each.value),
                "tried": each.tried or found.exact,
            }
            for each in found.offers
        ],
        "nothing": _bought_tree(found.nothing),
        "naive": _bought_tree(found.naive),
        "best": _bought_tree(found.best),
        "harmless": None if found.harmless is None else _bought_tree(found.harmless),
        "losing": [job.name for job in found.moved if job.change < 0],
        "beyond": [
            {
                "tenant": one.tenant,
                "share": rounded(float(one.share)),
                "limits": [{"tenant": of, "resource": name} for of, name in one.limits],
                "share_without": None if one.without is None else rounded(float(one.without)),
            }
            for one in found.beyond
        ],
        "left": [
            {
                "tenant": one.tenant,
                "share": rounded(float(one.share)),
                "unable": list(one.unable),
            }
            for one in found.left
        ],
    }


def _bought_tree(bought: Bought) -> dict[str, object]:
    return {
        "machines": dict(bought.counts),
        "cost": write_plain(bought.cost),
        "shares": [
            {"tenant": name, "share": rounded(float(share))} for name, share in bought.shares
        ],
    }
