"""A shim that stood still while the service was started anew has no attempt of the next one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended
from fairlead.engines.local import record_file, shim
from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.local.spawner import CLAIMING
from tests.engines.contract import wait
from tests.engines.local.bed import LocalBed, assign, fixture_bed

__all__ = ["fixture_bed"]

A, B = Attempt(1, 0, 1), Attempt(2, 0, 1)


def claims_of(bed: LocalBed) -> list[Path]:
    """The folders in which claims are written."""
    return list((bed.state / "local").glob(f"{CLAIMING}*"))


@contextmanager
def late_shim(bed: LocalBed, patch: pytest.MonkeyPatch, linking: bool) -> Iterator[int]:
    """A shim of the spawner of now, of attempt A, which stops itself right before its claim: before
    it writes that, or (`linking`) before it gives it its name."""
    create, link = record_file.create, os.link

    def stop() -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    def late_create(*given: Any) -> bool:
        stop()
        return create(*given)

    def late_link(*given: Any, **more: Any) -> None:
        stop()
        link(*given, **more)

    with patch.context() as during:
        if linking:
            during.setattr(os, "link", late_link)
        else:
            during.setattr(shim, "create", late_create)
        (claiming,) = claims_of(bed)
        ran = bed.folder / "old"
        argv = [b"/bin/sh", b"-c", f"echo >{ran}".encode()]
        records = os.open(bed.state / "local" / "live", os.O_RDONLY | os.O_DIRECTORY)
        nothing = os.open(os.devnull, os.O_RDWR)
        outputs = (os.dup(nothing), os.dup(nothing))
        order = shim.Order(
            *(str(A), argv, {}, b"/", outputs, None, None),
            *({}, 1000, 1.0, f"../{claiming.name}"),
        )
        pid = shim.fork(order, records, nothing)
        for each in (records, nothing, *outputs):
            os.close(each)
    os.waitpid(pid, os.WUNTRACED)
    yield pid
    assert not ran.exists()


def ended(bed: LocalBed, engine: LocalEngine, attempt: Attempt) -> Ended:
    """How it ended."""
    found: list[Ended] = []

    def over() -> bool:
        found.extend(one for one in engine.poll() if isinstance(one, Ended))
        return any(one.attempt == attempt for one in found)

    wait(bed, over)
    return next(one for one in found if one.attempt == attempt)


@pytest.mark.parametrize("linking", [False, True])
@pytest.mark.parametrize("killed", [False, True])
def test_a_shim_that_stood_still_for_a_start_claims_nothing(
    bed: LocalBed, monkeypatch: pytest.MonkeyPatch, linking: bool, killed: bool
) -> None:
    """It ran what a journal that is gone had asked for, under the number of what the next one asks
    for, which never ran. `killed`: what starts tasks was, and another one is there."""
    engine = bed.ready()
    engine.launch([assign(B, "true")])  # a spawner makes its folder when it starts something
    ended(bed, engine, B)
    with late_shim(bed, monkeypatch, linking) as late:
        if killed:
            spawner = engine._spawner  # noqa: SLF001  what is to be killed
            assert spawner is not None
            os.kill(spawner.pid, signal.SIGKILL)
            spawner._process.wait()  # noqa: SLF001  or what follows finds it alive
            engine.reconcile([], 2)
        else:
            engine = bed.ready()
        os.kill(late, signal.SIGCONT)
        _, status = os.waitpid(late, 0)
        assert os.waitstatus_to_exitcode(status) == shim.NOT_RUN
        engine.launch([assign(A, "exit 3")])
        end = ended(bed, engine, A)
    assert (end.cause, end.code) == (Cause.EXITED, 3)
    assert len(claims_of(bed)) == 1
    assert engine.take_faults() == ()


def test_where_its_folder_is_gone_the_spawner_makes_another_one(bed: LocalBed) -> None:
    """As a task of the service's user can have removed it."""
    engine = bed.ready()
    engine.launch([assign(B, "true")])
    ended(bed, engine, B)
    (claiming,) = claims_of(bed)
    claiming.rmdir()
    engine.launch([assign(A, "true")])
    assert ended(bed, engine, A).code == 0


def test_what_cannot_be_removed_keeps_no_spawner_from_starting(bed: LocalBed) -> None:
    engine = bed.ready()
    (bed.state / "local" / f"{CLAIMING}x" / "below").mkdir(parents=True)
    (bed.state / "local" / f"{CLAIMING}y").write_text("no folder")
    engine = bed.ready()
    engine.launch([assign(A, "true")])
    assert ended(bed, engine, A).code == 0
    assert engine.take_faults() == ()
