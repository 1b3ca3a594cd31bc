"""How an attempt ended, by what Slurm says of its job and what its script wrote down."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended
from fairlead.engines.slurm.placing.ends import end_of
from fairlead.engines.slurm.reading.values import SlurmJob
from tests.engines.slurm.test_viewing import job as held

A = Attempt(1, 0, 1)

BY_TERM, BY_KILL, BY_CODE = ("exit", 143, 9_000_000), ("exit", 137, 9_000_000), ("exit", 3, 9)


def over(state: str) -> SlurmJob:
    """A job that is."""
    return replace(held(7), state=state, ended=9)


@pytest.mark.parametrize(
    ("job", "end", "stopped", "cause"),
    [
        (over("CANCELLED"), BY_TERM, Cause.STOPPED, Cause.STOPPED),
        (over("CANCELLED"), BY_TERM, Cause.TIME_LIMIT, Cause.TIME_LIMIT),
        (over("TIMEOUT"), BY_TERM, None, Cause.TIME_LIMIT),
        (over("OUT_OF_MEMORY"), BY_KILL, None, Cause.MEMORY),
        (None, BY_TERM, Cause.STOPPED, Cause.STOPPED),
        # What ended by itself, or by a signal of its own, is as its script says.
        (over("CANCELLED"), BY_CODE, Cause.STOPPED, Cause.EXITED),
        (over("FAILED"), BY_KILL, Cause.STOPPED, Cause.SIGNALLED),
        (None, BY_KILL, None, Cause.SIGNALLED),
    ],
)
def test_a_signal_that_slurm_sent_is_told_by_slurms_reason(
    job: SlurmJob | None, end: tuple[str, int, int], stopped: Cause | None, cause: Cause
) -> None:
    found = end_of(A, job, 1, end, stopped, 10)
    assert isinstance(found, Ended)
    assert found.cause is cause
    if cause is Cause.EXITED:
        assert found.code == 3
    elif stopped is not None and cause is stopped:
        assert found.code == signal.SIGTERM
