"""What is compiled before a service serves: all that it can meet."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


def left_out(module: str, *words: str) -> list[str]:
    """The lines that a module of the tests prints in a process of its own, after the first."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert int(first.split()[-1]) > 20  # so many things were looked at
    return lines


@pytest.mark.parametrize(
    ("placement", "never"), [("best-fit", ["missing decide_guided"]), ("price-guided", [])]
)
def test_every_kernel_that_python_calls_is_compiled_beforehand(
    placement: str, never: list[str]
) -> None:
    # A rule that follows no advice never decides by it.
    assert left_out("tests.scheduling.warmed", placement) == never


def test_no_request_and_no_recovery_compiles_anything() -> None:
    assert left_out("tests.service.api.warmed") == []
