"""The papers' two cases as files are what the generators make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fairlead.simulation.traces.own.form import Form
from fairlead.simulation.traces.own.reading import load
from fairlead.simulation.traces.own.writing import write
from fairlead.simulation.workloads.registry import generate

TRACES = Path(__file__).resolve().parents[3] / "examples" / "traces"
CASES = {"table-ii": "table-ii(vary=0)", "kdf-6.3": "kdf-6.3"}


def test_every_directory_of_traces_is_compared() -> None:
    assert sorted(path.name for path in TRACES.iterdir() if path.is_dir()) == sorted(CASES)


@pytest.mark.parametrize(("name", "spec"), CASES.items())
def test_the_files_hold_what_the_generator_makes(name: str, spec: str) -> None:
    filed, made = load(str(TRACES / name)), generate(spec, 0)
    for field in ("resources", "tenants", "terms", "jobs", "tasks", "notes", "options", "name"):
        assert getattr(filed, field) == getattr(made, field), field
    for field in ("names", "labels"):
        assert getattr(filed.machines, field) == getattr(made.machines, field)
    for field in ("time", "machine", "kind", "capacity"):
        assert (getattr(filed.machines, field) == getattr(made.machines, field)).all()
    (one,), (other,) = filed.batches(), made.batches()
    assert one.names == other.names
    for field in ("submit", "tenant", "demand", "tasks", "spread", "gang", "durations", "first"):
        assert (getattr(one, field) == getattr(other, field)).all(), field
    assert np.array_equal(one.needs, other.needs)


@pytest.mark.parametrize(("name", "spec"), CASES.items())
def test_writing_the_generator_gives_the_files(name: str, spec: str, tmp_path: Path) -> None:
    write(generate(spec, 0), tmp_path / name, Form.CSV)
    files = sorted(path.name for path in (TRACES / name).iterdir())
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == files
    for file in files:
        assert (tmp_path / name / file).read_bytes() == (TRACES / name / file).read_bytes()
