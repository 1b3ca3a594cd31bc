"""The model of Slurm, beside the real one: what both say of the same jobs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.engines.interface import Attempt
from fairlead.engines.slurm.placing.batch import claim, script, words
from fairlead.engines.slurm.placing.controller import Commands, Controller, Submission
from tests.cli.live.place import until
from tests.engines.slurm.bed import SlurmBed, assign, fixture_bed
from tests.engines.slurm.model import CPUS, SlurmModel

__all__ = ["fixture_bed"]

pytestmark = pytest.mark.slow


def submit(slurm: Controller, work: Path, number: int, seconds: int, code: int, node: str) -> int:
    """A job with all CPUs of a node, and its permit; without one, where the number is 0."""
    folder = work / f"{number}.0.1"
    folder.mkdir(parents=True)
    permit = folder / "permit-1"
    if number:
        permit.touch()
    asked = assign(Attempt(number, 0, 1), ("last", str(seconds), str(code)), node)
    asked_words = words(asked, "fair", claim("tests", asked.attempt), folder)
    full = [f"--cpus-per-task={CPUS}" if "cpus-per" in word else word for word in asked_words]
    text = script(asked, permit, None)
    return slurm.submit(Submission(full, text, None))


def story(
    slurm: Controller, work: Path, node: str, wait: Callable[[Callable[[], bool]], None]
) -> list[tuple[str, int]]:
    """States and exit codes of jobs, at moments that are awaited."""

    def all_seen(*numbers: int) -> list[tuple[str, int]]:
        jobs = {each.number: each for each in slurm.read().jobs if each.number in numbers}
        return [
            (job.state, job.exit if job.state in ("COMPLETED", "FAILED") else 0)
            for job in (jobs[number] for number in numbers)
        ]

    def seen(number: int) -> tuple[str, int]:
        return all_seen(number)[0]

    long = submit(slurm, work, 1, 1000, 0, node)
    wait(lambda: seen(long)[0] == "RUNNING")
    next_ = submit(slurm, work, 2, 0, 3, node)
    found = all_seen(long, next_)
    slurm.cancel((long,))
    wait(lambda: seen(long)[0] not in ("RUNNING", "COMPLETING"))
    found.append(seen(long))
    wait(lambda: seen(next_)[0] == "FAILED")
    found.append(seen(next_))
    without = submit(slurm, work, 0, 5, 0, node)
    well = submit(slurm, work, 3, 0, 0, node)
    wait(lambda: seen(well)[0] == "COMPLETED")
    found += all_seen(without, well)
    queued = submit(slurm, work, 4, 1000, 0, node)
    behind = submit(slurm, work, 5, 1000, 0, node)
    slurm.cancel((behind, 99_999_999))
    wait(lambda: seen(queued)[0] == "RUNNING")
    found.append(seen(behind))
    slurm.cancel((queued,))
    wait(lambda: seen(queued)[0] == "CANCELLED")
    claims = sorted(each.parent.name for each in work.glob("*/claim"))
    return [*found, *((name, 0) for name in claims)]


def test_both_say_the_same(bed: SlurmBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last = tmp_path / "last"
    last.write_text('#!/bin/sh\nsleep "$1"; exit "$2"\n')
    shutil.copymode("/bin/sh", last)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    real = story(Commands(), bed.folder / "real", "c5", until)
    model = SlurmModel()

    def pass_time(seen: Callable[[], bool]) -> None:
        for _ in range(1000):
            if seen():
                return
            model.pass_time(1)
        raise AssertionError("it never came to be so")

    assert story(model, bed.folder / "model", "n1", pass_time) == real
