"""One Ray cluster for the whole test run: it takes half a minute and 0.7 GB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.engines.ray import line
from tests.engines.ray.ground import Ground, RayBed, RayService
from tests.engines.ray.lines import LONG


@pytest.fixture(scope="session")
def ground() -> Iterator[Ground]:
    """A head and a node: each more is three processes and a worker for what uses all of them."""
    made = Ground(nodes=1)
    yield made
    made.down()


@pytest.fixture(scope="session")
def ray_service(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayService]:
    """A service as old as the ground: its launcher, and the workers that run its tasks, take longer
    to start than most tests."""
    assert ground.address
    service = RayService(tmp_path_factory.mktemp("service"))
    yield service
    service.end()


@pytest.fixture
def ray_bed(ray_service: RayService, tmp_path: Path) -> Iterator[RayBed]:
    """A place on the ground for one test, whose attempts are its own (`new_attempts`)."""
    bed = RayBed(tmp_path, ray_service)
    yield bed
    bed.leave()


@pytest.fixture
def new_ray_bed(ground: Ground, tmp_path: Path) -> Iterator[RayBed]:
    """The same with a service of its own, of which Ray has not heard."""
    assert ground.address
    service = RayService(tmp_path / "state")
    yield RayBed(tmp_path, service)
    service.end()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides of a line wait for each other however busy the machine is."""
    monkeypatch.setattr(line, "PATIENCE", LONG)
