"""The happenings that telemetry hears of: small values, put into a queue where they happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairlead.service.journal.entry import Entry


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """A request, from its head to the end of its answer, in microseconds since 1970. `route`: the
    template, never what was asked for. `parent`: its header traceparent."""

    method: str
    route: str
    status: int
    began: int
    ended: int
    parent: str | None
    tenant: str | None
    role: str | None


@dataclass(frozen=True, slots=True)
class Happened:
    """Entries that are durable. `told`: this service leads, so it is the one that sends spans."""

    entries: Sequence[Entry]
    told: bool


@dataclass(frozen=True, slots=True)
class HeldAttempt:
    """An attempt that was under way when this service began."""

    task: int
    attempt: int
    machine: str
    launched: int
    started: int | None


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job that was not over when this service began. `done`: tasks that are."""

    name: str
    id: int
    tenant: str | None
    submitted: int
    tasks: int | None
    done: int
    cancelled: bool
    parent: str | None
    held: tuple[HeldAttempt, ...]


@dataclass(frozen=True, slots=True)
class Began:
    """The work that was under way when this service began."""

    jobs: tuple[OpenJob, ...]


@dataclass(frozen=True, slots=True)
class Waits:
    """Why a job's tasks wait, in sentences, at that time."""

    job: str
    time: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskWaiting:
    """Wants the names of some jobs of which tasks wait, each in its turn."""

    most: int
    tell: Callable[[tuple[str, ...]], None]


Happening = RequestAnswered | Happened | Began | Waits | AskWaiting
