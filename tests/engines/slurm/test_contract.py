"""Jobs of a real Slurm keep the contract that every engine keeps."""

from __future__ import annotations

import pytest

from fairlead.cli.serving.anew import NewJournal
from fairlead.engines.interface import Cause, Ended, Stream
from fairlead.service.journal.places import open_store
from tests.engines.contract import Bed, Doing, EngineContract, begun, end_of, new_attempts
from tests.engines.slurm.bed import SlurmBed, fixture_bed

__all__ = ["fixture_bed"]

pytestmark = pytest.mark.slow


class TestContract(EngineContract):
    """The common suite."""

    @pytest.fixture
    def bed(self, bed: SlurmBed) -> Bed:
        return bed

    def test_what_ended_in_a_journal_that_is_gone_is_not_taken_for_what_has_its_name(
        self, bed: SlurmBed
    ) -> None:
        """Its folder is there, as nobody forgot it."""
        engine, (one, other, _) = bed.engine(), new_attempts()
        engine.reconcile([], 57)
        engine.launch([bed.assignment(one, Doing.PRINTING), bed.assignment(other, Doing.LASTING)])
        end = end_of(bed, engine, one)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 0)
        engine.acknowledge([end])
        begun(bed, engine, other)
        bed.close()
        store = open_store(bed.state, None, NewJournal(bed.state, asked=True))
        store.close()
        engine = bed.engine()
        # The journal held both launches before Slurm could be asked for the first time.
        new = [bed.assignment(one, Doing.BADLY), bed.assignment(other, Doing.BADLY)]
        assert set(engine.reconcile(new, 1)) == {one, other}
        engine.launch(new)
        for each in (one, other):
            end = end_of(bed, engine, each)
            assert isinstance(end, Ended)
            assert (end.cause, end.code) == (Cause.EXITED, 3)
        assert engine.output(one, Stream.OUT, 0, 100).data == b""
        engine.close()
