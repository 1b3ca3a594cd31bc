"""Who holds what, in arrays: the jobs of each tenant, on which machines, with which weight.

Everything is made from the model and from the allocation, never from a solver's arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.audit.finding import Moment
from fairlead.audit.outcome import Outcome
from fairlead.audit.whole import Drawn, all_drawn, in_units
from fairlead.model.check import with_implied_tenants
from fairlead.model.shares import MachineClass, TenantShare
from fairlead.model.tenant import Tenant
from fairlead.sharing.certificate.seen import Bools, Classes, Floats, Ints, Seen, see

POOLED = (
    "{policy} looks at one machine that holds everything: it says nothing of which machine a task"
    " runs on"
)


TINY = 1e-9
"""What rounding leaves of a whole number that was multiplied by a part."""


@dataclass(frozen=True)
class Limit:
    """A hard cap: what the jobs below a tenant hold together of one resource."""

    jobs: Ints
    resource: int
    amount: float


@dataclass(frozen=True)
class Party:
    """Whom a property is about: a tenant, with jobs (indices) that can run somewhere."""

    name: str
    jobs: Ints


@dataclass(frozen=True)
class Held:
    """An outcome in arrays: jobs x classes of machines.

    `tasks` is None where the policy looks at one machine that holds everything and the cluster is
    not just that. `unit`: the tasks that make one unit of share. `parties` are the tenants that
    have jobs of their own which can run; `weight` is the part of the whole that is theirs, by the
    weights of the tree: they add up to 1.

    With whole tasks amounts are whole numbers, `classes.holds` are whole tasks, and `drawn` has the
    allocations that may come out, of which `tasks` are the mean: one, unless a lottery is judged
    before it is drawn.
    """

    seen: Seen
    classes: Classes
    tasks: Floats | None  # (J, C)
    total: Floats  # (J,) tasks
    unit: Floats  # (J,)
    parties: tuple[Party, ...]
    weight: Floats  # (N,)
    limits: tuple[Limit, ...]
    tenants: tuple[Tenant, ...]
    column: Ints  # (M,) the class of each machine
    drawn: tuple[Drawn, ...] = ()  # empty where tasks are divisible
    ex_ante: bool = False  # a lottery, before it is drawn

    def ceiling(self, job: int) -> float:
        """The tasks that the job could run if it were alone in the world, by its own number and by
        the limits above it."""
        most = float(self.seen.tasks[job])
        for limit in self.limits:
            need = float(self.seen.demand[job, limit.resource])
            if need and job in limit.jobs:
                most = min(most, limit.amount / need)
        return most if not self.drawn or np.isinf(most) else float(np.floor(most + TINY))

    def share(self, jobs: Ints, tasks: Floats) -> float:
        """The share that so many tasks of these jobs are together, weights not counted."""
        return float((tasks / self.unit[jobs]).sum())

    def below(self, tenant: str) -> Party:
        """The tenant with all jobs of its own and of the tenants below it that can run."""
        parent = {each.name: each.parent for each in self.tenants}
        found = []
        for party in self.parties:
            at: str | None = party.name
            while at is not None and at != tenant:
                at = parent.get(at)
            if at is not None:
                found.append(party.jobs)
        return Party(tenant, np.sort(np.concatenate(found)) if found else _none())


def hold(outcome: Outcome) -> Held:
    """The outcome in arrays."""
    given, allocation = outcome.input, outcome.allocation
    cluster = with_implied_tenants(given.cluster, given.jobs)
    seen = see(cluster, given.jobs)
    placed = {job.name: job for job in allocation.jobs}
    shares = [placed[name] for name in seen.names]
    pooled = not outcome.whole and any(share.placements is None for share in shares)
    pooled_away = pooled
    classes = seen.all_kinds() if pooled else seen.classes(allocation.classes)
    total = np.array([share.tasks for share in shares], dtype=float)
    drawn: tuple[Drawn, ...] = ()
    units = (1,) * len(seen.resources)
    if outcome.whole:
        seen, classes, units = in_units(given, seen, allocation.classes, classes)
        drawn = all_drawn(allocation, seen, classes)
    runs = classes.runs
    tasks = np.zeros(classes.usable.shape)
    if drawn:
        tasks = np.sum([each.probability * each.tasks for each in drawn], axis=0)
        total = tasks.sum(axis=1)
    elif not pooled:
        for j, share in enumerate(shares):
            for place in share.placements or ():
                tasks[j, classes.column[place.machine_class]] = place.tasks
        total = tasks.sum(axis=1)
    elif len(classes.count) == 1 and classes.count[0] == 1:
        tasks[:, 0], pooled = total, False  # the one machine is the real one
    unit = np.array([s.alone if s.scale is None else s.scale for s in shares], dtype=float)
    parties = _parties([job.tenant or job.name for job in given.jobs], runs)
    return Held(
        seen=seen,
        classes=classes,
        tasks=None if pooled else tasks,
        total=total,
        unit=np.where(unit > 0, unit, np.inf),
        parties=parties,
        weight=_weights(allocation.tenants, parties),
        limits=_limits(cluster.tenants, seen, [job.tenant for job in given.jobs], units),
        tenants=cluster.tenants,
        column=_columns(seen, classes, None if pooled_away else allocation.classes),
        drawn=drawn,
        ex_ante=outcome.moment is Moment.EX_ANTE,
    )


def _columns(seen: Seen, classes: Classes, named: Sequence[MachineClass] | None) -> Ints:
    """(M,) the column of each machine among the classes."""
    if named is None:
        return seen.kind
    column = np.zeros(len(seen.machines), dtype=np.int64)
    for each in named:
        column[[seen.machine[name] for name in each.machines]] = classes.column[each.index]
    return column


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


def _parties(tenant: Sequence[str], runs: Bools) -> tuple[Party, ...]:
    jobs: dict[str, list[int]] = {}
    for j, name in enumerate(tenant):
        if runs[j]:
            jobs.setdefault(name, []).append(j)
    return tuple(Party(name, np.array(found)) for name, found in jobs.items())


def _weights(tenants: Sequence[TenantShare], parties: Sequence[Party]) -> Floats:
    """What part of the whole each party's weights make its own: a tenant's weight is split among
    its children that have jobs, its own jobs counting 1 each."""
    known = {tenant.name: tenant for tenant in tenants}
    own = {party.name: float(len(party.jobs)) for party in parties}
    children: dict[str | None, dict[str, None]] = {}
    for party in parties:
        at: str | None = party.name
        while at is not None:
            parent = known[at].parent
            children.setdefault(parent, {})[at] = None
            at = parent
    part: dict[str, float] = {}
    waiting: list[tuple[str | None, float]] = [(None, 1.0)]
    while waiting:
        node, above = waiting.pop()
        below = list(children.get(node, ()))
        mine = 0.0 if node is None else own.get(node, 0.0)
        whole = mine + sum(known[name].weight for name in below)
        if node is not None and mine:
            part[node] = above * mine / whole
        waiting += [(name, above * known[name].weight / whole) for name in below]
    return np.array([part[party.name] for party in parties], dtype=float)


def _limits(
    tenants: Sequence[Tenant], seen: Seen, of_job: Sequence[str | None], units: Sequence[int]
) -> tuple[Limit, ...]:
    if not any(tenant.limit for tenant in tenants):
        return ()
    parent = {tenant.name: tenant.parent for tenant in tenants}
    below: dict[str, list[int]] = {}
    for j, tenant in enumerate(of_job):
        at = tenant
        while at is not None:
            below.setdefault(at, []).append(j)
            at = parent[at]
    return tuple(
        Limit(
            np.array(below[tenant.name]),
            seen.resource[resource],
            float(amount * units[seen.resource[resource]]),
        )
        for tenant in tenants
        for resource, amount in tenant.limit.items()
        if resource in seen.resource and tenant.name in below
    )
