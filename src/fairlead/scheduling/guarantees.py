"""Guarantees: the whole tasks that the exact allocation of the present jobs gives each of them.

They are computed outside the core, by a solver, and enter it as an event.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.values import FrozenMap
from fairlead.scheduling.events import GuaranteesChanged
from fairlead.sharing.policy import Policy
from fairlead.sharing.whole import Exact, exact_shares

# Shares carry rounding errors of about 1e-12: 2.9999999999 tasks are 3.
ROUNDING = 1e-9


def guarantee(
    time: int, cluster: Cluster, jobs: Sequence[Job], policy: str | Policy = "tsf"
) -> GuaranteesChanged:
    """The event that tells the core what is guaranteed to these jobs on these machines."""
    if not cluster.machines or not jobs:
        return GuaranteesChanged(time)
    return guarantees_of(time, exact_shares(cluster, jobs, policy))


def guarantees_of(time: int, exact: Exact) -> GuaranteesChanged:
    """The event for an exact filling: each job's tasks, rounded down. Jobs with none are left
    out."""
    whole = np.floor(exact.filling.tasks.sum(axis=1) * (1 + ROUNDING) + ROUNDING).astype(np.int64)
    each = zip(exact.problem.job_names, whole.tolist(), strict=True)
    return GuaranteesChanged(time, FrozenMap({name: tasks for name, tasks in each if tasks}))
