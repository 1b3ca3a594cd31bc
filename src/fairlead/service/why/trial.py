"""Tries a change on a copy of the core: would it start a task of the job now?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision, Launch, Stop
from fairlead.scheduling.events import Event, JobCancelled, JobSubmitted, TaskStopped
from fairlead.scheduling.reading.core_copy import Spares, freeze
from fairlead.scheduling.reading.lookup import job_counts, machines_of_job
from fairlead.service.fairness.causes import DisplayName

STAND_IN = "fairlead-would-be"
"""The name of the job that stands for a changed one, with more letters where it is taken."""


@contextmanager
def nameless() -> Iterator[None]:
    """Raises InputError of the stand-in without its name: whoever asks has given none."""
    try:
        yield
    except InputError as error:
        raise InputError(
            replace(one, about=("job", "", *one.about[2:]))
            if len(one.about) > 1 and str(one.about[1]).startswith(STAND_IN)
            else one
            for one in error.mistakes
        ) from error


class Trials:
    """So many trials at most, each on a copy of the core as it is; `display_name`: what a reader is
    told of jobs' names."""

    def __init__(
        self,
        core: Core,
        job: str,
        most: int,
        display_name: DisplayName = str,
        spares: Spares | None = None,
    ) -> None:
        self.core, self.job, self.display_name, self._left = core, job, display_name, most
        self._spares = Spares() if spares is None else spares
        self.slot = core.ids.jobs[job]
        self.counts = job_counts(core, job)
        self.model = core.ids.job_at[self.slot]

    @property
    def left(self) -> int:
        return self._left

    def happen(self, events: Sequence[Event]) -> int:
        """Counts the tasks of the job that the core launches if these events happen now."""
        return len(self._launches(events, self.job))

    def change(self, job: Job) -> int:
        """Counts the tasks that the core launches of a job like this one but for what changed,
        submitted now in its place. Nobody else can use the room that is free now (it would have
        been used), so that the place of the job in the order does not matter. What the job itself
        runs goes on, and holds its room and its part of the limits."""
        name = STAND_IN
        while name in self.core.ids.jobs:
            name += "-"
        there = job
        if job.spread:  # not where tasks of it run already
            own = machines_of_job(self.core, self.job)
            there = replace(job, exclude=(*job.exclude, *(n for n in own if n not in job.exclude)))
        waiting = None if job.tasks is None else Fraction(max(self.counts.waiting, 1))
        gang = job.gang if waiting is None or waiting >= job.gang else 1
        there = replace(there, name=name, tasks=waiting, gang=gang)
        now = self.core.now
        events: list[Event] = [JobSubmitted(now, there)]
        if not self.counts.cancelled:
            events = [JobCancelled(now, self.job), *events]
            return len(self._launches(events, name, running=self.job))
        return len(self._launches(events, name))

    def _launches(
        self, events: Sequence[Event], name: str, running: str | None = None
    ) -> list[Launch]:
        if self._left <= 0:
            return []
        self._left -= 1
        copy = freeze(self.core, self._spares.pop())
        core = copy.core
        try:
            for event in events:
                core.apply(event)
            decisions = decide_fully(core, running)
        except InputError:  # it cannot happen: that is an answer
            return []
        finally:
            self._spares.put(copy)
        return [each for each in decisions if isinstance(each, Launch) and each.job == name]


def decide_fully(core: Core, running: str | None = None) -> list[Decision]:
    """All decisions of this moment, if what is told to stop stops at once, but for the tasks of the
    job that goes on `running`."""
    made: list[Decision] = []
    while True:
        new = core.decide()
        made += new
        stops = [each for each in new if isinstance(each, Stop) and each.job != running]
        if not stops:
            return made
        for stop in stops:
            core.apply(TaskStopped(core.now, stop.job, stop.task))
