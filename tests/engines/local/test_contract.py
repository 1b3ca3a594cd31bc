"""Local processes keep the contract that every engine keeps."""

from __future__ import annotations

import pytest

from tests.engines.contract import Bed, EngineContract
from tests.engines.local.bed import LocalBed, fixture_bed

__all__ = ["fixture_bed"]


class TestContract(EngineContract):
    """The common suite."""

    @pytest.fixture
    def bed(self, bed: LocalBed) -> Bed:
        return bed
