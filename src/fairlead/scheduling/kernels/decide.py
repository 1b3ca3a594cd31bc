"""The loop of a decision: the job of least level first, its machine by the rule.

Candidates are the pairs of a fresh job and any machine, and of any job and a dirty machine. All
others were looked at before, and room only shrinks until somebody's grows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.changes import (
    LAUNCHED,
    freshen,
    link,
    reenter,
    ring,
    ring_at,
    settle,
    unreserve,
    use,
)
from fairlead.scheduling.kernels.choice import choose
from fairlead.scheduling.kernels.compiling import inner, kernel
from fairlead.scheduling.kernels.levels import hold
from fairlead.scheduling.kernels.line import hope, look
from fairlead.scheduling.kernels.near import choose_near, next_near, shrink
from fairlead.scheduling.kernels.permission import gang_fits
from fairlead.scheduling.kernels.rooms import take
from fairlead.scheduling.kernels.search import next_job
from fairlead.scheduling.kernels.state import Handle, int64
from fairlead.scheduling.kernels.tables import NONE, UNLIMITED, Full, Said
from fairlead.scheduling.kernels.trail import mix

LAUNCH = int(Said.LAUNCH)
NOT_FULL = int(Full.NOT)
OUT_FULL = int(Full.OUT)
TASKS_FULL = int(Full.TASKS)


@kernel
def launch(s: Handle, j: int, m: int) -> None:
    """Starts the next task of job j on machine m, where there is room. There is a slot for the
    task and one in `out`."""
    w, job, machine = s.whole[0], s.job[j], s.machine[m]
    if w.choice != j or s.fits[0] != m:
        w.choice = NONE
    if job.queue_first >= 0:
        t = int64(job.queue_first)
        job.queue_first = s.task[t].job_next
        if job.queue_first < 0:
            job.queue_last = NONE
        else:
            s.task[job.queue_first].job_before = NONE
    else:
        t = w.free_task
        if t >= 0:
            w.free_task = s.task[t].machine_next
        else:
            t = w.tasks
            w.tasks += 1
        s.task[t].number = job.next
        s.task[t].attempt = 0
        s.task[t].job = j
        job.next += 1
    task = s.task[t]
    task.state = LAUNCHED
    task.attempt += 1
    task.launched = w.now
    task.pieces = take(s, m, j)
    shrink(s, m)
    link(s, t, m)
    job.held += 1
    if job.total != UNLIMITED:
        job.waiting -= 1
    job.launches += 1
    w.launched += 1
    hold(s, j, job.unit)
    use(s, j, 1)
    if w.groups > 0:
        s.runs[j, machine.group] += 1
    settle(s, j)
    if machine.reserved == j and not machine.pledged:
        unreserve(s, j)
    hope(s, j, m)
    said = s.out[w.out]
    said.kind = LAUNCH
    said.job = j
    said.machine = m
    said.task = t
    said.attempt = task.attempt
    said.number = task.number
    said.pieces = task.pieces
    w.out += 1
    mix(s, LAUNCH)
    mix(s, job.seq)
    mix(s, task.number)
    mix(s, m)


@inner
def _likes(s: Handle, j: int, m: int) -> bool:
    """Does the machine satisfy all that the job prefers?"""
    lacking = np.uint64(0)
    for i in range(s.prefers.shape[1]):
        lacking |= s.prefers[j, i] & ~s.satisfies[m, i]
    return lacking == np.uint64(0)


@inner
def _please(s: Handle, j: int) -> None:
    """A job was placed on machines that it prefers: its patience begins anew."""
    job = s.job[j]
    job.since = s.whole[0].now
    if not job.patient:
        job.patient = 1
        s.whole[0].choice = NONE
        reenter(s, j)
    ring_at(s, j)


@inner
def _next(s: Handle) -> int:
    """Who is next; NONE if nobody may be placed anywhere."""
    w = s.whole[0]
    if w.root < 0:
        return NONE
    if s.node[w.root].fresh or w.dirty > 1:
        return next_near(s)
    if w.dirty == 0:
        return NONE
    w.heap = -1
    return next_job(s, s.dirty[0])


@kernel
def decide(s: Handle, rule: Any) -> int:
    """Launches all that can be launched, in order, into `out`. Returns Full.NOT, or which table
    was full: then everything is as it should be, and the rest is for another call."""
    w = s.whole[0]
    if not w.deciding:
        w.deciding = 1
        w.decided += 1
        w.heap = -1
        ring(s)
    w.choice = NONE
    while True:
        j = _next(s)
        if j < 0:
            break
        job = s.job[j]
        together = job.gang if job.waiting >= job.gang else int64(1)
        if w.out + together > len(s.out):
            return OUT_FULL
        if w.tasks + together > len(s.task):
            return TASKS_FULL
        if not job.fresh and together == 1:
            m = choose_near(s, rule, j)
        elif job.gang <= 1 or gang_fits(s, j):
            m = choose(s, rule, j)
        else:
            m = NONE
        if m < 0:
            job.fresh = 0
            settle(s, j)
            continue
        launch(s, j, m)
        liked = job.likes and _likes(s, j, m)
        for _ in range(together - 1):
            m = choose(s, rule, j)
            launch(s, j, m)
            liked = liked or (job.likes and _likes(s, j, m))
        if liked:
            _please(s, j)
        if together > 1 and 0 < job.waiting < job.gang:
            freshen(s, j)  # those that are left need not start together
    for i in range(w.dirty):
        s.machine[s.dirty[i]].dirty = 0
    w.dirty = 0
    w.heap = -1
    w.near = 0
    w.deciding = 0
    look(s)
    return NOT_FULL
