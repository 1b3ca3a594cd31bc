"""What versions of Slurm say of the same jobs, as it was recorded, is read as the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.importing import translate
from fairlead.engines.slurm.reading import commands
from fairlead.engines.slurm.reading.commands import AwayError, ask, command_for, load
from fairlead.model.errors import InputError
from tests.engines.slurm.versions import JOBS, SAMPLES, SUITES, seen

FIRST, *NEWER = SUITES


@pytest.fixture(scope="module")
def first() -> dict[str, Any]:
    """What is read of 22.05."""
    return seen(load(SAMPLES / FIRST))


def test_each_kind_of_job_is_recorded(first: dict[str, Any]) -> None:
    assert set(first["jobs"]) == {*JOBS, "failed", "stopped"}
    assert first["jobs"]["failed"][0]["exit"] == 3 << 8
    assert [row["cores"] for row in first["jobs"]["spread"]] == [(("d1", 8), ("d2", 4))]


def bounded(row: dict[str, Any]) -> dict[str, Any]:
    """The row, with a most only where that limits its tasks: versions differ in when they say it of
    others."""
    most = row["most_nodes"]
    return row | {"most_nodes": most if row["nodes"] < most < row["tasks"] else 0}


@pytest.mark.parametrize("version", NEWER)
def test_a_newer_version_is_read_as_the_first(version: str, first: dict[str, Any]) -> None:
    found = seen(load(SAMPLES / version))
    assert found["closed"] == first["closed"]
    assert found["nodes"] == first["nodes"]
    for name, rows in first["jobs"].items():
        newer = [dict(row) for row in found["jobs"][name]]
        if name == "cpus-per-gpu":  # 22.05 leaves these CPUs out until the job starts
            assert (rows[0]["cpus"], newer[0]["cpus"]) == (1, 8)
            newer[0] |= {key: rows[0][key] for key in ("cpus", "memory")}
        assert list(map(bounded, newer)) == list(map(bounded, rows)), name


@pytest.mark.parametrize("version", SUITES)
def test_the_cluster_is_made_of_each(version: str) -> None:
    cluster, jobs, _ = translate(load(SAMPLES / version))
    assert len(cluster.machines) == 12
    demands = {job.name: job.demand for job in jobs}
    assert sum(demand.get("gpu", 0) for demand in demands.values()) > 0


def test_another_version_is_refused() -> None:
    outputs = load(SAMPLES / "26.05") | {"version.txt": "slurm 25.05.2\n"}
    with pytest.raises(InputError, match=r"says 25\.05\.2, and only Slurm 22\.05, 24\.11"):
        translate(outputs)


def test_nodes_are_asked_for_as_the_version_has_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def run(command: tuple[str, ...], _: float) -> str:
        asked.append(command)
        if command[0] == "sacctmgr":
            raise EngineError("sacctmgr failed: Only 'accounting_storage/slurmdbd' is supported.")
        return "slurm-wlm 24.11.5\n" if "--version" in command else '{"nodes": [], "jobs": []}'

    monkeypatch.setattr(commands, "run", run)
    ask()
    assert ("scontrol", "show", "nodes", "--json") in asked
    assert ("sinfo", "--json") not in asked
    assert command_for("nodes.json", "slurm-wlm 22.05.8") == ("sinfo", "--json")
    (tmp_path / "version.txt").write_text("slurm-wlm 24.11.5\n")
    (tmp_path / "partitions.txt").write_text("")
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    assert "scontrol show nodes --json > nodes.json" in str(refused.value)


def test_a_cluster_has_no_accounts_only_where_slurm_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = "Only 'accounting_storage/slurmdbd' is supported."

    def run(command: tuple[str, ...], _: float) -> str:
        if command[0] == "sacctmgr":
            raise EngineError(f"sacctmgr failed: {said}")
        return '{"nodes": [], "jobs": []}'

    monkeypatch.setattr(commands, "run", run)
    assert "accounts.txt" not in ask()
    said = "sacctmgr: error: Sending PersistInit msg: Unable to connect to database"
    with pytest.raises(AwayError, match="Unable to connect to database"):
        ask()
