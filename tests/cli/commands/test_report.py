"""`fairlead report`: the page and the tables of a study's folder."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main
from fairlead.simulation.report.making import Report
from tests.cli.commands.test_allocate import run
from tests.simulation.report.folders import KINDS, kept_study

PLOT = KINDS[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, in which reports are written."""
    there = tmp_path_factory.mktemp("report") / "study"
    return Path(shutil.copytree(kept_study(tmp_path_factory) / "study", there))


def test_the_report_is_written_beside_the_runs_and_anew_with_the_same_bytes(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = Report.files

    def some(report: Report) -> dict[str, bytes]:
        """Of the plots one: each kind has the same bytes each time where reports are made."""
        groups = [(head, [c for c in group if c.name == PLOT]) for head, group in report.charts]
        return files(replace(report, charts=tuple((head, tuple(cs)) for head, cs in groups)))

    monkeypatch.setattr(Report, "files", some)
    out = run(capsys, "report", str(folder))
    assert out.splitlines()[0] == "table-ii"
    assert "tsf against the others, by size of job" in out
    assert out.splitlines()[-1] == f"Written: {folder / 'report' / 'index.html'}"
    names = {file.name for file in (folder / "report").iterdir()}
    plots = {f"{PLOT}.{ending}" for ending in ("png", "svg")}
    assert names == {"index.html", *plots}
    made = (folder / "report", tmp_path)
    run(capsys, "report", str(folder), "--out", str(tmp_path))
    first, again = ({file.name: file.read_bytes() for file in out.iterdir()} for out in made)
    assert again == {name: first[name] for name in ("index.html", *plots)}


def test_the_table_alone_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.rglob("*"))
    out = run(capsys, "report", str(folder), "--table", "--first", "drfh")
    assert "drfh against the others" in out
    assert "Written" not in out
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere"], "nowhere is no folder; give the folder of `fairlead simulate --out`"),
        (["."], "holds no study: there is no study.json in it"),
    ],
)
def test_what_is_no_study_is_refused(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *words]) == Exit.BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err


def test_a_report_that_cannot_be_written_says_so(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["report", str(folder), "--out", str(tmp_path / "file")]) == Exit.OUTPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert "cannot be written" in said.err
