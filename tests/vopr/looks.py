"""What readers look at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fairlead.service.requests import Caller


class What(Enum):
    """What is looked at."""

    JOBS = "a page of jobs"
    JOB = "a job"
    TASKS = "the tasks of a job"
    OUTPUT = "the output of a task"
    MACHINES = "the machines"
    TENANTS = "the tenants"
    TOKENS = "the tokens"
    ME = "whose token it is"
    REVOKED = "whose token it is, with one that was revoked"
    SHARES = "the shares"
    WHY = "why a job waits"
    READY = "whether the service is ready"
    EVENTS = "what happens"


@dataclass(frozen=True)
class Look:
    """A reader looks at something."""

    time: int
    caller: Caller
    what: What
