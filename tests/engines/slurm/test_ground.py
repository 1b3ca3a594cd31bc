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
    number = slurm.run("sbatch", "--wait", "--parsable", *asked)
    shown = slurm.run("scontrol", "-d", "-o", "show", "job", number.strip())
    assert "JobState=COMPLETED" in shown
    assert "GRES=gpu:a100:2" in shown
    assert " NodeList=a" in shown


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
