"""The service, and what starts its tasks, are killed at random moments: every accepted task has one
result, the one it had."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.kills import run

KILLS = 6
"""Each kind of kill is among them at least once; `./check search` makes hundreds."""


@pytest.mark.slow
def test_kills_of_the_service_lose_nothing_and_double_nothing(tmp_path: Path, cases: int) -> None:
    seen = run(tmp_path, 1, KILLS * cases)
    assert seen["wrong"] == []
    # Nothing was tested where nothing of it happened.
    assert seen["kills"] >= KILLS * cases
    assert seen["of"]["the service"] >= 3
    assert seen["of"]["both"] >= 1
    assert seen["of"]["the process that starts tasks"] >= 1
    assert seen["of"]["the shell above a task"] >= 1
    assert seen["results"] == seen["tasks"] >= 24
    assert seen["ran through a kill"] >= 5
    assert seen["answers"]["UnreachableError"] >= 1
