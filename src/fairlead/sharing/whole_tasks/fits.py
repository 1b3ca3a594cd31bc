"""Do these packings fit? From the model alone, in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

from fairlead.model.eligibility import may_use
from fairlead.model.errors import InternalError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import MachineClass
from fairlead.model.wholes import Packing


class Fits:
    """The machines of each class and the jobs, to check packings against."""

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], classes: Sequence[MachineClass]
    ) -> None:
        examples = {group.machines[0]: group.index for group in classes}
        self._machine: dict[int, Machine] = {
            examples[machine.name]: machine
            for machine in cluster.machines
            if machine.name in examples
        }
        self._number = {group.index: len(group.machines) for group in classes}
        self._jobs = {job.name: job for job in jobs}
        self._devices = cluster.devices
        self._seen: set[tuple[int, tuple[tuple[str, int], ...]]] = set()
        parent = {tenant.name: tenant.parent for tenant in cluster.tenants}
        limits = {tenant.name: tenant.limit for tenant in cluster.tenants if tenant.limit}
        self._capped: dict[str, list[str]] = {name: [] for name in limits}
        self._limits = limits
        for job in jobs if limits else ():
            above = job.tenant
            while above is not None:
                if above in limits:
                    self._capped[above].append(job.name)
                above = parent[above]

    def check(self, packings: Sequence[Packing]) -> None:
        """Raises InternalError where a packing is larger than a machine, on more machines than
        there are, where its job may not run, has more tasks than the job or a part of a gang, or
        where all together hold more than a tenant's limit."""
        used: dict[int, Fraction] = {}
        total: dict[str, Fraction] = {}
        for packing in packings:
            number = packing.machine_class
            used[number] = used.get(number, Fraction(0)) + packing.machines
            for name, tasks in packing.jobs:
                total[name] = total.get(name, Fraction(0)) + tasks * packing.machines
            if (number, packing.jobs) not in self._seen:
                self._check_machine(packing)
                self._seen.add((number, packing.jobs))
        for number, machines_used in used.items():
            if machines_used > self._number[number]:
                _fail(f"{machines_used} machines of class {number} are used, which has fewer")
        for name, given in total.items():
            most = self._jobs[name].tasks
            if most is not None and given > most:
                _fail(f"job {name} gets {given} tasks and has {most}")
            gang = self._jobs[name].gang
            if given % gang and (most is None or given < most // gang * gang):
                _fail(f"job {name} gets {given} tasks, and {gang} start together")
        for tenant, limit in self._limits.items():
            for resource, amount in limit.items():
                held = sum(
                    total.get(name, 0) * self._jobs[name].demand.get(resource, Fraction(0))
                    for name in self._capped[tenant]
                )
                if held > amount:
                    _fail(f"tenant {tenant} holds {held} {resource} and may hold {amount}")

    def _check_machine(self, packing: Packing) -> None:
        machine = self._machine[packing.machine_class]
        held: dict[str, Fraction] = {}
        for name, tasks in packing.jobs:
            job = self._jobs[name]
            if not may_use(job, machine):
                _fail(f"job {name} may not use {machine.name}")
            if job.spread and tasks > 1:
                _fail(f"{tasks} tasks of job {name}, which spreads, are on one machine")
            for resource, need in job.demand.items():
                held[resource] = held.get(resource, Fraction(0)) + tasks * need
        for resource, amount in held.items():
            if amount > machine.capacity.get(resource, Fraction(0)):
                _fail(f"a packing takes {amount} {resource}, which {machine.name} does not have")
        for resource in self._devices & held.keys():
            self._check_devices(packing, machine, resource)

    def _check_devices(self, packing: Packing, machine: Machine, resource: str) -> None:
        """Puts all tasks onto devices, the largest first, each where there is room."""
        needs = sorted(
            (
                need
                for name, tasks in packing.jobs
                if (need := self._jobs[name].demand.get(resource, Fraction(0)))
                for _ in range(tasks)
            ),
            reverse=True,
        )
        whole = sum(need for need in needs if need >= 1)
        free = [Fraction(1)] * (machine.capacity[resource] - whole).__floor__()
        for need in (need for need in needs if need < 1):
            at = next((at for at, room in enumerate(free) if room >= need), None)
            if at is None:
                _fail(f"{need} {resource} of a task is on no single device of {machine.name}")
            free[at] -= need


def _fail(what: str) -> NoReturn:
    raise InternalError(f"the whole tasks do not fit: {what}")
