"""The cluster of the tests is a real Slurm, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlead.engines.local.processes import processes, variable
from tests.engines.slurm.ground import Ground

pytestmark = pytest.mark.slow

KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from tests.engines.slurm.ground import Ground
ground = Ground()
ground.run("sbatch", "--wrap=sleep 1000", "--output=/dev/null", "-w", "c1")
while "RUNNING" not in ground.run("squeue", "-h", "-o", "%T"):
    pass
print(ground.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_job_gets_what_it_asks_for(slurm: Ground) -> None:
    asked = ("--constraint=a100", "--gres=gpu:a100:2", "--output=/dev/null", "--wrap=true")
    shown = slurm.wait_until_over(slurm.run("sbatch", "--parsable", *asked).strip())
    assert "JobState=COMPLETED" in shown
    assert "GRES=gpu:a100:2" in shown
    assert " NodeList=a" in shown


def test_an_orphan_that_comes_to_the_keeper_leaves_no_zombie(slurm: Ground, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    orphan = f"(echo $BASHPID >{note}; exec sleep 0.1) & exit"
    slurm._tell("start", "parent", ["bash", "-c", orphan])  # noqa: SLF001  any program will do
    end = time.monotonic() + 20
    while not note.exists() or not (pid := note.read_text().strip()):
        assert time.monotonic() < end, "it never began"
    while int(pid) in {one.pid for one in processes()}:
        assert time.monotonic() < end, "its end is not taken"
        time.sleep(0.02)
    slurm.kill("parent")


def test_nothing_is_left_of_a_cluster_whose_test_run_was_killed(slurm: Ground) -> None:
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(root=root)], stdout=subprocess.PIPE, check=False
    )
    folder = done.stdout.decode().strip()
    assert folder
    assert folder != str(slurm.folder)
    end = time.monotonic() + 20
    while left := [
        one.pid
        for one in processes()
        if not one.zombie and (variable(one.pid, "SLURM_CONF") or "").startswith(folder)
    ]:
        assert time.monotonic() < end, left
        time.sleep(0.05)
    subprocess.run(["rm", "-r", folder], check=True)
