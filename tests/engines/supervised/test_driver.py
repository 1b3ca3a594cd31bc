"""An engine in a child process keeps the contract, and whatever becomes of the child is noticed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Cause,
    Ended,
    EngineError,
    Lost,
    Report,
    Started,
    Stream,
)
from fairlead.engines.supervised import child
from fairlead.engines.supervised.remote import RemoteEngine
from fairlead.model.errors import InputError
from fairlead.model.values import FrozenMap
from tests.conftest import ROOT
from tests.engines.contract import (
    PATIENCE,
    Bed,
    Doing,
    EngineContract,
    begun,
    reconciled,
    started,
    wait,
)
from tests.engines.driven import PRINTED
from tests.engines.local.bed import LocalBed, leftovers
from tests.zygote.forked import Forked

A, B = Attempt(1, 0, 1), Attempt(1, 1, 1)

PATH = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}


class ForkedDriver(Forked):
    """A driver's process without the time that an interpreter needs to import it."""

    def __init__(self, words: list[str], **how: Any) -> None:
        assert words[:3] == [sys.executable, "-P", "-m"]
        super().__init__(words[3:], **how)


@pytest.fixture(autouse=True)
def forked_drivers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers are forked from the zygote, but for those that are to be real."""
    if request.node.get_closest_marker("slow") is None:
        how = SimpleNamespace(Popen=ForkedDriver, PIPE=subprocess.PIPE)
        monkeypatch.setattr(child, "subprocess", how)


def remote(function: str, clock: Callable[[], float] = monotonic, **settings: Any) -> RemoteEngine:
    opener = f"tests.engines.driven:{function}"
    return RemoteEngine(opener, settings, timeout=PATIENCE, environment=PATH, clock=clock)


class RemoteBed(LocalBed):
    """Processes of this machine behind a driver."""

    remotes: tuple[RemoteEngine, ...] = ()

    def engine(self) -> Any:
        self.close()
        made = remote("local", state=str(self.state))
        self.remotes = (*self.remotes, made)
        return made

    def close(self) -> None:
        super().close()
        for engine in self.remotes:
            engine.close()
        self.remotes = ()


@pytest.fixture
def remote_bed(tmp_path: Path) -> Iterator[RemoteBed]:
    bed = RemoteBed(tmp_path)
    yield bed
    bed.close()
    if leftovers(bed.state):
        engine = LocalBed.engine(bed)  # without a driver: nothing is shown by it any more
        engine.reconcile([], 99)  # nothing is expected: all that runs is stopped

        def gone() -> bool:
            engine.poll()  # an engine goes on with what it has begun when it is asked
            return not leftovers(bed.state)

        wait(bed, gone)
        bed.close()


class TestContract(EngineContract):
    """The common suite, over a pipe."""

    @pytest.fixture
    def bed(self, remote_bed: RemoteBed) -> Bed:
        return remote_bed


def assign(attempt: Attempt, call: str | None = None) -> Assignment:
    return Assignment(attempt, "b", "job", "tenant", FrozenMap(), call=call)


def trouble(engine: RemoteEngine, meanwhile: Callable[[], object] = lambda: None) -> str:
    """What the engine says once it is in trouble. `meanwhile` is done before each look."""
    end = time.monotonic() + PATIENCE
    while True:
        meanwhile()
        try:
            engine.poll()
        except EngineError as error:
            return str(error)
        assert time.monotonic() < end, "all is well"
        time.sleep(0.02)


def ended(engine: RemoteEngine, most: int) -> list[Attempt]:
    """The attempts that ended, once they are so many."""
    end = time.monotonic() + PATIENCE
    while True:
        found = [one.attempt for one in engine.poll() if isinstance(one, Ended)]
        if len(found) >= most:
            return found
        assert time.monotonic() < end, f"{len(found)} ended"
        time.sleep(0.02)


def test_settings_that_are_refused_are_a_users_mistake() -> None:
    with pytest.raises(InputError, match="no such cluster; write its address"):
        remote("refused")


def test_an_engine_that_does_not_open_says_why() -> None:
    with pytest.raises(EngineError, match="nobody answers there"):
        remote("absent")


def test_a_driver_that_is_killed_while_it_starts_is_replaced(tmp_path: Path) -> None:
    engine = remote("killed", sign=str(tmp_path / "sign"))
    assert engine.restarts == 1
    assert [node.machine.name for node in engine.nodes()] == ["a", "b"]
    assert engine.reconcile([]) == []
    engine.close()


def test_what_an_engine_prints_does_not_disturb(capfd: pytest.CaptureFixture[str]) -> None:
    engine = remote("odd")
    assert [node.machine.name for node in engine.nodes()] == ["a", "b"]
    engine.close()
    said = capfd.readouterr()
    assert said.out == ""
    assert set(said.err.splitlines()) == {PRINTED}  # it is heard, and nobody else says anything


def test_an_engines_own_error_leaves_the_driver_where_it_is() -> None:
    engine = remote("odd", doing="fail")
    pid = engine.pid
    with pytest.raises(EngineError, match="the cluster is away"):
        engine.nodes()
    assert engine.pid == pid
    engine.close()


@pytest.mark.parametrize("doing", ["hang", "stop", "die", "break"])
def test_a_driver_that_hangs_or_dies_is_replaced(doing: str, tmp_path: Path) -> None:
    """By a clock that goes on as the test says once the driver hangs: no driver is given up because
    the machine is busy."""
    sign, ahead = tmp_path / "sign", [0.0]
    engine = remote("odd", lambda: monotonic() + ahead[0], doing=doing, sign=str(sign))
    pid = engine.pid
    engine.reconcile([])
    engine.launch([assign(A)])

    def much_later() -> None:
        if sign.exists() and doing in ("hang", "stop"):
            ahead[0] += PATIENCE  # what it had said before may be heard only now

    assert "driver is gone" in trouble(engine, much_later)
    assert reconciled(engine, []) == []
    assert engine.pid not in (None, pid)
    assert engine.restarts == 1
    assert list(engine.poll()) == []
    engine.close()
    assert engine.pid is None


LIAR = """
import json, sys
from fairlead.engines.supervised.frames import read_frame, write_frame

def tell(tree):
    write_frame(sys.stdout.buffer, tree)

lie = read_frame(sys.stdin.buffer)["settings"]["lie"]
tell({"ready": {"name": "liar", "identity": "liar", "known": False}})
tell({"nodes": []})
while (asked := read_frame(sys.stdin.buffer)) is not None:
    if asked["method"] != "reconcile":
        continue
    tell({"id": asked["id"], "value": lie.pop("value", [])})
    if lie:
        tell(lie)
"""

ENDED = {"attempt": [1, 0, 1], "is": "ended", "cause": "exited", "code": 0, "time": 1}
ENDED |= {"started": 1, "message": "", "output": 0}


@pytest.mark.parametrize(
    "lie",
    [
        {"round": 1, "reports": [{"is": "ended"}]},
        {"round": 1, "reports": 5},
        {"round": 1, "reports": [ENDED | {"cause": "bored"}]},
        {"round": 1, "reports": [ENDED | {"attempt": [1, 0]}]},
        {"round": 1, "reports": [ENDED | {"attempt": [[], {}, 1]}]},
        {"id": []},
        {"nodes": [{"machine": {"name": ""}}]},
        {"ready": {}},
        {"value": None},
        {"value": [[1, 2]]},
    ],
    ids=str,
)
def test_a_driver_that_writes_what_cannot_be_is_replaced(
    lie: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would hear it any more, and nobody would know, where the thread that reads ended."""

    def begun(_: list[str], **how: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", LIAR], **how)

    monkeypatch.setattr(child, "subprocess", SimpleNamespace(Popen=begun, PIPE=subprocess.PIPE))
    engine = RemoteEngine("liar:liar", {"lie": lie}, timeout=PATIENCE, environment=PATH)
    try:
        first = engine.pid
        try:
            engine.reconcile([])
            said = trouble(engine)
        except EngineError as error:
            said = str(error)
        assert "driver is gone: it " in said
        assert "what nobody understands" in said
        assert engine.pid is None or engine.pid != first
    finally:
        engine.close()


def test_a_new_driver_wants_to_be_reconciled_first() -> None:
    engine = remote("odd")
    engine.reconcile([])
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    sentences: set[str] = set()
    while "reconcile" not in " ".join(sentences):
        assert time.monotonic() < end
        try:
            engine.poll()  # it works until the end is heard
        except EngineError as error:
            sentences.add(str(error).rpartition(":")[2])
        time.sleep(0.02)
    assert engine.output(A, Stream.OUT, 0, 10).data == b""
    engine.close()


def test_waits_grow_until_a_driver_lasts() -> None:
    """By a clock of the test's own: a driver that dies at once is not started in a loop."""
    moments = [0.0]
    engine = RemoteEngine(
        "tests.engines.driven:dead", {}, environment=PATH, clock=lambda: moments[0]
    )
    waits = []
    for _ in range(5):
        while True:  # until it has died once more
            try:
                engine.nodes()
            except EngineError as error:
                if "again in" in str(error):
                    waits.append(float(str(error).split()[-2]))
                    break
            time.sleep(0.01)
        moments[0] += waits[-1] + 0.05
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6], abs=0.051)
    engine.close()


def read_by(process: int) -> int:
    """The bytes that a process has read since it began."""
    lines = Path(f"/proc/{process}/io").read_text(encoding="utf-8").splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def test_a_long_call_is_told_once_and_again_to_a_new_driver() -> None:
    engine = remote("odd")
    engine.reconcile([])
    call = "x" * 1_000_000
    tasks = [Attempt(1, task, 1) for task in range(200)]
    assert engine.pid is not None
    before = read_by(engine.pid)
    for task in tasks:
        engine.launch([assign(task, call)])
    assert ended(engine, len(tasks)) == tasks
    assert read_by(engine.pid) - before < 20_000_000  # 200 calls of 1 MB were meant
    os.kill(engine.pid, signal.SIGKILL)
    last = Attempt(1, 999, 1)
    assert reconciled(engine, [assign(last, call)]) == [
        last
    ]  # a new engine in memory knows nothing
    engine.launch([assign(last, call)])
    assert ended(engine, 1) == [last]
    engine.close()


def test_what_a_driver_that_stands_still_is_told_waits_in_its_order() -> None:
    engine = remote("odd")
    engine.reconcile([])
    tasks = [Attempt(1, task, 1) for task in range(2000)]
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGSTOP)
    for task in tasks:  # far more than its pipe holds
        engine.launch([assign(task)])
    os.kill(engine.pid, signal.SIGCONT)
    assert ended(engine, len(tasks)) == tasks
    engine.close()


@pytest.mark.slow
def test_a_driver_ends_with_who_started_it(remote_bed: RemoteBed) -> None:
    """Its pipe ends, and what it runs goes on. A real driver."""
    engine = remote_bed.engine()
    engine.reconcile([])
    assignment = remote_bed.assignment(A, Doing.LASTING)
    engine.launch([assignment])
    begun(remote_bed, engine, A)
    pid = engine.pid
    engine.abandon()
    wait(remote_bed, lambda: engine.pid is None)
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert remote_bed.runs(A)
    assert reconciled(engine, [assignment]) == []
    started(remote_bed, engine, A)
    assert remote_bed.starts(A) == 1


def test_kills_at_random_moments_lose_and_double_nothing(remote_bed: RemoteBed, cases: int) -> None:
    """The service's part is played by the test: what it launches and what it acknowledged is what
    it would have in its journal."""
    draw = np.random.Generator(np.random.PCG64(5))
    engine = remote_bed.engine()
    reconciled(engine, [])
    expected: dict[Attempt, Assignment] = {}
    ends: dict[Attempt, Report] = {}
    waiting = [Attempt(3, task, 1) for task in range(30 * cases)]
    total = len(waiting)
    killed: set[int] = set()
    end = time.monotonic() + 600 * cases
    while len(ends) < total:
        assert time.monotonic() < end, f"{len(ends)} of {total} ended"
        pid = engine.pid
        if pid is not None and len(killed) < 8 * cases and draw.random() < 0.2:
            # One that was killed is the engine's until its end is heard of, when it is gone.
            if pid not in killed:
                os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        try:
            batch = waiting[: int(draw.integers(1, 6))]
            new = [
                remote_bed.assignment(one, Doing.SLOW if one.task % 5 == 0 else Doing.BADLY)
                for one in batch
            ]
            waiting = waiting[len(batch) :]
            expected.update((one.attempt, one) for one in new)  # durable before it is launched
            if new:
                engine.launch(new)
            reports = engine.poll()
            for report in reports:
                if not isinstance(report, Started):
                    assert report.attempt not in ends
                    ends[report.attempt] = report
                    expected.pop(report.attempt)
            engine.acknowledge(reports)
        except EngineError:
            never = reconciled(engine, list(expected.values()))
            if never:
                try:
                    engine.launch([expected[one] for one in never])
                except EngineError:
                    continue
        time.sleep(0.01)
    assert killed
    lost = [one for one in ends.values() if isinstance(one, Lost)]
    assert lost == []
    for attempt, report in sorted(ends.items()):
        assert isinstance(report, Ended)
        assert (report.cause, report.code) == (Cause.EXITED, 0 if attempt.task % 5 == 0 else 3)
        assert remote_bed.starts(attempt) == 1
