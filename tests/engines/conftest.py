"""One Ray cluster for the whole test run: it takes half a minute and 0.7 GB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.engines.ray import line
from tests.engines.ray.ground import Ground, RayBed
from tests.engines.ray.lines import LONG


@pytest.fixture(scope="session")
def ground() -> Iterator[Ground]:
    """A head and two nodes."""
    made = Ground(nodes=2)
    yield made
    made.down()


@pytest.fixture
def ray_bed(ground: Ground, tmp_path: Path) -> Iterator[RayBed]:
    """A service's place on the ground, for one test."""
    assert ground.address
    bed = RayBed(tmp_path)
    yield bed
    bed.end()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides of a line wait for each other however busy the machine is."""
    monkeypatch.setattr(line, "PATIENCE", LONG)
