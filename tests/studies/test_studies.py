"""Every study runs quickly, and what is exact in it is what it was."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.studies.choosy.fig6 import waited
from fairlead.studies.choosy.fig7 import pareto, ramp_up
from fairlead.studies.claims import Row, Verdict
from fairlead.studies.cost import Cost
from fairlead.studies.kdf import combinations
from fairlead.studies.kdf.combinations import cases
from fairlead.studies.page import beginning, page
from fairlead.studies.registry import NAMES, study_of
from fairlead.studies.study import Findings, Setting, Study
from tests.studies.test_learned import rows as in_docs
from tests.transcripts import ROOT

EXACT: dict[str, dict[str, list[float]]] = {
    "tsf-fig5": {"task share of job 1 while it is alone": [1]},
    "tsf-fig6": {
        "exact shares: tasks of each job, against 10, 30, 20 and 30 in its pool": [10, 30, 20, 30]
    },
    "tsf-fig7": {"nodes that mouse 1 can use": [11]},
    "choosy-fig6": {
        "α = 3, pickiness 0.85: wait ÷ mean task time, by the formula": [2 / 3 * 0.45**-0.5]
    },
    "choosy-fig14": {
        "exact shares of Hadoop, Spark, CUDA and MPI": [1 / 4, 1 / 4, 1 / 4, 1 / 4],
        "exact shares of Hadoop, Spark and MPI": [3 / 8, 1 / 4, 3 / 8],
    },
    "tsf-table1": {
        "cdrf: strategy-proofness": [0],
        "tsf: single-resource fairness": [1],
        "drfh: sharing incentive (an equal split)": [0],
        "k-DF, Theorem 2: 2-DF is strategy-proof": [0],
    },
    "ours-unusable": {
        "… half of the memory useless: DRFH counts it, so that A seems poor": [2],
        "… TSF does not": [1],
        "… under CDRF, which measures A by its half": [1 / 2],
        "… machine by machine, where both split A's half": [1 / 3],
    },
    "ours-audit": {
        "Alibaba, endless pods: under tsf nobody envies": [1],
        "Alibaba, endless pods: under cdrf nobody envies": [0],
    },
    "kdf-fig12": {
        "tasks of job 1 that run at once": [159],
        "tasks of jobs 1 and 2 done at 60 s": [318, 3],
    },
    "cdrf-section3": {"DRFH with a useless machine (16, 0), too": [12, 6]},
    "cdrf-theorems": {"Theorem 4.3: each job is within √(12 n log n / m) of its mean": [1]},
    "drf-alternatives": {"asset fairness: tasks of A and B": [2.52, 2.16]},
}
"""Numbers of rows, by study and claim, where a study draws or simulates. All rows of the others are
those of the docs."""


DEEP = {
    name: pytest.param(name, marks=pytest.mark.deep)
    for name in NAMES
    if name.endswith("-live") or name in ("tsf-table1", "kdf-table1", "kdf-fig9", "kdf-fairness")
}
"""Studies of services that run for a while, of which `test_live` holds what runs them; the table of
who could cheat, a search: `test_properties` looks for all that it shows; and those that go through
all cases, of which every gate has an eighth."""

EIGHTH: dict[str, list[str]] = {
    "kdf-fig9": ["yes (0.4% of all combinations, at most 32.0% more)"],
    "kdf-fairness": ["0.006", "59.89%", "30%"],
    "kdf-table1": ["1.61", "1.337", "1.379", "48.73%", "2,401"],
}
"""What the rows of the studies that go through all cases say of every eighth one."""


@cache
def found(name: str) -> Findings:
    return study_of(name).run(Setting(quick=True))


def findings(name: str) -> Findings:
    """What the study finds; the test is left out where its data is not there."""
    try:
        return found(name)
    except InputError as error:
        if "FAIRLEAD_DATA" not in str(error):
            raise
        pytest.skip(str(error))


def is_whole(study: Study, result: Findings) -> None:
    """Asserts that there is all that a study has."""
    assert result.rows
    assert result.tables
    assert result.pictures
    for row in result.rows:
        # Whatever does not agree says why.
        assert (row.verdict is Verdict.AGREES) == (not row.because), row
    for table in result.tables:
        assert len({len(column) for column in table.columns.values()}) == 1
    text = page(study, result, quick=True, cost=Cost(1.0, 2.0))
    assert text.count("\n| ") == len(result.rows) + 1


@pytest.mark.parametrize("name", [DEEP.get(name, name) for name in NAMES])
def test_a_study_has_rows_data_and_a_page_and_the_exact_numbers_that_it_had(name: str) -> None:
    study, result = study_of(name), findings(name)
    assert study.name == name
    is_whole(study, result)
    rows: dict[str, Row] = {row.claim: row for row in result.rows}
    for claim, numbers in EXACT.get(name, {}).items():
        assert list(rows[claim].numbers) == pytest.approx(numbers, rel=1e-9), claim
    if name not in EXACT and not result.seeds:
        for row in result.rows:
            assert (row.ours, row.verdict.value) == in_docs(name)[row.claim]


def test_studies_that_go_through_all_cases_say_what_they_said_of_every_eighth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = dict(list(cases(3).items())[::8])
    monkeypatch.setattr(combinations, "cases", lambda _: some)
    monkeypatch.setattr(combinations, "_known", {})
    for name, said in EIGHTH.items():
        study = study_of(name)
        result = study.run(Setting(quick=True))
        is_whole(study, result)
        assert [row.ours for row in result.rows] == said, name


@pytest.mark.parametrize("name", NAMES)
def test_what_a_paper_shows_is_not_taken_for_what_was_found(name: str) -> None:
    study = study_of(name)
    said = (ROOT / "docs/studies" / name / "index.md").read_text("utf-8").split("\n\n")[1]
    assert said == beginning(study)
    assert said.startswith("**What the paper shows.** ") == (not name.startswith("ours-"))


def test_exact_numbers_are_of_studies() -> None:
    assert EXACT.keys() <= set(NAMES)


def test_combinations_are_complete() -> None:
    assert sum(cases(3).values()) == 3**9


def test_every_module_of_a_paper_is_a_study() -> None:
    root = Path(study_of.__code__.co_filename).parent
    names = {
        f"{path.parent.name}-{path.stem.replace('_', '-')}"
        for path in root.glob("*/*.py")
        if "STUDY = " in path.read_text(encoding="utf-8")
    }
    assert names == set(NAMES), "name each in STUDIES of src/fairlead/studies/registry.py"


def test_the_wait_from_times_themselves_is_the_formula_s_for_pareto_times() -> None:
    chances = (np.arange(200_000) + 0.5) / 200_000
    times = (1 - chances) ** (-1 / 3)
    for pickiness in (0.2, 0.5, 0.85):
        assert ramp_up(times, pickiness) == pytest.approx(waited(3.0, pickiness), rel=0.01)
    x, longer = np.sort(times), 1 - chances
    alpha, fit = pareto(x, longer)
    assert alpha == pytest.approx(3.0, rel=1e-3)
    assert fit == pytest.approx(1.0, rel=1e-3)
