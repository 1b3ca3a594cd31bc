"""The types of the dashboard's modules, which JSDoc states, are right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, in_ci

NODE = Path(__file__).parent / "node"
COMPILER = NODE / "node_modules/.bin/tsc"
KEPT = ROOT / "build" / "dashboard-types.json"
"""What the compiler found, so that it looks again only at what changed, as mypy does."""


def test_the_compiler_finds_nothing_wrong() -> None:
    if not COMPILER.exists():
        sentence = "TypeScript is not installed (`npm ci` in tests/dashboard/node)"
        if in_ci():
            pytest.fail(sentence)
        pytest.skip(sentence)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # Node may be there
    done = subprocess.run(
        [COMPILER, "--project", NODE, "--incremental", "--tsBuildInfoFile", KEPT],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
