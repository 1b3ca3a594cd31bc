"""The expected start of a waiting job: a copy of the core is run forward, with the ends of
tasks whose durations were told."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.events import TaskFinished, TimePassed
from fairlead.scheduling.reading.core_copy import copy_core
from fairlead.scheduling.reading.lookup import is_current, job_counts
from fairlead.scheduling.reading.present import Tasks
from fairlead.service.why.trial import decide_fully

MOST_MOMENTS = 3_000
"""So many moments at most are gone through, each with the ends of its tasks and the decisions."""
MOST_LATER = 20
"""Moments at most after the last end that is known: leases and rests end for ever."""
MOST_WORK = 100_000_000
"""Moments times waiting jobs, at most: with 100,000 jobs a decision takes a tenth as long again."""


@dataclass(frozen=True, slots=True)
class Start:
    """The start of the job's next task (None: not within what was looked at), with how many
    others at that moment.

    `until`: how far it was looked. `unknown`: of how many running tasks nobody told how long they
    take: these were taken to go on for ever, so that the job may start earlier; jobs that are yet
    to come may make it start later."""

    time: int | None
    tasks: int
    until: int
    unknown: int


@dataclass(frozen=True, slots=True, order=True)
class _End:
    """A task that is expected to end then, if it is not stopped and tried again before."""

    time: int
    job: str
    task: int
    attempt: int


def expected_start(core: Core, job: str) -> Start | None:
    """Finds when the core would launch the job's next task, if every task takes as long as said.
    None where no task told how long it takes. Tasks that are late end at once."""
    tasks = Tasks(core)
    columns = (tasks.launched, tasks.expected, tasks.job, tasks.number, tasks.attempt)
    held = list(zip(*(column.tolist() for column in columns), strict=True))
    ends = [
        _End(max(launched + lasts, core.now + 1), core.book.name_of(job), number, attempt)
        for launched, lasts, job, number, attempt in held
        if lasts
    ]
    unknown = len(held) - len(ends)
    if not ends:
        return None
    ahead = copy_core(core)
    heapq.heapify(ends)
    most = min(MOST_MOMENTS, max(50, MOST_WORK // max(len(ahead.ids.jobs), 1)))
    later = 0
    for _ in range(most):
        wake = ahead.wake()
        later += not ends
        if not ends and (wake is None or later > MOST_LATER):
            break
        now = min([end.time for end in ends[:1]] + ([] if wake is None else [wake]))
        ahead.apply(TimePassed(now))
        while ends and ends[0].time == now:
            end = heapq.heappop(ends)
            if is_current(ahead, end.job, end.task, end.attempt):
                ahead.apply(TaskFinished(now, end.job, end.task))
        launches = [each for each in decide_fully(ahead) if isinstance(each, Launch)]
        mine = sum(each.job == job for each in launches)
        if mine:
            return Start(now, mine, now, unknown)
        for each in launches:
            lasts = job_counts(ahead, each.job).expected
            if lasts:
                heapq.heappush(ends, _End(now + lasts, each.job, each.task, each.attempt))
            else:
                unknown += 1
    return Start(None, 0, ahead.now, unknown)
