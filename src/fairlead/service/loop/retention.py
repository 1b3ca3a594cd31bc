"""Forgets jobs that have been over for long enough."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.service.loop.step import Step
from fairlead.service.records.book import Records
from fairlead.service.records.jobs import JobRecord
from fairlead.service.settings import Retention

AT_ONCE = 100
"""Jobs that a step forgets at most, so that it stays short."""


def forget_old(step: Step, retention: Retention) -> None:
    """Forgets jobs that are over: the first of these first, until few and young enough are left.
    What may still run on a machine that is away is not forgotten."""
    records = step.records
    jobs, tasks = len(records.over) - len(step.removals), records.over_tasks
    many = 0
    for job in _forgettable(records):
        old = _ended(job) + retention.time <= step.time
        if many == AT_ONCE or not (old or jobs > retention.jobs or tasks > retention.tasks):
            return
        if job.id not in step.removals:
            step.forget(job)
            jobs, tasks, many = jobs - 1, tasks - job.tasks, many + 1


def due(records: Records, retention: Retention) -> int | None:
    """The time at which the next job has been over for long enough; None if none is over."""
    first = next(_forgettable(records), None)
    return None if first is None else _ended(first) + retention.time


def _forgettable(records: Records) -> Iterator[JobRecord]:
    """The jobs that are over, in the order of their ends, of which nothing may still run."""
    return (records.jobs[number] for number in records.over if number not in records.away)


def _ended(job: JobRecord) -> int:
    assert job.ended is not None  # it is over
    return job.ended
