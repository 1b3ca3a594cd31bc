"""The loop of a decision that follows advice: pairs of job and machine by rank, then by level.

Candidates are those of `decide`. Of all of them the least in (rank, urgency, level, seq of the
job) is launched, on its best machine by the rule. Urgency is what runs there less the target, for
pairs of a rank above 0: the pair furthest below its target comes first.

Within a decision ranks stay, and urgencies and levels rise while room shrinks, so that what was
found for a machine, or for a fresh job, stays a lower bound. Where a level fell, all is found anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.changes import freshen, ring, settle
from fairlead.scheduling.kernels.compiling import inner, kernel
from fairlead.scheduling.kernels.decide import _likes, _please, launch
from fairlead.scheduling.kernels.levels import level
from fairlead.scheduling.kernels.line import look
from fairlead.scheduling.kernels.permission import (
    gang_fits,
    next_permitted,
    permitted,
    within_caps,
)
from fairlead.scheduling.kernels.state import Handle, int64
from fairlead.scheduling.kernels.tables import NONE, Full

MILLION = 1_000_000
UNNAMED = -1
"""Of `rank`: the advice says nothing of the job. Of `target`: nor of the job on these machines."""

NOT_FULL = int(Full.NOT)
OUT_FULL = int(Full.OUT)
TASKS_FULL = int(Full.TASKS)


@inner
def tier(s: Handle, j: int, m: int) -> int:
    """The rank of a pair; 0 for a job of which the advice says nothing."""
    return max(s.rank[j, s.machine[m].group], int64(0))


@inner
def urgency(s: Handle, j: int, m: int) -> int:
    """In millionths of a task, how far the pair is above its target; 0 for one of rank 0, or
    without a target."""
    g = s.machine[m].group
    if s.rank[j, g] <= 0 or s.target[j, g] == UNNAMED:
        return int64(0)
    return s.runs[j, g] * int64(MILLION) - s.target[j, g]


@inner
def _may_start(s: Handle, j: int) -> bool:
    """What is true of an active job wherever it goes: its tenants' limits, and its gang."""
    job = s.job[j]
    together = job.gang if job.waiting >= job.gang else int64(1)
    return within_caps(s, j, together) and gang_fits(s, j)


@inner
def _pair_of_machine(s: Handle, m: int, key: Any, seq: Any, i: int) -> int:
    """The job of the least pair on a machine, and its key into row i; NONE if there is none."""
    best = NONE
    key[i, 0] = np.inf
    for j in range(s.whole[0].jobs):
        job = s.job[j]
        if not job.used or not job.active:
            continue
        rank = tier(s, j, m)
        if best >= 0 and rank > key[i, 0]:
            continue
        urgent = urgency(s, j, m)
        here = level(s, j)
        if best >= 0 and rank == key[i, 0]:
            if urgent > key[i, 1]:
                continue
            if urgent == key[i, 1] and (
                here > key[i, 2] or (here == key[i, 2] and job.seq > seq[i])
            ):
                continue
        if permitted(s, j, m) and _may_start(s, j):
            best = j
            key[i, 0] = rank
            key[i, 1] = urgent
            key[i, 2] = here
            seq[i] = job.seq
    return best


@inner
def _pair_of_job(s: Handle, j: int, key: Any, seq: Any) -> bool:
    """The least pair of a fresh job, its key into row j; whether there is one."""
    key[j, 0] = np.inf
    seq[j] = s.job[j].seq
    if not _may_start(s, j):
        return False
    m = next_permitted(s, j, 0)
    while m >= 0:
        rank, urgent = tier(s, j, m), urgency(s, j, m)
        if rank < key[j, 0] or (rank == key[j, 0] and urgent < key[j, 1]):
            key[j, 0] = rank
            key[j, 1] = urgent
            key[j, 2] = level(s, j)
        m = next_permitted(s, j, m + 1)
    return key[j, 0] < np.inf


@inner
def _freshen_gangs(s: Handle) -> None:
    """Where room grew, a gang is placed on all machines together: its least pair may be with one
    whose room did not grow."""
    for j in range(s.whole[0].jobs):
        job = s.job[j]
        if job.used and job.active and 1 < job.gang <= job.waiting:
            freshen(s, j)


@inner
def _less(key: Any, seq: Any, a: int, other: Any, other_seq: Any, b: int) -> bool:
    """Does the pair in row a come before the one in row b of the other table?"""
    for part in range(3):
        if key[a, part] != other[b, part]:
            return key[a, part] < other[b, part]
    return seq[a] < other_seq[b]


@inner
def _best_machine(s: Handle, rule: Any, j: int, everywhere: bool) -> int:
    """The machine of least (rank, urgency, score, seq) for a job: of all, or of the dirty ones."""
    w = s.whole[0]
    best = NONE
    least_tier, least_urgency, least = int64(0), int64(0), 0.0
    i = int64(0)
    m = next_permitted(s, j, 0) if everywhere else NONE
    while m >= 0 if everywhere else i < w.dirty:
        if not everywhere:
            m = s.dirty[i]
            i += 1
        if everywhere or (s.machine[m].dirty and permitted(s, j, m)):
            rank, urgent, score = tier(s, j, m), urgency(s, j, m), rule.score(s, j, m)
            better = best < 0 or rank < least_tier
            if not better and rank == least_tier:
                better = urgent < least_urgency or (
                    urgent == least_urgency and (score < least or (score == least and m < best))
                )
            if better:
                best, least_tier, least_urgency, least = m, rank, urgent, score
        if everywhere:
            m = next_permitted(s, j, m + 1)
    return best


@kernel
def decide_guided(s: Handle, rule: Any) -> int:
    """As `decide`, for a rule that follows advice."""
    w = s.whole[0]
    if not w.deciding:
        w.deciding = 1
        w.decided += 1
        ring(s)
        if w.dirty > 0:
            _freshen_gangs(s)
    w.choice = NONE
    w.heap = -1
    size, jobs = int64(0), int64(0)
    key, seq = np.empty((1, 3)), np.empty(1, np.int64)
    stamp, job_of = np.empty(1, np.int64), np.empty(1, np.int64)
    fresh_key, fresh_seq = np.empty((1, 3)), np.empty(1, np.int64)
    fresh_stamp = np.empty(1, np.int64)
    reservations = w.reservations
    while True:
        fresh = w.root >= 0 and s.node[w.root].fresh == 1
        if w.fell or w.heap < 0 or reservations != w.reservations or (fresh and jobs < w.jobs):
            # What was found does not bound from below any more: all is found anew.
            w.fell, w.heap, reservations = 0, 0, w.reservations
            if size < w.dirty:
                size = w.dirty
                key, seq = np.empty((size, 3)), np.empty(size, np.int64)
                stamp, job_of = np.empty(size, np.int64), np.empty(size, np.int64)
            if fresh and jobs < w.jobs:
                jobs = w.jobs
                fresh_key, fresh_seq = np.empty((jobs, 3)), np.empty(jobs, np.int64)
                fresh_stamp = np.empty(jobs, np.int64)
            stamp[:] = -1
            fresh_stamp[:] = -1
        # The least pair of a fresh job, and of a machine whose room grew.
        j = _least_fresh(s, fresh_key, fresh_seq, fresh_stamp) if fresh else NONE
        i = _least_dirty(s, key, seq, stamp, job_of)
        if i >= 0 and (j < 0 or _less(key, seq, i, fresh_key, fresh_seq, j)):
            j = job_of[i]
        if j < 0:
            break
        job = s.job[j]
        together = job.gang if job.waiting >= job.gang else int64(1)
        if w.out + together > len(s.out):
            return OUT_FULL
        if w.tasks + together > len(s.task):
            return TASKS_FULL
        everywhere = job.fresh == 1 or together > 1
        liked = False
        for _ in range(together):
            m = _best_machine(s, rule, j, everywhere)
            launch(s, j, m)
            liked = liked or (job.likes == 1 and _likes(s, j, m))
        if liked:
            _please(s, j)
        if together > 1 and 0 < job.waiting < job.gang:
            freshen(s, j)  # those that are left need not start together
    for at in range(w.dirty):
        s.machine[s.dirty[at]].dirty = 0
    w.dirty = 0
    w.heap = NONE
    w.deciding = 0
    look(s)
    return NOT_FULL


@inner
def _least_dirty(s: Handle, key: Any, seq: Any, stamp: Any, job_of: Any) -> int:
    """The place among the dirty machines of the least pair; NONE. Keys of another stamp than the
    number of launches are lower bounds."""
    w = s.whole[0]
    while True:
        least = NONE
        for i in range(w.dirty):
            m = s.dirty[i]
            if not s.machine[m].dirty:
                continue
            if stamp[i] < 0:
                job_of[i] = _pair_of_machine(s, m, key, seq, i)
                stamp[i] = w.launched
            if job_of[i] < 0:
                s.machine[m].dirty = 0
                continue
            if least < 0 or _less(key, seq, i, key, seq, least):
                least = i
        if least < 0 or stamp[least] == w.launched:
            return least
        stamp[least] = -1


@inner
def _least_fresh(s: Handle, key: Any, seq: Any, stamp: Any) -> int:
    """The fresh job of the least pair; NONE. Keys as in `_least_dirty`; whoever may be placed
    nowhere is fresh no more."""
    w = s.whole[0]
    while True:
        least = NONE
        for j in range(w.jobs):
            if not s.job[j].used or not s.job[j].active or not s.job[j].fresh:
                continue
            if stamp[j] < 0:
                if not _pair_of_job(s, j, key, seq):
                    s.job[j].fresh = 0
                    settle(s, j)
                    continue
                stamp[j] = w.launched
            if least < 0 or _less(key, seq, j, key, seq, least):
                least = j
        if least < 0 or stamp[least] == w.launched:
            return least
        stamp[least] = -1
