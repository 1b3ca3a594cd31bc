"""The tutorial on Ray is followed, step by step, on a real cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import ray

from fairlead.engines.ray.engine import LAUNCHER, NAMESPACE
from tests.conftest import ROOT
from tests.engines.ray.ground import Ground

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "tutorial" / "ray.md"

BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)

MADE_ALREADY = ("pip install", "ray start")
"""The cluster of the tests is the one that runs."""


@pytest.mark.deep
def test_the_tutorial_does_what_it_says(ground: Ground, tmp_path: Path) -> None:
    env = {
        **os.environ,
        "RAY_ADDRESS": ground.address,
        "FAIRLEAD_STATE": str(tmp_path / "state"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    said: dict[str, str] = {}
    try:
        for name, kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            if name:
                (tmp_path / name).write_text(text, encoding="utf-8")
            elif kind == "sh":
                for line in text.splitlines():
                    if not line.startswith(MADE_ALREADY):
                        said[line] = _run(line, tmp_path, env)
    finally:
        subprocess.run(
            ["fairlead", "stop"], env=env, cwd=tmp_path, capture_output=True, check=False
        )
        ray.kill(ray.get_actor(LAUNCHER, namespace=NAMESPACE))
    assert all(name in said["fairlead machines"] for name in ("head", "n0"))
    assert re.fullmatch(r"on (head|n0)\n", said["fairlead logs where"])
    assert said["python squares.py"] == "[0, 1, 4, 9, 16]\n"
    assert said["python many.py"].startswith("661.463\nTypeError: ")
    assert "100/100" in said["fairlead jobs --all"]
    assert {"ana", "ben"} <= set(said["fairlead shares"].split())


def _run(line: str, folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        line, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout
