"""Do these packings fit? From the model alone, in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlead.model.eligibility import may_use
from fairlead.model.errors import InternalError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.shares import MachineClass
from fairlead.model.wholes import Packing


def check_fits(
    cluster: Cluster,
    jobs: Sequence[Job],
    classes: Sequence[MachineClass],
    packings: Sequence[Packing],
) -> None:
    """Raises InternalError where a packing is larger than a machine, on more machines than there
    are, where its job may not run, or has more tasks than the job."""
    machines = {machine.name: machine for machine in cluster.machines}
    by_name = {job.name: job for job in jobs}
    members = {group.index: group.machines for group in classes}
    used: dict[int, Fraction] = {}
    total: dict[str, Fraction] = {}
    for packing in packings:
        number = packing.machine_class
        used[number] = used.get(number, Fraction(0)) + packing.machines
        example = machines[members[number][0]]
        held: dict[str, Fraction] = {}
        for name, tasks in packing.jobs:
            job = by_name[name]
            total[name] = total.get(name, Fraction(0)) + tasks * packing.machines
            if job.spread and tasks > 1:
                _fail(f"{tasks} tasks of job {name}, which spreads, are on one machine")
            for resource, need in job.demand.items():
                held[resource] = held.get(resource, Fraction(0)) + tasks * need
        for resource, amount in held.items():
            if amount > example.capacity.get(resource, Fraction(0)):
                _fail(f"a packing takes {amount} {resource}, which {example.name} does not have")
    for number, machines_used in used.items():
        if machines_used > len(members[number]):
            _fail(f"{machines_used} machines of class {number} are used, which has fewer")
    for name, given in total.items():
        most = by_name[name].tasks
        if most is not None and given > most:
            _fail(f"job {name} gets {given} tasks and has {most}")
    _check_eligible(cluster, by_name, members, packings)


def _check_eligible(
    cluster: Cluster,
    jobs: dict[str, Job],
    members: dict[int, tuple[str, ...]],
    packings: Sequence[Packing],
) -> None:
    machines = {machine.name: machine for machine in cluster.machines}
    pairs = {(packing.machine_class, name) for packing in packings for name, _ in packing.jobs}
    for number, name in sorted(pairs):
        if not may_use(jobs[name], machines[members[number][0]]):
            _fail(f"job {name} may not use class {number}")


def _fail(what: str) -> None:
    raise InternalError(f"the whole tasks do not fit: {what}")
