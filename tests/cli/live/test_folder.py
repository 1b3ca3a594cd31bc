"""What lies in the folder where one starts Fairlead is none of its modules, in whatever process;
`test_start` runs the example in such a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands.test_simulate import RANDOM, runs, without_seconds
from tests.cli.live.place import environment
from tests.cli.live.traps import caught
from tests.transcripts import ROOT

PATIENCE = 300.0


def run(folder: Path, *words: str, script: str = "fairlead") -> str:
    """What the command says there, as one that pip installed; it fell into no trap."""
    base = folder.parent
    done = subprocess.run(
        [sys.executable, str(base / "bin" / script), *words],
        cwd=folder,
        env=environment(base) | {"FAIRLEAD_STATE": str(base / "state")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    assert caught(folder) == ""
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_service_runs_nothing_of_the_folder(trapped: Path) -> None:
    place = "--state ../state --listen 127.0.0.1:0"
    lines = (
        f"serve --detach {place} --cluster ../cluster.yaml",
        "submit --cpu 1 --wait -- true",
        "doctor",
        "shares",  # by the process beside
    )
    try:
        assert "all tasks run" in run(trapped, *lines, script="several")
    finally:
        run(trapped, "stop")
    assert caught(trapped) == ""


def test_workers_of_a_pool_run_nothing_of_the_folder(trapped: Path) -> None:
    assert run(trapped, script="pooled") == "3\n"


@pytest.mark.deep
@pytest.mark.slow
def test_workers_of_a_study_run_nothing_of_the_folder_and_give_what_one_process_gives(
    trapped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = (RANDOM, "--policies", "tsf,fifo", "--repeat", "2")
    two = json.loads(run(trapped, "simulate", *study, "--workers", "2", "--json"))["runs"]
    one = runs(capsys, *study, "--workers", "1")
    assert without_seconds(one) == without_seconds(two)
    assert [row["seed"] for row in one] == [0, 0, 1, 1]


def test_the_module_leaves_the_folder_but_not_a_path_that_the_user_names(trapped: Path) -> None:
    """Python itself imports a few modules from there before any of ours."""
    code = "import runpy, fairlead, sys; print(*sys.modules)"
    for early in subprocess.check_output([sys.executable, "-c", code], text=True).split():
        (trapped / f"{early}.py").unlink(missing_ok=True)
    words = [sys.executable, "-m", "fairlead", "--version"]
    done = subprocess.run(words, cwd=trapped, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("fairlead "), done.stderr
    assert caught(trapped) == ""
    named = {**os.environ, "PYTHONPATH": str(trapped)}
    subprocess.run(words, cwd=trapped, capture_output=True, env=named, check=False)
    assert caught(trapped) != ""


def test_a_checkout_runs_from_its_own_sources() -> None:
    words = [sys.executable, "-m", "fairlead", "--version"]
    said = subprocess.check_output(words, cwd=ROOT / "src", text=True)
    assert said.startswith("fairlead ")
