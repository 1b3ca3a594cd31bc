"""Guarantees: the whole tasks that the exact allocation of the present jobs gives each of them.

They are computed outside the core, by a solver, and enter it as an event.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.values import FrozenMap
from fairlead.scheduling.events import GuaranteesChanged
from fairlead.sharing.policy import Policy
from fairlead.sharing.problem.problem import Ints
from fairlead.sharing.whole import Exact, exact_shares, rounded_down


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
    return GuaranteesChanged(time, named(exact.problem.job_names, rounded_down(exact.tasks)))


def named(jobs: Sequence[str], whole: Ints) -> FrozenMap[int]:
    """The whole tasks of each job; jobs with none are left out."""
    return FrozenMap({job: count for job, count in zip(jobs, whole.tolist(), strict=True) if count})
