"""What a tenant could run with other resources than it has: a pool, a part of each machine, what
somebody else holds. Tasks are divisible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlead.audit.held import Held, Party
from fairlead.audit.tolerance import TOLERANCE
from fairlead.sharing.certificate.seen import Bools, Floats, Ints
from fairlead.sharing.improve import Cap, Room, best


@dataclass(frozen=True)
class Bundles:
    """Resources of several owners, machine by machine: entry e is what `owner[e]` has on the
    `machines[e]` machines of class `at[e]` together, an equal part of it on each."""

    owners: int
    owner: Ints  # (E,)
    at: Ints  # (E,)
    amount: Floats  # (E, R)
    machines: Floats  # (E,)

    def of(self, owner: int) -> Bundles:
        """What one of them has, as the only owner."""
        mine = np.flatnonzero(self.owner == owner)
        return Bundles(
            1, np.zeros_like(mine), self.at[mine], self.amount[mine], self.machines[mine]
        )

    def times(self, factor: float) -> Bundles:
        """So many times the resources, on the same machines."""
        return Bundles(self.owners, self.owner, self.at, self.amount * factor, self.machines)


def held_bundles(held: Held, tasks: Floats) -> Bundles:
    """What each party holds."""
    owner, at, amount = [], [], []
    for i, party in enumerate(held.parties):
        mine = tasks[party.jobs]
        classes = np.flatnonzero(mine.any(axis=0))
        owner.append(np.full(len(classes), i))
        at.append(classes)
        amount.append(mine[:, classes].T @ held.seen.demand[party.jobs])
    classes = np.concatenate(at) if at else np.zeros(0, dtype=np.int64)
    return Bundles(
        owners=len(held.parties),
        owner=np.concatenate(owner) if owner else np.zeros(0, dtype=np.int64),
        at=classes,
        amount=np.concatenate(amount) if amount else np.zeros((0, len(held.seen.resources))),
        machines=held.classes.count[classes],
    )


def machine_bundle(held: Held, part: float, count: Floats) -> Bundles:
    """A part of each of so many machines of every class."""
    at = np.flatnonzero(count > 0)
    return Bundles(
        owners=1,
        owner=np.zeros_like(at),
        at=at,
        amount=held.classes.capacity[at] * count[at, None] * part,
        machines=count[at],
    )


def could_run(held: Held, job: int, bundles: Bundles) -> Floats:
    """(N,) the tasks of one job that each owner's bundle would hold, its own number of tasks and
    limits not counted."""
    entries = np.flatnonzero(held.classes.usable[job, bundles.at])
    need = held.seen.demand[job]
    takes = np.flatnonzero(need)
    fit: Floats = (bundles.amount[entries][:, takes] / need[takes]).min(axis=1)
    if held.seen.spread[job]:
        fit = np.minimum(fit, bundles.machines[entries])
    found: Floats = np.bincount(bundles.owner[entries], fit, minlength=bundles.owners).astype(float)
    return found


def satisfied(held: Held, party: Party) -> bool:
    """Does every job of the party have all the tasks that it has?"""
    return bool((held.total[party.jobs] >= held.seen.tasks[party.jobs] * (1 - TOLERANCE)).all())


def may_hold(held: Held, party: Party, bundles: Bundles) -> Bools:
    """(N,) False where an owner's bundle surely cannot hold all that the party runs: by all its
    jobs together on machines that any of them may use, and by each job alone."""
    jobs = party.jobs
    tasks = held.total[jobs]
    able = held.classes.usable[jobs].max(axis=0)[bundles.at]
    possible = np.ones(bundles.owners, dtype=np.bool_)
    less = 1 - TOLERANCE
    for r, need in enumerate(tasks @ held.seen.demand[jobs]):
        there = np.bincount(bundles.owner[able], bundles.amount[able, r], minlength=bundles.owners)
        possible &= there >= need * less
    for job, has in zip(jobs, tasks, strict=True):
        if not possible.any():
            break
        possible &= could_run(held, int(job), bundles) >= has * less
    return possible


def better_share(held: Held, party: Party, bundle: Bundles) -> float | None:
    """The largest share that the party could reach with the bundle while it runs of every job at
    least what it runs now; None where it could not even do that."""
    jobs = party.jobs
    classes = len(held.classes.count)
    capacity = np.zeros((classes, len(held.seen.resources)))
    np.add.at(capacity, bundle.at, bundle.amount)
    machines = np.zeros(classes)
    np.add.at(machines, bundle.at, bundle.machines)
    demand = held.seen.demand[jobs]
    lacking = (demand[:, None, :] > 0) & (capacity[None, :, :] <= 0)
    usable = held.classes.usable[jobs] & (machines > 0) & ~lacking.any(axis=2)
    floor = np.where(usable.any(axis=1), held.total[jobs], 0.0)
    if (floor < held.total[jobs]).any():
        return None
    ceiling = np.array([max(held.ceiling(int(job)), held.total[job]) for job in jobs])
    fits = np.where(usable, _fit(demand, capacity), 0.0).sum(axis=1)
    size = np.maximum(floor, np.minimum(fits, ceiling) / len(jobs))
    size[size <= 0] = 1.0
    spread = held.seen.spread[jobs]
    found = best(
        Room(
            demand=demand,
            usable=usable,
            capacity=capacity,
            most=np.where(spread[:, None], machines[None, :], np.inf),
            floor=floor,
            ceiling=ceiling,
            unit=size,
            worth=1.0 / held.unit[jobs] / float((1.0 / held.unit[jobs] * size).max()),
            caps=caps(held, jobs),
        )
    )
    return None if found is None else held.share(jobs, found.sum(axis=1))


def caps(held: Held, jobs: Ints) -> tuple[Cap, ...]:
    """The limits on these jobs, as rows."""
    found = []
    for limit in held.limits:
        need = np.where(np.isin(jobs, limit.jobs), held.seen.demand[jobs, limit.resource], 0.0)
        if need.any():
            now = float(need @ held.total[jobs])
            found.append(Cap(need, max(limit.amount, now)))
    return tuple(found)


def _fit(demand: Floats, capacity: Floats) -> Floats:
    """(J, C) the tasks that a class's resources hold together."""
    need = demand[:, None, :]
    fit = np.divide(
        capacity[None], need, out=np.full(need.shape[:1] + capacity.shape, np.inf), where=need > 0
    )
    found: Floats = fit.min(axis=2)
    return found
