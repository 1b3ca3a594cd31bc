"""Jobs that can never run, as long as machines and limits stay: no machine holds one of their
tasks, or not all tasks that start together, or a tenant may not hold them.

What they ask for is no demand. It is decided here for every answer about an input, and the live
core decides the same of its own columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction

from fairlead.model.eligibility import Eligibility, eligibility, excluded
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.shares import GangTooLarge, Nowhere, OverLimit
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap

NONE = Fraction(0)

Limits = Mapping[str, tuple[Tenant, ...]]
"""Of each tenant itself and those above it, those that have a limit."""


def never_run(cluster: Cluster, jobs: Sequence[Job]) -> frozenset[str]:
    look = _Look(cluster, jobs)
    return frozenset(job.name for number, job in enumerate(jobs) if look.never(number, job))


def why_never(cluster: Cluster, jobs: Sequence[Job]) -> dict[str, Nowhere]:
    """Of the jobs that can never run, why, counted. Jobs that are alike have one reason."""
    look = _Look(cluster, jobs)
    known: dict[object, Nowhere] = {}
    found: dict[str, Nowhere] = {}
    for number, job in enumerate(jobs):
        if look.never(number, job):
            limits = tuple(look.limits_below(job))
            wanted = (job.demand, job.gang, job.spread)
            key = (wanted, job.where, job.machines, job.exclude, limits)
            if key not in known:
                known[key] = look.reason(number, job, limits)
            found[job.name] = known[key]
    return found


class _Look:
    """An input, with what its jobs have in common looked at once."""

    def __init__(self, cluster: Cluster, jobs: Sequence[Job]) -> None:
        self._cluster = cluster
        self._devices: Set[str] = cluster.devices
        self._limits = _limits_above(cluster.tenants)
        allowed: Eligibility = eligibility(cluster, jobs)
        self._row = allowed.row
        kinds = [(cluster.machines[some[0]].capacity, len(some)) for some in allowed.groups]
        self._open = [[kinds[g] for g in row] for row in allowed.rows]

    def never(self, number: int, job: Job) -> bool:
        """Whether this job, which is the `number`-th one, can never run."""
        if any(self.limits_below(job)):
            return True
        room = 0
        for fit, count in self.fits(number, job):
            room += fit * count
            if room >= job.gang:
                return False
        return True

    def reason(self, number: int, job: Job, limits: tuple[OverLimit, ...]) -> Nowhere:
        """Why this job, which these limits are too low for, can never run."""
        holding = [(fit, count) for fit, count in self.fits(number, job) if fit]
        room = sum(fit * count for fit, count in holding)
        if room >= job.gang:
            return Nowhere(len(self._cluster.machines), (), (), limits=limits)
        able = sum(count for _, count in holding)
        gang = GangTooLarge(job.gang, room, able) if able else None
        return replace(excluded(self._cluster, job), gang=gang, limits=limits)

    def fits(self, number: int, job: Job) -> Iterator[tuple[int, int]]:
        """Of each kind of machine that its constraint allows, how many tasks an empty one holds,
        and how many machines they are."""
        kinds = self._open[self._row[number]]
        for at, (capacity, count) in enumerate(kinds):
            fit = whole_tasks(job, capacity, self._devices)
            if fit and at and job.gang == 1:
                # What holds one task probably holds one of the next job.
                kinds[0], kinds[at] = kinds[at], kinds[0]
            yield fit, count

    def limits_below(self, job: Job) -> Iterator[OverLimit]:
        """The limits that the tasks which start together exceed."""
        for tenant in self._limits.get(job.tenant or "", ()):
            for resource, most in tenant.limit.items():
                need = job.gang * job.demand.get(resource, NONE)
                if need > most:
                    yield OverLimit(tenant.name, resource, job.gang, need, most)


def whole_tasks(job: Job, capacity: FrozenMap[Fraction], devices: Set[str]) -> int:
    """How many whole tasks an empty machine of this capacity holds, at most 1 if the job spreads;
    its constraint is ignored. Of a device a task takes a part, or it takes several whole ones."""
    most: int | None = 1 if job.spread else None
    for resource, need in job.demand.items():
        if not need:
            continue
        has = capacity.get(resource, NONE)
        if has < need:
            return 0
        fit = has // need
        if resource in devices:
            fit = has // need if need > 1 else has.__floor__() * (1 // need)
        most = fit if most is None else min(most, fit)
    return most or 0


def _limits_above(tenants: Sequence[Tenant]) -> Limits:
    """Nothing of a tenant that is below itself, or below none that there is: the check says so."""
    by_name = {tenant.name: tenant for tenant in tenants}
    found: dict[str, tuple[Tenant, ...]] = {}
    for tenant in tenants:
        chain = {tenant.name: tenant}
        while (above := by_name.get(tenant.parent or "")) and above.name not in chain:
            tenant = chain[above.name] = above
        limited = tuple(each for each in chain.values() if each.limit)
        if limited:
            found[next(iter(chain))] = limited
    return found
