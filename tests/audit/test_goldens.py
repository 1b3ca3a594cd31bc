"""The papers and FACTS on the properties: each counterexample is found with its numbers,
and what holds is found to hold."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from fairlead.audit.finding import Added, Grown, Input, Left, Removed, Verdict, Witness
from fairlead.audit.outcome import Options, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.studies.kdf.combinations import Judged
from fairlead.studies.kdf.fairness import is_envy_free
from tests.audit.build import OPTIONS, audited, given, shown_again, witness_of
from tests.papers.cases import job, machines, tasks
from tests.papers.test_tsf import FIGURE_2, FIGURE_3, SEVEN, U1, U2

FIG_2 = given(FIGURE_2, (U1, U2))
FIG_3 = given(FIGURE_3, SEVEN)

POOLS = (Tenant("A", pool=["m1"]), Tenant("B", pool=["m2"]))


def owned(first: Job, second: Job) -> tuple[Job, Job]:
    """The two jobs as those of the owners of m1 and of m2."""
    return (
        Job("a", first.demand, tenant="A", machines=first.machines),
        Job("b", second.demand, tenant="B", machines=second.machines),
    )


def check_numbers(witness: Witness, who: Sequence[str], before: float, after: float) -> None:
    assert witness.who == tuple(who)
    assert witness.before == pytest.approx(before)
    assert witness.after == pytest.approx(after)
    shown = shown_again(witness)
    assert shown is not None
    assert (shown.before, shown.after) == pytest.approx((before, after))


VIOLATED = {
    "TSF, Figure 3: under constrained CDRF u1 envies u2": (
        "envy-freeness",
        "cdrf",
        FIG_3,
        ("u1", "u2"),
        2,
        1,
    ),
    "TSF, Figure 3: constrained CDRF is not CMMF with one resource": (
        "single-resource-fairness",
        "cdrf",
        FIG_3,
        ("u2",),
        1.5,
        3,
    ),
    "CDRF, section 3.1: per-machine DRF is inefficient": (
        "pareto-optimality",
        "per-machine-drf",
        given(machines((2, 12), (12, 2)), (job("u1", "0.2", 1), job("u2", 1, "0.2"))),
        None,
        10,
        6,
    ),
    "CDRF, section 3.1: DRFH depends on a useless machine": (
        "dummy-machines",
        "drfh",
        given(machines((15, 15), (16, 0)), (job("u1", 1, "0.5"), job("u2", "0.5", 1))),
        None,
        None,
        None,
    ),
    "Choosy, Theorem 1: independent allocation lacks the sharing incentive": (
        "sharing-incentive",
        "independent",
        given(machines((1,), (1,)), owned(job("a", 1), job("b", 1, on=[2])), POOLS),
        ("B",),
        1,
        0.5,
    ),
    "TSF lacks it against an equal split under constraints": (
        "sharing-incentive",
        "tsf",
        given(machines((2, 0), (2, 1)), (job("u1", 2, on=[2]), job("u2", 2, 1))),
        ("u2",),
        1 / 2,
        1 / 3,
    ),
    "DRFH lacks it against an equal split": (
        "sharing-incentive",
        "drfh",
        given(machines((3, 1), (0, 3)), (job("a", Fraction(1, 3), 1), job("b", 3, 1))),
        ("b",),
        1 / 2,
        1 / 5,
    ),
    "per-machine DRF lacks it against pools": (
        "sharing-incentive",
        "per-machine-drf",
        given(machines((4,), (1,)), owned(job("a", 1), job("b", 1, on=[2])), POOLS),
        ("B",),
        1,
        1 / 5,
    ),
    "population monotonicity of TSF fails with a zero demand": (
        "population-monotonicity",
        "tsf",
        given(machines((1, 1)), (job("u1", 1), job("u2", 1, "0.5"), job("u3", 0, 1))),
        ("u3",),
        3 / 4,
        2 / 3,
    ),
    "TSF depends on a machine that constraints forbid": (
        "forbidden-machines",
        "tsf",
        given(machines((2, 2), (4, 1)), (job("u1", 2, 1, on=[1]), job("u2", 1, 2, on=[1]))),
        None,
        None,
        None,
    ),
    "resource monotonicity of TSF fails on one machine": (
        "resource-monotonicity",
        "tsf",
        given(machines((1, 1)), (job("u1", 0.5, 1), job("u2", 1, 0.5))),
        None,
        2 / 3,
        1 / 2,
    ),
    "2-DF lacks the sharing incentive (section 1.1)": (
        "sharing-incentive",
        "2df",
        given(machines((200, 200, 200)), (job("u1", 40, 8, 8), job("u2", 8, 5, 1))),
        ("u1",),
        2.5,
        25 / 13,
    ),
    "2-DF is not DRF on one machine": (
        "single-machine-fairness",
        "2df",
        given(machines((200, 200, 200)), (job("u1", 40, 8, 8), job("u2", 8, 5, 1))),
        ("u1",),
        2.5,
        25 / 13,
    ),
}


@pytest.mark.parametrize("case", VIOLATED)
def test_each_counterexample_is_found_with_its_numbers(case: str) -> None:
    name, policy, what, who, before, after = VIOLATED[case]
    witness = witness_of(audited(name, what, policy))
    if before is None or after is None:
        shown = shown_again(witness)
        assert shown is not None
        assert (shown.before, shown.after) == pytest.approx((witness.before, witness.after))
    else:
        check_numbers(witness, witness.who if who is None else who, before, after)


HOLDS = {
    "TSF, Figure 2": ("tsf", FIG_2, ("envy-freeness", "pareto-optimality", "sharing-incentive")),
    "TSF, Figure 2, constrained CDRF": ("cdrf", FIG_2, ("envy-freeness", "pareto-optimality")),
    "TSF, Figure 3": (
        "tsf",
        FIG_3,
        ("envy-freeness", "pareto-optimality", "single-resource-fairness"),
    ),
    "TSF, Figure 3, DRFH has one resource too": ("drfh", FIG_3, ("single-resource-fairness",)),
    "TSF, Theorem 1, with Choosy's Theorem 1": (
        "tsf",
        given(machines((1,), (1,)), owned(job("a", 1), job("b", 1, on=[2])), POOLS),
        ("sharing-incentive",),
    ),
    "per-machine DRF has the equal split": (
        "per-machine-drf",
        given(machines((2, 0), (2, 1)), (job("u1", 2, on=[2]), job("u2", 4, 2))),
        ("sharing-incentive",),
    ),
    "DRF, section 4.1": (
        "tsf",
        given(machines((9, 18)), (job("a", 1, 4), job("b", 3, 1))),
        ("single-machine-fairness", "population-monotonicity", "sharing-incentive"),
    ),
    "Choosy, section 4.2.2, truth": (
        "cmmf(a)",
        given(machines((1,), (1,)), (job("c1", 1, on=[1]), job("c2", 1))),
        ("sharing-incentive", "envy-freeness", "pareto-optimality", "single-resource-fairness"),
    ),
}


@pytest.mark.parametrize("case", HOLDS)
def test_what_holds_is_found_to_hold(case: str) -> None:
    policy, what, names = HOLDS[case]
    for name in names:
        finding = audited(name, what, policy)
        assert finding.verdict is Verdict.HOLDS, (name, finding.witness)


def test_drfh_falls_from_10_and_10_to_12_and_6_when_the_dummy_of_the_paper_is_there() -> None:
    what = given(machines((15, 15), (16, 0)), (job("u1", 1, "0.5"), job("u2", "0.5", 1)))
    outcome = solve(what, "drfh")
    assert [found.tasks for found in outcome.allocation.jobs] == pytest.approx([12, 6])
    without = solve(given(machines((15, 15)), what.jobs), "drfh")
    shown = PROPERTIES["dummy-machines"].measure(outcome, without, ("u2",))
    assert shown is not None
    assert (shown.before, shown.after) == pytest.approx((6, 10))


@pytest.mark.parametrize("policy", ["tsf", "cdrf"])
def test_the_dummy_of_the_paper_changes_nothing_under_tsf_and_cdrf(policy: str) -> None:
    what = given(machines((15, 15), (16, 0)), (job("u1", 1, "0.5"), job("u2", "0.5", 1)))
    finding = audited("dummy-machines", what, policy)
    assert finding.verdict is Verdict.NOT_FOUND
    assert (finding.trials or 0) >= 2


def test_constrained_cdrf_does_not_depend_on_a_forbidden_machine() -> None:
    users = (job("u1", 2, 1, on=[1]), job("u2", 1, 2, on=[1]))
    finding = audited("forbidden-machines", given(machines((2, 2), (4, 1)), users), "cdrf")
    assert finding.verdict is Verdict.NOT_FOUND


def test_the_forbidden_machine_of_the_facts_takes_two_thirds_to_8_and_6_elevenths() -> None:
    users = (job("u1", 2, 1, on=[1]), job("u2", 1, 2, on=[1]))
    outcome = solve(given(machines((2, 2), (4, 1)), users), "tsf")
    without = solve(given(machines((2, 2)), users), "tsf")
    shown = PROPERTIES["forbidden-machines"].measure(outcome, without, ("u2",))
    assert shown is not None
    assert (shown.before, shown.after) == pytest.approx((6 / 11, 2 / 3))


def test_a_dummy_is_no_forbidden_machine_and_the_other_way_round() -> None:
    users = (job("u1", 2, 1, on=[1]), job("u2", 1, 2, on=[1]))
    outcome = solve(given(machines((2, 2), (4, 1)), users), "tsf")
    without = solve(given(machines((2, 2)), users), "tsf")
    assert PROPERTIES["dummy-machines"].measure(outcome, without, ("u2",)) is None


def test_the_changes_are_told_as_they_are() -> None:
    left = witness_of(audited(*_case("population monotonicity")))
    assert left.change == Left("u1")
    grown = witness_of(audited(*_case("resource monotonicity")))
    assert isinstance(grown.change, Grown)
    assert grown.change.machine.name == "m1"
    dummy = witness_of(audited(*_case("CDRF, section 3.1: DRFH")))
    assert isinstance(dummy.change, (Added, Removed))


def _case(start: str) -> tuple[str, Input, str]:
    (key,) = (case for case in VIOLATED if case.startswith(start))
    name, policy, what, *_ = VIOLATED[key]
    return name, what, policy


@pytest.mark.parametrize("capacity", [3, 5])
def test_the_auditor_sees_the_envy_that_the_study_of_two_df_counts(
    capacity: int, cases: int
) -> None:
    draw = random.Random(capacity)
    sizes = range(1, capacity + 1)
    vectors = [(a, b, c) for a in sizes for b in sizes for c in sizes]
    where = machines((capacity,) * 3)
    for _ in range(10 * cases):
        first, second, third = draw.choices(vectors, k=3)
        demands = (first, second, third)
        users = [job(f"u{i}", *demand) for i, demand in enumerate(demands)]
        counted = Judged(demands, 1, {"2-DF": tuple(tasks(where, users, "2df"))})
        finding = audited("envy-freeness", given(where, users), "2df")
        assert (finding.verdict is Verdict.HOLDS) == is_envy_free(counted)


def test_a_sample_says_that_it_is_one() -> None:
    users = [job(f"u{i}", 1, 2) for i in range(8)]
    what = given(machines((9, 18)), users)
    finding = audited("population-monotonicity", what, "tsf", Options(trials=3, seed=7))
    assert finding.verdict is Verdict.NOT_FOUND
    assert (finding.trials, finding.seed) == (3, 7)
    whole = audited("population-monotonicity", what, "tsf", OPTIONS)
    assert whole.verdict is Verdict.HOLDS


def test_bottleneck_fairness_is_about_a_resource_that_all_want_most() -> None:
    where = Cluster(
        [
            Machine("m1", {"cpu": 10, "memory": 100}),
            Machine("m2", {"cpu": 10, "memory": 10}),
        ]
    )
    both = Input(where, (Job("a", {"cpu": 2, "memory": 1}), Job("b", {"cpu": 1, "memory": 1})))
    name = "bottleneck-fairness"
    assert audited(name, both, "drfh").verdict is Verdict.HOLDS
    apart = Input(where, (Job("a", {"cpu": 2, "memory": 1}), Job("b", {"cpu": 1, "memory": 9})))
    assert audited(name, apart, "drfh").verdict is Verdict.NOT_APPLICABLE
