"""The property table: the search finds what is known and what is planted, keeps the marks of the
papers, and says how hard its inputs were."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from fairlead.audit.finding import Lie, Verdict
from fairlead.audit.outcome import Options, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.audit.properties.strategy_lies import unusable_pools
from fairlead.audit.witness.file import witness_from_json, witness_json
from fairlead.audit.witness.replay import Again, replay
from fairlead.model.shares import Tasks
from fairlead.sharing.rules.registry import MECHANISMS, POLICIES
from fairlead.studies.properties import search
from fairlead.studies.properties.inputs import HARD, Family, instance, traits
from fairlead.studies.properties.report import cells_table, witness_files
from fairlead.studies.properties.rows import COLUMNS, OF_TABLE_I, REASONS, ROWS, TABLE_I
from fairlead.studies.properties.search import Part, Table, judge_part, search_table, with_smaller
from fairlead.studies.properties.whole import WHOLE_ROWS
from tests.audit.build import given
from tests.cli.commands.test_allocate import schema
from tests.papers.cases import job, machines

_Part = TypeVar("_Part")
_Done = TypeVar("_Done")

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

EARLY = {"per-machine-drf": 7, "cdrf": 14, "tsf": 6, "2df": 7, "independent": 20}
"""Seeds by which the search finds them early, where the first one takes several times as long."""


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that knows after each input what it has found, and ends with the last of it."""
    monkeypatch.setattr(search, "WAVES", range(1, 400))


def table_of(policy: str, names: Iterable[str], trials: int, seed: int = 1) -> Table:
    return search_table([policy], trials, seed, [BY_NAME[name] for name in names])


@cache
def known(policy: str) -> Table:
    """What the search finds of what is known, with some witnesses made smaller; once for all tests,
    each of which has it search one by one."""
    return with_smaller(table_of(policy, KNOWN[policy], 400, EARLY.get(policy, 1)), 3)


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("policy", KNOWN)
def test_the_search_finds_every_known_violation(policy: str) -> None:
    table = known(policy)
    found = [name for (_, name), cell in table.cells.items() if cell.witness is not None]
    assert found == KNOWN[policy]
    for cell in table.cells.values():
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
    table = table_of(policy, TABLE_I[policy], 2 * cases, seed=5)
    assert [name for (_, name), cell in table.cells.items() if cell.witness] == []
    for (_, name), cell in table.cells.items():
        assert cell.judged == 2 * cases, name


def test_where_a_reason_is_given_none_is_found(cases: int) -> None:
    for policy, row in REASONS:
        table = table_of(policy, [row], 3 * cases, seed=5)
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
from fairlead.model.shares import Tasks
from fairlead.studies.properties.report import cells_table, witness_files
from fairlead.studies.properties.whole import WHOLE_ROWS
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


@pytest.mark.usefixtures("one_by_one")
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
    assert names == {*POLICIES, *MECHANISMS}, (
        "each has its column: COLUMNS in src/fairlead/studies/properties/rows.py"
    )
    assert len(set(COLUMNS)) == len(COLUMNS)


def test_the_rows_are_every_property() -> None:
    assert {row.property for row in ROWS} == set(PROPERTIES)
    assert set(OF_TABLE_I) <= set(BY_NAME)


@pytest.mark.parametrize("family", Family)
def test_inputs_are_of_their_family_and_every_fourth_is_hard(family: Family) -> None:
    for number in range(1, HARD + 1):
        what = instance(family, 3, number)
        if number in (1, HARD):  # one that is drawn once, and one until it is hard
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
            assert bool(unusable_pools(what)) is (family is Family.UNUSABLE_POOLS)


def test_the_table_does_not_depend_on_who_judges_the_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def backwards(judge: Callable[[_Part], _Done], parts: Sequence[_Part]) -> list[_Done]:
        return [judge(part) for part in reversed(parts)][::-1]

    rows = [BY_NAME[name] for name in ("envy-freeness", "single-resource-fairness")]
    monkeypatch.setattr(search, "PART", 1)
    monkeypatch.setattr(search, "WAVES", (2,))
    one = search_table(["cdrf", "tsf"], 4, 2, rows)  # both waves have several parts
    other = search_table(["cdrf", "tsf"], 4, 2, rows, backwards)
    assert one == other


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


def test_a_lie_of_two_together_is_rare_and_is_there() -> None:
    key = ("per-machine-drf", "strategy-proofness")
    judged = judge_part(Part(Family.GENERAL, 7874, 1, 1, (key,), unlimited=True))
    witness = judged.cells[key].witness
    assert witness is not None
    assert isinstance(witness.change, Lie)
    assert len(witness.change.liars) == 2


@pytest.mark.usefixtures("one_by_one")
def test_what_is_shown_of_a_table_is_what_was_found() -> None:
    table = known("cdrf")
    shown = cells_table("cells", table).columns
    assert list(shown["property"]) == KNOWN["cdrf"]
    assert set(shown["verdict"]) == {"violated"}
    files = witness_files(table, table.cells)
    assert list(files) == [f"witnesses/cdrf-{name}.json" for name in KNOWN["cdrf"]]
    for text in files.values():
        schema("witness-1.json").validate(json.loads(text))
        assert replay(witness_from_json(text)).again is Again.SAME


def test_where_nothing_is_drawn_nothing_is_said_before_the_draw() -> None:
    rows = [row for row in WHOLE_ROWS if row.property == "pareto-optimality"]
    table = search_table(["moving-knife"], 4, 1, rows, tasks=Tasks.WHOLE)
    assert table.cells["moving-knife", "pareto-optimality-before"].silent == "nothing is drawn"
    assert table.cells["moving-knife", "pareto-optimality"].witness is not None
