"""The engine on Ray keeps the contract, on a real cluster of several nodes."""

from __future__ import annotations

import pytest

from fairlead.engines.interface import Cause, Ended
from tests.engines.contract import Bed, Doing, EngineContract, begun, end_of, new_attempts
from tests.engines.ray.ground import RayBed, assign

pytestmark = pytest.mark.slow


class TestContract(EngineContract):
    """The common suite, with commands."""

    @pytest.fixture
    def bed(self, ray_bed: RayBed) -> Bed:
        return ray_bed

    @pytest.fixture
    def new_bed(self, new_ray_bed: RayBed) -> Bed:
        return new_ray_bed

    def test_what_ends_a_task_by_force_does_not_come_upon_another_one_of_its_name(
        self, ray_bed: RayBed
    ) -> None:
        engine, (one, _, _) = ray_bed.engine(), new_attempts()
        engine.reconcile([])
        engine.launch([ray_bed.assignment(one, Doing.LASTING)])
        begun(ray_bed, engine, one)
        engine.reconcile([])
        engine.launch([assign(one, "head", "sleep 3; exit 3")])  # it is asked again after a second
        end = end_of(ray_bed, engine, one)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 3)
        engine.close()
