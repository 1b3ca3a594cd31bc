"""Promises and outcomes are compared exactly: by how little they may differ, and that
what is equal is equal however far apart the numbers around it are."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from fairlead.audit.finding import Verdict
from fairlead.audit.holdings.arrays import hold
from fairlead.audit.holdings.exact import better_share, what_holds
from fairlead.audit.holdings.slack import difference, shortfall
from fairlead.audit.outcome import Options, Outcome, solve
from fairlead.audit.properties.pareto import improved, proved_fair
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.audit.properties.tenant_shares import falls
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.shares import Tasks
from fairlead.model.tenant import Tenant
from fairlead.sharing.analysis.improve_exact import Space, most_of
from fairlead.studies.properties.inputs import Family, instance
from tests.audit.build import audited, given, judged, made_whole, witness_of
from tests.papers.cases import job, machines

LITTLE = Fraction(1, 10**8)
"""Less than what was once no difference, a millionth."""

NONE = Fraction(0)


def test_envy_by_a_hundred_millionth_is_found() -> None:
    # u2 has half of m1 and the more of it the smaller m2 is: s = (1 + e) / (2 + 3 e) of m1 for u1,
    # and 1 - s for u2.
    little = machines((3,), (3 * LITTLE,))
    jobs = (
        job("u1", 1, on=[1]),
        job("u2", 1),
        job("u3", LITTLE, on=[2]),
        job("u4", LITTLE, on=[2]),
    )
    witness = witness_of(audited("envy-freeness", given(little, jobs), "cdrf"))
    share = (1 + LITTLE) / (2 + 3 * LITTLE)
    assert witness.who == ("u1", "u2")
    assert witness.slack == float(1 - share / (1 - share))
    assert "1.5 tasks; with what u2 holds it could have 1.5 tasks (1e-08 of them more)" in (
        witness.sentence
    )


def test_a_machine_by_machine_loss_of_a_hundred_millionth_is_found() -> None:
    where = machines((1, 1 + LITTLE), (1 + LITTLE, 1))
    what = given(where, (job("u", 1, "1/2"), job("v", "1/2", 1)))
    witness = witness_of(audited("pareto-optimality", what, "per-machine-drf"))
    assert 0 < witness.slack < LITTLE
    even = given(machines((1, 1), (1, 1)), what.jobs)
    assert audited("pareto-optimality", even, "per-machine-drf").verdict is Verdict.HOLDS


def test_whoever_is_entitled_to_next_to_nothing_gains_nothing_by_rounding() -> None:
    # v has 0.001 tasks beside a million: a linear program in doubles gave it 999,999.
    million = 10**6
    what = given(
        machines((million, 1), (1, million)),
        (
            Job("u", {"a": 1, "b": 1}, tenant="U"),
            Job("v", {"a": 1, "b": Fraction(1, million)}, tenant="V"),
            Job("x", {"b": 1}, tenant="X"),
        ),
        (Tenant("U"), Tenant("V", weight="1e-9"), Tenant("X")),
    )
    outcome = solve(what, "tsf")
    assert judged("pareto-optimality", outcome).verdict is Verdict.HOLDS
    held = hold(outcome)
    assert proved_fair(held)
    assert improved(held) == [held.runs(j) for j in range(3)]


def test_a_lie_of_whoever_is_entitled_to_next_to_nothing_is_found() -> None:
    # With m2 used up by w, u is all on m1 whatever it claims: two programs in doubles let w have a
    # hundred millionth less, which was room enough for all of u.
    what = given(
        machines((1,), (1,)),
        (
            Job("u", {"a": 1}, tenant="U", machines=["m1"]),
            Job("v", {"a": 1}, tenant="V", machines=["m1"]),
            Job("w", {"a": 1}, tenant="W", machines=["m2"]),
        ),
        (Tenant("U", weight="1e-9"), Tenant("V"), Tenant("W", weight=2)),
    )
    small = Fraction(1, 10**9)
    witness = witness_of(audited("strategy-proofness", what, "cdrf"))
    assert witness.who == ("U",)
    assert witness.before == float(small / (1 + small))
    assert witness.after == float(2 * small / (1 + 2 * small))


@pytest.mark.parametrize("off", [Fraction(1, 10**10), -Fraction(1, 10**10)])
def test_whole_tasks_are_rounded_down_from_just_below(off: Fraction) -> None:
    # v's three containers are for u, by the weights, just less than three: two. Or three.
    what = given(
        machines((5,)),
        (Job("u", {"a": 1}, tenant="U"), Job("v", {"a": 1}, tenant="V")),
        (Tenant("U"), Tenant("V", weight=1 + off)),
    )
    finding = judged("envy-freeness", made_whole(what, ("1", {"m1": {"u": 2, "v": 3}})))
    assert finding.verdict is (Verdict.HOLDS if off > 0 else Verdict.VIOLATED)


@pytest.mark.parametrize("off", [Fraction(1, 10**10), -Fraction(1, 10**10)])
def test_the_part_of_what_one_could_run_alone_is_rounded_down_from_just_below(
    off: Fraction,
) -> None:
    what = given(
        machines((4,)),
        (Job("u", {"a": 1}, tenant="U"), Job("v", {"a": 1}, tenant="V")),
        (Tenant("U"), Tenant("V", weight=1 + off)),
    )
    finding = judged("sharing-incentive", made_whole(what, ("1", {"m1": {"u": 1, "v": 3}})))
    assert finding.verdict is (Verdict.HOLDS if off > 0 else Verdict.VIOLATED)


@pytest.mark.parametrize("more", [Fraction(1, 10**9), Fraction(1, 10**40)])
def test_a_change_counts_however_little_it_does(more: Fraction) -> None:
    # Two on one machine: v has less by half of that when u's weight is so much larger.
    jobs = (Job("u", {"a": 1}, tenant="u"), Job("v", {"a": 1}, tenant="v"))

    def weighted(weight: Fraction) -> Outcome:
        return solve(given(machines((1,)), jobs, (Tenant("u", weight=weight), Tenant("v"))), "tsf")

    one, other = weighted(Fraction(1)), weighted(1 + more)
    shown = falls(one, other, "v", "then")
    assert shown is not None
    assert shown.slack == pytest.approx(float(more / 2), rel=1e-8)
    assert "of them less)" in shown.sentence
    back = falls(other, one, "v", "then")
    assert back is not None
    assert back.slack == 0


def test_slack_is_more_than_0_wherever_something_is_less() -> None:
    tiny = Fraction(1, 10**400)
    assert shortfall(1 + tiny, Fraction(1), NONE) > 0
    assert shortfall(Fraction(1), 1 + tiny, NONE) == 0
    assert difference(Fraction(1), 1 + tiny, NONE) > 0
    assert difference(Fraction(1), Fraction(1), NONE) == 0
    assert difference(Fraction(1), 1 + LITTLE, Fraction(1, 10**6)) == 0


@pytest.mark.parametrize("policy", ["tsf", "cdrf", "per-machine-drf", "drfh"])
@pytest.mark.parametrize("number", range(4))
def test_where_tasks_are_is_exactly_what_all_of_them_are(policy: str, number: int) -> None:
    outcome = solve(instance(Family.GENERAL, 5, number), policy)
    held = hold(outcome)
    assert held.within == 0
    for j, name in enumerate(held.seen.names):
        placed = sum(held.placed.get(j, {}).values(), NONE)
        assert placed == outcome.allocation.unrounded.tasks[name]
    for c, row in enumerate(held.classes.all.tolist()):
        for r, there in enumerate(row):
            used = (on.get(c, NONE) * held.need(j)[r] for j, on in held.placed.items())
            assert sum(used, NONE) <= there


@pytest.mark.parametrize("policy", ["tsf", "cdrf", "drfh"])
@pytest.mark.parametrize("number", range(6))
def test_what_is_proved_to_be_fair_cannot_be_improved(policy: str, number: int) -> None:
    # What the answer's proof implies, and the linear program in rationals that is not asked then.
    held = hold(solve(instance(Family.GENERAL, 11, number), policy))
    assert proved_fair(held)
    assert improved(held) == [held.runs(j) for j in range(len(held.seen.names))]


@pytest.mark.parametrize("number", range(3))
def test_whoever_has_what_it_has_could_run_what_it_runs(number: int) -> None:
    held = hold(solve(instance(Family.GENERAL, 17, number), "tsf"))
    for party in held.parties:
        share = better_share(held, party, what_holds(held, party))
        runs = held.worth(party.jobs, [held.runs(job) for job in party.jobs.tolist()])
        assert share is not None
        assert share >= runs
        if len(party.jobs) == 1:
            assert share == runs


def test_an_answer_made_by_hand_is_known_as_well_as_doubles_are() -> None:
    outcome = solve(given(machines((3,)), (job("u", 1), job("v", 1), job("w", 1))), "tsf")
    assert outcome.numbers.within == 0
    moved = tuple(replace(each, tasks=each.tasks * (1 + 1e-9)) for each in outcome.allocation.jobs)
    by_hand = Outcome(outcome.input, outcome.rule, replace(outcome.allocation, jobs=moved))
    assert by_hand.numbers.within > 0
    assert by_hand.numbers.tasks["u"] == Fraction(1 + 1e-9)


def test_the_market_keeps_its_bound() -> None:
    outcome = solve(given(machines((3, 2)), (job("u", 1, 1), job("v", 1, 2))), "market")
    assert outcome.numbers.within > 0
    for name in ("envy-freeness", "pareto-optimality", "sharing-incentive"):
        assert PROPERTIES[name].check(outcome, Options()).verdict is Verdict.HOLDS


def test_the_best_in_rationals_is_a_hand_made_number() -> None:
    # One machine of 3 and 1: two jobs of which one needs both, with floors of a third each.
    third = Fraction(1, 3)
    space = Space(
        demand=[[Fraction(1), Fraction(1)], [Fraction(1), NONE]],
        capacity=[[Fraction(3), Fraction(1)]],
        floor=[third, third],
        ceiling=[None, Fraction(1)],
        worth={(0, 0): Fraction(1), (1, 0): Fraction(5)},
    )
    assert most_of(space) == {(0, 0): Fraction(1), (1, 0): Fraction(1)}
    assert most_of(replace(space, ceiling=[None, None])) == {(0, 0): third, (1, 0): 3 - third}
    assert most_of(replace(space, floor=[Fraction(1), 2 + LITTLE])) is None
    exactly = replace(space, floor=[Fraction(1), Fraction(2)], ceiling=[None, None])
    assert most_of(exactly) == {(0, 0): Fraction(1), (1, 0): Fraction(2)}
    spread = replace(space, most={(1, 0): third})
    assert most_of(spread) == {(0, 0): Fraction(1), (1, 0): third}


def test_whole_tasks_are_counted_exactly() -> None:
    what = given([Machine("m1", {"a": 7})], (job("u", 2), job("v", 1)))
    outcome = solve(what, "tsf", Tasks.WHOLE)
    assert outcome.numbers.within == 0
    assert all(number.denominator == 1 for number in outcome.numbers.tasks.values())
