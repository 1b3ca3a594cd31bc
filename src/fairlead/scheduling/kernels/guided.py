"""The loop of a decision that follows advice: pairs of job and machine by rank, then by level.

Candidates are those of `decide`. Of all of them the least in (rank, urgency, level, seq of the
job) is launched, on its best machine by the rule. Urgency is what runs there less the target, for
pairs of a rank above 0: the pair furthest below its target comes first.

Within a decision ranks stay, and urgencies and levels rise while room shrinks. So what was found
for a machine, or for a fresh job, stays a lower bound, and the true one as long as that pair itself
still stands: two heaps hold them, and only their tops are asked again. Where a level fell, all is
found anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.scheduling.kernels.change.counts import freshen, freshen_all, update_job
from fairlead.scheduling.kernels.launching import (
    NOT_FULL,
    at_once,
    begin,
    finish,
    is_preferred,
    lacks,
    launch,
    restart_patience,
    split_gang,
)
from fairlead.scheduling.kernels.memory.compiling import inner, kernel
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.room.permission import (
    first_permitted,
    gang_fits,
    next_permitted,
    permitted,
    within_caps,
)
from fairlead.scheduling.kernels.room.rules import better, slack
from fairlead.scheduling.kernels.search.levels import level

MILLION = 1_000_000
UNNAMED = -1
"""Of `rank`: the advice says nothing of the job. Of `target`: nor of the job on these machines."""


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
def _stands(s: Handle, j: int, m: int, key: Any, i: int) -> bool:
    """Is the pair that was found for row i as good as it was, but for its level?"""
    return (
        s.job[j].active == 1
        and tier(s, j, m) == key[i, 0]
        and urgency(s, j, m) == key[i, 1]
        and permitted(s, j, m)
        and _may_start(s, j)
    )


@inner
def _pair_of_machine(s: Handle, m: int, key: Any, seq: Any, i: int) -> int:
    """The job of the least pair on a machine, and its key into row i; NONE if there is none."""
    best = NONE
    key[i, 0] = np.inf
    for j in range(s.header[0].jobs):
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
def _machine_of_job(s: Handle, j: int, key: Any) -> int:
    """The machine of the least pair of a fresh job, its key into row j; NONE if there is none."""
    best = NONE
    key[j, 0] = np.inf
    if not _may_start(s, j):
        return best
    key[j, 2] = level(s, j)
    m = first_permitted(s, j)
    while m >= 0:
        rank, urgent = tier(s, j, m), urgency(s, j, m)
        if best < 0 or rank < key[j, 0] or (rank == key[j, 0] and urgent < key[j, 1]):
            best = m
            key[j, 0] = rank
            key[j, 1] = urgent
            if rank == 0:
                break  # nothing is less
        m = next_permitted(s, j, m + 1)
    return best


@inner
def _freshen_gangs(s: Handle) -> None:
    """Where room grew, a gang is placed on all machines together: its least pair may be with one
    whose room did not grow."""
    for j in range(s.header[0].jobs):
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
def _sink(heap: Any, size: int, key: Any, seq: Any, at: int) -> None:
    """The row at this place of the heap sinks until none below it comes before it."""
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _less(key, seq, heap[child], key, seq, heap[least]):
                least = child
        if least == at:
            return
        heap[at], heap[least] = heap[least], heap[at]
        at = least


@inner
def _heap_up(heap: Any, size: int, key: Any, seq: Any) -> None:
    """Makes a heap of the rows."""
    for at in range(size // 2 - 1, -1, -1):
        _sink(heap, size, key, seq, at)


@inner
def _without_top(heap: Any, size: int, key: Any, seq: Any) -> int:
    """Takes the least row off the heap; returns its size."""
    heap[0] = heap[size - 1]
    _sink(heap, size - 1, key, seq, 0)
    return size - 1


@inner
def _best_machine(s: Handle, rule: Any, j: int, everywhere: bool) -> int:
    """The machine of least (rank, urgency, score, seq) for a job: of all, or of the dirty ones."""
    w = s.header[0]
    best = NONE
    least_tier, least_urgency, least, off = int64(0), int64(0), 0.0, 0.0
    i = int64(0)
    m = first_permitted(s, j) if everywhere else NONE
    while m >= 0 if everywhere else i < w.dirty:
        if not everywhere:
            m = s.dirty[i]
            i += 1
        if everywhere or (s.machine[m].dirty and permitted(s, j, m)):
            rank, urgent, score = tier(s, j, m), urgency(s, j, m), rule.score(s, j, m)
            first = best < 0 or rank < least_tier
            if not first and rank == least_tier:
                first = urgent < least_urgency or (
                    urgent == least_urgency and better(s, rule, j, m, score, best, least, off)
                )
            if first:
                best, least_tier, least_urgency, least = m, rank, urgent, score
                off = slack(s, rule, score)
        if everywhere:
            m = next_permitted(s, j, m + 1)
    return best


@inner
def _ask_jobs(s: Handle) -> None:
    """Many machines are dirty: each job is asked for all machines, instead of each of these for a
    job. The pairs are the same, for on the others nobody who waits could be placed."""
    w = s.header[0]
    for t in range(w.tenants):
        if s.tenant[t].used and s.tenant[t].root >= 0:
            freshen_all(s, t)
    for i in range(w.dirty):
        s.machine[s.dirty[i]].dirty = 0
    w.dirty = 0


@kernel
def decide_guided(s: Handle, rule: Any) -> int:
    """As `decide`, for a rule that follows advice."""
    w = s.header[0]
    if begin(s):
        if w.dirty > 0:
            _freshen_gangs(s)
        # To ask machines costs jobs times machines for each launch of a job that is the first on
        # all of them, which at a start it is.
        if w.dirty * w.dirty > w.present:
            _ask_jobs(s)
    jobs, machines = int64(0), int64(0)  # in the heaps
    key, seq, stamp = np.empty((1, 3)), np.empty(1, np.int64), np.empty(1, np.int64)
    heap, job_of = np.empty(1, np.int64), np.empty(1, np.int64)
    fresh_key, fresh_seq = np.empty((1, 3)), np.empty(1, np.int64)
    fresh_heap, fresh_stamp = np.empty(1, np.int64), np.empty(1, np.int64)
    machine_of = np.empty(1, np.int64)
    reservations = w.reservations
    while True:
        fresh = w.root >= 0 and s.node[w.root].fresh == 1
        if w.fell or w.heap < 0 or reservations != w.reservations or (fresh and jobs == 0):
            # What was found does not bound from below any more: all is found anew.
            w.fell, w.heap, reservations = 0, 0, w.reservations
            if len(heap) < w.dirty:
                key, seq = np.empty((w.dirty, 3)), np.empty(w.dirty, np.int64)
                stamp, job_of = np.empty(w.dirty, np.int64), np.empty(w.dirty, np.int64)
                heap = np.empty(w.dirty, np.int64)
            if fresh and len(fresh_heap) < w.jobs:
                fresh_key, fresh_seq = np.empty((w.jobs, 3)), np.empty(w.jobs, np.int64)
                fresh_heap = np.empty(w.jobs, np.int64)
                fresh_stamp = np.empty(w.jobs, np.int64)
                machine_of = np.empty(w.jobs, np.int64)
            machines = _gather_dirty(s, heap, key, seq, stamp, job_of)
            jobs = int64(0)
            if fresh:
                jobs = _gather_fresh(s, fresh_heap, fresh_key, fresh_seq, fresh_stamp, machine_of)
        # The least pair of a fresh job, and of a machine whose room grew.
        jobs = _least_fresh(s, fresh_heap, jobs, fresh_key, fresh_seq, fresh_stamp, machine_of)
        machines = _least_dirty(s, heap, machines, key, seq, stamp, job_of)
        if machines > 0 and (
            jobs == 0 or _less(key, seq, heap[0], fresh_key, fresh_seq, fresh_heap[0])
        ):
            j = job_of[heap[0]]
        elif jobs > 0:
            j = fresh_heap[0]
        else:
            break
        tasks = at_once(s, j)
        full = lacks(s, tasks)
        if full != NOT_FULL:
            return full
        everywhere = s.job[j].fresh == 1 or tasks > 1
        liked = False
        for _ in range(tasks):
            m = _best_machine(s, rule, j, everywhere)
            launch(s, j, m)
            liked = liked or is_preferred(s, j, m)
        if liked:
            restart_patience(s, j)
        if split_gang(s, j, tasks):
            w.fell = 1  # it may not be in the heap
    finish(s)
    return NOT_FULL


@inner
def _gather_dirty(s: Handle, heap: Any, key: Any, seq: Any, stamp: Any, job_of: Any) -> int:
    """All machines whose room grew into the heap, by their places among them; nothing is known of
    any. Returns how many."""
    size = 0
    for i in range(s.header[0].dirty):
        if s.machine[s.dirty[i]].dirty:
            heap[size] = i
            size += 1
            stamp[i] = -1
            job_of[i] = NONE
            key[i] = -np.inf
            seq[i] = 0
    return int64(size)


@inner
def _gather_fresh(s: Handle, heap: Any, key: Any, seq: Any, stamp: Any, machine_of: Any) -> int:
    """All fresh jobs into the heap, by what no pair of theirs is less than. Returns how many."""
    size = 0
    for j in range(s.header[0].jobs):
        job = s.job[j]
        if job.used and job.active and job.fresh:
            heap[size] = j
            size += 1
            stamp[j] = -1
            machine_of[j] = NONE
            key[j, 0] = 0.0
            key[j, 1] = 0.0
            key[j, 2] = level(s, j)
            seq[j] = job.seq
    _heap_up(heap, size, key, seq)
    return int64(size)


@inner
def _least_dirty(
    s: Handle, heap: Any, size: int, key: Any, seq: Any, stamp: Any, job_of: Any
) -> int:
    """Brings the machine of the least pair to the top; returns the size of the heap. Keys of
    another stamp than the number of launches are lower bounds."""
    w = s.header[0]
    while size > 0:
        i = heap[0]
        m, j = s.dirty[i], job_of[i]
        if stamp[i] == w.launched:
            break
        if j < 0 or level(s, j) != key[i, 2] or not _stands(s, j, m, key, i):
            job_of[i] = _pair_of_machine(s, m, key, seq, i)
        if job_of[i] < 0:
            s.machine[m].dirty = 0
            size = _without_top(heap, size, key, seq)
            continue
        stamp[i] = w.launched
        _sink(heap, size, key, seq, 0)
    return size


@inner
def _least_fresh(
    s: Handle, heap: Any, size: int, key: Any, seq: Any, stamp: Any, machine_of: Any
) -> int:
    """Brings the fresh job of the least pair to the top; returns the size of the heap. Keys as in
    `_least_dirty`; whoever may be placed nowhere is fresh no more."""
    w = s.header[0]
    while size > 0:
        j = heap[0]
        job, m = s.job[j], machine_of[j]
        if stamp[j] == w.launched:
            break
        if not job.active or not job.fresh:
            size = _without_top(heap, size, key, seq)
            continue
        if m < 0 or not _stands(s, j, m, key, j):
            machine_of[j] = _machine_of_job(s, j, key)
        if machine_of[j] < 0:
            job.fresh = 0
            update_job(s, j)
            size = _without_top(heap, size, key, seq)
            continue
        key[j, 2] = level(s, j)
        stamp[j] = w.launched
        _sink(heap, size, key, seq, 0)
    return size
