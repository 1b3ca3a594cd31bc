"""A workload on the local engine: each task ran once, for as long as it was to, and not before its
job came."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fairlead.simulation.workload import Resource, Workload
from fairlead.simulation.workloads.draws import SECOND
from fairlead.studies.live import held, run_live
from fairlead.studies.runs import Load, workload

pytestmark = pytest.mark.slow

FASTER = 10.0


def two_jobs(*, tasks: int) -> Workload:
    """Two machines of two CPUs; the second job comes later and may use one of them."""
    jobs = (Load("a", tasks, (1,), 5.0), Load("b", 4, (1,), 5.0, start=4.0, on=("m2",)))
    one = (Resource("cpu", Fraction(1)),)
    return workload("two", one, ("m1", "m2"), np.full((2, 1), 2), jobs, seed=1)


def test_every_task_runs_once_and_as_long_as_it_was_drawn() -> None:
    work = two_jobs(tasks=6)
    spans = run_live(work, "tsf", FASTER)
    (batch,) = work.batches()
    assert {name: len(found) for name, found in spans.items()} == {"a": 6, "b": 4}
    for at, found in enumerate(spans.values()):
        times = batch.durations[batch.first[at] : batch.first[at + 1]] / SECOND
        assert (found[:, 0] >= batch.submit[at] / SECOND).all()
        # A sleep is never shorter than it was told to be; ends are seen later.
        assert (found[:, 1] - found[:, 0] >= times - 0.1).all()
    # Four CPUs, of which the second job may use two.
    counts = held(spans, int(max(found[:, 1].max() for found in spans.values())))
    assert counts.sum(axis=1).max() <= 4
    assert 1 <= counts[:, 1].max() <= 2


@pytest.mark.deep
def test_it_ends_when_it_was_told_to_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spans = run_live(two_jobs(tasks=1000), "tsf", FASTER, until=10.0)
    # All of them would take two minutes.
    assert len(spans["a"]) < 1000
    assert list(tmp_path.iterdir()) == []
