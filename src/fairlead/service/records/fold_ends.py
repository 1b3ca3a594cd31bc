"""The fold of what is kept of the ends of tasks: what there is to say of them, and attempts before
the last. A tenant that has its tasks fail again and again fills no memory with it."""

from __future__ import annotations

from fairlead.service.records.book import Records
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.sizes import attempt_bytes, why_bytes
from fairlead.service.records.tasks import AttemptRecord

KEPT_ATTEMPTS = 8
"""Attempts before the last that are kept of a task."""

MOST_ENDS = 64 * 2**20
"""Bytes of what is kept of the ends of a tenant's tasks, of jobs that are not over: the sentences,
and attempts before the last. What comes beyond is not kept."""


def archive(records: Records, job: JobRecord, task: int) -> None:
    """The task's last attempt becomes one before the last."""
    last = records.task(job, task)
    assert last.machine is not None and last.launched is not None  # it had an attempt
    attempt = AttemptRecord(
        attempt=last.attempt,
        machine=last.machine,
        outcome=last.outcome,
        code=last.code,
        launched=last.launched,
        started=last.started,
        ended=last.ended,
        why=last.why,
    )
    if job.why:
        _count_ends(records, job, -why_bytes(job.why.pop(task, "")))
        job.why = job.why or None
    if _has_room(records, job, attempt_bytes(attempt)):
        job.past = {} if job.past is None else job.past
        past = (*job.past.get(task, ()), attempt)
        if len(past) > KEPT_ATTEMPTS:
            _count_ends(records, job, -attempt_bytes(past[0]))
            past = past[1:]
        job.past[task] = past


def say(records: Records, job: JobRecord, task: int, why: str) -> None:
    """There is this to say of the end of the task's last attempt."""
    if why and _has_room(records, job, why_bytes(why)):
        job.why = {} if job.why is None else job.why
        job.why[task] = why


def _has_room(records: Records, job: JobRecord, size: int) -> bool:
    """Whether so much more is kept of ends of the job's tasks; it is counted then."""
    room = records.totals[job.tenant].ends + size <= MOST_ENDS
    if room:
        _count_ends(records, job, size)
    return room


def _count_ends(records: Records, job: JobRecord, size: int) -> None:
    job.ends += size
    records.totals[job.tenant].ends += size
