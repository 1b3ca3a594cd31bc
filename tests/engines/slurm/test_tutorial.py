"""The tutorial's commands on a real Slurm, in their order: they work, and leave nothing behind."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from fairlead.engines.slurm.ordering import SPACE
from tests.cli.live.place import until
from tests.engines.slurm.ground import Ground
from tests.surroundings import without_service
from tests.zygote.forked import asking

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "tutorial" / "existing-slurm.md"
BLOCK = re.compile(
    r"<!-- run by tests/engines/slurm/test_tutorial\.py -->\n```sh\n(.*?)```", re.DOTALL
)


def test_observe_then_order_one_partition_then_back_again(slurm: Ground, tmp_path: Path) -> None:
    observe, order, back = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    tools = tmp_path / "tools"
    tools.mkdir()
    tool = tools / "fairlead"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(asking("fairlead"))} "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    state = {"FAIRLEAD_STATE": str(tmp_path / "state")}
    environment = without_service() | slurm.environment | state
    environment["PATH"] = f"{tools}:{environment['PATH']}"

    def run(block: str) -> str:
        words = ["bash", "-e", "-o", "pipefail", "-c", block]
        done = subprocess.run(
            words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        return done.stdout

    def priority(job: str) -> int:
        return int(slurm.run("squeue", "-h", "-j", job, "-o", "%Q"))

    words = ("sbatch", "--parsable", "-o", "/dev/null", "-w", "v1", "-c", "8")
    for partition in ("gpu", "main"):
        slurm.run(*words, "-p", partition, "--wrap=sleep 1000")
    until(lambda: slurm.run("squeue", "-h", "-t", "R").count("\n") == 1)
    waits = {each: slurm.run(*words, "-p", each, "--wrap=true").strip() for each in ("gpu", "main")}
    try:
        assert "policy tsf" in run(observe)
        until(lambda: "tenants hold" in run("fairlead audit --live"))
        assert "SITE" in run(order)
        until(lambda: priority(waits["gpu"]) >= SPACE)
        assert priority(waits["main"]) <= 1
        run(back)
        assert priority(waits["gpu"]) <= 1
    finally:
        subprocess.run(["fairlead", "stop"], env=environment, capture_output=True, check=False)
        slurm.run("scancel", "-u", "root")
        slurm.wait_until_idle()
