"""Each checker on allocations made by hand, which violate its property by a little, by nothing, or
by a lot."""

from __future__ import annotations

import pytest

from fairlead.audit.finding import Verdict
from fairlead.audit.outcome import Outcome
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.model.job import Job
from fairlead.model.tenant import Tenant
from fairlead.model.unrounded import IN_DOUBLES
from tests.audit.build import given, judged, made, witness_of
from tests.papers.cases import job, machines

LITTLE = 10 * float(IN_DOUBLES)
NOTHING = float(IN_DOUBLES) / 10

TWO = given(machines((4,), (4,)), (job("u", 1), job("v", 1)))


def two(u: float, v: float) -> Outcome:
    """Two who are alike: u has so much of m1, v so much of m2."""
    return made(TWO, {"u": {"m1": u}, "v": {"m2": v}})


@pytest.mark.parametrize("name", ["sharing-incentive", "envy-freeness", "pareto-optimality"])
def test_what_is_right_holds(name: str) -> None:
    assert judged(name, two(4, 4)).verdict is Verdict.HOLDS


@pytest.mark.parametrize("name", ["sharing-incentive", "pareto-optimality"])
def test_what_is_wrong_by_a_little_is_found(name: str) -> None:
    witness = witness_of(judged(name, two(4 * (1 - LITTLE), 4)))
    assert witness.who == ("u",)
    assert (witness.before, witness.after) == pytest.approx((4, 4 * (1 - LITTLE)), rel=1e-12)
    assert witness.slack == pytest.approx(LITTLE)


@pytest.mark.parametrize("name", ["sharing-incentive", "envy-freeness", "pareto-optimality"])
def test_rounding_is_no_violation(name: str) -> None:
    assert judged(name, two(4 * (1 - NOTHING), 4)).verdict is Verdict.HOLDS


def test_envy_by_a_little_is_found() -> None:
    witness = witness_of(judged("envy-freeness", two(4 * (1 - LITTLE), 4)))
    assert witness.who == ("u", "v")
    assert (witness.before, witness.after) == pytest.approx((4, 4 * (1 - LITTLE)), rel=1e-12)


def test_envy_counts_machine_by_machine() -> None:
    # v has 4 of a on m1 and 4 of b on m2: together enough for 4 tasks of u, and on neither for one.
    what = given(
        machines((4, 4), (4, 4)),
        (job("u", 1, 1), Job("v1", {"a": 1}, tenant="v"), Job("v2", {"b": 1}, tenant="v")),
        (Tenant("v"),),
    )
    apart = made(what, {"u": {"m1": 0.5}, "v1": {"m1": 3}, "v2": {"m2": 4}})
    assert judged("envy-freeness", apart).verdict is Verdict.HOLDS
    together = made(what, {"u": {"m1": 0.5}, "v1": {"m1": 3}, "v2": {"m1": 3}})
    assert witness_of(judged("envy-freeness", together)).before == pytest.approx(3)


def test_envy_with_finite_tasks_counts_no_more_than_there_are() -> None:
    # min(T, n): v has four times as much, and u needs no more than its 1 task.
    what = given(
        machines(
            (8,),
        ),
        (job("u", 1, tasks=1), job("v", 1)),
    )
    assert (
        judged("envy-freeness", made(what, {"u": {"m1": 1}, "v": {"m1": 4}})).verdict
        is Verdict.HOLDS
    )
    witness = witness_of(judged("envy-freeness", made(what, {"u": {"m1": 0.5}, "v": {"m1": 4}})))
    assert witness.before == pytest.approx(1)


SEVERAL = given(
    machines((4, 4)),
    (
        Job("cpu", {"a": 1}, tenant="u"),
        Job("memory", {"b": 1}, tenant="u"),
        Job("both", {"a": 1, "b": 1}, tenant="v"),
    ),
    (Tenant("u"), Tenant("v")),
)


def test_a_tenant_with_several_jobs_envies_what_holds_all_of_them_and_more() -> None:
    envious = made(SEVERAL, {"cpu": {"m1": 1}, "memory": {"m1": 2}, "both": {"m1": 2}})
    witness = witness_of(judged("envy-freeness", envious))
    # 2 and 2 of 4 each instead of 1 and 2.
    assert witness.who == ("u", "v")
    assert witness.unit == "share"
    assert (witness.before, witness.after) == pytest.approx((1, 3 / 4))


def test_a_tenant_with_several_jobs_does_not_envy_what_would_take_one_from_it() -> None:
    fine = made(SEVERAL, {"cpu": {"m1": 1}, "memory": {"m1": 2.5}, "both": {"m1": 1.5}})
    assert judged("envy-freeness", fine).verdict is Verdict.HOLDS


def test_the_sharing_incentive_of_a_tenant_with_several_jobs_is_about_its_share() -> None:
    less = made(SEVERAL, {"cpu": {"m1": 1}, "memory": {"m1": 2}, "both": {"m1": 2}})
    witness = witness_of(judged("sharing-incentive", less))
    assert witness.who == ("u",)
    assert (witness.before, witness.after) == pytest.approx((1, 3 / 4))
    other = made(SEVERAL, {"cpu": {"m1": 1.5}, "memory": {"m1": 2.5}, "both": {"m1": 2}})
    assert judged("sharing-incentive", other).verdict is Verdict.HOLDS


def test_alone_in_the_cluster_nobody_is_below_its_part() -> None:
    # Its filling does not reach the largest sum of shares: no promise is broken by that.
    jobs = (Job("x", {"a": 1}, tenant="u"), Job("y", {"a": 1, "b": 1}, tenant="u"))
    what = given(machines((10, 1)), jobs, (Tenant("u"),))
    assert (
        judged(
            "sharing-incentive", made(what, {"x": {"m1": 100 / 11}, "y": {"m1": 10 / 11}})
        ).verdict
        is Verdict.HOLDS
    )


def test_a_limit_is_no_violation() -> None:
    tenants = (Tenant("u", limit={"a": 1}), Tenant("v"))
    jobs = (Job("j", {"a": 1}, tenant="u"), Job("k", {"a": 1}, tenant="v"))
    capped = made(given(machines((4,)), jobs, tenants), {"j": {"m1": 1}, "k": {"m1": 3}})
    for name in ("sharing-incentive", "envy-freeness", "pareto-optimality"):
        assert judged(name, capped).verdict is Verdict.HOLDS, name


def test_pareto_finds_what_takes_a_chain_of_moves() -> None:
    # u moves to m1, so that v can have all of m2.
    what = given(machines((2,), (2,)), (job("u", 1), job("v", 1, on=[2])))
    stuck = made(what, {"u": {"m2": 1}, "v": {"m2": 1}})
    witness = witness_of(judged("pareto-optimality", stuck))
    assert witness.after == pytest.approx(1)
    better = dict(witness.jobs)
    assert better["u"] + better["v"] == pytest.approx(4)
    assert min(better.values()) >= 1 - 1e-9


def test_pareto_gives_nobody_more_tasks_than_it_has() -> None:
    what = given(machines((4,)), (job("u", 1, tasks=1), job("v", 1, tasks=2)))
    assert (
        judged("pareto-optimality", made(what, {"u": {"m1": 1}, "v": {"m1": 2}})).verdict
        is Verdict.HOLDS
    )
    witness = witness_of(judged("pareto-optimality", made(what, {"u": {"m1": 1}, "v": {"m1": 1}})))
    assert dict(witness.jobs) == pytest.approx({"u": 1, "v": 2})


@pytest.mark.parametrize(
    "name", ["single-machine-fairness", "single-resource-fairness", "bottleneck-fairness"]
)
@pytest.mark.parametrize(("off", "verdict"), [(LITTLE, Verdict.VIOLATED), (NOTHING, Verdict.HOLDS)])
def test_the_special_cases_are_seen_to_the_tolerance(
    name: str, off: float, verdict: Verdict
) -> None:
    what = given(machines((4,)), (job("u", 1), job("v", 1)))
    outcome = made(what, {"u": {"m1": 2 * (1 - off)}, "v": {"m1": 2 * (1 + off)}})
    assert judged(name, outcome).verdict is verdict


@pytest.mark.parametrize(
    "name",
    ["dummy-machines", "population-monotonicity", "resource-monotonicity", "forbidden-machines"],
)
@pytest.mark.parametrize(("off", "violated"), [(LITTLE, True), (NOTHING, False)])
def test_what_a_change_does_is_seen_to_the_tolerance(name: str, off: float, violated: bool) -> None:
    # The allocation before is made by hand so that u falls by `off` from it.
    change = {
        "dummy-machines": given(machines((4, 1), (0, 9)), (job("u", 1), job("v", 1))),
        "forbidden-machines": given(
            machines((4,), (4,)), (job("u", 1, on=[1]), job("v", 1, on=[1]))
        ),
        "population-monotonicity": given(machines((4,)), (job("u", 1), job("v", 1), job("w", 1))),
        "resource-monotonicity": given(machines((4,)), (job("u", 1), job("v", 1))),
    }[name]
    after = {
        "dummy-machines": given(machines((4, 1)), change.jobs),
        "forbidden-machines": given(machines((4,)), change.jobs),
        "population-monotonicity": given(machines((4,)), change.jobs[:2]),
        "resource-monotonicity": given(machines((5,)), change.jobs),
    }[name]
    then = 2.5 if name == "resource-monotonicity" else 2.0
    placed = {each.name: {"m1": then * (1 + off)} for each in change.jobs}
    second = made(after, {each.name: {"m1": then} for each in after.jobs})
    shown = PROPERTIES[name].measure(made(change, placed), second, ("u",))
    assert shown is not None
    assert (shown.slack > 0) is violated
