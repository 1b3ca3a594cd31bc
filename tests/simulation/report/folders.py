"""A study's folder, made by real runs, for the tests of the report."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.measure.crowded import FILE, Crowded
from fairlead.simulation.measure.distances import Distances
from fairlead.simulation.measure.measures import Jobs, Shares, Tasks, Utilisation
from fairlead.simulation.workloads.registry import generate
from tests.once import once

STEP = 5_000_000  # microseconds between samples

KINDS = ("delays", "speed-ups", "shares-1")
"""Plots, one of each kind that is drawn in its own way."""


RUNS = (("tsf", Kind.RESTRICTED, 0), ("tsf", Kind.RESTRICTED, 1), ("drfh", Kind.RESTRICTED, 0))


def kept_study(factory: pytest.TempPathFactory) -> Path:
    """Where a study with these runs is in `study`, and in `csv` the same with its tables as CSV, to
    be read by whoever asks: once for all files of tests."""

    def make(place: Path) -> None:
        study(place / "study", RUNS, as_csv=place / "csv")

    return once(factory, "report", make)


def study(
    path: Path,
    runs: tuple[tuple[str, Kind, int], ...],
    spec: str = "table-ii",
    as_csv: Path | None = None,
) -> Path:
    """The folder of a study with these runs (policy, kind of ideal scheduler, seed). `as_csv`: the
    folder of the same study with its tables as CSV."""
    places = {path: ".parquet"} | ({} if as_csv is None else {as_csv: ".csv"})
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / "study.json").write_text(
            json.dumps({"schema": "fairlead.simulation.study/1", "settings": {}}),
            encoding="utf-8",
        )
    for policy, kind, seed in runs:
        workload = generate(spec, seed)
        name = f"{policy},ideal-{kind.value},{seed}"
        sinks = [
            sink
            for folder, ending in ((place / name, ending) for place, ending in places.items())
            for sink in (
                Jobs(folder / f"jobs{ending}"),
                Tasks(folder / f"tasks{ending}"),
                Shares(folder / f"shares{ending}", STEP),
                Utilisation(folder / f"utilisation{ending}", STEP),
                Distances(40 * STEP, folder / f"distance{ending}"),
                Crowded(folder / FILE, 40 * STEP),
            )
        ]
        result = run_ideal(workload, kind, policy, seed=seed, sinks=sinks)
        content = {
            "schema": "fairlead.simulation.run/1",
            "workload": workload.name,
            "notes": list(workload.notes),
            "settings": {},
            "result": asdict(result),
        }
        for place in places:
            (place / name / "run.json").write_text(json.dumps(content), encoding="utf-8")
    return path
