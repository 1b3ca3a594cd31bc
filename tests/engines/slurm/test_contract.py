"""Jobs of a real Slurm keep the contract that every engine keeps."""

from __future__ import annotations

import pytest

from tests.engines.contract import Bed, EngineContract
from tests.engines.slurm.bed import SlurmBed, fixture_bed

__all__ = ["fixture_bed"]

pytestmark = pytest.mark.slow


class TestContract(EngineContract):
    """The common suite."""

    @pytest.fixture
    def bed(self, bed: SlurmBed) -> Bed:
        return bed
