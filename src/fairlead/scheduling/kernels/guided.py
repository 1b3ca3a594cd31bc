"""The loop of a decision that follows advice: pairs of job and machine by rank, then by level.

Candidates are those of `decide`. Of all of them the least in (rank, urgency, level, turn of
the job) is launched, on its best machine by the rule. Urgency is the number of tasks that run there
less the target, for pairs of a rank above 0: the pair furthest below its target comes first.

Within a decision ranks stay, and urgencies and levels rise while room shrinks. So the least pair
that was found of a job bounds what it has from then on, and a job is asked again only where its
bound comes before the least pair so far. Where a level fell, or other machines are to be asked, no
bound holds any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import inner, long_kernel, small
from fairlead.scheduling.kernels.change.counts import update_job
from fairlead.scheduling.kernels.change.keeping import keep
from fairlead.scheduling.kernels.change.stints import next_behind
from fairlead.scheduling.kernels.launching import (
    NOT_FULL,
    begin,
    finish,
    is_preferred,
    lacks,
    launch,
    restart_patience,
    split_gang,
)
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.room.permission import (
    at_once,
    first_permitted,
    is_permitted,
    may_start,
    next_permitted,
)
from fairlead.scheduling.kernels.room.rules import better, slack
from fairlead.scheduling.kernels.search.levels import level_now, turn_of

MILLION = 1_000_000
UNNAMED = -1
"""Of `rank`: the advice says nothing of the job. Of `target`: nor of the job on these machines."""
NO_PAIR = np.inf
"""The rank of a job that may be placed nowhere."""
UNKNOWN = -1
"""The stamp of a bound that no pair was found for."""


@inner
def rank_of(s: Handle, j: int, m: int) -> int:
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
def _everywhere(s: Handle, j: int) -> bool:
    """Is a job to be asked about on all machines? A fresh one and a gang are. Any other one may be
    placed only where room grew; where that is on many machines, the sets of all find them
    sooner."""
    dirty = s.header[0].dirty
    return s.job[j].fresh == 1 or at_once(s, j) > 1 or dirty * dirty > s.header[0].present


@inner
def _find_grown(s: Handle, j: int, start: int) -> int:
    """The place in `dirty`, from `start` on, of a machine where a task of the job may be placed;
    NONE."""
    for i in range(start, s.header[0].dirty):
        if is_permitted(s, j, s.dirty[i]):
            return i
    return NONE


@inner
def _best_machine(s: Handle, rule: Any, j: int, everywhere: bool) -> int:
    """The machine of least (rank, urgency, score, seq) where a task of the job may be placed: of
    all, or of those whose room grew. NONE if there is none."""
    best = NONE
    least_rank, least_urgency, least, off = int64(0), int64(0), 0.0, 0.0
    i = first_permitted(s, j) if everywhere else _find_grown(s, j, 0)
    while i >= 0:
        m = i if everywhere else s.dirty[i]
        rank, urgent, score = rank_of(s, j, m), urgency(s, j, m), rule.score(s, j, m)
        first = best < 0 or rank < least_rank
        if not first and rank == least_rank:
            first = urgent < least_urgency or (
                urgent == least_urgency and better(s, rule, j, m, score, best, least, off)
            )
        if first:
            best, least_rank, least_urgency, least = m, rank, urgent, score
            off = slack(s, rule, score)
        i = next_permitted(s, j, i + 1) if everywhere else _find_grown(s, j, i + 1)
    return best


@small
def _before(s: Handle, bound: Any, j: int, other: int) -> bool:
    """Does the bound of a job come before that of another one?"""
    for part in range(3):
        if bound[j, part] != bound[other, part]:
            return bound[j, part] < bound[other, part]
    return turn_of(s, j) < turn_of(s, other)


@inner
def _least_pair(s: Handle, rule: Any, bound: Any, stamp: Any, machine: Any) -> int:
    """The job of the least pair, whose machine is in `machine`; NONE if there is none. A bound is
    the job's least pair itself where its stamp is the number of launches."""
    w = s.header[0]
    best = NONE
    for j in range(w.jobs):
        job = s.job[j]
        if not job.used or not job.active or bound[j, 0] == NO_PAIR:
            continue
        if (not job.fresh and w.dirty == 0) or (best >= 0 and not _before(s, bound, j, best)):
            continue
        if stamp[j] != w.launched:
            bound[j, 2] = level_now(s, j)
            if best >= 0 and not _before(s, bound, j, best):
                continue
            m = _best_machine(s, rule, j, _everywhere(s, j)) if may_start(s, j) else NONE
            if m < 0:
                bound[j, 0] = NO_PAIR
                if job.fresh:
                    job.fresh = 0
                    update_job(s, j)
                continue
            bound[j, 0] = rank_of(s, j, m)
            bound[j, 1] = urgency(s, j, m)
            stamp[j] = w.launched
            machine[j] = m
            if best >= 0 and not _before(s, bound, j, best):
                continue
        best = j
    return best


@long_kernel
def decide_guided(s: Handle, rule: Any) -> int:
    """As `decide`, for a rule that follows advice."""
    w = s.header[0]
    begin(s)
    some = w.root >= 0 and (s.node[w.root].fresh or w.dirty > 0 or w.stints > 0)
    rows = w.jobs if some else int64(0)
    bound, stamp = np.empty((rows, 3)), np.empty(rows, np.int64)
    machine = np.empty(rows, np.int64)
    reservations = w.reservations
    while some:
        if w.fell or w.heap < 0 or reservations != w.reservations:
            w.fell, w.heap, reservations = 0, 0, w.reservations
            # No rank and no urgency is less than these: only pairs of rank above 0 have targets.
            bound[:, :2] = 0.0
            bound[:, 2] = -np.inf
            stamp[:] = UNKNOWN
        w.last = 0
        j = _least_pair(s, rule, bound, stamp, machine)
        behind = j < 0
        if behind:
            j = next_behind(s)
        if j < 0:
            break
        if behind:
            machine[j] = _best_machine(s, rule, j, True)
        tasks = at_once(s, j)
        full = lacks(s, tasks)
        if full != NOT_FULL:
            return full
        m = machine[j]
        if keep(s, j, m):
            continue
        everywhere = behind or _everywhere(s, j)
        liked = False
        for launched in range(tasks):
            if launched > 0:
                m = _best_machine(s, rule, j, everywhere)
            launch(s, j, m, tasks)
            liked = liked or is_preferred(s, j, m)
        if liked:
            restart_patience(s, j)
        if split_gang(s, j, tasks):
            w.fell = 1  # its bound may say that it may be placed nowhere
    finish(s)
    return NOT_FULL
