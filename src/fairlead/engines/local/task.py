"""An attempt on its way from its launch to its end."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, Lost


class Phase(Enum):
    """An attempt's way from its launch to its end."""

    ORDERED = "ordered"  # the spawner was told
    RUNNING = "running"
    CLEARING = "clearing"  # its shim is dead, something of it may not be
    OVER = "over"


@dataclass(slots=True)
class Task:
    """An attempt whose end was not acknowledged."""

    attempt: Attempt
    assignment: Assignment | None
    phase: Phase = Phase.ORDERED
    pid: int = 0
    start: int = 0  # of a shim that is no child of the present spawner
    own: bool = True  # its shim is a child of the present spawner
    uid: int = field(default_factory=os.geteuid)  # as whom it runs
    grouped: bool = False  # it has a control group
    cut: bool = False  # its shim was told to keep no more of what it writes
    silent: bool = False  # nobody expects it, so nothing is reported of it
    begun: float = 0.0  # by the steady clock
    time: int = 0  # in microseconds since 1970
    start_reported: bool = False
    stopping: Cause | None = None
    used: int | None = None  # bytes of memory, where it was stopped for these
    stopped: int = 0  # since when, in nanoseconds since 1970
    over: Ended | Lost | None = None


class Timer(Enum):
    """Actions on a task that are due at some time."""

    SAY = "say that it started"
    LIMIT = "its time limit has passed"
    GENTLY = "tell it to stop"
    BY_FORCE = "kill it"
