"""The engine on Ray keeps the contract, on a real cluster of several nodes."""

from __future__ import annotations

import pytest

from tests.engines.contract import Bed, EngineContract
from tests.engines.ray.ground import RayBed

pytestmark = pytest.mark.slow


class TestContract(EngineContract):
    """The common suite, with commands."""

    @pytest.fixture
    def bed(self, ray_bed: RayBed) -> Bed:
        return ray_bed

    @pytest.fixture
    def new_bed(self, new_ray_bed: RayBed) -> Bed:
        return new_ray_bed
