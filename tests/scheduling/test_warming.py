"""What is compiled before a service serves: all that it can meet."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.conftest import ROOT
from tests.zygote.forked import finished


def left_out(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines that a module of the tests printed, after the first."""
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert int(first.split()[-1]) > 20  # so many things were looked at
    return lines


def test_every_kernel_that_python_calls_is_compiled_beforehand() -> None:
    words = [sys.executable, "-m", "tests.scheduling.warmed", "best-fit", "price-guided"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    # A rule that follows no advice never decides by it.
    assert left_out(done) == ["best-fit: missing decide_guided"]


def test_no_request_and_no_recovery_compiles_anything() -> None:
    assert left_out(finished(["tests.service.api.warmed"], ROOT, os.environ)) == []
