"""What lies in the folder where one starts Fairlead is none of its modules, in whatever process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.cli.commands.test_simulate import RANDOM, runs, without_seconds
from tests.cli.live.place import environment, until
from tests.transcripts import ROOT

PATIENCE = 300.0

SCRIPT = """\
import sys
from fairlead.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""As pip installs it."""

TRAP = """\
import sys
with open({caught!r}, "a") as caught:
    print(__name__, sys.orig_argv, file=caught)
raise ImportError("a trap")
"""

SETTINGS = "{disable_jit: 1}"
"""What Numba would read: nothing is compiled."""


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A folder with a module by the name of each one that anything of ours imports."""
    folder = tmp_path / "trapped"
    folder.mkdir()
    trap = TRAP.format(caught=str(tmp_path / "caught"))
    for name in {*sys.stdlib_module_names, *packages_distributions()} - {"fairlead"}:
        (folder / f"{name}.py").write_text(trap)
    (folder / ".numba_config.yaml").write_text(SETTINGS)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "fairlead").write_text(SCRIPT)
    (tmp_path / "cluster.yaml").write_text("machines: [{name: m, capacity: {cpu: 4}}]\n")
    return folder


def run(folder: Path, *words: str, code: int = 0) -> str:
    """What the command says there, as one that pip installed; it fell into no trap."""
    base = folder.parent
    done = subprocess.run(
        [sys.executable, str(base / "bin" / "fairlead"), *words],
        cwd=folder,
        env=environment(base) | {"FAIRLEAD_STATE": str(base / "state")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
    caught = base / "caught"
    assert not caught.exists(), caught.read_text()
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_service_runs_nothing_of_the_folder(trapped: Path) -> None:
    place = ("--state", "../state", "--listen", "127.0.0.1:0")
    run(trapped, "serve", "--detach", *place, "--cluster", "../cluster.yaml")
    try:
        run(trapped, "serve", "--detach", "--standby", *place)
        run(trapped, "submit", "--cpu", "1", "--wait", "--", "true")
        assert "all tasks run" in run(trapped, "doctor")
        run(trapped, "shares")  # by the process beside
    finally:
        run(trapped, "stop")
        until((trapped.parent / "state" / "process").exists)  # the one that waited leads
        run(trapped, "stop")


@pytest.mark.slow
def test_the_example_runs_nothing_of_the_folder(trapped: Path) -> None:
    run(trapped, "start", "--for", "1s")


@pytest.mark.slow
def test_workers_run_nothing_of_the_folder_and_give_what_one_process_gives(
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
    assert not (trapped.parent / "caught").exists()
    named = {**os.environ, "PYTHONPATH": str(trapped)}
    subprocess.run(words, cwd=trapped, capture_output=True, env=named, check=False)
    assert (trapped.parent / "caught").exists()


def test_a_checkout_runs_from_its_own_sources() -> None:
    words = [sys.executable, "-m", "fairlead", "--version"]
    said = subprocess.check_output(words, cwd=ROOT / "src", text=True)
    assert said.startswith("fairlead ")
