"""Purchases: by hand, never worse than the naive purchase, and catalogues with mistakes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.audit.finding import Input
from fairlead.audit.outcome import solve
from fairlead.audit.whatif.buy import Buying, Left, buy
from fairlead.audit.whatif.buy_value import cheapest_first, scarcest, values
from fairlead.audit.whatif.catalogue import Offer, read_catalogue
from fairlead.cli.common.screen import Screen
from fairlead.cli.text.buy import buying_lines
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from tests.audit.build import given as made

EAST, WEST = {"zone": "east"}, {"zone": "west"}


def two_zones() -> Input:
    """a has 8 cpu in the east, b 4 in the west."""
    machines = [
        Machine("e1", {"cpu": 8}, EAST),
        Machine("w1", {"cpu": 4}, WEST),
    ]
    jobs = [Job("a", {"cpu": 1}, where="zone = east"), Job("b", {"cpu": 1}, where="zone = west")]
    return made(machines, jobs)


def offer(
    name: str, price: int, cpu: int, labels: dict[str, str], most: int | None = None
) -> Offer:
    return Offer(Machine(name, {"cpu": cpu}, labels), Fraction(price), most)


OFFERS = [offer("east", 4, 4, EAST), offer("west", 5, 4, WEST)]


def bought(found: Buying) -> dict[str, int]:
    return dict(found.best.counts)


def test_the_poorest_gets_the_machine_that_it_can_use() -> None:
    # By today's scale of 12, b has 4/12 and a 8/12: a west machine makes both 8/12.
    found = buy(two_zones(), "tsf", OFFERS, Fraction(7))
    assert bought(found) == {"west": 1}
    assert dict(found.naive.counts) == {"east": 1}
    assert found.exact
    assert found.rank == 0
    assert [share for _, share in found.best.shares] == pytest.approx([8 / 12, 8 / 12])
    assert [share for _, share in found.naive.shares] == pytest.approx([4 / 12, 12 / 12])
    assert [share for _, share in found.nothing.shares] == pytest.approx([4 / 12, 8 / 12])


def test_money_for_both_raises_both() -> None:
    found = buy(two_zones(), "tsf", OFFERS, Fraction(14))
    assert bought(found) == {"east": 1, "west": 2}  # 12 of 12 each
    assert found.best.cost == 14


def test_a_named_tenant_gets_what_helps_it() -> None:
    found = buy(two_zones(), "tsf", OFFERS, Fraction(14), tenant="a")
    assert bought(found) == {"east": 3}
    ((name, share),) = found.best.shares
    assert name == "a"
    assert share == pytest.approx(20 / 12)


def test_no_more_than_there_are() -> None:
    offers = [OFFERS[0], offer("west", 5, 4, WEST, most=1)]
    assert bought(buy(two_zones(), "tsf", offers, Fraction(100), tenant="b")) == {"west": 1}


def test_nothing_is_bought_where_nothing_helps() -> None:
    found = buy(two_zones(), "tsf", [offer("north", 1, 4, {"zone": "north"})], Fraction(3))
    assert bought(found) == {}
    assert found.rank is None
    assert found.best.cost == 0


def test_where_the_smallest_cannot_rise_the_next_counts() -> None:
    what = two_zones()
    what = made(
        what.cluster.machines, [*what.jobs, Job("c", {"cpu": 1}, tasks=1, where="zone = west")]
    )
    # c has its only task; b is the next.
    found = buy(what, "tsf", OFFERS, Fraction(5))
    assert (bought(found), found.rank) == ({"west": 1}, 1)
    assert found.nothing.shares[1][0] == "b"


def test_who_can_run_nothing_today_is_the_poorest() -> None:
    what = two_zones()
    what = made(what.cluster.machines, [*what.jobs, Job("g", {"gpu": 1})])
    offers = [*OFFERS, Offer(Machine("gpus", {"gpu": 2}), Fraction(6))]
    found = buy(what, "tsf", offers, Fraction(6))
    assert bought(found) == {"gpus": 1}
    assert found.nothing.shares[0] == ("g", Fraction(0))


def test_a_machine_that_raises_the_smallest_share_by_a_ten_billionth_raises_it() -> None:
    what = made([Machine("m", {"cpu": 1})], [Job("a", {"cpu": 1})])
    crumb = Offer(Machine("crumb", {"cpu": "0.0000000001"}), Fraction(1), 1)
    found = buy(what, "tsf", [crumb], Fraction(1))
    assert (bought(found), found.rank) == ({"crumb": 1}, 0)


def test_of_purchases_that_come_to_the_same_the_cheaper_is_better() -> None:
    # Three times 0.3 cpu is not 0.9 in doubles.
    what = made([Machine("m", {"cpu": 1})], [Job("a", {"cpu": "0.3"})])
    offers = [
        Offer(Machine("one", {"cpu": "0.9"}), Fraction(5), 1),
        Offer(Machine("part", {"cpu": "0.3"}), Fraction(1), 3),
    ]
    found = buy(what, "tsf", offers, Fraction(5))
    assert (bought(found), found.best.cost) == ({"part": 3}, Fraction(3))


def test_of_resources_that_are_used_alike_the_first_by_name_is_the_scarcest() -> None:
    machines = [Machine(f"m{i}", {"cpu": "0.3", "memory": "0.9"}) for i in range(7)]
    outcome = solve(made(machines, [Job("a", {"cpu": "0.1", "memory": "0.3"})]), "tsf")
    assert scarcest(outcome) == "cpu"


def limited(above: dict[str, int] | None = None) -> Input:
    """ads may hold 4 of 16 gpu, which its two jobs share; b runs on the other 12."""
    machines = [Machine("a", {"gpu": 8}, EAST), Machine("w", {"gpu": 8}, WEST)]
    parent = "firm" if above else None
    tenants = [
        *([Tenant("firm", limit=above)] if above else []),
        Tenant("ads", limit={} if above else {"gpu": 4}, parent=parent),
        Tenant("b"),
    ]
    jobs = [
        Job("rank", {"gpu": 1}, tenant="ads"),
        Job("bid", {"gpu": 2}, tenant="ads", where="zone = west"),
        Job("train", {"gpu": 1}, tenant="b"),
    ]
    return made(machines, jobs, tenants)


NODES = [
    Offer(Machine("east-node", {"gpu": 8}, EAST), Fraction(2)),
    Offer(Machine("west-node", {"gpu": 8}, WEST), Fraction(3)),
]


@pytest.mark.parametrize("above", [None, {"gpu": 4}])
@pytest.mark.parametrize("solves", [2, 200])
def test_who_is_at_its_limit_is_helped_by_no_purchase_and_the_next_is(
    above: dict[str, int] | None, solves: int
) -> None:
    what = limited(above)
    found = buy(what, "tsf", NODES, Fraction(6), solves=solves)
    (ads,) = found.beyond
    assert (ads.tenant, ads.limits) == ("ads", (("firm" if above else "ads", "gpu"),))
    assert ads.without is not None
    assert ads.without > ads.share
    assert found.nothing.shares[0] == ("ads", ads.share)
    assert (found.rank, found.raised) == (1, "b")
    assert found.best.shares[0] == ("ads", ads.share)  # what one of its jobs gains another loses


def test_for_a_tenant_at_its_limit_nothing_is_bought() -> None:
    found = buy(limited(), "tsf", NODES, Fraction(6), tenant="ads")
    assert (bought(found), found.rank) == ({}, None)
    assert [(one.tenant, one.limits) for one in found.beyond] == [("ads", (("ads", "gpu"),))]


def test_a_tenant_below_its_limit_is_bought_for() -> None:
    what = limited()
    tenants = [Tenant("ads", limit={"gpu": 1000}), Tenant("b")]
    what = made(what.cluster.machines, what.jobs, tenants)
    found = buy(what, "tsf", NODES, Fraction(6), tenant="ads")
    assert (found.beyond, found.rank) == ((), 0)


def test_who_has_all_its_tasks_is_helped_by_no_purchase() -> None:
    what = two_zones()
    what = made(
        what.cluster.machines, [*what.jobs, Job("c", {"cpu": 1}, tasks=1, where="zone = west")]
    )
    found = buy(what, "tsf", OFFERS, Fraction(5))
    assert [(one.tenant, one.limits, one.without) for one in found.beyond] == [("c", (), None)]


def test_whom_no_machine_of_the_catalogue_can_run_is_named_with_its_jobs() -> None:
    found = buy(two_zones(), "tsf", OFFERS[:1], Fraction(5))
    assert (found.rank, found.raised) == (1, "a")
    assert found.left == (Left("b", Fraction(4, 12), ("b",)),)
    assert " ".join(buying_lines(found, Screen())).startswith(
        "No purchase that was solved raises the share of b (0.333333), and no machine that the"
        " money buys can run b. Buy 1 x east"
    )
    both = buy(two_zones(), "tsf", OFFERS, Fraction(7))
    assert both.left == ()


def torn() -> tuple[Input, list[Offer]]:
    """With more machines for prep, a share of web is more tasks, and web runs beside train."""
    on_c, on_g = {"kind": "c"}, {"kind": "g"}
    what = made(
        [Machine("g1", {"cpu": 8, "gpu": 8}, on_g), Machine("c1", {"cpu": 8}, on_c)],
        [
            Job("train", {"cpu": 1, "gpu": 1}, tenant="language"),
            Job("prep", {"cpu": 1}, tenant="language", where="kind = c"),
            Job("web", {"cpu": 1}, tenant="vision", where="kind = g"),
        ],
    )
    offers = [
        Offer(Machine("c-node", {"cpu": 8}, on_c), Fraction(1)),
        Offer(Machine("g-node", {"cpu": 2, "gpu": 2}, on_g), Fraction(1)),
    ]
    return what, offers


@pytest.mark.parametrize("solves", [4, 200])
def test_who_of_the_tenant_loses_and_what_harms_none_of_its_jobs(solves: int) -> None:
    what, offers = torn()
    found = buy(what, "tsf", offers, Fraction(2), tenant="language", solves=solves)
    assert bought(found) == {"c-node": 2}
    assert {job.name: job.change for job in found.moved} == {"train": -1, "prep": 1}
    assert found.harmless is not None
    assert dict(found.harmless.counts) == {"c-node": 1, "g-node": 1}
    assert not found.harmless.losing & {"train", "prep"}


def test_where_every_purchase_harms_a_job_of_the_tenant_there_is_no_harmless_one() -> None:
    what, offers = torn()
    found = buy(what, "tsf", offers[:1], Fraction(2), tenant="language")
    assert [job.name for job in found.moved if job.change < 0] == ["train"]
    assert found.harmless is None


def test_a_search_finds_what_trying_all_finds() -> None:
    budget = Fraction(28)
    all_of_them = buy(two_zones(), "tsf", OFFERS, budget)
    searched = buy(two_zones(), "tsf", OFFERS, budget, solves=20)
    assert all_of_them.exact
    assert not searched.exact
    assert searched.best.shares == all_of_them.best.shares


def test_a_search_that_may_not_solve_enough_says_so() -> None:
    found = buy(two_zones(), "tsf", OFFERS, Fraction(400), solves=3)
    assert found.spent
    assert found.solves <= 3 + 1  # the one that is being looked at when they are spent


def test_prices_point_to_what_the_poorest_can_use() -> None:
    outcome = solve(two_zones(), "tsf")
    found = values(outcome, "b", OFFERS)
    assert found["east"] == 0
    assert found["west"] == pytest.approx(4 / 12)  # 4 tasks, each of a twelfth of a share


def test_the_naive_purchase_goes_by_the_scarcest_resource() -> None:
    what = made([Machine("m", {"cpu": 4, "memory": 9})], [Job("a", {"cpu": 1, "memory": 1})])
    assert scarcest(solve(what, "tsf")) == "cpu"
    offers = [
        Offer(Machine("thin", {"cpu": 1}), Fraction(2)),
        Offer(Machine("wide", {"cpu": 4}), Fraction(6)),
        Offer(Machine("other", {"memory": 4}), Fraction(1)),
    ]
    assert [one.name for one in cheapest_first("cpu", offers)] == ["wide", "thin"]


@st.composite
def purchases(draw: st.DrawFn) -> tuple[Input, list[Offer], Fraction]:
    zones = ["east", "west"]
    machines = [
        Machine(
            f"m{i}", {"cpu": draw(st.integers(1, 4)), "gpu": draw(st.integers(0, 2))}, {"zone": z}
        )
        for i, z in enumerate(zones)
    ]
    jobs = [
        Job(
            f"j{i}",
            {"cpu": 1, "gpu": draw(st.integers(0, 1))},
            where=draw(st.sampled_from(["", "zone = east", "zone = west"])),
            tasks=draw(st.none() | st.integers(1, 3)),
        )
        for i in range(draw(st.integers(1, 3)))
    ]
    offers = [
        Offer(
            Machine(
                f"o{i}",
                {"cpu": draw(st.integers(1, 4)), "gpu": draw(st.integers(0, 2))},
                {"zone": draw(st.sampled_from(zones))},
            ),
            Fraction(draw(st.integers(1, 4))),
            draw(st.none() | st.integers(1, 2)),
        )
        for i in range(draw(st.integers(1, 3)))
    ]
    return made(machines, jobs), offers, Fraction(draw(st.integers(4, 6)))


def at_least(one: Buying, other: tuple[tuple[str, Fraction], ...]) -> bool:
    """Whether the best purchase's shares, from the smallest up, are not below the other's."""
    return [share for _, share in one.best.shares] >= [share for _, share in other]


@given(purchases(), st.sampled_from([5, 200]))
def test_a_purchase_is_within_the_money_and_never_worse_than_the_naive_one(
    case: tuple[Input, list[Offer], Fraction], solves: int
) -> None:
    what, offers, budget = case
    found = buy(what, "tsf", offers, budget, solves=solves)
    price = {one.name: one.price or Fraction(0) for one in offers}
    assert found.best.cost == sum(price[name] * count for name, count in found.best.counts)
    assert found.best.cost <= budget
    for one in offers:
        assert one.at_most is None or bought(found).get(one.name, 0) <= one.at_most
    assert at_least(found, found.naive.shares)
    assert at_least(found, found.nothing.shares)


def test_more_machines_than_anyone_buys_are_refused() -> None:
    with pytest.raises(InputError, match="buys 1000000 machines of east"):
        buy(two_zones(), "tsf", OFFERS, Fraction(4_000_000))


def test_an_offer_without_a_price_is_not_for_sale() -> None:
    with pytest.raises(InputError, match="n has no price"):
        buy(two_zones(), "tsf", [Offer(Machine("n", {"cpu": 1}))], Fraction(3))


def test_a_catalogue_is_read() -> None:
    text = (
        "catalogue:\n"
        "  - {name: n, price: 12.5, capacity: {cpu: 4, memory: 1GiB}, labels: {zone: east}}\n"
        "  - {name: o, capacity: {gpu: 1}, at_most: 3}\n"
    )
    assert read_catalogue("c.yaml", text) == (
        Offer(Machine("n", {"cpu": 4, "memory": "1GiB"}, EAST), Fraction(25, 2)),
        Offer(Machine("o", {"gpu": 1}), None, 3),
    )


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{name: n, capacity: {cpu: 4}, price: 0}", "0 is not positive"),
        ("{name: n, capacity: {cpu: 4}, price: much}", "price"),
        ("{name: n, capacity: {cpu: -4}}", "cpu"),
        ("{name: n, capacity: {cpu: 4}, at_most: 1.5}", "1.5 is not a number of machines"),
        ("{name: n, capacity: {cpu: 4}, cost: 3}", 'unknown key "cost"'),
        ("{name: n}", "it has no capacity"),
        ("{capacity: {cpu: 4}}", "it has no name"),
        ("{name: a b, capacity: {cpu: 4}}", "not the name of one machine"),
    ],
)
def test_mistakes_of_a_catalogue_have_their_places(entry: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        read_catalogue("c.yaml", f"catalogue:\n  - {entry}\n")
    assert said in str(error.value)
    assert "c.yaml:2:" in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("machines: []", 'unknown key "machines"'),
        ("", "there is no offer here"),
        ("catalogue: []", "there is no offer here"),
        ("catalogue: {name: n}", "where a list should"),
        (
            "catalogue: [{name: n, capacity: {cpu: 1}}, {name: n, capacity: {cpu: 2}}]",
            "there is such an offer already",
        ),
    ],
)
def test_what_is_no_catalogue_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_catalogue("c.yaml", text)
