"""The engine's records: no tenant writes there, and what lies there all the same costs at most one
attempt, never the engine."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended, Lost
from fairlead.engines.local.processes import descendants, process
from tests.engines.contract import Doing, end_of, started, wait
from tests.engines.local.bed import LocalBed, assign, fixture_bed, fixture_root, of, shim_of

__all__ = ["fixture_bed", "fixture_root"]

A, B, C = Attempt(1, 0, 1), Attempt(2, 0, 1), Attempt(3, 0, 1)

ENDINGS = ("status", "missed", "why", "new", "claim")

HERE = "/proc/$PPID/cwd"
"""What a task sees of the process above it."""


@pytest.mark.parametrize("user", ["nobody", None])
def test_folders_in_place_of_records_stop_nobody(root: LocalBed, user: str | None) -> None:
    """What issue 18 shows: a folder with a record's name ended the engine, over restarts."""
    words = " ".join(f"{HERE}/$FAIRLEAD_JOB_ID.0.1.{ending}" for ending in ENDINGS)
    sign = root.starting / "planted"
    planting = assign(A, f"for name in {words}; do mkdir $name; done; touch {sign}", user=user)
    other = assign(B, f"until [ -e {sign} ]; do sleep 0.01; done; exit 3", user=user)
    engine = root.ready()
    engine.launch([planting, other])
    ends = [end_of(root, engine, A), end_of(root, engine, B)]
    assert [(end.cause, end.code) for end in ends if isinstance(end, Ended)] == [
        (Cause.EXITED, 0),
        (Cause.EXITED, 3),
    ]
    engine.acknowledge(ends)
    engine = root.ready()
    engine.launch([assign(C, "exit 4", user=user)])
    end = end_of(root, engine, C)
    assert isinstance(end, Ended)
    assert end.code == 4
    assert not [
        path for path in (root.state / "local" / "live").rglob("*") if "3.0.1" not in str(path)
    ]


@pytest.mark.parametrize("restarted", [False, True])
def test_nobody_speaks_for_the_attempts_of_others(root: LocalBed, restarted: bool) -> None:
    """Neither is an attempt recorded as ended while it runs, nor is it killed for a false claim."""
    stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        found = process(stranger.pid)
        assert found is not None
        go, sign = root.starting / "go", root.starting / "planted"
        lasting = assign(B, f"until [ -e {go} ]; do sleep 0.01; done; exit 5", user="daemon")
        claims = [
            f"printf '{stranger.pid} {found.start} 1\\n' >|{HERE}/{B}.claim",
            f"printf 'exit 0 0\\n' >|{HERE}/{B}.status",
            f"printf 'exit 0\\n' >|{HERE}/{B}.status",
            f"rm -f {HERE}/{B}.claim {HERE}/{A}.claim",
            f"ln -s /etc/shadow {HERE}/{A}.why",
            f"mkfifo {HERE}/{A}.status",
            f"printf '{stranger.pid} {found.start}\\n' >|{HERE}/{C}.claim",
        ]
        script = "; ".join(claims) + f"; touch {sign}; exec sleep 1000"
        planting = assign(A, script, user="daemon")
        engine = root.ready()
        engine.launch([lasting])
        started(root, engine, B)
        root.start(engine, planting, sign)
        if restarted:
            engine = root.ready(lasting, planting)
        started(root, engine, A, B)
        engine.launch([assign(C, "exit 6", user="nobody")])
        end = end_of(root, engine, C)
        assert isinstance(end, Ended)
        assert end.code == 6
        go.touch()
        end = end_of(root, engine, B)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 5)
        engine.cancel([A])
        end = end_of(root, engine, A)
        assert isinstance(end, Ended)
        assert end.cause is Cause.STOPPED
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_user_cannot_stop_what_stands_over_his_task(root: LocalBed) -> None:
    script = (
        f"kill -9 $PPID || ls {HERE}/ || ls /proc/$PPID/fd/ || cat /proc/$PPID/environ || exit 9"
    )
    end, text = root.run(assign(A, script, user="nobody"))
    assert isinstance(end, Ended)
    assert (end.cause, end.code, text) == (Cause.EXITED, 9, "")


def test_the_environment_of_a_task_reaches_nothing_that_runs_as_the_service(root: LocalBed) -> None:
    """A library that is loaded into every program of the task runs as the task's user alone."""
    trace = root.starting / "trace"
    trace.touch(mode=0o666)
    trace.chmod(0o666)
    script = f"id -u >>{trace}"
    env = {"ENV": str(root.starting / "env"), "BASH_ENV": str(root.starting / "env")}
    (root.starting / "env").write_text(script)
    (root.starting / "env").chmod(0o755)
    end, _ = root.run(assign(A, ("bash", "-c", script), env=env, user="nobody"))
    assert isinstance(end, Ended)
    assert end.code == 0
    assert "0" not in trace.read_text().split()


def test_false_claims_delay_no_start(bed: LocalBed, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them is waited for: what was half a second for each of them."""
    records = bed.ready()._records  # noqa: SLF001 (where they lie)
    for job in range(1000, 1120):
        Path(f"{records.record(Attempt(job, 0, 1))}.claim").write_text("x")
    engine = bed.engine()

    def never(seconds: float) -> None:
        raise AssertionError(f"it slept for {seconds}")

    monkeypatch.setattr(time, "sleep", never)
    engine.reconcile([])
    monkeypatch.undo()
    engine.launch([assign(A, "exit 3")])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.code == 3
    engine.acknowledge([end])
    wait(bed, lambda: not engine.poll() and not list(records.live.rglob("*.*")))


@pytest.mark.parametrize("ending", ["claim", "status", "why"])
@pytest.mark.parametrize("kind", ["folder", "full folder", "pipe", "link", "text", "bytes"])
def test_what_is_no_record_costs_one_attempt_and_is_told(
    bed: LocalBed, ending: str, kind: str
) -> None:
    """Whatever lies there when an engine begins, that attempt alone pays for it."""
    one, other = bed.assignment(A, Doing.LASTING), bed.assignment(B, Doing.LASTING)
    engine = bed.ready()
    for each in (one, other):  # a shim that has no claim yet would be none to the next engine
        bed.start(engine, each, bed.starting / str(each.attempt))
    bed.close()
    place = Path(f"{engine._records.record(A)}.{ending}")  # noqa: SLF001 (where they lie)
    place.unlink(missing_ok=True)
    plant(place, kind)
    engine = bed.ready(one, other)
    started(bed, engine, B)
    engine.cancel([A, B])
    end = end_of(bed, engine, B)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended | Lost)
    assert not isinstance(end, Lost) or (end.started and not end.machine_at_fault)
    wait(bed, lambda: of(bed.state, A) == [])
    engine.acknowledge([end])
    told = [line for line in engine.take_faults() if str(place) in line]
    assert told
    assert all("\n" not in line for line in told)
    assert place.exists() == (kind == "full folder")


def plant(place: Path, kind: str) -> None:
    """Put something there that is no record."""
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("/etc/passwd")
    elif kind == "text":
        place.write_text("2 3 4 5\n")
    elif kind == "bytes":
        place.write_bytes(b"\xff\x00" * 1000)
    else:
        place.mkdir()
        if kind == "full folder":
            (place / "file").touch()


def test_what_is_no_record_at_all_is_left_alone_and_told(bed: LocalBed) -> None:
    live = bed.ready()._records.live  # noqa: SLF001 (where they lie)
    (live / "folder" / "1.0.1.claim").mkdir(parents=True)
    (live / ("9" * 200 + ".0.1.claim")).touch()
    gone = subprocess.Popen(["true"])
    gone.wait()
    (live / f"1.0.1.claim.{gone.pid}.new").touch()
    (live / f"1.0.1.claim.{os.getpid()}.new").touch()
    engine = bed.ready()
    assert len(engine.take_faults()) == 2
    assert engine.take_faults() == ()
    left = {path.name for path in live.iterdir()}
    assert left == {"folder", "9" * 200 + ".0.1.claim", f"1.0.1.claim.{os.getpid()}.new"}
    engine.launch([assign(A, "exit 3")])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.code == 3


def test_the_shim_alone_writes_the_end_after_everybody_else_was_killed(root: LocalBed) -> None:
    """Its record is whole and can be read, whoever was the task's user."""
    go = root.starting / "go"
    one = assign(A, f"until [ -e {go} ]; do sleep 0.01; done; exit 7", user="nobody")
    engine = root.ready()
    engine.launch([one])
    started(root, engine, A)
    shim = shim_of(root.state, A)
    spawner = process(shim)
    assert spawner is not None
    os.kill(spawner.parent, signal.SIGKILL)
    root.close()
    go.touch()
    wait(root, lambda: process(shim) is None)
    end = end_of(root, root.ready(one), A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 7)


DEEP = """
if [ $1 -gt 0 ]; then sh $0 $(($1 - 1)); exit; fi
touch $2; exec sleep 1000
"""


def test_a_chain_of_processes_may_be_deep(bed: LocalBed) -> None:
    sign, script = bed.folder / "sign", bed.folder / "deep"
    script.write_text(DEEP.replace("$2", str(sign)))
    engine = bed.ready()
    bed.start(engine, assign(A, ("sh", str(script), "1100")), sign)
    assert len(list(descendants(shim_of(bed.state, A)))) == 1101
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert of(bed.state, A) == []
