"""Whoever waits for shares on a terminal sees how far they are; nobody else sees anything."""

from __future__ import annotations

import io
import sys
from time import sleep

import pytest

from fairlead import Cluster, Job, Machine, allocate
from fairlead.cli.common import patience
from fairlead.sharing.filling.watcher import watch

MACHINES = [Machine("a", {"cpu": 1}), Machine("b", {"cpu": 5}), Machine("c", {"cpu": 9})]
JOBS = [Job(name, {"cpu": 1}, machines=[name]) for name in "abc"]


class Screen(io.StringIO):
    """A terminal, or none."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_each_round_is_told() -> None:
    told: list[tuple[int, int]] = []
    with watch(lambda settled, jobs: told.append((settled, jobs))):
        allocate(Cluster(MACHINES), JOBS)
    allocate(Cluster(MACHINES), JOBS)
    assert told == [(0, 3), (1, 3), (2, 3)]


@pytest.mark.parametrize(("seconds", "shown"), [(0.01, True), (60, False)])
def test_a_terminal_shows_how_far_shares_are(
    seconds: float, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen(True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(patience, "_SECONDS", seconds)
    monkeypatch.setenv("COLUMNS", "80")
    with patience.patience():
        sleep(0.2)
        allocate(Cluster(MACHINES), JOBS)
    assert ("jobs have their shares" in screen.getvalue()) is shown


def test_where_there_is_no_terminal_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(False)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(patience, "_SECONDS", 0.0)
    with patience.patience():
        allocate(Cluster(MACHINES), JOBS)
    assert screen.getvalue() == ""
