"""One Ray cluster for all tests of this folder: it takes half a minute and 0.7 GB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.engines.ray import line
from tests.engines.lasting import Lasting
from tests.engines.ray.ground import KEPT_FOR_LONG, Ground, RayBed, RayService
from tests.engines.ray.lines import LONG

CLUSTER = Lasting(lambda: Ground(nodes=1), Ground.down)


@pytest.fixture(scope="module")
def ground(request: pytest.FixtureRequest) -> Ground:
    """A head and a node: each more is three processes and a worker for what uses all of them."""
    return CLUSTER.until_folder_is_done(request)


@pytest.fixture(scope="module")
def ray_service(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> RayService:
    """A service as old as the ground: its launcher, and the workers that run its tasks, which no
    other launcher can have, take longer to start than most tests."""
    if ground.service is None:
        ground.service = RayService(tmp_path_factory.mktemp("service"), kept=KEPT_FOR_LONG)
    return ground.service


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
