"""The ground of the tests of the local engine: a state folder, and what runs of it."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.engines.interface import Assignment, Attempt, Ended, Lost, Stream
from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.local.groups import NoGroups, find
from fairlead.engines.local.processes import Process, alive, started_with
from fairlead.model.command import Command
from fairlead.model.machine import Cluster, Machine
from fairlead.model.values import FrozenMap
from tests.engines.contract import PATIENCE, Doing, collect, end_of, started

CLUSTER = Cluster([Machine("b", {"cpu": 64, "memory": "4Gi", "gpu": 2}), Machine("a", {"gpu": 2})])

COMMANDS: dict[Doing, Command] = {
    Doing.WELL: "true",
    Doing.BADLY: "exit 3",
    Doing.PRINTING: "echo out; echo err >&2",
    Doing.LASTING: "exec sleep 1000",
    Doing.SLOW: "exec sleep 0.5",
}


class LocalBed:
    """A state folder. Every attempt adds a line to a file when it starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.starting = folder / "started"
        self.starting.mkdir()
        self.engines: list[LocalEngine] = []

    def engine(self) -> LocalEngine:
        self.close()
        engine = LocalEngine(self.state, CLUSTER, grace=1.0)
        self.engines.append(engine)
        return engine

    def close(self) -> None:
        for engine in self.engines:
            engine.close()
        self.engines.clear()

    def assignment(self, attempt: Attempt, doing: Doing) -> Assignment:
        if doing is Doing.MISSING:
            return assign(attempt, ("/no/such/program", "x"))
        return assign(attempt, f"echo >>{self.starting}/{attempt}; {COMMANDS[doing]}")

    def starts(self, attempt: Attempt) -> int:
        file = self.starting / str(attempt)
        return len(file.read_text()) if file.exists() else 0

    def runs(self, attempt: Attempt) -> bool:
        return bool(of(self.state, attempt)) or claimed(self.state, attempt) is not None

    def settle(self) -> None:
        time.sleep(0.03)  # each look goes through all processes

    def ready(self, *expected: Assignment, limit_memory: bool = True) -> LocalEngine:
        """A new engine that was reconciled."""
        self.close()
        engine = LocalEngine(self.state, CLUSTER, 1.0, limit_memory)
        self.engines.append(engine)
        engine.reconcile(expected)
        return engine

    def run(self, assignment: Assignment) -> tuple[Ended | Lost, str]:
        """The end of an attempt, and what it wrote to stdout."""
        engine = self.ready(assignment)
        engine.launch([assignment])
        end = end_of(self, engine, assignment.attempt)
        text = engine.output(assignment.attempt, Stream.OUT, 0, 1_000_000).data.decode(
            errors="replace"
        )
        return end, text

    def start(self, engine: LocalEngine, assignment: Assignment, sign: Path | None = None) -> None:
        """Launch an attempt and wait until it is reported started, and until the sign that it
        gives is there."""
        engine.launch([assignment])
        started(self, engine, assignment.attempt)
        if sign is not None:
            collect(self, engine, lambda _: sign.exists())


def of(state: Path, attempt: Attempt) -> list[Process]:
    """The processes that belong to an attempt by their environment."""
    name = (state / "local" / "engine").read_text().split()[0]
    return [
        one for one, runs in started_with("FAIRLEAD_RUN") if f"{name}:{attempt}" in runs.split()
    ]


def claimed(state: Path, attempt: Attempt) -> int | None:
    """The shim by its claim, if it is alive."""
    try:
        text = (state / "local" / "live" / f"{attempt}.claim").read_text()
    except FileNotFoundError:  # it may go at any moment
        return None
    if not text[0].isdigit():
        return None
    pid, start, _ = map(int, text.split())
    return pid if alive(pid, start) else None


def shim_of(state: Path, attempt: Attempt) -> int:
    """The shim of an attempt, which is in its session and above all of it."""
    end = time.monotonic() + PATIENCE
    while not (found := {one.session for one in of(state, attempt)}) and time.monotonic() < end:
        time.sleep(0.03)  # it was started, and may not be the command yet
    (shim,) = found
    return shim


def assign(
    attempt: Attempt,
    command: Command,
    env: dict[str, str] | None = None,
    cwd: str | None = None,
    demand: dict[str, int] | None = None,
    time_limit: Fraction | None = None,
    pieces: tuple[tuple[str, int], ...] = (),
    user: str | None = None,
) -> Assignment:
    return Assignment(
        attempt,
        "b",
        "the job",
        "the tenant",
        FrozenMap({name: Fraction(amount) for name, amount in (demand or {"cpu": 1}).items()}),
        command,
        env=FrozenMap(env or {}),
        cwd=cwd,
        time_limit=time_limit,
        pieces=pieces,
        user=user,
    )


@pytest.fixture(name="bed")
def fixture_bed() -> Iterator[LocalBed]:
    """A bed that leaves nothing running and no file open."""
    # Not tmp_path: other users must be able to pass through to their working folders.
    with tempfile.TemporaryDirectory(prefix="fairlead-local-") as folder:
        Path(folder).chmod(0o711)
        yield from _checked(LocalBed(Path(folder)))


@pytest.fixture(name="root")
def fixture_root(bed: LocalBed) -> LocalBed:
    """A bed whose engine may become others."""
    if os.geteuid() != 0:
        pytest.skip("only root can run tasks as other users")
    bed.starting.chmod(0o777)
    return bed


def _checked(found: LocalBed) -> Iterator[LocalBed]:
    before = opened()
    yield found
    found.close()
    left = leftovers(found.state), groups(found.state)
    if left != ([], []):  # an engine of its own for what a test left
        engine = found.engine()
        engine.reconcile([], 99)
        end = time.monotonic() + PATIENCE
        while left != ([], []) and time.monotonic() < end:
            engine.poll()
            time.sleep(0.03)  # each look goes through all processes
            left = leftovers(found.state), groups(found.state)
    found.close()
    assert left == ([], [])
    assert opened() - before == set()


def opened() -> set[tuple[str, str]]:
    """The files that this process has open, by their numbers. What garbage of earlier tests had
    open may be closed at any time."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that by which they are listed
            found.add((descriptor.name, str(descriptor.readlink())))
    return found


def leftovers(state: Path) -> list[int]:
    """Whatever runs of any attempt of this state folder."""
    file = state / "local" / "engine"
    if not file.exists():
        return []
    name = file.read_text().split()[0]
    return [one.pid for one, runs in started_with("FAIRLEAD_RUN") if f"{name}:" in runs]


def groups(state: Path) -> list[Path]:
    """The control groups of attempts of this state folder."""
    file = state / "local" / "engine"
    if not file.exists():
        return []
    found = find(file.read_text().split()[0])
    if isinstance(found, NoGroups):
        return []
    left = [Path(found.path(attempt)) for attempt in found.present()]
    if not left:
        found.close()
    return left
