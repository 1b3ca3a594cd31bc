"""The promises of every property, under every policy and mechanism, on small adversarial inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from _pytest.mark import ParameterSet
from hypothesis import given as drawn_from
from hypothesis import settings
from hypothesis import strategies as st

from fairlead.audit.change import apply
from fairlead.audit.finding import Finding, Input, Verdict
from fairlead.audit.outcome import Options, Outcome, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.audit.witness.file import witness_from_json, witness_json
from fairlead.audit.witness.replay import Again, replay
from fairlead.model.check import with_implied_tenants
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.rules.registry import mechanism_names, policy_names
from fairlead.studies.cases import placed
from tests.audit.build import given, made, witness_of
from tests.papers.cases import job, machines
from tests.papers.test_tsf import FIGURE_3, SEVEN

PARAMETERS = {"cmmf": "cmmf(a)", "slots": "slots(a=1)"}
RULES = [PARAMETERS.get(name, name) for name in (*policy_names(), *mechanism_names())]
FEW = Options(trials=4, seed=3, smallest=4)

INPUTS = {
    "constrained": given(FIGURE_3, SEVEN),
    "one machine": given(machines((9, 18)), (job("a", 1, 4), job("b", 3, 1))),
    "pools": given(
        machines((6, 8), (6, 4), (4, 6)),
        (Job("a", {"a": 1, "b": 2}, tenant="A"), Job("b", {"a": 3, "b": 1}, tenant="B")),
        (Tenant("A", pool=["m1"]), Tenant("B", pool=["m2", "m3"])),
    ),
    "several jobs, a limit, finite tasks, spread, one that runs nowhere": given(
        machines((4, 6), (3, 2), (5, 0)),
        (
            Job("x", {"a": 1}, tenant="A"),
            Job("y", {"a": 1, "b": 1}, tenant="A", tasks=3),
            Job("z", {"a": 2, "b": 1}, tenant="B", spread=True),
            Job("w", {"a": 9, "b": 1}, tenant="C", machines=["m3"]),
        ),
        (Tenant("A", weight=2), Tenant("B", limit={"a": 2}), Tenant("C", parent="A")),
    ),
    "alone": given(machines((2, 3)), (job("u", 1, 1),)),
}


def in_turn(rules: Sequence[str], cases: Callable[[str], Sequence[str]]) -> list[ParameterSet]:
    """Each rule with each of its inputs, of which every third one, or every other one of two, is
    for every gate: each rule with some, and each input with some rules."""
    return [
        pytest.param(
            rule, case, marks=() if (i + j) % min(3, len(cases(rule))) == 0 else pytest.mark.deep
        )
        for i, rule in enumerate(rules)
        for j, case in enumerate(cases(rule))
    ]


def finding_of(name: str, what: Input, rule: str) -> Finding:
    try:
        outcome = solve(what, rule)
    except InputError:
        pytest.skip(f"{rule} does not take this input")
    return PROPERTIES[name].check(outcome, FEW)


def keeps_its_promises(finding: Finding, outcome: Outcome) -> None:
    """A violation has a witness that shows itself again, through a file, too; anything else has
    none. What is not exact says how much it tried; what says nothing says why."""
    assert finding.policy == outcome.rule.spec
    assert (finding.witness is not None) == (finding.verdict is Verdict.VIOLATED)
    if finding.verdict is Verdict.NOT_FOUND:
        assert finding.trials is not None
        assert finding.trials >= 0
    if finding.verdict is Verdict.NOT_APPLICABLE:
        assert finding.note
    if finding.witness is None:
        return
    witness = finding.witness
    assert witness.slack > 0
    assert witness.sentence.endswith(".")
    read = witness_from_json(witness_json(witness))
    # A file that names no tenants implies them.
    cluster = with_implied_tenants(witness.input.cluster, witness.input.jobs)
    assert read.input == Input(cluster, witness.input.jobs)
    again = replay(read)
    assert again.again is Again.SAME
    shown = again.shown
    assert shown is not None
    assert (shown.before, shown.after) == pytest.approx((witness.before, witness.after), rel=1e-9)


@pytest.mark.parametrize(("rule", "case"), in_turn(RULES, lambda _: list(INPUTS)))
def test_every_property_of_every_rule(rule: str, case: str) -> None:
    try:
        outcome = solve(INPUTS[case], rule)
    except InputError:  # a scale that does not exist, said elsewhere
        return
    for known in PROPERTIES.values():
        keeps_its_promises(known.check(outcome, replace(FEW, trials=1, smallest=1)), outcome)


def test_every_property_is_registered_under_its_own_name() -> None:
    assert [known.name for known in PROPERTIES.values()] == list(PROPERTIES)
    assert all(known.promise for known in PROPERTIES.values())


@st.composite
def small(draw: st.DrawFn) -> Input:
    """Ties, zeros, one machine, one resource, closed machines, alike jobs."""
    amount = st.integers(0, 3)
    where = [
        Machine(f"m{i}", {"a": draw(amount), "b": draw(amount)})
        for i in range(draw(st.integers(1, 3)))
    ]
    jobs = []
    for i in range(draw(st.integers(1, 4))):
        demand = draw(st.sampled_from([(1, 0), (0, 1), (1, 1), (2, 1), (1, 3)]))
        on = draw(st.none() | st.lists(st.sampled_from([m.name for m in where]), min_size=1))
        jobs.append(
            Job(
                f"j{i}",
                {"a": demand[0], "b": demand[1]},
                tenant=draw(st.sampled_from([None, "T"])),
                machines=on,
                tasks=draw(st.none() | st.integers(1, 3)),
                spread=draw(st.booleans()),
            )
        )
    return given(where, jobs)


@drawn_from(small(), st.sampled_from(["tsf", "cdrf", "drfh", "drf", "per-machine-drf"]))
def test_random_inputs(what: Input, rule: str) -> None:
    try:
        outcome = solve(what, rule)
    except InputError:
        return
    for known in PROPERTIES.values():
        keeps_its_promises(known.check(outcome, replace(FEW, trials=1, smallest=1)), outcome)


@drawn_from(small(), st.integers(0, 3), st.floats(0.1, 0.9))
@settings(max_examples=16)
def test_a_planted_loss_is_found(what: Input, victim: int, part: float) -> None:
    # Somebody's tasks are taken away, and nobody gets them: never Pareto optimal.
    outcome = solve(what, "tsf")
    found = [j for j in outcome.allocation.jobs if j.tasks > 0]
    if not found:
        return
    robbed = found[victim % len(found)].name
    on = placed(outcome.allocation)
    on[robbed] = {machine: tasks * part for machine, tasks in on[robbed].items()}
    witness = witness_of(PROPERTIES["pareto-optimality"].check(made(what, on), FEW))
    assert dict(witness.jobs)[robbed] >= sum(on[robbed].values()) * (1 - 1e-9)


def test_what_is_applied_twice_is_refused() -> None:
    witness = witness_of(
        finding_of(
            "resource-monotonicity",
            given(machines((1, 1)), (job("u1", 0.5, 1), job("u2", 1, 0.5))),
            "tsf",
        )
    )
    assert witness.change is not None
    assert apply(witness.change, witness.input) != witness.input
