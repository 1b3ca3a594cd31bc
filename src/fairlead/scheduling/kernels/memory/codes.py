"""What kernels say by numbers: which table was full, what was decided, what the trail records."""

from __future__ import annotations

from enum import IntEnum


class Full(IntEnum):
    """Which table a kernel found full."""

    NOT = 0
    MACHINES = 1
    JOBS = 2
    TENANTS = 3
    TASKS = 4
    OUT = 5


class DecisionCode(IntEnum):
    """The kind of a decision in the table `out`."""

    LAUNCH = 1
    STOP = 2


class TrailCode(IntEnum):
    """The kinds of events that the trail records."""

    JOINED = 3
    LEFT = 4
    DRAINED = 5
    BACK = 6
    CHANGED = 7
    SUBMITTED = 8
    GROWN = 9
    CANCELLED = 10
    STARTED = 11
    FINISHED = 12
    FAILED = 13
    LOST = 14
    STOPPED = 15
    PASSED = 16
    WEIGHED = 17
    LIMITED = 18
    SCALED = 19
