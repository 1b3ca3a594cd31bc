"""The engine, its spawner, or both are killed at random moments: every attempt that was decided
starts at most once and has one end, the one that it really had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

ROUNDS = 14
"""Each kind of kill is in several of them, and a hundred attempts; `./check search` makes more."""


def test_kills_lose_nothing_and_double_nothing(tmp_path: Path, cases: int) -> None:
    program = [sys.executable, "-m", "tests.engines.kills", str(tmp_path), "1", str(ROUNDS * cases)]
    paths = [str(ROOT / "src"), str(ROOT), *os.environ.get("PYTHONPATH", "").split(":")]
    env = dict(os.environ, PYTHONPATH=":".join(path for path in paths if path))
    done = subprocess.run(program, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["wrong"] == []
    # Nothing was tested where nothing of it happened.
    assert seen["attempts"] >= 40
    assert {"exited", "stopped"} <= set(seen["ends"])
    assert min(seen["kills"].values()) >= 1
    assert set(seen["kills"]) == {"engine", "both", "spawner"}
    assert seen["found again"] >= 1
    assert seen["never started"] >= 1
    assert seen["errors"] >= 1
