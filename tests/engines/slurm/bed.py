"""The ground of placing: a partition of the tests' Slurm, and what runs of it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.engines.interface import Assignment, Attempt
from fairlead.engines.slurm.placing.controller import Commands
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from fairlead.model.command import Command
from fairlead.model.values import FrozenMap
from tests.engines.contract import Doing
from tests.engines.slurm.ground import Ground, soon

OFTEN = 200_000
"""Microseconds between two readings, of which each starts three commands."""

COMMANDS: dict[Doing, Command] = {
    Doing.WELL: "true",
    Doing.BADLY: "exit 3",
    Doing.PRINTING: "echo out; echo err >&2",
    Doing.LASTING: "exec sleep 1000",
    Doing.SLOW: "exec sleep 0.5",
}


class SlurmBed:
    """A state folder over the real Slurm. Every attempt that starts adds its process to a file."""

    def __init__(self, folder: Path, ground: Ground) -> None:
        self.folder, self.ground = folder, ground
        self.state, self.starting = folder / "state", folder / "started"
        self.starting.mkdir()
        self.engines: list[Placer] = []

    def engine(self) -> Placer:
        self.close()
        engine = Placer(self.state, "fair", OFTEN, Commands(), lambda: Allowance(10_000))
        self.engines.append(engine)
        return engine

    def close(self) -> None:
        for engine in self.engines:
            engine.close()
        self.engines.clear()

    def assignment(self, attempt: Attempt, doing: Doing) -> Assignment:
        command: Command = ("/no/such/program", "x")
        if doing is not Doing.MISSING:
            command = f"echo $$ >>{self.starting}/{attempt}; {COMMANDS[doing]}"
        return assign(attempt, command, "a1")  # with room for sixteen at once

    def starts(self, attempt: Attempt) -> int:
        return len(self._pids(attempt))

    def runs(self, attempt: Attempt) -> bool:
        return any(Path(f"/proc/{pid}").exists() for pid in self._pids(attempt))

    def settle(self) -> None:
        time.sleep(0.02)

    def _pids(self, attempt: Attempt) -> list[str]:
        file = self.starting / str(attempt)
        return file.read_text().split() if file.exists() else []


def assign(attempt: Attempt, command: Command, machine: str = "c1", **more: object) -> Assignment:
    demand = FrozenMap({"cpu": Fraction(1), "memory": Fraction(100 * 2**20)})
    values: dict[str, object] = {"name": "the job", "tenant": "the tenant", "demand": demand} | more
    return Assignment(attempt, machine, command=command, **values)  # type: ignore[arg-type]  # of tests


@pytest.fixture(name="bed")
def fixture_bed(slurm: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmBed]:
    """A bed that leaves nothing of it in Slurm."""
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    # Not tmp_path: other users must be able to pass through to their folders.
    with tempfile.TemporaryDirectory(prefix="fairlead-placing-") as folder:
        Path(folder).chmod(0o711)
        bed = SlurmBed(Path(folder), slurm)
        yield bed
        bed.close()
        slurm.run("scancel", "--partition=fair", f"--user={os.environ.get('USER', 'root')}")
        soon(
            lambda: not slurm.run("squeue", "-h", "-p", "fair").strip(),
            lambda: slurm.run("squeue", "-a"),
        )
