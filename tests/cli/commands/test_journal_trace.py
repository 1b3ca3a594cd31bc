"""`fairlead journal trace`: what a service did is simulated again, from its journal alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.traces.registry import load
from tests.service.journal.lived import kept, lived, simulated


def traced(entries: object, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    state = folder / "state"
    state.mkdir()
    kept(entries, state / "journal.db")  # type: ignore[arg-type]  # entries of either kind
    assert main(["journal", "trace", str(state), "--out", str(folder / "trace")]) == Exit.OK
    return capsys.readouterr().out


@pytest.mark.parametrize("policy", ["tsf", "drf"])
def test_a_history_is_simulated_as_it_was(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, entries = simulated("table-ii", 0, policy)
    said = traced(entries, tmp_path, capsys)
    assert "50 machines, 4 jobs with 1350 tasks" in said.replace(",350", "350")
    again = simulate(load([str(tmp_path / "trace")]), policy=policy, placement=before.placement)
    assert (again.tasks, again.finished, again.launches) == (1350, 1350, before.launches)
    assert again.end == before.end


def test_what_did_not_end_well_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = traced(lived(), tmp_path, capsys)
    assert "take the median of their job" in said or "are left out" in said
    assert main(["simulate", str(tmp_path / "trace"), "--json"]) == Exit.OK
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["placed"] == run["tasks"] > 0


def test_a_journal_without_jobs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    kept(lived()[:1], state / "journal.db")
    words = ["journal", "trace", str(state), "--out", str(tmp_path / "trace")]
    assert main(words) == Exit.BAD_INPUT
    assert "tells of no job of which a task ended well" in capsys.readouterr().err
    assert not (tmp_path / "trace").exists()
