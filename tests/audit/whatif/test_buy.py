"""Purchases: by hand, never worse than the naive purchase, and catalogues with mistakes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.audit.finding import Input
from fairlead.audit.outcome import solve
from fairlead.audit.whatif.buy import Buying, buy
from fairlead.audit.whatif.buy_value import cheapest_first, scarcest, values
from fairlead.audit.whatif.catalogue import Offer, read_catalogue
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
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
