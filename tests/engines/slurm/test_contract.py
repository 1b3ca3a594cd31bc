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

    def test_of_a_journal_that_is_put_back_what_ended_since_is_told_as_it_ended(
        self, bed: SlurmBed
    ) -> None:
        """Also though that was acknowledged; what started since is stopped, and its number is
        another one's."""
        engine, (over, lasting, since) = bed.engine(), new_attempts()
        backup = [bed.assignment(over, Doing.BADLY), bed.assignment(lasting, Doing.LASTING)]
        engine.reconcile([], 2)
        engine.launch(backup)
        begun(bed, engine, lasting)
        end = end_of(bed, engine, over)
        engine.acknowledge([end])
        engine.launch([bed.assignment(since, Doing.LASTING)])
        begun(bed, engine, since)
        bed.close()
        engine = bed.engine()
        assert engine.reconcile(backup, 1_800_000_000) == []
        engine.launch([bed.assignment(since, Doing.PRINTING)])
        assert end_of(bed, engine, over) == end
        new = end_of(bed, engine, since)
        assert isinstance(new, Ended)
        assert (new.cause, new.code) == (Cause.EXITED, 0)
        assert engine.output(since, Stream.OUT, 0, 100).data == b"out\n"
        assert [bed.starts(each) for each in (over, lasting, since)] == [1, 1, 2]
        assert bed.runs(lasting)
        engine.close()
