"""The tables of a run beside the core's own: the clock, what jobs and tasks are measured by."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

NOT_YET = -1
"""A time in a record that has not come."""

VOID = -1
"""The key of a task whose completion is not in the queue."""

SLOT_BITS = 24
"""The low bits of a completion's key are the task's slot, the others count launches: the first
launched ends first. Tasks on machines at one time: 2^24."""


class Why(IntEnum):
    """Why the loop returns to Python."""

    DONE = 0  # nothing more will happen by itself
    JOBS = 1  # the chunk of jobs is used up
    STOP = 2  # the next instant is not before `stop`
    BUDGET = 3  # enough for one call: let Ctrl-C through, show progress
    RECORDS = 4  # a buffer of records is full
    QUEUE = 5  # the queue of completions is full
    FULL = 6  # one of the core's tables is full: `full` says which
    ADVICE = 7  # jobs came or went: the exact allocation is another one
    POOLS = 8  # jobs came or went: what pools weigh is another thing
    ROUND = 9  # the core is to decide, with preemption between its launches


class Phase(IntEnum):
    """The steps of the present instant."""

    OVER = 0  # all of it was decided
    EVENTS = 1  # its events are being applied
    ASK = 2  # they are; what must be known before the core decides may not be
    DECIDE = 3  # the decisions are not complete
    LAUNCH = 4  # they lie in the core's `out`


CLOCK = np.dtype(
    [
        ("now", np.int64),
        ("phase", np.int64),
        ("stop", np.int64),
        ("budget", np.int64),  # instants and launches per call
        ("full", np.int64),
        ("at", np.int64),  # next job of the chunk
        ("jobs", np.int64),  # of the chunk
        ("last", np.int64),  # no chunk comes after it
        ("queue", np.int64),  # entries in the queue of completions
        ("jobs_so_far", np.int64),
        ("tasks_so_far", np.int64),
        ("launches", np.int64),
        ("placed", np.int64),
        ("finished", np.int64),
        ("lost", np.int64),
        ("over", np.int64),  # jobs
        ("end", np.int64),  # time of the last event
        ("keep_jobs", np.int64),
        ("keep_tasks", np.int64),
        ("job_records", np.int64),
        ("task_records", np.int64),
        ("exact", np.int64),  # the exact allocation is wanted: by the rule, or for guarantees
        ("advise_at", np.int64),  # not before this moment
        ("advised", np.int64),  # jobs that had come and gone when it last was given
        ("pools", np.int64),  # tenants have pools
        ("weighed", np.int64),  # jobs that had come and gone when these were last weighed
        ("preempts", np.int64),  # tasks are stopped for those below their guarantees
        ("preempt_at", np.int64),  # somebody will have been below it for long enough
        ("may_help", np.int64),  # machines will come, or change
        ("stopped", np.int64),  # of those lost
        ("dead", np.int64),  # durations of jobs that are over
    ],
    align=True,
)

CHUNK = np.dtype(
    [
        ("submit", np.int64),
        ("number", np.int64),  # in the workload's stream
        ("owner", np.int64),  # tenant in the workload
        ("first", np.int64),  # of its durations
        ("durations", np.int64),
        ("tasks", np.int64),
        ("gang", np.int64),
        ("patience", np.int64),
        ("expected", np.int64),
        ("unit", np.int64),
        ("scale", np.float64),
        ("signature", np.uint64),
        ("tenant", np.int32),  # slot; NONE: the job is its own
        ("spread", np.int8),
        ("usable", np.int8),
    ],
    align=True,
)
"""Jobs that the loop submits when their time comes."""

JOB_SIDE = np.dtype(
    [
        ("number", np.int64),  # in the workload's stream
        ("tenant", np.int64),  # in the workload
        ("submitted", np.int64),
        ("first_start", np.int64),
        ("finished", np.int64),
        ("launches", np.int64),
        ("waited", np.int64),
        ("work", np.int64),
        ("longest", np.int64),
        ("first", np.int64),  # of its durations
        ("durations", np.int64),  # 1: all tasks take the same time
        ("total", np.int64),
        ("used", np.int64),
    ],
    align=True,
)

TASK_SIDE = np.dtype(
    [
        ("key", np.int64),  # of its completion in the queue; an entry with another key is void
        ("since", np.int64),  # waits, or waited, from here
        ("duration", np.int64),
    ],
    align=True,
)

JOB_RECORD = (
    *("number", "tenant", "submitted", "first_start", "completed", "tasks", "finished"),
    *("launches", "waited", "work", "longest"),
)
"""The columns of a job's record, as `JobRecords` names them."""

TASK_RECORD = ("job", "task", "attempt", "machine", "waiting_since", "start", "end", "lost")
"""The columns of a task's record, as `TaskRecords` names them."""
