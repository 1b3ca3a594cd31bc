"""Each checker on whole tasks that are placed by hand: violated by one task, or by nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fairlead.audit.finding import Finding, Moment, Verdict
from fairlead.audit.outcome import Outcome, Shown
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Tasks
from fairlead.model.tenant import Tenant
from tests.audit.build import asked_of, given, made_whole, witness_of
from tests.papers.cases import job, machines, weighted

ALIKE = given(machines((4,), (4,)), (job("u", 1), job("v", 1)))


def whole(what: Mapping[str, Mapping[str, int]]) -> Outcome:
    return made_whole(ALIKE, ("1", what))


def one(name: str, outcome: Outcome) -> Finding:
    (found,) = asked_of(name, outcome)
    assert found.tasks is Tasks.WHOLE
    assert found.lottery is None
    return found


@pytest.mark.parametrize("name", ["sharing-incentive", "envy-freeness", "pareto-optimality"])
def test_what_is_right_holds(name: str) -> None:
    assert one(name, whole({"m1": {"u": 4}, "m2": {"v": 4}})).verdict is Verdict.HOLDS


@pytest.mark.parametrize("name", ["sharing-incentive", "pareto-optimality"])
def test_a_task_too_few_is_found(name: str) -> None:
    witness = witness_of(one(name, whole({"m1": {"u": 3}, "m2": {"v": 4}})))
    assert (witness.who, witness.before, witness.after) == (("u",), 4, 3)


def test_a_task_less_than_the_other_is_envy() -> None:
    found = one("envy-freeness", whole({"m1": {"u": 3}, "m2": {"v": 4}}))
    assert witness_of(found).who == ("u", "v")
    assert dict(found.counts) == {"pairs": 2, "envious": 1, "envious of more than a task": 0}
    far = one("envy-freeness", whole({"m1": {"u": 3, "v": 1}, "m2": {"v": 4}}))
    assert dict(far.counts)["envious of more than a task"] == 1


def test_the_promise_is_a_part_of_the_tasks_alone_rounded_down() -> None:
    # 5 tasks alone: half of them are 2, and each half of a machine holds 1 and 1.
    what = given(machines((3,), (2,)), (job("u", 1), job("v", 1)))
    two = made_whole(what, ("1", {"m1": {"v": 3}, "m2": {"u": 2}}))
    assert one("sharing-incentive", two).verdict is Verdict.HOLDS
    fewer = one("sharing-incentive", made_whole(what, ("1", {"m1": {"v": 3}, "m2": {"u": 1}})))
    assert witness_of(fewer).before == 2
    assert dict(fewer.counts)["below a part of each machine"] == 1
    least = made_whole(
        given(machines((3,), (3,)), what.jobs), ("1", {"m1": {"v": 3}, "m2": {"u": 2}})
    )
    found = one("sharing-incentive", least)
    assert witness_of(found).before == 3
    assert dict(found.counts)["below a part of each machine"] == 0


def test_a_pool_is_worth_the_whole_tasks_that_it_holds() -> None:
    what = given(
        machines((5,), (4,)),
        (Job("j", {"a": 2}, tenant="u"), Job("k", {"a": 1}, tenant="v")),
        (Tenant("u", pool=["m1"]), Tenant("v", pool=["m2"])),
    )
    fair = made_whole(what, ("1", {"m1": {"j": 2, "k": 1}, "m2": {"k": 4}}))
    assert one("sharing-incentive", fair).verdict is Verdict.HOLDS
    unfair = made_whole(what, ("1", {"m1": {"j": 1, "k": 3}, "m2": {"k": 4}}))
    witness = witness_of(one("sharing-incentive", unfair))
    assert (witness.who, witness.before, witness.after) == (("u",), 2, 1)


def test_containers_are_not_combined() -> None:
    # Four containers of 1 on one machine, and none of them holds a task of 2.
    what = given(machines((4,), (2,)), (job("u", 2), job("v", 1)))
    small = made_whole(what, ("1", {"m1": {"v": 4}, "m2": {"u": 1}}))
    assert one("envy-freeness", small).verdict is Verdict.HOLDS
    large = given(machines((4,), (2,)), (job("u", 1), job("v", 2)))
    envious = made_whole(large, ("1", {"m1": {"v": 2}, "m2": {"u": 2}}))
    assert witness_of(one("envy-freeness", envious)).before == 4


def test_containers_on_machines_that_are_closed_do_not_count() -> None:
    what = given(machines((4,), (4,)), (job("u", 1, on=[1]), job("v", 1)))
    fair = made_whole(what, ("1", {"m1": {"u": 2, "v": 2}, "m2": {"v": 4}}))
    assert one("envy-freeness", fair).verdict is Verdict.HOLDS


def test_exact_amounts_decide_what_a_container_holds() -> None:
    # 3 x 0.1 is 0.3, which floating point does not know.
    what = given(machines(("0.3",), ("0.1",)), (job("u", "0.1"), job("v", "0.3")))
    outcome = made_whole(what, ("1", {"m1": {"v": 1}, "m2": {"u": 1}}))
    assert witness_of(one("envy-freeness", outcome)).before == 3
    assert one("pareto-optimality", outcome).verdict is Verdict.HOLDS


def test_weights_scale_what_is_envied_rounded_down() -> None:
    what = given(
        machines((4,), (4,)),
        (Job("j", {"a": 1}, tenant="u"), Job("k", {"a": 1}, tenant="v")),
        weighted(u=1, v=2),
    )
    # Half of 5 containers are 2 whole ones.
    fair = made_whole(what, ("1", {"m1": {"j": 2, "k": 1}, "m2": {"k": 4}}))
    assert one("envy-freeness", fair).verdict is Verdict.HOLDS
    unfair = made_whole(what, ("1", {"m1": {"j": 2, "k": 2}, "m2": {"k": 4}}))
    assert witness_of(one("envy-freeness", unfair)).before == 3


def test_nobody_envies_tasks_that_it_does_not_have() -> None:
    what = given(machines((4,), (4,)), (job("u", 1, tasks=2), job("v", 1)))
    outcome = made_whole(what, ("1", {"m1": {"u": 2, "v": 2}, "m2": {"v": 4}}))
    for name in ("sharing-incentive", "envy-freeness", "pareto-optimality"):
        assert one(name, outcome).verdict is Verdict.HOLDS, name


def test_a_job_that_spreads_uses_one_container_of_a_machine() -> None:
    what = given(machines((4,), (4,)), (Job("u", {"a": 1}, spread=True), job("v", 1)))
    fair = made_whole(what, ("1", {"m1": {"u": 1}, "m2": {"v": 4}}))
    assert one("envy-freeness", fair).verdict is Verdict.HOLDS
    both = made_whole(what, ("1", {"m1": {"u": 1, "v": 3}, "m2": {"v": 4}}))
    assert witness_of(one("envy-freeness", both)).before == 2


def test_a_limit_is_no_violation() -> None:
    tenants = (Tenant("u", limit={"a": 1}), Tenant("v"))
    jobs = (Job("j", {"a": 1}, tenant="u"), Job("k", {"a": 1}, tenant="v"))
    capped = made_whole(given(machines((4,)), jobs, tenants), ("1", {"m1": {"j": 1, "k": 3}}))
    for name in ("sharing-incentive", "envy-freeness", "pareto-optimality"):
        assert one(name, capped).verdict is Verdict.HOLDS, name


def test_pareto_finds_what_takes_a_chain_of_moves() -> None:
    what = given(machines((2,), (2,)), (job("u", 1), job("v", 1, on=[2])))
    stuck = made_whole(what, ("1", {"m1": {"u": 1}, "m2": {"u": 1, "v": 1}}))
    witness = witness_of(one("pareto-optimality", stuck))
    assert dict(witness.jobs) in ({"u": 2, "v": 2}, {"u": 3, "v": 1})
    assert (
        one("pareto-optimality", made_whole(what, ("1", {"m1": {"u": 2}, "m2": {"v": 2}}))).verdict
        is Verdict.HOLDS
    )


def test_pareto_counts_what_fits_in_pieces() -> None:
    # A divisible task more would fit in the holes of both machines; no whole one does.
    what = given(machines((3,), (3,)), (job("u", 2), job("v", 2)))
    outcome = made_whole(what, ("1", {"m1": {"u": 1}, "m2": {"v": 1}}))
    assert one("pareto-optimality", outcome).verdict is Verdict.HOLDS


SEVERAL = given(
    machines((4, 4), (4, 4)),
    (
        Job("cpu", {"a": 1}, tenant="u"),
        Job("memory", {"b": 1}, tenant="u"),
        Job("both", {"a": 1, "b": 1}, tenant="v"),
    ),
    (Tenant("u"), Tenant("v")),
)


def test_a_tenant_with_several_jobs_envies_what_holds_all_of_them_and_more() -> None:
    # Three containers of (1, 1): two of them hold a task of memory, and a task of CPU has another.
    envious = made_whole(SEVERAL, ("1", {"m1": {"cpu": 1, "memory": 1}, "m2": {"both": 3}}))
    witness = witness_of(one("envy-freeness", envious))
    assert (witness.who, witness.unit) == (("u", "v"), "share")
    assert witness.before > witness.after
    fair = made_whole(SEVERAL, ("1", {"m1": {"cpu": 2, "memory": 2}, "m2": {"both": 2}}))
    assert one("envy-freeness", fair).verdict is Verdict.HOLDS


def test_a_tenant_with_several_jobs_has_its_part_of_each_machine() -> None:
    fair = made_whole(SEVERAL, ("1", {"m1": {"cpu": 4, "memory": 4}, "m2": {"both": 4}}))
    assert one("sharing-incentive", fair).verdict is Verdict.HOLDS
    less = made_whole(SEVERAL, ("1", {"m1": {"cpu": 3, "memory": 4}, "m2": {"both": 4}}))
    witness = witness_of(one("sharing-incentive", less))
    assert witness.who == ("u",)
    assert one("pareto-optimality", less).verdict is Verdict.VIOLATED


FAIR_LOTTERY = (
    ("1/2", {"m1": {"u": 4}, "m2": {"u": 3, "v": 1}}),
    ("1/2", {"m1": {"v": 4}, "m2": {"v": 3, "u": 1}}),
)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("sharing-incentive", Verdict.HOLDS, Verdict.VIOLATED),
        ("envy-freeness", Verdict.HOLDS, Verdict.VIOLATED),
        ("pareto-optimality", Verdict.HOLDS, Verdict.HOLDS),
    ],
)
def test_a_lottery_is_judged_before_and_after_the_draw(
    name: str, before: Verdict, after: Verdict
) -> None:
    first, second = asked_of(name, made_whole(ALIKE, *FAIR_LOTTERY))
    assert (first.lottery, second.lottery) == (Moment.EX_ANTE, Moment.EX_POST)
    assert (first.verdict, second.verdict) == (before, after)
    if second.witness is not None:
        assert second.witness.lottery is Moment.EX_POST
        assert second.witness.sentence.startswith("If that is drawn which has the probability 1/2:")
        assert "with probability 1" in second.note


@pytest.mark.parametrize("name", ["sharing-incentive", "envy-freeness"])
def test_a_lottery_that_favours_somebody_is_found_before_the_draw(name: str) -> None:
    (one_half, first), (_, second) = FAIR_LOTTERY
    unfair = made_whole(ALIKE, ("51/100", first), ("49/100", second))
    witness = witness_of(asked_of(name, unfair)[0])
    assert one_half
    assert witness.who[0] == "v"
    assert witness.lottery is Moment.EX_ANTE
    assert witness.after == pytest.approx(0.51 + 0.49 * 7)
    assert witness.sentence.startswith("Before the draw:")


def test_a_lottery_without_waste_can_be_improved_before_the_draw() -> None:
    # CDRF, section 3.2: nothing is wasted in (11, 0) and in (0, 11), and (10, 10) is better.
    what = given(machines((100, 10), (10, 100)), (job("u", 10, 1), job("v", 1, 10)))
    orders = made_whole(
        what,
        ("1/2", {"m1": {"u": 10}, "m2": {"u": 1}}),
        ("1/2", {"m1": {"v": 1}, "m2": {"v": 10}}),
    )
    before, after = asked_of("pareto-optimality", orders)
    witness = witness_of(before)
    assert witness.after == pytest.approx(5.5)
    assert min(dict(witness.jobs).values()) >= 5.5 - 1e-9
    assert after.verdict is Verdict.HOLDS
    fair = made_whole(what, ("1", {"m1": {"u": 10}, "m2": {"v": 10}}))
    assert one("pareto-optimality", fair).verdict is Verdict.HOLDS


def test_every_allocation_of_a_lottery_keeps_limits_and_numbers_of_tasks() -> None:
    # A mean of 1 task in two allocations would be better, if 2 tasks in one were allowed.
    what = given(machines((2,), (1,)), (job("u", 1, tasks=1), job("v", 2)))
    lottery = made_whole(what, ("1/2", {"m2": {"u": 1}, "m1": {"v": 1}}), ("1/2", {"m1": {"v": 1}}))
    assert asked_of("pareto-optimality", lottery)[0].verdict is Verdict.VIOLATED
    kept = made_whole(what, ("1", {"m2": {"u": 1}, "m1": {"v": 1}}))
    assert one("pareto-optimality", kept).verdict is Verdict.HOLDS
    tight = given(machines((2,)), (job("u", 1, tasks=1), job("v", 2)))
    mixed = made_whole(tight, ("1/2", {"m1": {"u": 1}}), ("1/2", {"m1": {"v": 1}}))
    assert asked_of("pareto-optimality", mixed)[0].verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("dummy-machines", Machine("m3", {"a": "0.9"})),
        ("forbidden-machines", Machine("m3", {"a": 4})),
        ("resource-monotonicity", Machine("m3", {"a": 4})),
    ],
)
def test_a_task_more_or_less_after_a_change_is_seen(name: str, more: Machine) -> None:
    jobs = tuple(
        replace(each, exclude=("m3",)) if name == "forbidden-machines" else each
        for each in ALIKE.jobs
    )
    after = replace(
        ALIKE,
        cluster=Cluster([*ALIKE.cluster.machines, more], ALIKE.cluster.tenants, []),
        jobs=jobs,
    )
    before = made_whole(ALIKE, ("1", {"m1": {"u": 4}, "m2": {"v": 4}}))
    same = made_whole(after, ("1", {"m1": {"u": 4}, "m2": {"v": 4}}))
    less = made_whole(after, ("1", {"m1": {"u": 3}, "m2": {"v": 4}}))

    def shown(changed: Outcome) -> Shown | None:
        return PROPERTIES[name].measure(before, changed, ("u",))

    found = shown(less)
    assert found is not None
    assert (found.before, found.after, found.slack) == (4, 3, 0.25)
    unchanged = shown(same)
    assert unchanged is not None
    assert unchanged.slack == 0


def test_a_machine_that_holds_part_of_a_task_is_a_dummy_of_whole_tasks_only() -> None:
    from fairlead.audit.properties.useless_machines import is_dummy

    part = Machine("m3", {"a": "0.9"})
    assert is_dummy(ALIKE, part, whole=True)
    assert not is_dummy(ALIKE, part)


def test_somebody_who_falls_by_a_task_when_another_leaves_is_seen() -> None:
    from fairlead.audit.change import apply
    from fairlead.audit.finding import Left

    left = apply(Left("v"), ALIKE)
    before = made_whole(ALIKE, ("1", {"m1": {"u": 4}, "m2": {"v": 4}}))
    found = PROPERTIES["population-monotonicity"].measure(
        before, made_whole(left, ("1", {"m1": {"u": 3}})), ("u",)
    )
    assert found is not None
    assert found.slack == 0.25


@pytest.mark.parametrize(
    "name", ["single-machine-fairness", "single-resource-fairness", "bottleneck-fairness"]
)
def test_what_is_the_same_as_a_simpler_policy_says_nothing_of_whole_tasks(name: str) -> None:
    what = given(machines((4,)), (job("u", 1), job("v", 1)))
    found = one(name, made_whole(what, ("1", {"m1": {"u": 2, "v": 2}})))
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert "whole tasks" in found.note
