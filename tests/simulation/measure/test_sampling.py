"""How often a run is sampled whose length chooses it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure import measures
from fairlead.simulation.measure.measures import Shares, Utilisation
from fairlead.simulation.measure.sampling import INTERVALS, MOST_SAMPLES, first_interval, longer
from fairlead.simulation.workloads.registry import generate

SECOND = 1_000_000


def test_each_interval_is_a_multiple_of_the_one_before() -> None:
    assert all(after % before == 0 for before, after in pairwise(INTERVALS))
    assert longer(INTERVALS[-1]) == 2 * INTERVALS[-1]


@pytest.mark.parametrize(
    "spec", ["table-ii(vary=0)", "tsf-study(machines=50, jobs=225, tasks=9000)"]
)
def test_a_run_has_hundreds_of_samples_however_long_it_is(spec: str, tmp_path: Path) -> None:
    workload = generate(spec, 0)
    sink = Utilisation(tmp_path / "utilisation.parquet")
    end = simulate(workload, sinks=[sink]).end
    assert sink.every is not None
    assert sink.every >= first_interval(workload)
    assert 100 < end / sink.every <= MOST_SAMPLES
    assert 100 < len(samples(sink.path)) <= MOST_SAMPLES


def samples(path: Path) -> list[int]:
    return sorted(set(pq.read_table(path)["time"].to_pylist()))


def test_a_short_run_keeps_every_sample(tmp_path: Path) -> None:
    chosen = Utilisation(tmp_path / "chosen.parquet")
    fixed = Utilisation(tmp_path / "fixed.parquet", SECOND)
    simulate(generate("table-ii(vary=0)", 0), sinks=[chosen, fixed])
    assert chosen.every == SECOND
    assert pq.read_table(chosen.path).equals(pq.read_table(fixed.path))


@pytest.mark.parametrize("sink", [Shares, Utilisation])
def test_a_run_that_is_longer_than_was_thought_is_sampled_as_by_the_longer_interval(
    sink: type[Shares | Utilisation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "MOST_SAMPLES", 50)
    chosen = sink(tmp_path / "chosen.parquet")
    workload = generate("table-ii(vary=0)", 0)
    simulate(workload, sinks=[chosen])
    assert chosen.every == 10 * SECOND  # of 437 seconds
    fixed = sink(tmp_path / "fixed.parquet", 10 * SECOND)
    simulate(workload, sinks=[fixed])
    assert samples(chosen.path) == samples(fixed.path)
    assert pq.read_table(chosen.path).equals(pq.read_table(fixed.path))


def test_rows_are_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_ROWS", 100)
    chosen = Utilisation(tmp_path / "chosen.parquet")
    simulate(generate("table-ii(vary=0)", 0), sinks=[chosen])
    assert pq.read_table(chosen.path).num_rows <= 100
    assert len(samples(chosen.path)) <= MOST_SAMPLES
