"""A service that runs, and who types at it: for every file of tests here that asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.live.place import CLUSTER, Served, Terminal, administrator, names, serving, until
from tests.cli.live.traps import set_traps


@pytest.fixture(scope="module")
def cluster() -> str:
    """The cluster file of the service; a file of tests may have its own."""
    return CLUSTER


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, cluster: str) -> Iterator[Served]:
    """One service for all tests of a file."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "cluster.yaml").write_text(cluster, encoding="utf-8")
    with serving(folder, "--cluster", "cluster.yaml") as found:
        yield found


@pytest.fixture
def shell(
    served: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Terminal]:
    """The administrator of that service, in an empty folder; what it left running is cancelled and
    forgotten afterwards."""
    terminal = administrator(served, tmp_path, monkeypatch, capsys)
    yield terminal
    monkeypatch.delenv("FAIRLEAD_TOKEN", raising=False)
    left = names(terminal.json("jobs")["jobs"])
    if left:
        terminal.good("cancel", *left)
        until(lambda: terminal.json("jobs")["jobs"] == [])
        until(lambda: all(row["ended"] for row in terminal.json("jobs", "--all")["jobs"]))
        terminal.good("forget", *left)


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A folder in which no module of it is to be run."""
    return set_traps(tmp_path)
