"""Rows of jobs in answers: thousands are written in parts, between which others have a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from fairlead.model.plain import Plain
from fairlead.scheduling.transitions import TaskState
from fairlead.service.requests import SubmittedJobs
from fairlead.wire import jobs as wire
from fairlead.wire.jobs import JobRow, Jobs, Submitted, TaskCounts
from fairlead.wire.kinds import JobState

SCHEMA = Jobs.model_fields["schema_"].default

COUNTED = tuple(state.name.lower() for state in TaskState)

PART = 200
"""Jobs of an answer that are read, or written, before others have a turn: half a millisecond."""


@dataclass(frozen=True, slots=True)
class Row:
    """A copy of a job, made in the loop's thread, where there is no time to lose."""

    id: int
    name: str
    tenant: str
    state: str
    counts: tuple[int, ...]
    submitted: int
    ended: int | None
    plain: Plain | None = None
    reason: str | None = None
    by: str | None = None
    own: bool = False  # of who asks


def to_wire(row: Row) -> JobRow:
    """The job as everybody may see it."""
    return JobRow(
        name=row.name,
        id=row.id,
        tenant=row.tenant,
        state=JobState(row.state),
        tasks=counts_of(row.counts),
        submitted=row.submitted,
        ended=row.ended,
    )


async def encode_page(rows: Sequence[Row], after: str | None) -> bytes:
    """A page as its JSON, the same as that of a `Jobs` of these rows: what is ours already is not
    checked once more, which took nine tenths of the time of a long list."""
    return _encode(SCHEMA, await _encode_rows(rows, _plain), next=after)


async def encode_submitted(
    rows: Sequence[Row], accepted: SubmittedJobs, forgotten: Sequence[str]
) -> bytes:
    """The same of a `Submitted`: thousands of rows of one tenant hold up everybody."""
    warnings = [{"job": each.job, "sentence": each.sentence} for each in accepted.warnings]
    return _encode(
        Submitted.model_fields["schema_"].default,
        await _encode_rows(rows, _plain),
        repeated=accepted.again,
        warnings=warnings,
        forgotten=forgotten,
    )


async def encode_cancelled(rows: Sequence[Row], changed: Container[int]) -> bytes:
    jobs = await _encode_rows(rows, lambda row: {**_plain(row), "changed": row.id in changed})
    return _encode(wire.Cancelled.model_fields["schema_"].default, jobs)


async def _encode_rows(rows: Sequence[Row], plain: Callable[[Row], Plain]) -> bytes:
    """The rows as a JSON list; between its parts others have a turn."""
    parts = []
    for first in range(0, len(rows), PART):
        if first:
            await asyncio.sleep(0)
        parts.append(to_json(list(map(plain, rows[first : first + PART])))[1:-1])
    return b"[%b]" % b",".join(parts)


def _encode(schema: str, jobs: bytes, **rest: Any) -> bytes:
    """An object with these jobs, which are JSON already, and the rest of it after them."""
    after = to_json(rest)[1:] if rest else b"}"
    return b'%b,"jobs":%b%b%b' % (to_json({"schema": schema})[:-1], jobs, b"," * bool(rest), after)


def _plain(row: Row) -> Plain:
    return {
        "name": row.name,
        "id": row.id,
        "tenant": row.tenant,
        "state": row.state,
        "tasks": dict(zip(COUNTED, row.counts, strict=True)),
        "submitted": row.submitted,
        "ended": row.ended,
    }


def counts_of(counts: tuple[int, ...]) -> TaskCounts:
    return TaskCounts(**dict(zip(COUNTED, counts, strict=True)))
