"""Every property of every rule that shares whole tasks: what a finding promises, the papers'
numbers, and the search for lies with containers."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.audit.change import apply
from fairlead.audit.finding import Change, Finding, Input, Lie, Moment, Verdict
from fairlead.audit.lottery import measure_at
from fairlead.audit.outcome import InWhole, Options, Outcome, Shown, rule_of, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.audit.properties.strategy_lies import directed, scene_of, too_small
from fairlead.audit.properties.strategy_value import gets
from fairlead.audit.witness.file import witness_from_json, witness_json
from fairlead.audit.witness.replay import Again, replay
from fairlead.audit.witness.shrink import shrink
from fairlead.cli.main import Exit, main
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.shares import Tasks
from fairlead.model.values import FrozenMap
from fairlead.sharing.rules.registry import MECHANISMS, POLICIES
from fairlead.sharing.whole_tasks.registry import whole_names
from fairlead.studies.properties import search
from fairlead.studies.properties.inputs import Family, instance
from fairlead.studies.properties.search import search_table
from fairlead.studies.properties.whole import CLAIMED, WHOLE_COLUMNS, WHOLE_ROWS
from tests.audit.build import asked_of, given, made_whole, witness_of
from tests.audit.test_contract import FEW, INPUTS, in_turn, keeps_its_promises
from tests.cli.commands.test_allocate import run, schema
from tests.papers.cases import job, machines

PARAMETERS = {"cmmf": "cmmf(a)", "slots": "slots(a=1)", "kdf": "kdf(k=2)"}
RULES = [
    *(PARAMETERS.get(name, name) for name in (*POLICIES, *MECHANISMS)),
    *whole_names(),
    "serial-dictatorship(lottery=true)",
    "gim-cdrf(deterministic=true)",
]
FIGURE_3 = given(machines((4, 6), (4, 4)), (job("a", 1, 3), job("b", 2, 1)))
SECTION_3_2 = given(machines((100, 10), (10, 100)), (job("one", 10, 1), job("two", 1, 10)))
THEOREM_2_2 = given(machines((1, 1)), (job("u1", "0.25", "0.1"), job("u2", "0.1", "0.25")))


def whole(what: Input, rule: str) -> Outcome:
    return solve(what, rule, Tasks.WHOLE)


def found(name: str, outcome: Outcome, options: Options = FEW) -> Finding:
    return asked_of(name, outcome, options)[0]


def told(what: Input, rule: str, change: Change, *who: str) -> Shown:
    before = whole(what, rule)
    after = solve(apply(change, what), before.rule)
    shown = measure_at(PROPERTIES["strategy-proofness"], before, after, who, before.moment)
    assert shown is not None
    return shown


def claims(name: str, *demand: str | int) -> Lie:
    return Lie((name,), (job(name, *demand),))


LARGE = [name for name in INPUTS if name.startswith(("pools", "several jobs"))]
"""The inputs on which shares are rounded: what is special about the others, `test_contract` asks
of the same policies with divisible tasks."""


@pytest.mark.parametrize(
    ("rule", "case"),
    in_turn(RULES, lambda rule: list(INPUTS) if rule.partition("(")[0] in whole_names() else LARGE),
)
def test_every_finding_keeps_its_promises(rule: str, case: str) -> None:
    try:
        outcome = whole(INPUTS[case], rule)
    except InputError:  # what a mechanism does not take, said elsewhere
        return
    for name in PROPERTIES:
        for finding in asked_of(name, outcome, replace(FEW, trials=1, smallest=1)):
            assert finding.tasks is Tasks.WHOLE
            assert (finding.lottery is None) is (outcome.moment is None)
            assert finding.witness is None or finding.witness.lottery is finding.lottery
            keeps_its_promises(finding, outcome)


def test_figure_1_containers_that_are_too_small_run_nothing() -> None:
    # Containers (1, 3), (1, 1) and (0, 2) run 1 task of (1, 3); (2, 1) and (4, 2) run 3 of (2, 1).
    what = given(
        machines((4, 6), (4, 4)),
        (job("c1", 1, 3), job("c2", 1, 1), job("c4", 0, 2), job("c3", 2, 1), job("c5", 4, 2)),
    )
    outcome = made_whole(what, ("1", {"m1": {"c1": 1, "c2": 1, "c3": 1}, "m2": {"c4": 1, "c5": 1}}))
    by_name = {each.name: each for each in what.jobs}
    first = gets(job("u", 1, 3), [by_name[name] for name in ("c1", "c2", "c4")], outcome)
    second = gets(job("u", 2, 1), [by_name[name] for name in ("c3", "c5")], outcome)
    assert first.least == first.most == 1
    assert second.least == second.most == 3


@pytest.mark.parametrize("rule", RULES)
def test_section_2_1_a_request_for_smaller_containers_is_useless(rule: str) -> None:
    for lie in (claims("u2", "0.099", "0.25"), claims("u2", "0.05", "0.125")):
        try:
            assert told(THEOREM_2_2, rule, lie, "u2").after == 0
        except InputError:
            assert rule == "slots(a=1)"  # a slot is larger than the machine


def test_section_2_1_such_requests_are_not_even_tried() -> None:
    scene = scene_of(whole(THEOREM_2_2, "tsf"))
    for liar in scene.liars:
        lies = directed(scene, liar)
        assert lies
        assert not any(too_small(lie, liar.job) for lie in lies)
    divisible = scene_of(solve(THEOREM_2_2, "tsf"))
    assert any(
        too_small(lie, divisible.liars[0].job) for lie in directed(divisible, divisible.liars[0])
    )


EARLY_LIE = Options(trials=12, seed=4, smallest=1)
"""Finds Theorem 2.2's lie within a dozen, where the first seed takes four times as many."""


@pytest.mark.parametrize("rule", ["tsf", "cdrf", "drf", "shapley-folkman", "most-tasks"])
def test_theorem_2_2_none_has_all_three_for_certain(rule: str) -> None:
    outcome = whole(THEOREM_2_2, rule)
    assert any(
        found(name, outcome, EARLY_LIE).verdict is Verdict.VIOLATED
        for name in ("sharing-incentive", "pareto-optimality", "strategy-proofness")
    )


def test_theorem_2_2_the_papers_lie_pays_whoever_is_left_out() -> None:
    outcome = whole(THEOREM_2_2, "tsf")
    tasks = {each.name: each.tasks for each in outcome.allocation.jobs}
    assert sorted(tasks.values()) == [2, 3]
    # The paper's lie is u2's; where u1 is left out it is u1's, with the resources exchanged.
    left_out = min(tasks, key=lambda name: tasks[name])
    demand = (Fraction(1, 6), "0.25") if left_out == "u2" else ("0.25", Fraction(1, 6))
    lie = Lie((left_out,), (Job(left_out, dict(zip("ab", demand, strict=True))),))
    shown = told(THEOREM_2_2, "tsf", lie, left_out)
    assert (shown.before, shown.after) == (2, 3)
    scene = scene_of(outcome)
    (liar,) = [each for each in scene.liars if each.tenant == left_out]
    assert lie.claimed[0] in directed(scene, liar)


def test_theorem_2_2_the_search_finds_such_a_lie() -> None:
    finding = found("strategy-proofness", whole(THEOREM_2_2, "tsf"), EARLY_LIE)
    witness = witness_of(finding)
    assert (witness.before, witness.after) == (2, 3)


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("what", [FIGURE_3, SECTION_3_2, THEOREM_2_2], ids=["3", "3.2", "2.2"])
def test_theorem_3_2_multiples_of_the_demand_do_not_pay(what: Input, times: int) -> None:
    for true in what.jobs:
        lie = Lie(
            (true.name,),
            (
                replace(
                    true, demand=FrozenMap({r: need * times for r, need in true.demand.items()})
                ),
            ),
        )
        shown = told(what, "cdrf-lottery", lie, true.name)
        assert shown.slack == pytest.approx(0, abs=1e-9)
        assert shown.sentence.startswith("Before the draw:")


@pytest.mark.parametrize("what", [FIGURE_3, SECTION_3_2, THEOREM_2_2], ids=["3", "3.2", "2.2"])
def test_theorem_3_2_the_lottery_survives_the_search(what: Input, cases: int) -> None:
    options = Options(trials=10 * cases, seed=4)
    finding = found("strategy-proofness", whole(what, "cdrf-lottery"), options)
    assert finding.verdict is Verdict.NOT_FOUND
    assert finding.lottery is Moment.EX_ANTE
    assert finding.trials == 10 * cases + dict(finding.counts)["of them tried"]


def test_the_lottery_is_not_strategy_proof_where_there_are_constraints() -> None:
    # As constrained CDRF: who claims a machine that it cannot use has a larger part.
    what = given(machines((2, 8), (6, 2)), (job("u1", 1, 1), job("u2", 1, 2, on=[1])))
    shown = told(what, "cdrf-lottery", Lie(("u2",), (job("u2", 1, 2),)), "u2")
    assert shown.after > shown.before
    finding = found("strategy-proofness", whole(what, "cdrf-lottery"), Options(trials=4))
    assert finding.verdict is Verdict.VIOLATED


def test_section_3_2_random_serial_dictatorship_is_inefficient_before_the_draw() -> None:
    before, after = asked_of(
        "pareto-optimality", whole(SECTION_3_2, "serial-dictatorship(lottery=true)")
    )
    assert witness_of(before).after == pytest.approx(5.5)
    assert after.verdict is Verdict.HOLDS
    for finding in asked_of("pareto-optimality", whole(SECTION_3_2, "cdrf-lottery")):
        assert finding.verdict is Verdict.HOLDS


def test_theorem_3_1_is_wrong_about_population_monotonicity() -> None:
    what = given(machines((5, 5)), (job("u1", 4, 3), job("u2", 3, 1), job("u3", 1, 2)))
    witness = witness_of(found("population-monotonicity", whole(what, "cdrf-lottery")))
    assert witness.who == ("u3",)
    assert (witness.before, witness.after) == pytest.approx((3 / 2, 4 / 3))


def test_the_true_tasks_of_a_lie_are_counted_on_machines_of_one_class_either_way() -> None:
    # To those who claim both, m1 and m2 are alike: which of them has the two tasks is not said.
    what = given(machines((2,), (2,)), (job("u", 1), job("v", 2)))
    outcome = whole(what, "cdrf-lottery")
    (claim, _) = what.jobs
    both = gets(job("u", 1), [claim], outcome)
    assert both.least == both.most == outcome.allocation.job("u").tasks
    one = gets(job("u", 1, on=[1]), [claim], outcome)
    assert one.least < one.most <= 2


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that knows after each input what it has found, and ends with the last of it."""
    monkeypatch.setattr(search, "WAVES", range(1, 200))


PLANTED = """\
import fairlead
import numpy as np
from fairlead.sharing.rules.mechanism import Outcome
from fairlead.sharing.rules.registry import mechanism


@fairlead.policy("cheatable")
def cheatable(problem):
    return problem.alone / problem.demand.sum(axis=1) ** 3


@mechanism("starving")
def starving(problem, weight):
    tasks = np.where(problem.usable, problem.holds, 0.0) * problem.count
    tasks[1:] = 0.0
    return Outcome(tasks)
"""


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("cheatable", "strategy-proofness"),
        ("starving", "sharing-incentive"),
        ("starving", "envy-freeness"),
    ],
)
def test_the_search_finds_what_is_planted(tmp_path: Path, name: str, row: str) -> None:
    file = tmp_path / "planted.py"
    file.write_text(PLANTED, encoding="utf-8")
    rows = [each for each in WHOLE_ROWS if each.name == row]
    table = search_table([f"{file}:{name}"], 20, 1, rows, tasks=Tasks.WHOLE)
    assert table.cells[f"{file}:{name}", row].witness is not None


KNOWN = {
    "cdrf-lottery": ["population-monotonicity", "strategy-proofness-constrained"],
    "serial-dictatorship(lottery=true)": ["sharing-incentive", "pareto-optimality-before"],
    "moving-knife": ["pareto-optimality", "strategy-proofness"],
    "gim-cdrf(deterministic=true)": ["pareto-optimality", "sharing-incentive"],
    "tsf": ["dummy-machines", "strategy-proofness", "envy-freeness"],
}

EARLY = {"cdrf-lottery": 3, "moving-knife": 5, "tsf": 6}
"""Seeds by which the search finds them early, where the first one takes several times as long."""


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("rule", KNOWN)
def test_the_search_finds_every_known_violation(rule: str) -> None:
    rows = [each for each in WHOLE_ROWS if each.name in KNOWN[rule]]
    table = search_table([rule], 200, EARLY.get(rule, 1), rows, tasks=Tasks.WHOLE)
    missing = [row for (_, row), cell in table.cells.items() if cell.witness is None]
    assert missing == []


@pytest.mark.parametrize("rule", WHOLE_COLUMNS)
def test_what_the_paper_claims_survives(rule: str, cases: int) -> None:
    # But for population monotonicity, where Theorem 3.1 is wrong.
    rows = [
        row
        for row in WHOLE_ROWS
        if row.name in CLAIMED.get(rule, ()) and row.name != "population-monotonicity"
    ]
    table = search_table([rule], 3 * cases, 7, rows, tasks=Tasks.WHOLE)
    assert [row for (_, row), cell in table.cells.items() if cell.witness] == []
    assert all(cell.judged == 3 * cases for cell in table.cells.values())


def test_the_moving_knife_keeps_its_part_with_constraints_and_few_tasks(cases: int) -> None:
    # The paper claims it for jobs without either.
    rows = [row for row in WHOLE_ROWS if row.name == "sharing-incentive-constrained"]
    table = search_table(["moving-knife"], 10 * cases, 7, rows, tasks=Tasks.WHOLE)
    (cell,) = table.cells.values()
    assert cell.witness is None
    assert cell.judged == 10 * cases


@pytest.mark.parametrize("rule", ["gim-cdrf", "gim-cdrf(deterministic=true)", "shapley-folkman"])
def test_a_machine_that_nobody_can_use_does_not_choose_the_mixture(rule: str, cases: int) -> None:
    """Many mixtures have the same mean. The first numbers are inputs for which an added machine
    once led to another one."""
    for number in (1, 3, 24, *range(30, 30 * cases)):
        what = instance(Family.WHOLE_OPEN, 1, number)
        outcome, options = whole(what, rule), Options(trials=4, seed=1 + number)
        assert found("dummy-machines", outcome, options).verdict is not Verdict.VIOLATED, number


def test_a_witness_of_a_lottery_shrinks_and_is_shown_again() -> None:
    what = given(machines((4,), (4,), (0,)), (job("u", 1), job("v", 2), Job("w", {"b": 1})))
    outcome = whole(what, "serial-dictatorship(lottery=true)")
    _, after = asked_of("sharing-incentive", outcome)
    small = shrink(witness_of(after), 60)
    assert small.lottery is Moment.EX_POST
    assert len(small.input.jobs) == 2
    text = witness_json(small)
    assert json.loads(text)["lottery"] == "ex-post"
    schema("witness-1.json").validate(json.loads(text))
    again = replay(witness_from_json(text))
    assert again.again is Again.SAME
    tree = json.loads(text) | {"lottery": None}
    assert replay(witness_from_json(json.dumps(tree))).again is Again.GONE


def test_a_rule_is_whole_where_it_is_asked_to_be_or_can_be_nothing_else() -> None:
    assert rule_of("cdrf-lottery") == rule_of("cdrf-lottery", Tasks.WHOLE)
    assert isinstance(rule_of("tsf", Tasks.WHOLE), InWhole)
    assert not isinstance(rule_of("tsf"), InWhole)


FILE = """\
machines:
  - {name: m1, capacity: {cpu: 4, memory: 6}}
  - {name: m2, capacity: {cpu: 4, memory: 4}}
jobs:
  - {name: a, demand: {cpu: 1, memory: 3}}
  - {name: b, demand: {cpu: 2, memory: 1}}
"""


def test_the_command_judges_whole_tasks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "figure-3.yaml"
    file.write_text(FILE, encoding="utf-8")
    words = ["audit", str(file), "--tasks", "whole", "--policy", "tsf,cdrf-lottery,moving-knife"]
    there = tmp_path / "w"
    few = ["--trials", "1", "--shrink", "4"]
    assert main([*words, *few, "--json", "--witness", str(there), "--strict"]) == Exit.REFUTED
    tree = json.loads(capsys.readouterr().out)
    schema("audit-1.json").validate(tree)
    assert {one["tasks"] for one in tree["results"]} == {"whole"}
    moments = {(one["policy"], one["lottery"]) for one in tree["results"]}
    assert moments == {
        ("tsf", None),
        ("moving-knife", None),
        ("cdrf-lottery", "ex-ante"),
        ("cdrf-lottery", "ex-post"),
    }
    for one in tree["results"]:
        if one["witness"] is not None:
            schema("witness-1.json").validate(one["witness"])
    text = run(capsys, *words[:-1], "cdrf-lottery", "--property", "envy-freeness")
    assert "audit of 2 jobs on 2 machines, whole tasks" in text
    assert "cdrf-lottery ex ante" in text
    assert any(there.iterdir())
    for each in sorted(there.iterdir()):
        assert main(["audit", "--replay", str(each)]) == Exit.OK
    capsys.readouterr()


def test_the_default_policies_are_those_of_whole_tasks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "figure-3.yaml"
    file.write_text(FILE, encoding="utf-8")
    words = ["audit", str(file), "--tasks", "whole", "--property", "envy-freeness", "--json"]
    tree = json.loads(run(capsys, *words))
    assert {"cdrf-lottery", "tsf"} < {one["policy"] for one in tree["results"]}


def test_a_mechanism_for_whole_tasks_is_not_judged_as_divisible(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "figure-3.yaml"
    file.write_text(FILE, encoding="utf-8")
    assert main(["audit", str(file), "--policy", "cdrf-lottery"]) == Exit.BAD_INPUT
    assert "write --tasks whole, too" in capsys.readouterr().err


def test_the_rows_are_the_properties_that_mean_something() -> None:
    assert {row.property for row in WHOLE_ROWS} == set(PROPERTIES) - {
        "single-machine-fairness",
        "single-resource-fairness",
        "bottleneck-fairness",
    }
    assert len({row.name for row in WHOLE_ROWS}) == len(WHOLE_ROWS)
    names = {column.partition("(")[0] for column in WHOLE_COLUMNS}
    assert set(whole_names()) <= names
