"""The attempts that the engine knows, and what is to be reported of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, Lost, Report, Started

BOUNCE = 60.0
"""Seconds that a job may wait for the node that was chosen: then somebody else has the room, and
its place is chosen anew."""


class Phase(Enum):
    """How far an attempt has come."""

    QUEUED = "queued"  # to be submitted
    GIVEN = "given"  # Slurm has it, or may have it
    OVER = "over"


@dataclass
class Task:
    """An attempt. `assignment` None: nobody says any more what it was. `silent`: nobody expects it,
    so it is stopped and not reported. `cancelled`: when Slurm was told so. `missing`: readings in a
    row without its job. `since`: when Slurm was given it, in seconds. `released`: its hold was
    lifted. `reason`: why it waits, as Slurm said it last. `refusal`: why it can never start on its
    node; `late`: why it does not now."""

    attempt: Attempt
    assignment: Assignment | None
    phase: Phase = Phase.QUEUED
    number: int = 0
    stopped: Cause | None = None
    silent: bool = False
    cancelled: float | None = None
    missing: int = 0
    since: float = 0.0
    released: bool = False
    reason: str = ""
    refusal: str = ""
    late: str = ""
    started: int | None = None
    over: Ended | Lost | None = None


@dataclass
class Tasks:
    """All of them by attempt, and the reports that were not acknowledged, oldest first. `behind`:
    launched (None: and cancelled) under the name of what nobody expects and is not gone yet."""

    known: dict[Attempt, Task] = field(default_factory=dict)
    reports: dict[tuple[Attempt, bool], Report] = field(default_factory=dict)
    behind: dict[Attempt, Assignment | None] = field(default_factory=dict)

    def start(self, task: Task, time: int) -> bool:
        """It started; whether that is news."""
        if task.started is not None:
            return False
        task.started = time
        if not task.silent:
            self.reports[task.attempt, False] = Started(task.attempt, time)
        return True

    def finish(self, task: Task, over: Ended | Lost) -> None:
        task.phase, task.over = Phase.OVER, over
        if task.silent:
            del self.known[task.attempt]
            return
        self.reports.pop((task.attempt, False), None)
        self.reports[task.attempt, True] = over

    def again(self) -> None:
        """All that is known is reported anew."""
        self.reports.clear()
        for task in self.known.values():
            if task.silent:
                continue
            if task.over is not None:
                self.reports[task.attempt, True] = task.over
            elif task.started is not None:
                self.reports[task.attempt, False] = Started(task.attempt, task.started)

    def silence(self, task: Task) -> bool:
        """Nobody expects it; whether there is something to be stopped."""
        task.silent = True
        self.reports.pop((task.attempt, False), None)
        self.reports.pop((task.attempt, True), None)
        if task.over is not None or task.phase is Phase.QUEUED:
            del self.known[task.attempt]
            return False
        task.stopped = task.stopped or Cause.STOPPED
        return True

    def of(self, *phases: Phase) -> Sequence[Task]:
        """Those in these phases, in the order in which they became known."""
        return [task for task in self.known.values() if task.phase in phases]
