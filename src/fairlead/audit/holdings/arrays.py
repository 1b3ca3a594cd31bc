"""Holdings in arrays: the jobs of each tenant, on which machines, with which weight.

Everything is made from the model and from the allocation, never from a solver's arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

import numpy as np

from fairlead.audit.finding import Moment
from fairlead.audit.holdings.whole_tasks import Drawn, all_drawn, in_units
from fairlead.audit.outcome import Outcome, near
from fairlead.model.check import with_implied_tenants
from fairlead.model.shares import MachineClass, TenantShare
from fairlead.model.tenant import Tenant
from fairlead.model.unrounded import IN_DOUBLES, Unrounded
from fairlead.sharing.certificate.arrays import Bools, Classes, Floats, Ints, Seen, see
from fairlead.sharing.certificate.placed import exactly_placed

POOLED = (
    "{policy} looks at one machine that holds everything: it says nothing of which machine a task"
    " runs on"
)

Placed = dict[int, dict[int, Fraction]]
"""Tasks by job and class."""


@dataclass(frozen=True)
class Limit:
    """A hard cap: what the jobs below a tenant hold together of one resource; `most` is the same
    exactly, in parts."""

    jobs: Ints
    resource: int
    amount: float
    most: Fraction


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

    Doubles say which comparisons are close. Those are made by exact numbers: `numbers`, `part` (the
    weights), `placed` and `most`, with demands and capacities in parts.

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
    outcome: Outcome
    numbers: Unrounded
    part: tuple[Fraction, ...]  # (N,)
    limits: tuple[Limit, ...]
    tenants: tuple[Tenant, ...]
    column: Ints  # (M,) the class of each machine
    drawn: tuple[Drawn, ...] = ()  # empty where tasks are divisible
    ex_ante: bool = False  # a lottery, before it is drawn

    @cached_property
    def _where(self) -> tuple[Placed, Fraction]:
        """The places of tasks, and to what part of itself that is known."""
        shown: Placed = {}
        if self.tasks is not None:
            for j, c in np.argwhere(self.tasks > 0).tolist():
                shown.setdefault(j, {})[c] = Fraction(float(self.tasks[j, c]))
        if self.drawn:
            return shown, Fraction(0)
        given, proof = self.outcome.input, self.outcome.allocation.proof
        if self.numbers.within or proof is None:
            return shown, self.numbers.within or IN_DOUBLES
        cluster = with_implied_tenants(given.cluster, given.jobs)
        column = self.classes.column or {0: 0}  # one machine that is the only one
        found = {
            self.seen.job[name]: {column[number]: tasks for number, tasks in on.items()}
            for name, on in exactly_placed(cluster, given.jobs, proof).items()
        }
        if {j: on.keys() for j, on in found.items()} == {j: on.keys() for j, on in shown.items()}:
            pairs = [(j, c) for j, on in found.items() for c in on]
            if all(near(float(shown[j][c]), found[j][c]) for j, c in pairs):
                return found, Fraction(0)
        return shown, IN_DOUBLES

    @property
    def placed(self) -> Placed:
        """The tasks of each job on each class."""
        return self._where[0]

    @property
    def within(self) -> Fraction:
        """To what part of itself what somebody holds is known: 0 where that is exact."""
        return self._where[1]

    def runs(self, job: int) -> Fraction:
        return self.numbers.tasks[self.seen.names[job]]

    def need(self, job: int) -> list[int]:
        """(R,) what a task takes, in parts."""
        found: list[int] = self.seen.need[job].tolist()
        return found

    def number(self, job: int) -> Fraction | None:
        """The tasks that a job has; None where it has no end of them."""
        number = self.seen.number[job]
        return None if number is None else Fraction(int(number.p), int(number.q))

    def most(self, job: int) -> Fraction | None:
        """`ceiling`, exactly; None where nothing bounds it."""
        number = self.number(job)
        found = [] if number is None else [number]
        for limit in self.limits:
            need = self.need(job)[limit.resource]
            if need and job in limit.jobs:
                found.append(limit.most / need)
        most = min(found, default=None)
        return most if most is None or not self.drawn else Fraction(floor(most))

    def worth(self, jobs: Ints, tasks: Sequence[Fraction]) -> Fraction:
        """`share`, exactly."""
        total = Fraction(0)
        for job, has in zip(jobs.tolist(), tasks, strict=True):
            unit = self.numbers.unit[self.seen.names[job]]
            total += has / unit if unit else 0
        return total

    def ceiling(self, job: int) -> float:
        """The tasks that the job could run if it were alone in the world, by its own number and by
        the limits above it."""
        most = float(self.seen.tasks[job])
        for limit in self.limits:
            need = float(self.seen.demand[job, limit.resource])
            if need and job in limit.jobs:
                most = min(most, limit.amount / need)
        return most if not self.drawn or np.isinf(most) else float(np.floor(most + 1e-9))

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
        return Party(tenant, np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64))


def hold(outcome: Outcome) -> Held:
    given, allocation = outcome.input, outcome.allocation
    cluster = with_implied_tenants(given.cluster, given.jobs)
    seen = see(cluster, given.jobs)
    placed = {job.name: job for job in allocation.jobs}
    shares = [placed[name] for name in seen.names]
    pooled = not outcome.whole and any(share.placements is None for share in shares)
    pooled_away = pooled
    classes = seen.all_kinds if pooled else seen.classes(allocation.classes)
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
    numbers = outcome.numbers
    part = _parts(allocation.tenants, numbers.weight, parties)
    return Held(
        seen=seen,
        classes=classes,
        tasks=None if pooled else tasks,
        total=total,
        unit=np.where(unit > 0, unit, np.inf),
        parties=parties,
        weight=np.array([float(each) for each in part], dtype=float),
        outcome=outcome,
        numbers=numbers,
        part=part,
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


def _parties(tenant: Sequence[str], runs: Bools) -> tuple[Party, ...]:
    jobs: dict[str, list[int]] = {}
    for j, name in enumerate(tenant):
        if runs[j]:
            jobs.setdefault(name, []).append(j)
    return tuple(Party(name, np.array(found)) for name, found in jobs.items())


def _parts(
    tenants: Sequence[TenantShare], weight: Mapping[str, Fraction], parties: Sequence[Party]
) -> tuple[Fraction, ...]:
    """The part of the whole that each party's weights make its own: a tenant's weight is split
    among its children that have jobs, its own jobs counting 1 each."""
    known = {tenant.name: tenant for tenant in tenants}
    own = {party.name: len(party.jobs) for party in parties}
    children: dict[str | None, dict[str, None]] = {}
    for party in parties:
        at: str | None = party.name
        while at is not None:
            parent = known[at].parent
            children.setdefault(parent, {})[at] = None
            at = parent
    part: dict[str, Fraction] = {}
    waiting: list[tuple[str | None, Fraction]] = [(None, Fraction(1))]
    while waiting:
        node, above = waiting.pop()
        below = list(children.get(node, ()))
        mine = 0 if node is None else own.get(node, 0)
        whole = mine + sum((weight[name] for name in below), Fraction(0))
        if node is not None and mine:
            part[node] = above * mine / whole
        waiting += [(name, above * weight[name] / whole) for name in below]
    return tuple(part[party.name] for party in parties)


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
            amount * seen.parts[seen.resource[resource]],
        )
        for tenant in tenants
        for resource, amount in tenant.limit.items()
        if resource in seen.resource and tenant.name in below
    )
