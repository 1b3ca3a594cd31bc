"""From what Slurm says of a job, and what its script wrote down, to how an attempt ended."""

from __future__ import annotations

import os
import signal

from fairlead.engines.interface import Attempt, Cause, Ended, Lost
from fairlead.engines.slurm.placing.batch import NO_FOLDER, TAKEN
from fairlead.engines.slurm.reading.values import SlurmJob

SIGNALS = 64
"""A shell says 128 and the signal of a command that was killed by one of these."""

FAILED_NODE = frozenset({"NODE_FAIL", "BOOT_FAIL"})

BY_HAND = "it was cancelled in Slurm"
UNKNOWN = "Slurm does not know it any more, and its script wrote no end down"
UNWRITTEN = "its script wrote no end down"

End = tuple[str, int, int]


def end_of(
    attempt: Attempt,
    job: SlurmJob | None,
    started: int | None,
    end: End | None,
    stopped: Cause | None,
    now: int,
) -> Ended | Lost:
    """The end of an attempt whose job is over, or not known any more. `started`: None where it
    never did, and never will; `end`: what its script wrote; `stopped`: why the engine stopped it.
    Times are in microseconds."""
    if started is None:
        return _unstarted(attempt, job, stopped)
    if end is not None and not _was_ended(job, end, stopped):
        return _own_end(attempt, started, end)
    over = max(started, job.ended * 1_000_000 if job is not None and job.ended else now)
    state = "" if job is None else job.state
    if stopped is not None and state not in FAILED_NODE:
        return Ended(attempt, stopped, signal.SIGTERM, over, started)
    if job is None:
        return Lost(attempt, True, UNKNOWN, machine_at_fault=False)
    if state in FAILED_NODE:
        return Lost(attempt, True, f"its node failed (Slurm says {state})")
    if state == "PREEMPTED":
        return Lost(attempt, True, "Slurm preempted it", machine_at_fault=False)
    if state == "TIMEOUT":
        return Ended(attempt, Cause.TIME_LIMIT, signal.SIGTERM, over, started)
    if state == "OUT_OF_MEMORY":
        return Ended(attempt, Cause.MEMORY, signal.SIGKILL, over, started)
    if state == "CANCELLED":
        return Ended(attempt, Cause.SIGNALLED, signal.SIGTERM, over, started, BY_HAND)
    if os.WIFSIGNALED(job.exit):
        return _killed(attempt, os.WTERMSIG(job.exit), over, started)
    # Slurm's code may be that of another run, which found no permit.
    return Lost(attempt, True, UNWRITTEN, machine_at_fault=False)


def _was_ended(job: SlurmJob | None, end: End, stopped: Cause | None) -> bool:
    """Whether the script wrote down the signal by which Slurm ended its command: where the command
    hears of it first (as by proctrack/linuxproc, and where its memory is over), the script has time
    to. Then Slurm knows why."""
    if not _is_of_signal(end[1]):
        return False
    return stopped is not None if job is None else job.state not in ("COMPLETED", "FAILED")


def _is_of_signal(code: int) -> bool:
    return 128 < code <= 128 + SIGNALS


def may_write(job: SlurmJob) -> bool:
    """Whether the script of a job that is over ended by itself, and so wrote its end down."""
    own = not os.WIFSIGNALED(job.exit) and not had_no_permit(job)
    return job.state in ("COMPLETED", "FAILED") and own


def had_no_permit(job: SlurmJob) -> bool:
    """Whether it is over because its attempt's permit was gone."""
    return job.state == "FAILED" and job.exit == TAKEN << 8


def _unstarted(attempt: Attempt, job: SlurmJob | None, stopped: Cause | None) -> Ended | Lost:
    if stopped is not None:
        return Lost(attempt, False, "it was stopped before it started", machine_at_fault=False)
    if job is None:
        return Lost(attempt, False, "Slurm lost it before it started", machine_at_fault=False)
    if job.state == "CANCELLED":
        # Somebody did not want it: it is not submitted again.
        return Ended(attempt, Cause.SIGNALLED, signal.SIGTERM, job.ended * 1_000_000, None, BY_HAND)
    if job.state in ("COMPLETED", "FAILED"):
        why = "its job ran and did not find its folder: does the node see the state folder?"
        return Lost(attempt, False, why)
    return Lost(attempt, False, f"it did not start (Slurm says {job.state})")


def _own_end(attempt: Attempt, started: int, end: End) -> Ended:
    word, code, time = end
    time = max(started, time)
    if word == "missed":
        why = "its folder cannot be entered" if code == NO_FOLDER else "there is no such program"
        return Ended(attempt, Cause.NOT_STARTED, code, time, None, f"{why} on its node")
    if _is_of_signal(code):
        return _killed(attempt, code - 128, time, started)
    return Ended(attempt, Cause.EXITED, code, time, started)


def _killed(attempt: Attempt, number: int, time: int, started: int) -> Ended:
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    return Ended(attempt, Cause.SIGNALLED, number, time, started, f"killed by {name}")
