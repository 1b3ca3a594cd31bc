"""Forgets jobs that have been over for long enough, and keys that are old enough."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from fairlead.service.loop.step import Step
from fairlead.service.records.book import Kept, Records
from fairlead.service.records.jobs import JobRecord
from fairlead.service.settings import Retention

AT_ONCE = 100
"""Jobs that a step forgets at most, so that it stays short."""

SLACK = 24
"""Keys are kept longer by this part of their time, so that one entry forgets many."""


def forget_old(step: Step, retention: Retention) -> None:
    """Forgets jobs that are over: those that are old enough, and of what is too much the first of
    whichever tenant has most. What may still run on a machine that is away is not forgotten."""
    for job in _forgettable(step.records, step.records.over):
        if len(step.removals) == AT_ONCE or _end_time(job) + retention.time > step.time:
            break
        step.forget(job)
    _forget_most(step, retention.jobs, lambda kept: len(kept.jobs), lambda _: 1)
    _forget_most(step, retention.tasks, lambda kept: kept.rows, lambda job: job.rows)
    _forget_most(step, retention.bytes, lambda kept: kept.bytes, lambda job: job.bytes + job.ends)
    _forget_most(step, retention.output, lambda kept: kept.output, lambda job: job.output)
    expiry = _keys_expire(step.records, retention)
    if expiry is not None and expiry <= step.time:
        step.note("keys_forgotten", before=step.time - retention.keys)


def due(records: Records, retention: Retention) -> int | None:
    """The time at which the next job has been over for long enough, or the next keys are old
    enough; None if there are none."""
    first = next(_forgettable(records, records.over), None)
    times = [] if first is None else [_end_time(first) + retention.time]
    expiry = _keys_expire(records, retention)
    return min(times if expiry is None else [*times, expiry], default=None)


def _forget_most(
    step: Step,
    most: int,
    amount: Callable[[Kept], int],
    part: Callable[[JobRecord], int],
) -> None:
    """Forgets jobs until so much is left: each time the first one of the tenant that has most then,
    so that nobody loses a job to one who has more. Of several with as much, whose ended first."""
    records = step.records
    gone = [records.jobs[number] for number in step.removals]
    surplus = sum(map(amount, records.kept.values())) - sum(map(part, gone)) - most
    if surplus <= 0 or len(step.removals) >= AT_ONCE:
        return
    queue: list[tuple[int, int, int, JobRecord, Iterator[JobRecord]]] = []

    def offer(left: int, jobs: Iterator[JobRecord]) -> None:
        job = next((each for each in jobs if each.id not in step.removals), None)
        if job is not None:
            heapq.heappush(queue, (-left, _end_time(job), job.id, job, jobs))

    taken: dict[str | None, int] = {}
    for job in gone:
        taken[job.job.tenant] = taken.get(job.job.tenant, 0) + part(job)
    for tenant, kept in records.kept.items():
        offer(amount(kept) - taken.get(tenant, 0), _forgettable(records, kept.jobs))
    while queue and surplus > 0 and len(step.removals) < AT_ONCE:
        negative, _, _, job, jobs = heapq.heappop(queue)
        step.forget(job)
        surplus -= part(job)
        offer(-negative - part(job), jobs)


def _forgettable(records: Records, numbers: dict[int, None]) -> Iterator[JobRecord]:
    """Those of the jobs of which nothing may still run."""
    return (records.jobs[number] for number in numbers if number not in records.away)


def _keys_expire(records: Records, retention: Retention) -> int | None:
    """When the oldest key is old enough for an entry of its own."""
    oldest = next(iter(records.keys.values()), None)
    return None if oldest is None else oldest.time + retention.keys + retention.keys // SLACK


def _end_time(job: JobRecord) -> int:
    assert job.ended is not None  # it is over
    return job.ended
