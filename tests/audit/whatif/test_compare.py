"""Comparisons: changes by hand, inverses, names of new machines, and bottlenecks that move."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.audit.finding import Input
from fairlead.audit.outcome import solve
from fairlead.audit.whatif.compare import Kind, WhatIf, compare, what_if
from fairlead.audit.whatif.edits import (
    Add,
    Demand,
    Drop,
    Edit,
    Limit,
    Remove,
    Weight,
    apply_edits,
    new_names,
)
from fairlead.audit.whatif.parse import read_edits
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from tests.audit.build import given as made


def two_zones() -> Input:
    """a has the east to itself (8 cpu), b the west (4)."""
    machines = [Machine(f"e{index}", {"cpu": 4}, {"zone": "east"}) for index in (1, 2)]
    machines.append(Machine("w1", {"cpu": 4}, {"zone": "west"}))
    jobs = [
        Job("a", {"cpu": 1}, tenant="s", where="zone = east"),
        Job("b", {"cpu": 1}, tenant="t", where="zone = west", exclude=["e1"]),
    ]
    return made(machines, jobs, [Tenant("s"), Tenant("t")])


def tasks(found: WhatIf) -> dict[str, tuple[float | None, float | None]]:
    return {job.name: (job.before, job.after) for job in found.jobs}


@pytest.mark.parametrize(
    ("edits", "after"),
    [
        ([Add(1, Machine("w1", {"cpu": 4}, {"zone": "west"}), "w1")], {"a": 8, "b": 8}),
        ([Remove(("e1",))], {"a": 4, "b": 4}),
        ([Drop("b")], {"a": 6, "b": 6}),
        ([Drop("b", "exclude")], {"a": 8, "b": 4}),
        ([Drop("b"), Weight("t", Fraction(2))], {"a": 4, "b": 8}),
        ([Demand("a", "cpu", Fraction(2))], {"a": 4, "b": 4}),
        ([Limit("s", "cpu", Fraction(3))], {"a": 3, "b": 4}),
        ([Drop("a"), Drop("b"), Remove(("e1", "e2"))], {"a": 2, "b": 2}),
    ],
)
def test_a_change_gives_what_is_computed_by_hand(
    edits: list[Edit], after: dict[str, float]
) -> None:
    found = tasks(what_if(two_zones(), edits, "tsf"))
    assert {name: before for name, (before, _) in found.items()} == {"a": 8, "b": 4}
    assert {name: now for name, (_, now) in found.items()} == pytest.approx(after)


def test_shares_are_compared_by_the_scales_of_before() -> None:
    # With a second machine in the west everybody could run 16 alone instead of 12: a's share falls
    # from 8/12 to 8/16 while it runs as many tasks.
    found = what_if(two_zones(), [Add(1, Machine("x", {"cpu": 4}, {"zone": "west"}))], "tsf")
    s, t = found.tenants
    assert (s.before, s.after, s.compared) == pytest.approx((8 / 12, 8 / 16, 8 / 12))
    assert (t.before, t.after, t.compared) == pytest.approx((4 / 12, 8 / 16, 8 / 12))
    assert (s.change, t.change) == (0, 1)
    assert [job.scale for job in found.jobs] == [(Fraction(12), Fraction(16))] * 2


def test_a_bottleneck_moves_machine_by_machine() -> None:
    found = what_if(two_zones(), [Drop("b"), Remove(("e1",))], "tsf")
    seen = {
        one.machines: (
            one.was,
            one.will,
            one.before and (round(one.before.share, 6), one.before.jobs),
            one.after and (round(one.after.share, 6), one.after.jobs),
        )
        for one in found.bottlenecks
    }
    assert seen == {
        ("w1",): (True, True, (0.333333, ("b",)), (0.5, ("a", "b"))),
        ("e2",): (True, True, (0.666667, ("a",)), (0.5, ("a", "b"))),
        ("e1",): (True, False, (0.666667, ("a",)), None),
    }


def test_a_limit_becomes_the_bottleneck() -> None:
    found = what_if(two_zones(), [Limit("s", "cpu", Fraction(3))], "tsf")
    (limit,) = (one for one in found.bottlenecks if one.kind is Kind.LIMIT)
    assert (limit.who, limit.resource, limit.before) == ("s", "cpu", None)
    assert limit.after is not None
    assert limit.after.share == pytest.approx(3 / 12)
    east = next(one for one in found.bottlenecks if "e1" in one.machines)
    assert east.before is not None
    assert east.after is None


def test_spread_is_a_bottleneck_of_its_own() -> None:
    what = made([Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 4})], [Job("a", {"cpu": 1})])
    alone = what_if(what, [Add(1, Machine("m1", {"cpu": 4}), "m1")], "tsf")
    assert [one.kind for one in alone.bottlenecks] == [Kind.RESOURCE, Kind.RESOURCE]
    spread = made(what.cluster.machines, [Job("a", {"cpu": 1}, spread=True)])
    (one,) = what_if(spread, [Drop("a", "spread")], "tsf").bottlenecks[:1]
    assert (one.kind, one.who, one.machines) == (Kind.SPREAD, "a", ("m1", "m2"))


def test_a_job_whose_machines_are_all_gone_is_named() -> None:
    what = made(
        [Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 4})],
        [Job("a", {"cpu": 1}, machines=["m1"]), Job("b", {"cpu": 1})],
    )
    found = what_if(what, [Remove(("m1",))], "tsf")
    assert found.made.stranded == ("a",)
    # It is there and runs nothing; null is for what is not there.
    assert tasks(found)["a"] == (4, 0)
    assert [job.scale for job in found.jobs] == [
        (Fraction(8), Fraction(0)),
        (Fraction(8), Fraction(4)),
    ]
    gone = found.tenants[0]
    assert (gone.before, gone.after, gone.compared, gone.change) == (0.5, 0, 0, -1)


@pytest.mark.parametrize("policy", ["tsf", "cmmf(cpu)", "per-machine-drf", "market", "most-tasks"])
def test_only_what_is_not_there_is_none(policy: str) -> None:
    machines = [Machine("m1", {"cpu": 4, "gpu": 1}), Machine("m2", {"cpu": 4})]
    jobs = [
        Job("listed", {"cpu": 1}, tenant="s", machines=["m1"]),
        Job("own", {"cpu": 1}, tenant="r", machines=["m1"]),
        Job("lost", {"cpu": 1, "gpu": 1}, tenant="t", machines=["m2"]),
        Job("free", {"cpu": 1}, tenant="t"),
    ]
    what = made(machines, jobs, [Tenant(name) for name in "rstu"])
    asked: list[list[Edit]] = [
        [Remove(("m1",))],
        [Drop("lost")],
        [Drop("listed"), Remove(("m1",))],
    ]
    for edits in asked:
        found = what_if(what, edits, policy)
        for job in found.jobs:
            assert None not in (job.before, job.after, *job.scale)
            assert [bool(each) for each in job.scale] == [bool(job.before), bool(job.after)]
        for tenant in found.tenants:
            assert None not in (tenant.before, tenant.after, tenant.compared)
    fewer = solve(made(machines, jobs[:1], [Tenant("s")]), policy)
    there = {job.name: job for job in compare(solve(what, policy), fewer).jobs}
    assert there["listed"].after is not None
    assert [there[name].after for name in ("own", "lost", "free")] == [None, None, None]
    assert [there[name].scale[1] for name in ("own", "lost", "free")] == [None, None, None]


def test_a_job_that_could_run_nowhere_is_compared_by_its_scale_of_after() -> None:
    machines = [Machine("m1", {"cpu": 4, "gpu": 1}), Machine("m2", {"cpu": 4})]
    what = made(machines, [Job("lost", {"cpu": 1, "gpu": 1}, machines=["m2"])])
    (tenant,) = what_if(what, [Drop("lost")], "tsf").tenants
    assert (tenant.before, tenant.after, tenant.compared, tenant.part) == (0, 1, 1, None)


def test_a_gain_of_a_ten_billionth_is_one_and_a_difference_of_rounding_is_none() -> None:
    what = made([Machine("m", {"cpu": 1})], [Job("a", {"cpu": "0.7"}), Job("b", {"cpu": "0.3"})])
    crumb = what_if(what, [Add(1, Machine("crumb", {"cpu": "0.0000000001"}))], "tsf")
    assert [job.change for job in crumb.jobs] == [1, 1]
    assert [job.part for job in crumb.jobs] == pytest.approx([1e-10, 1e-10])
    # The same cluster in ten machines of 0.1 cpu.
    tenth = [Machine(f"m{i}", {"cpu": "0.1"}) for i in range(10)]
    what = made([Machine("m", {"cpu": 1})], [Job("a", {"cpu": "0.07"}), Job("b", {"cpu": "0.03"})])
    parts = compare(solve(what, "tsf"), solve(made(tenth, what.jobs), "tsf"))
    assert [moved.change for moved in (*parts.jobs, *parts.tenants)] == [0, 0, 0, 0]
    assert not any(tenant.rescaled for tenant in parts.tenants)


def test_a_weight_of_a_job_that_is_its_own_tenant() -> None:
    what = made([Machine("m", {"cpu": 4})], [Job("a", {"cpu": 1}), Job("b", {"cpu": 1})])
    found = what_if(what, [Weight("a", Fraction(3))], "tsf")
    assert tasks(found) == {"a": (2, 3), "b": (2, 1)}


def test_the_weight_of_a_pool_is_not_written_over() -> None:
    machines = [Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 4})]
    tenants = [Tenant("s", pool=["m1"]), Tenant("t", pool=["m2"])]
    jobs = [Job("a", {"cpu": 1}, tenant="s"), Job("b", {"cpu": 1}, tenant="t")]
    with pytest.raises(InputError, match="s has a pool, which says its weight"):
        apply_edits(made(machines, jobs, tenants), [Weight("s", Fraction(2))])


@pytest.mark.parametrize(
    ("like", "taken", "names"),
    [
        ("h01", ["h01", "h02", "h03"], ("h04", "h05")),
        ("h09", ["h09", "h08"], ("h10", "h11")),
        ("node", ["node"], ("node-2", "node-3")),
        ("a100", ["a100", "v100"], ("a100-2", "a100-3")),
        ("node", ["node", "node-2"], ("node-3", "node-4")),
    ],
)
def test_new_names_go_on_with_the_numbers(
    like: str, taken: list[str], names: tuple[str, ...]
) -> None:
    assert new_names(Add(2, Machine(like, {"cpu": 1}), like), taken) == names


def test_names_of_a_catalogue_are_numbered_from_one() -> None:
    edit = Add(2, Machine("h100", {"cpu": 1}))
    assert new_names(edit, ["h100", "h100-1"]) == ("h100-2", "h100-3")


def test_a_new_machine_is_on_the_lists_of_its_model() -> None:
    machines = [Machine("m1", {"cpu": 4}), Machine("m2", {"cpu": 4})]
    jobs = [
        Job("a", {"cpu": 1}, machines=["m1"]),
        Job("b", {"cpu": 1}, machines=["m2"]),
        Job("c", {"cpu": 1}, exclude=["m1"]),
    ]
    after = apply_edits(made(machines, jobs), [Add(1, machines[0], "m1")]).input.jobs
    assert [(job.machines, job.exclude) for job in after] == [
        (("m1", "m3"), ()),
        (("m2",), ()),
        (None, ("m1", "m3")),
    ]


def test_a_range_that_is_not_alike_is_no_model() -> None:
    with pytest.raises(InputError, match="e1 and w1 are not alike"):
        read_edits(two_zones(), add=["2 x e1,w1"])
    (edit,) = read_edits(two_zones(), add=["3 x e[1-2]"])
    assert edit == Add(3, two_zones().cluster.machines[0], "e1")
    assert read_edits(two_zones(), add=["3 x e"]) == (edit,)


def test_two_inputs_are_the_same_either_way_round() -> None:
    one = solve(two_zones(), "tsf")
    other = solve(
        apply_edits(two_zones(), [Remove(("e1",)), Weight("t", Fraction(2))]).input, "tsf"
    )
    there, back = compare(one, other), compare(other, one)
    assert [(j.after, j.before) for j in there.jobs] == [(j.before, j.after) for j in back.jobs]
    assert there.made.removed == back.made.added == ("e1",)
    swapped = {(b.kind, b.machines, b.resource): (b.after, b.before) for b in there.bottlenecks}
    assert swapped == {
        (b.kind, b.machines, b.resource): (b.before, b.after) for b in back.bottlenecks
    }


@st.composite
def inputs(draw: st.DrawFn) -> Input:
    """Up to four machines of two kinds, two tenants with weights, up to four jobs."""
    machines = [
        Machine(
            f"m{index}",
            {"cpu": draw(st.integers(1, 4)), "memory": draw(st.integers(1, 4))},
            {"zone": draw(st.sampled_from(["east", "west"]))},
        )
        for index in range(draw(st.integers(1, 4)))
    ]
    jobs = [
        Job(
            f"j{index}",
            {"cpu": draw(st.integers(1, 2)), "memory": draw(st.integers(0, 2))},
            tenant=draw(st.sampled_from(["s", "t"])),
            where=draw(st.sampled_from(["", "zone = east", "zone = west"])),
            tasks=draw(st.none() | st.integers(1, 3)),
        )
        for index in range(draw(st.integers(1, 4)))
    ]
    tenants = [
        Tenant("s", weight=draw(st.integers(1, 3)), limit={"cpu": draw(st.integers(1, 9))}),
        Tenant("t", weight=draw(st.integers(1, 3))),
    ]
    return made(machines, jobs, tenants)


@given(inputs(), st.data())
def test_a_change_and_its_inverse_give_the_same_allocation(
    what: Input, data: st.DataObject
) -> None:
    machine, job = what.cluster.machines[0], what.jobs[0]
    s = what.cluster.tenants[0]
    assert s.weight is not None
    amount = Fraction(data.draw(st.integers(1, 5)))
    there: list[Edit] = [
        Add(2, machine, machine.name),
        Weight("s", s.weight * amount),
        Limit("s", "cpu", s.limit["cpu"] * amount),
        Demand(job.name, "cpu", job.demand["cpu"] * amount),
    ]
    changed = apply_edits(what, there)
    back: list[Edit] = [
        Remove(changed.added),
        Weight("s", s.weight),
        Limit("s", "cpu", s.limit["cpu"]),
        Demand(job.name, "cpu", job.demand["cpu"]),
    ]
    again = apply_edits(changed.input, back).input
    assert again == what
    first, second = solve(what, "tsf"), solve(again, "tsf")
    assert first.allocation.to_json() == second.allocation.to_json()
    assert all(job.change == 0 for job in compare(first, second).jobs)


@given(inputs())
def test_more_of_the_same_machines_leaves_the_shares_and_doubles_the_tasks(what: Input) -> None:
    # Twice as much of everything, limits and tasks too: the same shares of twice the tasks.
    jobs = [
        Job(j.name, j.demand, tenant=j.tenant, where=j.where, tasks=j.tasks and 2 * j.tasks)
        for j in what.jobs
    ]
    limited = what.cluster.tenants[0].limit["cpu"]
    what = Input(Cluster(what.cluster.machines, what.cluster.tenants), what.jobs)
    edits: list[Edit] = [Add(1, one, one.name) for one in what.cluster.machines]
    edits.append(Limit("s", "cpu", 2 * limited))
    twice = apply_edits(what, edits).input
    before = solve(what, "tsf").allocation
    after = solve(Input(twice.cluster, tuple(jobs)), "tsf").allocation
    for one, two in zip(before.jobs, after.jobs, strict=True):
        assert two.tasks == pytest.approx(2 * one.tasks, rel=1e-7, abs=1e-7)
