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
from fairlead.sharing.problem import Floats
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
    tasks = exact.filling.tasks.sum(axis=1)
    return GuaranteesChanged(time, whole_tasks(exact.problem.job_names, tasks))


def whole_tasks(jobs: Sequence[str], tasks: Floats) -> FrozenMap[int]:
    """The tasks of each job, rounded down; jobs with none are left out."""
    whole = np.floor(tasks * (1 + ROUNDING) + ROUNDING).astype(np.int64).tolist()
    return FrozenMap({job: count for job, count in zip(jobs, whole, strict=True) if count})
