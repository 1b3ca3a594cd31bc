"""The loop of a decision: the job of least level first, its machine by the rule.

Candidates are the pairs of a fresh job and any machine, and of any job and a dirty machine. All
others were looked at before, and room only shrinks until somebody's grows.
"""

from __future__ import annotations

from typing import Any

from fairlead.compiling import inner, long_kernel
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
from fairlead.scheduling.kernels.memory.state import Handle
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.room.choice import choose
from fairlead.scheduling.kernels.room.permission import at_once, known_useless, may_start
from fairlead.scheduling.kernels.search.best_first import next_near
from fairlead.scheduling.kernels.search.near import choose_near, forget_near
from fairlead.scheduling.kernels.search.search import next_job


@inner
def _next(s: Handle) -> int:
    """The next job of all; NONE if nobody may be placed anywhere."""
    w = s.header[0]
    if w.root < 0:
        return NONE
    if s.node[w.root].fresh or w.dirty > 1:
        return next_near(s)
    if w.dirty == 0 or known_useless(s, s.dirty[0]):
        return NONE
    w.heap = -1
    return next_job(s, s.dirty[0])


@long_kernel
def decide(s: Handle, rule: Any) -> int:
    """Launches all that can be launched, in order, into `out`. Returns Full.NOT, or which table
    was full: then everything is as it should be, and the rest is for another call."""
    w = s.header[0]
    begin(s)
    while True:
        w.last = 0
        j = _next(s)
        if j < 0:
            j = next_behind(s)
        if j < 0:
            break
        job = s.job[j]
        tasks = at_once(s, j)
        full = lacks(s, tasks)
        if full != NOT_FULL:
            return full
        if not job.fresh and tasks == 1:
            m = choose_near(s, rule, j)
        elif tasks == 1 or may_start(s, j):
            m = choose(s, rule, j)
        else:
            m = NONE
        if m < 0:
            job.tried = w.decided
            if job.fresh:
                job.fresh = 0
                update_job(s, j)
            continue
        if keep(s, j, m):
            continue
        launch(s, j, m, tasks)
        liked = is_preferred(s, j, m)
        for _ in range(tasks - 1):
            m = choose(s, rule, j)
            launch(s, j, m, tasks)
            liked = liked or is_preferred(s, j, m)
        if liked:
            restart_patience(s, j)
        split_gang(s, j, tasks)
    forget_near(s)
    finish(s)
    return NOT_FULL
