"""Hints at jobs whose tasks are larger than every machine: how to write them to share parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from fractions import Fraction

from fairlead.model.allocation import Allocation
from fairlead.model.eligibility import may_use
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import Tasks
from fairlead.model.words import amount, counted, listing

NONE = Fraction(0)


def size_hints(cluster: Cluster, jobs: Iterable[Job], allocation: Allocation) -> Iterator[str]:
    """For jobs that can never run, in divisible tasks, for their size alone: in which tasks the
    first could be written, as examples of the theory are, and how many there are more."""
    first, *others = [*_each(cluster, jobs, allocation)] or [""]
    if first:
        more = f"; so with {counted(len(others), 'other job')}" if others else ""
        yield f"{first}{more}"


def _each(cluster: Cluster, jobs: Iterable[Job], allocation: Allocation) -> Iterator[str]:
    if allocation.tasks is not Tasks.DIVISIBLE:
        return
    nowhere = {share.name: share.nowhere for share in allocation.jobs if share.nowhere is not None}
    for job in jobs:
        why = nowhere.get(job.name)
        if why is None or why.gang is not None or why.limits or job.spread or job.gang > 1:
            continue
        parts = [
            _parts(job, machine, cluster.devices)
            for machine in cluster.machines
            if may_use(job, machine)
            and all(machine.capacity.get(r, NONE) > 0 for r, need in job.demand.items() if need)
        ]
        if parts:
            fewest = min(parts)
            smaller = [amount(float(need / fewest), r) for r, need in job.demand.items() if need]
            many = "" if job.tasks is None else f", {fewest} times as many"
            yield (
                f"job {job.name}: to share it in parts, as papers' examples do, write tasks of"
                f" {listing(smaller)} (1/{fewest} of one){many}"
            )


def _parts(job: Job, machine: Machine, devices: Set[str]) -> int:
    """In how many parts, at least, a task is cut of which each fits on the empty machine."""
    needs = {r: need for r, need in job.demand.items() if need}
    parts = max((-(-need // machine.capacity[r]) for r, need in needs.items()), default=1)

    def cut(resource: str) -> bool:
        part = needs[resource] / parts
        return resource in devices and part > 1 and part.denominator > 1

    while any(map(cut, needs)):
        parts += 1
    return parts
