"""`fairlead serve --engine slurm` as a whole, over a real Slurm."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from fairlead.engines.slurm.ordering import SPACE
from tests.cli.live.place import Terminal, administrator, serving, until
from tests.engines.slurm.ground import Ground

pytestmark = pytest.mark.slow


@pytest.mark.deep
def test_commands_answer_on_a_slurm_that_is_observed_and_then_put_into_order(
    slurm: Ground,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "config.yaml").write_text("read_every: 200ms\n", encoding="utf-8")

    def sbatch(*words: str) -> str:
        asked = ("sbatch", "--parsable", "-o", "/dev/null", *words, "--wrap=sleep 1000")
        return slurm.run(*asked).strip()

    runs = sbatch("-c", "2", "--array=1-3")
    held = sbatch("--hold")
    options = ("--engine", "slurm", "--mode", "observe", "--config", "config.yaml")
    with serving(tmp_path, *options) as served:
        assert any("12 machines (slurm)" in line for line in served.said)
        shell = administrator(served, tmp_path, monkeypatch, capsys)
        until(lambda: [job["tasks"]["running"] for job in shell.json("jobs")["jobs"]] == [3])
        assert [job["name"] for job in shell.json("jobs")["jobs"]] == [runs]
        until(lambda: [each["running"] for each in shell.json("shares")["tenants"]] == [3])
        said = shell.json("why", held)["sentences"]
        assert said == [
            f"{held} of root waits, and has no part in the shares now",
            "Slurm holds it (JobHeldUser)",
        ]
        (first, *_) = shell.json("why", f"{runs}_2")["sentences"]
        assert first == f"{runs} of root is running: 3 tasks, all running"
        assert "Slurm runs this cluster" in shell.refused("submit", "--", "true")
        slurm.run("scancel", runs, held)
        until(lambda: shell.json("jobs")["jobs"] == [])
        over = {job["name"]: job for job in shell.json("jobs", "--all")["jobs"]}
        assert {name: job["state"] for name, job in over.items()} == {
            runs: "failed",
            held: "cancelled",
        }
        assert over[runs]["tasks"]["failed"] == 3
    # The other mode goes on with the same state, and back.
    slurm.wait_until_idle()
    blocks = sbatch("-w", "d1", "-c", "8")
    until(lambda: slurm.run("squeue", "-h", "-j", blocks, "-o", "%t").strip() == "R")
    waits = sbatch("-w", "d1", "-c", "8")
    order = ("--engine", "slurm", "--mode", "order", "--config", "config.yaml")
    with serving(tmp_path, *order) as served:
        shell = administrator(served, tmp_path, monkeypatch, capsys)
        until(lambda: slurm.run("squeue", "-h", "-j", waits, "-o", "%Q").strip() == str(SPACE))
        assert runs in {job["name"] for job in shell.json("jobs", "--all")["jobs"]}
        until(lambda: f"priority {SPACE}" in shell.json("why", waits)["sentences"][1])
        asked = shell.json("why", waits, "--priority")
        assert asked["priority"]["total"] == SPACE
        assert {name: n for name, n in asked["priority"]["parts"].items() if n} == {
            "site factor": SPACE
        }
        assert asked["sentences"][-1] == f"sprio has {SPACE} for it: site factor {SPACE}"
        (*_, last) = shell.json("why", blocks, "--priority")["sentences"]
        assert f"sprio has no row of job {blocks}: it does not wait for its turn" in last
        until(lambda: shell.json("audit", "--live")["gap"] is not None)
    slurm.run("scancel", blocks, waits)
    slurm.wait_until_idle()


def tasks(shell: Terminal, job: str) -> dict[str, int]:
    """How many tasks of a job are in which state."""
    rows = {row["name"]: row["tasks"] for row in shell.json("jobs", "--all")["jobs"]}
    counts: dict[str, int] = rows[job]
    return counts


def test_commands_answer_where_tasks_are_jobs_of_slurm(
    slurm: Ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    with tempfile.TemporaryDirectory(prefix="fairlead-place-") as made:
        folder = Path(made)
        folder.chmod(0o711)
        (folder / "config.yaml").write_text("read_every: 100ms\npartition: fair\n", "utf-8")
        options = ("--engine", "slurm", "--mode", "place", "--config", "config.yaml")
        demand = ("--cpu", "2", "--memory", "100MiB")
        starts = folder / "starts"
        with serving(folder, *options) as served:
            assert any("12 machines (slurm)" in line for line in served.said)
            shell = administrator(served, folder, monkeypatch, capsys)
            once = f"echo x >>{starts}; exec sleep 1000"
            shell.good("submit", *demand, "--name", "long", "--tasks", "3", "--", "sh", "-c", once)
            shell.good("submit", *demand, "--name", "quick", "--", "sh", "-c", "hostname; exit 3")
            until(lambda: starts.exists() and len(starts.read_text()) == 6)
            until(lambda: tasks(shell, "quick")["failed"] == 1)
            # A kill of the service at any moment: tasks go on, and the next one finds them.
            served.process.kill()
            served.process.wait()
        with serving(folder, *options) as served:
            shell = administrator(served, folder, monkeypatch, capsys)
            until(lambda: tasks(shell, "long")["running"] == 3)
            assert len(slurm.run("squeue", "-h", "-p", "fair", "-t", "PD,R").splitlines()) == 3
            shell.good("cancel", "long")
            until(lambda: not slurm.run("squeue", "-h", "-p", "fair").strip())
        assert len(starts.read_text()) == 6
    slurm.wait_until_idle()


def test_a_mode_is_asked_for_and_only_where_there_are_some(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from fairlead.cli.main import main

    free = ("--listen", "127.0.0.1:0")
    assert main(["serve", *free, "--engine", "slurm"]) == 2
    assert "--engine slurm needs a mode; write --mode observe" in capsys.readouterr().err
    assert main(["serve", *free, "--mode", "observe"]) == 2
    assert "--engine local has no mode 'observe'; leave --mode out" in capsys.readouterr().err
    assert main(["serve", *free, "--engine", "slurm", "--mode", "place"]) == 2
    assert "--mode place needs a partition; name the one" in capsys.readouterr().err
    assert main(["serve", *free, "--partition", "fair"]) == 2
    assert (
        "--partition is of --mode order and --mode place; leave it out" in capsys.readouterr().err
    )
