"""Counts of waiting tasks by reason, roughly, for all jobs at once."""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.core import Core
from fairlead.scheduling.kernels.memory.tables import ALONE, UNLIMITED
from fairlead.scheduling.reading.present import Jobs
from fairlead.scheduling.state.rows import eased
from fairlead.sharing.problem.problem import Bools

REASONS = ("nowhere", "limit", "prefers", "gang", "no_room")


def waiting_tasks(core: Core) -> dict[str, int]:
    """Tasks that wait, each job's under the first of these that is true of it: it can never run, a
    limit is reached, it waits for what it prefers, its tasks start together; for all others there
    is no room. `Core.why` says more of one job, by looking at all machines."""
    state = core.state
    present = Jobs(core)
    jobs = present.slot
    fields = ("usable", "patient", "likes", "gang", "waiting", "tenant", "aside")
    rows = {name: state.job[name][jobs] for name in fields}
    waiting = np.minimum(present.waiting, 1 << 40)
    together_never = (rows["usable"] == ALONE) & (rows["waiting"] >= rows["gang"])
    nowhere = (rows["usable"] == 0) | together_never
    prefers = (rows["patient"] == 1) & (rows["likes"] == 1)
    gang = (rows["gang"] > 1) & (rows["waiting"] >= rows["gang"])
    together = np.where(gang, rows["gang"], 1)
    limit: Bools = np.zeros(len(jobs), bool)
    t = rows["tenant"].astype(np.int64)
    while (t >= 0).any():
        at = np.flatnonzero(t >= 0)
        caps, used = state.limit[t[at]], state.used[t[at]]
        need = state.demand[jobs[at]] * together[at, None]
        aside = state.demand[jobs[at]] * rows["aside"][at, None]
        used = used - np.maximum(aside, eased(state)[t[at]])
        limit[at] |= ((caps != UNLIMITED) & (need > 0) & (used + need > caps)).any(axis=1)
        t[at] = state.tenant["parent"][t[at]]
    counts, left = {}, np.ones(len(jobs), bool)
    others = np.ones(len(jobs), bool)
    for reason, holds in zip(REASONS, (nowhere, limit, prefers, gang, others), strict=True):
        counts[reason] = int(waiting[left & holds].sum())
        left &= ~holds
    return counts
