"""The engine on Ray keeps the contract, on a real cluster of several nodes."""

from __future__ import annotations

import pytest

from fairlead.engines.interface import Cause, Ended, Lost, Stream
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

    def test_what_ended_after_the_backup_of_a_journal_is_done_again(self, ray_bed: RayBed) -> None:
        """It runs by what was put back; nobody forgot what it wrote the first time."""
        engine, (one, other, _) = ray_bed.engine(), new_attempts()
        engine.reconcile([])
        engine.launch([ray_bed.assignment(each, Doing.PRINTING) for each in (one, other)])
        engine.acknowledge([end_of(ray_bed, engine, each) for each in (one, other)])
        assert engine.output(one, Stream.OUT, 0, 100).data == b"out\n"
        engine.close()
        engine = ray_bed.engine()
        new = [ray_bed.assignment(each, Doing.BADLY) for each in (one, other)]
        assert engine.reconcile(new) == [one, other]
        engine.launch(new[:1])
        engine.cancel([other])
        end, lost = (end_of(ray_bed, engine, each) for each in (one, other))
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 3)
        assert isinstance(lost, Lost)
        assert not lost.started
        for each in (one, other):
            assert engine.output(each, Stream.OUT, 0, 100).data == b""
        assert (ray_bed.starts(one), ray_bed.starts(other)) == (2, 1)
        engine.acknowledge([end, lost])
        engine.cancel([one])  # as where its machine was given up in that moment
        assert engine.poll() == []
        engine.close()

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
