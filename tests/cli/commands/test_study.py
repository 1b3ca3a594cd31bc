"""`fairlead study`: folders that are whole, verdicts as JSON, and going on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.cli.commands.study import _spread, _spread_on_ray
from fairlead.cli.main import Exit, main
from fairlead.studies import registry
from fairlead.studies.cost import Meter
from fairlead.studies.properties.report import slug
from fairlead.studies.registry import NAMES, study_of
from fairlead.studies.run import run_all
from fairlead.studies.study import Findings, Setting, Study
from tests.cli.commands.spinning import spin
from tests.cli.commands.test_allocate import run

NAME = "tsf-fig2"
SPENT = 0.15
"""Seconds of a processor."""


def without_pictures() -> Study:
    """A study that finds nothing, where what is drawn of it is not asked for: most of a study as
    small as this one is its picture."""
    return Study(**{**vars(study_of(NAME)), "run": lambda _: Findings(())})


def test_a_study_writes_its_page_picture_and_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = json.loads(run(capsys, "study", NAME, "--out", str(tmp_path), "--json"))
    assert (tree["schema"], tree["study"]) == ("fairlead.study/1", NAME)
    assert tree["rows"][0] == {
        "claim": "constrained CDRF: tasks of u1 and u2",
        "paper": "12 and 4",
        "ours": "12 and 4",
        "verdict": "agrees",
        "because": "",
    }
    names = {file.name for file in (tmp_path / NAME).iterdir()}
    wanted = {"index.md", "study.json", "tasks.csv", "tasks.parquet", f"{NAME}.png", f"{NAME}.svg"}
    assert names == wanted
    page = (tmp_path / NAME / "index.md").read_text(encoding="utf-8")
    assert "| constrained CDRF: tasks of u1 and u2 | 12 and 4 | 12 and 4 | agrees exactly |" in page


def test_a_page_says_what_its_study_cost(tmp_path: Path) -> None:
    study = study_of(NAME)

    def run_apart(setting: Setting) -> Findings:
        setting.spread(spin, [SPENT, SPENT])
        return Findings(())

    spinning = Study(**{**vars(study), "run": run_apart})
    with _spread(lambda _done, _parts: None) as spread:
        setting = Setting(spread=spread)
        (apart,) = run_all([spinning], setting, tmp_path / "apart")
    (here,) = run_all([spinning], Setting(), tmp_path / "here")
    for outcome, out in ((apart, "apart"), (here, "here")):
        # What was spent in other processes counts, and what was spent in this one counts once.
        assert outcome.cost.processors >= 2 * SPENT
        page = (tmp_path / out / NAME / "index.md").read_text(encoding="utf-8")
        assert f"- took {outcome.cost.words}" in page
    assert here.cost.processors < 4 * SPENT
    (again,) = run_all([spinning], Setting(), tmp_path / "here")
    assert again.again
    assert again.cost.processors == pytest.approx(here.cost.processors, abs=1e-3)


def test_list_names_all_studies(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "study", "list").splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)
    tree = json.loads(run(capsys, "study", "list", "--json"))
    assert [one["study"] for one in tree["studies"]] == list(NAMES)


def test_a_study_that_is_not_there_is_named_by_the_closest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["study"]) == Exit.BAD_INPUT
    assert "study needs NAME; `fairlead study list` shows what there is" in capsys.readouterr().err
    assert main(["study", "tsf-fig22"]) == Exit.BAD_INPUT
    assert "tsf-fig2" in capsys.readouterr().err


def test_all_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "NAMES", (NAME,))
    monkeypatch.setattr(registry, "study_of", lambda _: without_pictures())
    first = run(capsys, "study", "all", "--quick", "--out", str(tmp_path))
    assert NAME in first
    stamp = (tmp_path / NAME / "study.json").stat().st_mtime_ns
    run(capsys, "study", "all", "--quick", "--out", str(tmp_path))
    assert (tmp_path / NAME / "study.json").stat().st_mtime_ns == stamp
    run(capsys, "study", "all", "--out", str(tmp_path))  # a full run is another
    assert (tmp_path / NAME / "study.json").stat().st_mtime_ns != stamp
    assert f"[{NAME}]({NAME}/index.md)" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_a_study_that_is_stopped_leaves_a_folder_that_is_not_whole(tmp_path: Path) -> None:
    study = without_pictures()
    run_all([study], Setting(quick=True), tmp_path)

    def stop(_: Setting) -> object:
        raise KeyboardInterrupt

    stopped = Study(**{**vars(study), "run": stop})
    with pytest.raises(KeyboardInterrupt):
        run_all([stopped], Setting(), tmp_path)
    # The quick one was whole, and is still.
    assert [one.again for one in run_all([study], Setting(quick=True), tmp_path)] == [True]
    assert not list(tmp_path.rglob(".*"))


def test_without_its_data_a_study_says_how_to_obtain_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_DATA", str(tmp_path))
    study = study_of(NAME)
    needs = Study(**{**vars(study), "run": lambda setting: setting.data("google-2011")})
    (outcome,) = run_all([needs], Setting(), tmp_path / "out")
    assert "clusterdata-2011-2" in outcome.refused
    assert "clusterdata-2011-2" in (tmp_path / "out" / "index.md").read_text(encoding="utf-8")


@pytest.mark.deep
@pytest.mark.slow
def test_parts_are_done_on_ray_in_their_order() -> None:
    pytest.importorskip("ray")
    heard: list[tuple[int, int]] = []
    with _spread_on_ray(lambda done, parts: heard.append((done, parts))) as spread:
        counted = Meter().counted(spread)  # as each study has it
        assert counted(slug, ["kdf(k=3)", "tsf", "2df"]) == ["kdf-k-3", "tsf", "2df"]
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_who_waits_hears_of_each_part_that_is_done() -> None:
    heard: list[tuple[int, int]] = []
    with _spread(lambda done, parts: heard.append((done, parts))) as spread:
        assert spread(str, [3, 4, 5]) == ["3", "4", "5"]
    assert heard == [(1, 3), (2, 3), (3, 3)]
