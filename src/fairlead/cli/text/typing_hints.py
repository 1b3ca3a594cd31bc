"""Hints at slips of the pen in a job that can never run, which are no mistakes of the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.shares import JobShare
from fairlead.model.slips import Slips


def typing_hints(
    cluster: Cluster, jobs: Iterable[Job], shares: Iterable[JobShare]
) -> Iterator[str]:
    """For each job that can never run: what it names that no machine has."""
    nowhere = {share.name for share in shares if share.nowhere is not None}
    if not nowhere:
        return
    slips = Slips(cluster.machines)
    for job in jobs:
        if job.name in nowhere:
            yield from (f"job {job.name}: {hint}" for hint in slips.of(job))
