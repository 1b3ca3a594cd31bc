"""`fairlead simulate --on ray`: the runs of a study as tasks of a real cluster of two nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main
from fairlead.simulation.traces.own.form import Form
from fairlead.simulation.traces.own.writing import write
from fairlead.simulation.workloads.registry import generate
from tests.cli.commands.test_allocate import run
from tests.engines.ray.ground import Ground

pytestmark = pytest.mark.slow

TABLE_II = "table-ii(vary=0)"


def rows(text: str) -> list[dict[str, object]]:
    """The runs that were printed, without how long they took."""
    return [
        {key: value for key, value in row.items() if key != "seconds"}
        for row in json.loads(text)["runs"]
    ]


def kept(folder: Path) -> dict[str, bytes]:
    """All files of a study but those that say how long a run took."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "run.json"
    }


@pytest.mark.parametrize("repeat", [1, pytest.param(2, marks=pytest.mark.deep)])
def test_a_cluster_gives_what_this_process_gives_and_keeps_it_here(
    ground: Ground, capsys: pytest.CaptureFixture[str], tmp_path: Path, repeat: int
) -> None:
    assert ground.address
    # Each run that is under way has a worker of its own, which takes longer to start than it.
    words = ["simulate", TABLE_II, "--policies", "tsf", "--repeat", str(repeat), "--csv", "--json"]
    words += ["--sample", "20s", "--distance", "60s"]
    here, away = tmp_path / "here", tmp_path / "away"
    by_one = rows(run(capsys, *words, "--workers", "1", "--out", str(here)))
    on_ray = rows(run(capsys, *words, "--on", "ray", "--out", str(away)))
    assert by_one == on_ray
    assert [(row["seed"], row["policy"]) for row in on_ray] == [
        (seed, "tsf") for seed in range(repeat)
    ]
    assert kept(here) == kept(away)
    assert len(list(away.glob("*/run.json"))) == repeat


def test_what_was_done_before_is_not_done_again_on_a_cluster(
    ground: Ground, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert ground.address
    words = ("simulate", TABLE_II, "--on", "ray", "--out", str(tmp_path / "study"), "--json")
    before = json.loads(run(capsys, *words, "--policies", "tsf"))["runs"]
    after = json.loads(run(capsys, *words, "--policies", "drf,tsf"))["runs"]
    assert [row["policy"] for row in after] == ["drf", "tsf"]
    assert after[1] == before[0]  # with the seconds that it took then


def test_a_trace_is_found_from_any_folder(
    ground: Ground,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ground.address
    write(generate(TABLE_II, 0), tmp_path / "trace", Form.PARQUET)
    monkeypatch.chdir(tmp_path)
    (row,) = rows(run(capsys, "simulate", "trace", "--on", "ray", "--json"))
    assert row["tasks"] == 1350


def test_a_mistake_that_only_the_run_finds_is_told_as_one(
    ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ground.address
    words = ["simulate", "random(jobs=5)", "--policy", "cmmf:gpu", "--on", "ray"]
    assert main(words) == Exit.BAD_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "gpu" in printed.err
    assert "Traceback" not in printed.err
