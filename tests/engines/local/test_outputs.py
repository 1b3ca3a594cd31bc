"""What is kept of what tasks write."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended, Stream
from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.local.outputs import NOTICE, UNSEEN, Missing, Outputs
from tests.engines.contract import collect, end_of, started
from tests.engines.local.bed import CLUSTER, LocalBed, assign, fixture_bed

__all__ = ["fixture_bed"]

A = Attempt(1, 0, 1)
MOST = 100_000


@pytest.fixture(name="engine")
def make_engine(bed: LocalBed) -> LocalEngine:
    engine = LocalEngine(bed.state, CLUSTER, 1.0, most_output=MOST)
    bed.engines.append(engine)
    engine.reconcile([])
    return engine


def kept(engine: LocalEngine, stream: Stream = Stream.OUT) -> bytes:
    return engine.output(A, stream, 0, 10 * MOST).data


def size(bed: LocalBed) -> int:
    """Bytes of all outputs on the disk."""
    return sum(path.stat().st_size for path in (bed.state / "local" / "output").rglob("*.std*"))


def test_a_task_that_writes_without_end_fills_no_disk_and_runs_on(
    bed: LocalBed, engine: LocalEngine
) -> None:
    sign = bed.folder / "sign"
    engine.launch([assign(A, f"yes & yes >&2 & sleep 0.5; touch {sign}; wait")])
    collect(bed, engine, lambda _: sign.exists() and b"[fairlead" in kept(engine))
    collect(bed, engine, lambda _: size(bed) > MOST)
    before = size(bed)
    assert before <= MOST + 2 * len(NOTICE.format(MOST))
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert size(bed) <= MOST + 2 * len(NOTICE.format(MOST))


@pytest.mark.parametrize("stream", [Stream.OUT, Stream.ERR])
def test_an_output_that_was_cut_says_so_and_so_does_its_end(
    bed: LocalBed, engine: LocalEngine, stream: Stream
) -> None:
    to = "" if stream is Stream.OUT else " >&2"
    engine.launch([assign(A, f"(head -c {MOST + 1} /dev/zero; echo after){to}; exit 3")])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 3)  # what it did is its own affair
    assert "longer than what is kept" in end.message
    assert kept(engine, stream) == bytes(MOST) + NOTICE.format(MOST).encode()


def test_an_output_of_exactly_what_is_kept_is_whole(bed: LocalBed, engine: LocalEngine) -> None:
    engine.launch([assign(A, f"head -c {MOST - 3} /dev/zero; echo ab")])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.code, end.message) == (0, "")
    assert kept(engine) == bytes(MOST - 3) + b"ab\n"


def test_both_outputs_count_together(bed: LocalBed, engine: LocalEngine) -> None:
    half = MOST // 2
    engine.launch([assign(A, f"head -c {half} /dev/zero; head -c {MOST} /dev/zero >&2")])
    end_of(bed, engine, A)
    assert len(kept(engine)) == half
    assert len(kept(engine, Stream.ERR)) == MOST - half + len(NOTICE.format(MOST))


def test_what_a_tenant_has_room_for_is_kept_where_that_is_less(
    bed: LocalBed, engine: LocalEngine
) -> None:
    engine.launch([replace(assign(A, f"head -c {MOST} /dev/zero"), room=10)])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert "what its tenant had room for" in end.message
    assert kept(engine) == bytes(10) + NOTICE.format(10).encode()
    assert end.output == len(kept(engine))


def test_outputs_of_attempts_that_run_are_cut_together(bed: LocalBed) -> None:
    engine = bed.ready()
    loud, other = [Attempt(1, task, 1) for task in range(3)], Attempt(2, 0, 1)
    flood = f"while sleep 0.01; do head -c {UNSEEN // 8} /dev/zero; done"
    engine.launch([assign(one, flood) for one in loud])
    engine.launch([replace(assign(other, "echo heard; exec sleep 1000"), tenant="another")])
    started(bed, engine, *loud)
    collect(bed, engine, lambda _: size(bed) > 2 * UNSEEN)
    engine.limit_outputs({"the tenant": 100 * UNSEEN, "another": 100})
    assert not list((bed.state / "local" / "live").glob("*.cut"))
    engine.limit_outputs({"the tenant": UNSEEN})
    most = size(bed) + len(loud) * (UNSEEN + UNSEEN // 8)  # until each looks again

    def cut(one: Attempt) -> bool:
        return b"is left out]" in engine.output(one, Stream.OUT, -100, 100).data

    collect(bed, engine, lambda _: all(map(cut, loud)))
    assert size(bed) <= most
    engine.cancel(loud)
    for one in loud:
        end = end_of(bed, engine, one)
        assert isinstance(end, Ended)
        assert end.cause is Cause.STOPPED  # it ran on till then
        assert end.output == engine.output(one, Stream.OUT, 0, 0).size
        engine.acknowledge([end])
    assert engine.output(other, Stream.OUT, 0, 100).data == b"heard\n"
    assert not list((bed.state / "local" / "live").glob("1.*"))


def test_a_folder_of_outputs_goes_with_the_last_of_them(bed: LocalBed) -> None:
    engine = bed.ready()
    for number in (1, 2):  # it is made again
        mine, other = Attempt(1, 0, number), Attempt(2, 0, number)
        engine.launch([assign(mine, "echo mine"), assign(other, "echo other")])
        engine.acknowledge([end_of(bed, engine, mine), end_of(bed, engine, other)])
        engine.forget([mine])
        assert engine.output(other, Stream.OUT, 0, 10).data == b"other\n"
        engine.forget([other])
        assert list((bed.state / "local" / "output").iterdir()) == []


def test_the_last_words_of_a_task_are_there_once_it_is_over(bed: LocalBed) -> None:
    engine = bed.ready()
    attempts = [Attempt(2, task, 1) for task in range(50)]
    engine.launch([assign(one, "printf x; kill -9 $$") for one in attempts])
    for one in attempts:
        end_of(bed, engine, one)
        assert engine.output(one, Stream.OUT, 0, 10).data == b"x"


def test_what_a_task_leaves_behind_does_not_hold_up_its_end(bed: LocalBed) -> None:
    engine = bed.ready()
    engine.launch([assign(A, "yes & sleep 1000 & exit 5")])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 5)


def test_a_disk_that_is_full_ends_no_task_and_is_said(tmp_path: Path) -> None:
    """/dev/full is one."""
    full, other = (
        os.open("/dev/full", os.O_WRONLY),
        os.open(tmp_path / "x", os.O_WRONLY | os.O_CREAT),
    )
    outputs = Outputs((full, other), MOST, None)
    command = [sys.executable, "-c", "print('x' * 10); import sys; sys.exit(7)"]
    task = subprocess.Popen(command, stdout=outputs.writing[0], stderr=outputs.writing[1])
    outputs.close_writing()
    outputs.pass_on(task.pid)
    assert task.wait() == 7
    assert outputs.missing is Missing.NOT_WRITTEN
    for one in (full, other):
        os.close(one)
