"""Events, as the API streams them."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pydantic import Field

from fairlead.wire.shape import Count, Moment, ResponseBody


class EventKind(Enum):
    """The kinds of events. Each is one entry of the journal."""

    JOB_SUBMITTED = "job_submitted"
    JOB_CHANGED = "job_changed"
    JOB_CANCELLED = "job_cancelled"
    JOB_REJECTED = "reject"
    JOB_FORGOTTEN = "job_forgotten"
    TASK_LAUNCHED = "launch"
    TASK_PLACED = "task_placed"
    TASK_TOLD_TO_STOP = "stop"
    TASK_STARTED = "task_started"
    TASK_FINISHED = "task_finished"
    TASK_FAILED = "task_failed"
    TASK_LOST = "task_lost"
    TASK_STOPPED = "task_stopped"
    MACHINE_JOINED = "machine_joined"
    MACHINE_LEFT = "machine_left"
    MACHINE_DRAINED = "machine_drained"
    MACHINE_CHANGED = "machine_changed"
    MACHINE_QUARANTINED = "machine_quarantined"
    QUARANTINE_ENDED = "quarantine_ended"
    TENANT_CHANGED = "tenant_changed"
    SERVICE_STARTED = "service_started"
    CORE_CHANGED = "core_changed"
    ENGINE_CHANGED = "engine_changed"
    ENGINE_GONE = "engine_gone"


class ServerEvent(ResponseBody):
    """One thing that happened. `seq` is its number in the journal, and the id of the event: a
    client that comes back with it as Last-Event-ID misses nothing. What is not about a job, a task
    or a machine leaves those null."""

    seq: Count
    time: Moment
    kind: EventKind
    job: str | None = None
    tenant: str | None = None
    task: Count | None = None
    attempt: Count | None = None
    machine: str | None = None
    back: bool | None = Field(default=None, description="of machine_drained: it takes tasks again")
    cause: str | None = Field(default=None, description="own jobs only")
    code: int | None = Field(default=None, description="own jobs only")


class Events(ResponseBody):
    """A page of events, the newest first."""

    schema_: Literal["fairlead.events/1"] = Field(default="fairlead.events/1", alias="schema")
    events: list[ServerEvent]
    next: str | None = None


LAST_ID_HEADER = "Last-Event-ID"
"""The seq of the last event that a client has seen."""

GONE_EVENT = "gone"
"""The name of the event that ends a stream whose reader was too slow, or whose `since` is no longer
kept: read the lists anew, and follow from `since` in its data."""
