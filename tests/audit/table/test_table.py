"""The property table: the search finds what is known and what is planted, keeps the marks of the
papers, and says how hard its inputs were."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from fairlead.audit.finding import Verdict
from fairlead.audit.outcome import Options, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.audit.properties.strategy_lies import scene_of, unusable_pools
from fairlead.audit.table.draw import Judged, Part, Table, draw_table, judge_part, with_smaller
from fairlead.audit.table.instances import HARD, Family, instance, traits
from fairlead.audit.table.paper import COLUMNS, OF_TABLE_I, REASONS, ROWS, TABLE_I, paper_says
from fairlead.audit.witness.file import witness_from_json, witness_json
from fairlead.audit.witness.replay import Again, replay
from fairlead.cli.common.screen import Screen
from fairlead.cli.main import Exit, main
from fairlead.cli.text.audit_table import lines, tree
from fairlead.sharing.rules.registry import MECHANISMS, POLICIES
from tests.audit.build import given
from tests.cli.commands.test_allocate import run, schema
from tests.papers.cases import job, machines

BY_NAME = {row.name: row for row in ROWS}

KNOWN = {
    "per-machine-drf": ["sharing-incentive-pools", "pareto-optimality", "single-resource-fairness"],
    "drfh": ["sharing-incentive-split", "dummy-machines", "strategy-proofness-unusable-pools"],
    "cdrf": ["strategy-proofness", "envy-freeness", "single-resource-fairness"],
    "tsf": [
        "sharing-incentive-split",
        "strategy-proofness-unusable-pools",
        "population-monotonicity",
        "forbidden-machines",
        "resource-monotonicity",
        "splitting",
    ],
    "2df": ["sharing-incentive-split", "strategy-proofness", "envy-freeness"],
    "independent": ["sharing-incentive-pools", "pareto-optimality"],
}
"""The papers, and FACTS, know these to be violated."""


def table_of(policy: str, names: Iterable[str], trials: int, seed: int = 1) -> Table:
    return draw_table([policy], trials, seed, [BY_NAME[name] for name in names])


@pytest.mark.parametrize("policy", KNOWN)
def test_the_search_finds_every_known_violation(policy: str) -> None:
    table = table_of(policy, KNOWN[policy], 400)
    found = [name for (_, name), cell in table.cells.items() if cell.witness is not None]
    assert found == KNOWN[policy]
    for cell in with_smaller(table, 10).cells.values():
        assert cell.witness is not None
        again = replay(witness_from_json(witness_json(cell.witness)))
        assert again.again is Again.SAME


def test_every_blank_of_table_i_is_among_them_or_has_its_reason() -> None:
    for policy, marks in TABLE_I.items():
        for row in OF_TABLE_I:
            if row not in marks:
                assert row in KNOWN[policy] or REASONS[policy, row]


@pytest.mark.parametrize("policy", TABLE_I)
def test_every_mark_of_table_i_survives(policy: str, cases: int) -> None:
    table = table_of(policy, TABLE_I[policy], 12 * cases, seed=5)
    assert [name for (_, name), cell in table.cells.items() if cell.witness] == []
    for (_, name), cell in table.cells.items():
        assert cell.judged == 12 * cases, name


def test_where_a_reason_is_given_none_is_found(cases: int) -> None:
    for policy, row in REASONS:
        table = table_of(policy, [row], 12 * cases, seed=5)
        assert table.cells[policy, row].witness is None


def test_who_has_nothing_does_not_gain_by_rounding() -> None:
    # Most tasks is efficient, and u1 gets nothing: 3e-13 tasks were once a violation of 100%.
    what = given(machines((4, 2), (3, 4)), (job("u1", 1, 3), job("u2", 0, 1), job("u4", 2, 1)))
    finding = PROPERTIES["pareto-optimality"].check(solve(what, "most-tasks"), Options())
    assert finding.verdict is Verdict.HOLDS


PLANTED = """\
import fairlead
import numpy as np
from fairlead.sharing.rules.mechanism import Outcome
from fairlead.sharing.rules.registry import mechanism


@fairlead.policy("cheatable")
def cheatable(problem):
    return problem.alone * problem.demand.sum(axis=1) ** 2


@mechanism("wasteful")
def wasteful(problem, weight):
    jobs = len(problem.job_names)
    return Outcome(np.where(problem.usable, problem.holds, 0.0) * problem.count * 0.99 / jobs)


@fairlead.policy("favourite")
def favourite(problem):
    first = np.arange(len(problem.job_names)) == 0
    return problem.alone * np.where(first, 1.01, 1.0)
"""


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("cheatable", "strategy-proofness"),
        ("wasteful", "pareto-optimality"),
        ("wasteful", "sharing-incentive-split"),
        ("favourite", "envy-freeness"),
        ("favourite", "single-machine-fairness"),
        ("favourite", "single-resource-fairness"),
    ],
)
def test_the_search_finds_what_is_planted(tmp_path: Path, name: str, row: str) -> None:
    file = tmp_path / "planted.py"
    file.write_text(PLANTED, encoding="utf-8")
    policy = f"{file}:{name}"
    assert table_of(policy, [row], 20).cells[policy, row].witness is not None


def test_the_columns_are_every_policy_and_mechanism() -> None:
    names = {column.partition("(")[0] for column in COLUMNS}
    assert names == {*POLICIES, *MECHANISMS}
    assert len(set(COLUMNS)) == len(COLUMNS)


def test_the_rows_are_every_property() -> None:
    assert {row.property for row in ROWS} == set(PROPERTIES)
    assert set(OF_TABLE_I) <= set(BY_NAME)


def test_the_papers_say_what_they_say() -> None:
    assert paper_says("tsf", "single-resource-fairness") is True
    assert paper_says("cdrf", "strategy-proofness") is False
    assert paper_says("2df", "strategy-proofness") is True
    assert paper_says("market", "strategy-proofness") is None
    assert paper_says("tsf", "resource-monotonicity") is None


@pytest.mark.parametrize("family", Family)
def test_inputs_are_of_their_family_and_every_fourth_is_hard(family: Family) -> None:
    for number in range(8):
        what = instance(family, 3, number)
        assert what == instance(family, 3, number)
        assert what != instance(family, 4, number)
        outcome = solve(what, "tsf")
        assert 1 <= len(what.cluster.machines) <= 4
        assert 2 <= len(what.jobs) <= 4
        if family is Family.ONE_MACHINE:
            assert len(what.cluster.machines) == 1
        elif family is Family.WHOLE_OPEN:
            assert not traits(outcome).constrained
        elif number % HARD == 0:
            assert traits(outcome).hard
        if family in (Family.POOLS, Family.UNUSABLE_POOLS):
            assert bool(unusable_pools(scene_of(outcome))) is (family is Family.UNUSABLE_POOLS)


def test_the_table_does_not_depend_on_who_judges_the_parts() -> None:
    def backwards(parts: Sequence[Part]) -> list[Judged]:
        return [judge_part(part) for part in reversed(parts)]

    rows = [BY_NAME[name] for name in ("envy-freeness", "single-resource-fairness")]
    one = draw_table(["cdrf", "tsf"], 45, 2, rows)  # the second wave has several parts
    other = draw_table(["cdrf", "tsf"], 45, 2, rows, backwards)
    assert tree(one) == tree(other)


def test_no_job_runs_out_of_tasks_in_a_table_without_ends() -> None:
    rows = [BY_NAME["strategy-proofness"]]
    # Whose gain comes from another job that runs out is no case against the paper.
    ended = judge_part(Part(Family.GENERAL, 4148, 1, 1, (("per-machine-drf", rows[0].name),)))
    witness = ended.cells["per-machine-drf", rows[0].name].witness
    assert witness is not None
    assert [job.tasks for job in witness.input.jobs].count(None) == 3
    without = judge_part(Part(Family.GENERAL, 4148, 1, 1, (*ended.cells,), unlimited=True))
    assert without.cells["per-machine-drf", rows[0].name].judged == 1
    for family in Family:
        assert all(job.tasks is None for job in instance(family, 1, 0, unlimited=True).jobs)


def test_a_violation_beyond_what_a_paper_claims_is_told_as_such() -> None:
    def said(number: int, unlimited: bool) -> list[str]:
        key = ("per-machine-drf", "strategy-proofness")
        judged = judge_part(Part(Family.GENERAL, number, 1, 1, (key,), unlimited=unlimited))
        row = BY_NAME["strategy-proofness"]
        table = Table(("per-machine-drf",), (row,), 1, 1, judged.cells, {})
        return [line for line in lines(table, Screen()) if "strategy-proofness," in line]

    told = "Against its paper: per-machine-drf violates strategy-proofness, where"
    assert said(4148, unlimited=False)[0].startswith(f"{told} jobs run out of tasks (not so")
    assert said(7874, unlimited=True)[0].startswith(f"{told} two lie together (not so")


def test_the_command_draws_the_table_and_keeps_to_its_schema(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    properties = "strategy-proofness,single-machine-fairness"
    words = ["audit", "--table", "--policy", "2df,drfh", "--property", properties]
    words += ["--trials", "8", "--shrink", "5"]
    found = json.loads(run(capsys, *words, "--json"))
    schema("audit-table-1.json").validate(found)
    rows = [row for row in ROWS if row.property in properties.split(",")]
    families = {row.family.value for row in rows}
    assert {one["family"]: one["instances"] for one in found["families"]} == dict.fromkeys(
        families, 8
    )
    assert len(found["cells"]) == 2 * len(rows)
    violated = [cell for cell in found["cells"] if cell["verdict"] == "violated"]
    assert violated
    text = run(capsys, *words, "--witness", str(tmp_path))
    assert len(list(tmp_path.iterdir())) == len(violated)
    assert "2df violates strategy-proofness" in text
    assert "proved" not in text
    (row,) = [line for line in text.splitlines() if line.startswith("strategy-proofness")]
    assert re.split(r"  +", row) == ["strategy-proofness", "no", "8"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--table", "x.yaml"], "--table takes no input"),
        (["--table", "--property", "fairness"], "no property `fairness`"),
        (["--table", "--policy", "nothing"], "no policy `nothing`"),
        (["--table", "--trials", "0"], "--trials 0 is too small"),
    ],
)
def test_a_wrong_command_line_is_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["audit", *words]) == Exit.BAD_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
