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
    freshen_all,
    link,
    reenter,
    ring,
    ring_at,
    settle,
    unreserve,
    use,
)
from fairlead.scheduling.kernels.choice import choose, choose_dirty
from fairlead.scheduling.kernels.compiling import inner, kernel
from fairlead.scheduling.kernels.levels import hold, level
from fairlead.scheduling.kernels.line import hope, look
from fairlead.scheduling.kernels.permission import gang_fits, permitted, within_caps
from fairlead.scheduling.kernels.rooms import take
from fairlead.scheduling.kernels.search import first_job, next_job
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
def _comes_before(s: Handle, a: int, b: int) -> bool:
    x, y = level(s, a), level(s, b)
    return x < y or (x == y and s.job[a].seq < s.job[b].seq)


@inner
def _machine_of(s: Handle, rule: Any, j: int, together: int) -> int:
    """The machine for a job that was found for a dirty one."""
    if together > 1:
        return choose(s, rule, j)
    if s.whole[0].dirty == 1:
        return s.dirty[0]
    return choose_dirty(s, rule, j)


@inner
def _heap_before(s: Handle, a: int, b: int) -> bool:
    x, y = s.heap[a], s.heap[b]
    if s.key[x] != s.key[y]:
        return s.key[x] < s.key[y]
    p, q = s.job[s.best[x]].seq, s.job[s.best[y]].seq
    return p < q or (p == q and x < y)


@inner
def _heap_sink(s: Handle, at: int) -> None:
    size = s.whole[0].heap
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _heap_before(s, child, least):
                least = child
        if least == at:
            return
        s.heap[at], s.heap[least] = s.heap[least], s.heap[at]
        at = least


@inner
def _ask(s: Handle, m: int) -> bool:
    """Finds who is next on a dirty machine; without anybody it is dirty no more."""
    j = next_job(s, m)
    if j < 0:
        s.machine[m].dirty = 0
        return False
    s.best[m] = j
    s.key[m] = level(s, j)
    s.stamp[m] = s.whole[0].launched
    return True


@inner
def _stands(s: Handle, m: int) -> bool:
    """Is who was found for a dirty machine still the one? If its level did not rise, nobody else
    comes before it."""
    j = s.best[m]
    return (
        s.job[j].active == 1
        and level(s, j) == s.key[m]
        and permitted(s, j, m)
        and within_caps(s, j, 1)
        and gang_fits(s, j)
    )


@inner
def _ask_jobs(s: Handle) -> None:
    """Many machines are dirty: each waiting job is asked once for all of them, instead of each
    machine for a job after every launch. The pairs are the same: on the other machines nobody
    who waits could be placed."""
    w = s.whole[0]
    for t in range(w.tenants):
        if s.tenant[t].used and s.tenant[t].root >= 0:
            freshen_all(s, t)
    for i in range(w.dirty):
        s.machine[s.dirty[i]].dirty = 0
    w.dirty = 0


@inner
def _dirty_job(s: Handle) -> int:
    """Who is next on any dirty machine; NONE if nobody. Levels rise and room shrinks while all is
    decided, so what was found for a machine stays a lower bound; where a level fell, all are
    asked again."""
    w = s.whole[0]
    if w.dirty == 1:
        m = s.dirty[0]
        if s.machine[m].dirty and _ask(s, m):
            return s.best[m]
        w.dirty = 0
        return NONE
    if w.heap < 0 or w.fell:
        w.fell = 0
        w.heap = 0
        for i in range(w.dirty):
            m = s.dirty[i]
            if s.machine[m].dirty and _ask(s, m):
                s.heap[w.heap] = m
                w.heap += 1
        for at in range(w.heap // 2 - 1, -1, -1):
            _heap_sink(s, at)
    while w.heap > 0:
        m = s.heap[0]
        if s.stamp[m] == w.launched or _stands(s, m):
            return s.best[m]
        if not _ask(s, m):
            w.heap -= 1
            s.heap[0] = s.heap[w.heap]
        _heap_sink(s, 0)
    w.dirty = 0
    return NONE


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
        if w.dirty > 1 and w.dirty > w.active:
            _ask_jobs(s)
    w.choice = NONE
    while True:
        j = _dirty_job(s) if w.dirty > 0 else NONE
        fresh = first_job(s, True) if w.root >= 0 and s.node[w.root].fresh else NONE
        m = NONE
        if fresh >= 0 and (j < 0 or fresh == j or _comes_before(s, fresh, j)):
            j = fresh
            if s.job[j].gang <= 1 or gang_fits(s, j):
                m = choose(s, rule, j)
            if m < 0:
                s.job[j].fresh = 0
                settle(s, j)
                continue
        if j < 0:
            break
        job = s.job[j]
        together = job.gang if job.waiting >= job.gang else int64(1)
        if w.out + together > len(s.out):
            return OUT_FULL
        if w.tasks + together > len(s.task):
            return TASKS_FULL
        if m < 0:
            m = _machine_of(s, rule, j, together)
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
    w.deciding = 0
    look(s)
    return NOT_FULL
