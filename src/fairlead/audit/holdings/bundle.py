"""The tasks that a tenant could run with other resources: a pool, a part of each machine, what
somebody else holds.

Divisible tasks take any part of what is on a machine. Whole tasks run in *rooms*, whole machines or
the containers that somebody was given, one for each task; what is in two rooms cannot be combined
(Friedman, Ghodsi, Psomas 2014, section 2.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from fairlead.audit.holdings.arrays import Held, Party
from fairlead.audit.holdings.exact import Has
from fairlead.audit.holdings.exact import better_share as exactly_better
from fairlead.model.errors import SolverError
from fairlead.model.unrounded import EXACT, IN_DOUBLES
from fairlead.sharing.analysis.improve import Cap, Room, best
from fairlead.sharing.analysis.improve_whole import Rooms, best_mean, best_whole
from fairlead.sharing.certificate.arrays import Bools, Floats, Ints

SURE = 1e-6
"""Numbers that doubles have further apart than this, relative, are apart: sums of up to 100,000
terms without signs, of numbers that are shown with 12 digits."""

LARGE = 4000
"""More places than this are too many for a linear program in rationals."""

TINY = 1e-9
"""Rounding takes less than this of a whole number that was multiplied by a part."""


@dataclass(frozen=True)
class Bundles:
    """Resources of several owners, machine by machine: entry e is what `owner[e]` has on the
    `machines[e]` machines of class `at[e]` together, an equal part of it on each; with whole tasks
    in `rooms[e]` rooms that are alike, in expectation where a lottery is not drawn yet."""

    owners: int
    owner: Ints  # (E,)
    at: Ints  # (E,)
    amount: Floats  # (E, R)
    machines: Floats  # (E,)
    rooms: Floats | None = None  # (E,) None where tasks are divisible

    def of(self, owner: int) -> Bundles:
        """The entries of one of them, as the only owner."""
        mine = np.flatnonzero(self.owner == owner)
        rooms = None if self.rooms is None else self.rooms[mine]
        return Bundles(
            1, np.zeros_like(mine), self.at[mine], self.amount[mine], self.machines[mine], rooms
        )

    def times(self, factor: float, rounded: Callable[[Floats], Floats] = lambda x: x) -> Bundles:
        """So many times the resources, on the same machines; so many times the rooms, rounded."""
        if self.rooms is None:
            return replace(self, amount=self.amount * factor)
        rooms = rounded(self.rooms * factor)
        part = np.divide(rooms, self.rooms, out=np.zeros(len(rooms)), where=self.rooms > 0)
        return replace(self, amount=self.amount * part[:, None], rooms=rooms)


def whole_part(amount: Floats) -> Floats:
    """Rounded down, but for what rounding took."""
    found: Floats = np.floor(amount + TINY)
    return found


def held_bundles(held: Held, tasks: Floats) -> Bundles:
    """The bundle that each party holds. With whole tasks that is a container for each, as large as
    claimed."""
    if held.drawn:
        return _containers(held, tasks)
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


def _containers(held: Held, tasks: Floats) -> Bundles:
    machines = sum(
        (each.probability * each.machines for each in held.drawn), start=np.zeros(tasks.shape)
    )
    party = np.full(len(held.total), -1)
    for i, each in enumerate(held.parties):
        party[each.jobs] = i
    job, at = np.nonzero((tasks > 0) & (party >= 0)[:, None])
    order = np.argsort(party[job], kind="stable")
    job, at = job[order], at[order]
    rooms = tasks[job, at]
    return Bundles(
        owners=len(held.parties),
        owner=party[job],
        at=at,
        amount=held.seen.demand[job] * rooms[:, None],
        machines=machines[job, at],
        rooms=rooms,
    )


def machine_bundle(held: Held, part: float, count: Floats) -> Bundles:
    """A part of each of so many machines of every class."""
    at = np.flatnonzero(count > 0)
    amount = held.classes.capacity[at]
    return Bundles(
        owners=1,
        owner=np.zeros_like(at),
        at=at,
        amount=whole_part(amount * part) * count[at, None]
        if held.drawn
        else amount * count[at, None] * part,
        machines=count[at],
        rooms=count[at] if held.drawn else None,
    )


def could_run(held: Held, job: int, bundles: Bundles) -> Floats:
    """(N,) the tasks of one job that each owner's bundle would hold, its own number of tasks and
    limits not counted."""
    entries = np.flatnonzero(held.classes.usable[job, bundles.at])
    need = held.seen.demand[job]
    takes = np.flatnonzero(need)
    amount = bundles.amount[entries][:, takes]
    if bundles.rooms is None:
        fit: Floats = (amount / need[takes]).min(axis=1)
    else:
        rooms = bundles.rooms[entries]
        some = np.where(rooms > 0, rooms, 1.0)
        # Amounts of a room are whole numbers: what division leaves of that goes.
        fit = (np.rint(amount / some[:, None]) // need[takes]).min(axis=1) * rooms
    if held.seen.spread[job]:
        fit = np.minimum(fit, bundles.machines[entries])
    found: Floats = np.bincount(bundles.owner[entries], fit, minlength=bundles.owners).astype(float)
    return found


def may_hold(held: Held, party: Party, bundles: Bundles) -> Bools:
    """(N,) False where an owner's bundle surely cannot hold all that the party runs: by all its
    jobs together on machines that any of them may use, and by each job alone."""
    jobs = party.jobs
    tasks = held.total[jobs]
    able = held.classes.usable[jobs].max(axis=0)[bundles.at]
    possible = np.ones(bundles.owners, dtype=np.bool_)
    less = 1 - SURE
    for r, need in enumerate(tasks @ held.seen.demand[jobs]):
        there = np.bincount(bundles.owner[able], bundles.amount[able, r], minlength=bundles.owners)
        possible &= there >= need * less
    for job, has in zip(jobs, tasks, strict=True):
        if not possible.any():
            break
        possible &= could_run(held, int(job), bundles) >= has * less
    return possible


@dataclass(frozen=True)
class Reach:
    """The largest share that was found, None where there is none; `proved`: none is larger. It is
    known `within` a part of itself."""

    share: Fraction | None
    proved: bool = True
    within: Fraction = EXACT


def better_share(held: Held, party: Party, bundle: Bundles, has: Callable[[], Has]) -> Reach:
    """The largest share that the party could reach with the bundle while it runs of every job at
    least what it runs now; None where it could not even do that. `has` is the bundle exactly, which
    is asked where doubles are too close; a very large program is left to them."""
    if held.drawn:
        return _better_whole(held, party, bundle)
    large = len(party.jobs) * len(bundle.at) > LARGE
    near: float | None = None
    try:
        near = _nearly_better(held, party, bundle)
        if near is None:
            return Reach(None)
    except SolverError:
        # There is always the slower way.
        if large:
            raise
    if large and near is not None:
        return Reach(Fraction(near), within=max(held.within, IN_DOUBLES))
    return Reach(exactly_better(held, party, has()), within=held.within)


def _nearly_better(held: Held, party: Party, bundle: Bundles) -> float | None:
    """The share by doubles, and None only where it surely cannot run what it runs now."""
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
    worth = 1.0 / held.unit[jobs] / float((1.0 / held.unit[jobs] * size).max())
    found = best(
        Room(
            demand=demand,
            usable=usable,
            capacity=capacity,
            most=np.where(spread[:, None], machines[None, :], np.inf),
            floor=floor * (1 - SURE),
            ceiling=ceiling,
            unit=size,
            worth=np.broadcast_to(worth[:, None], usable.shape),
            caps=caps(held, jobs),
        )
    )
    return None if found is None else held.share(jobs, found.sum(axis=1))


def _better_whole(held: Held, party: Party, bundle: Bundles) -> Reach:
    """The same in whole tasks: a program of its own for each job, which says how many more of it
    there could be; the job whose gain is the largest share counts."""
    assert bundle.rooms is not None  # what whole tasks are in
    jobs = party.jobs
    some = bundle.rooms > 0
    count = bundle.rooms[some]
    capacity = np.rint(bundle.amount[some] / count[:, None]).astype(np.int64)
    demand = held.seen.demand[jobs].astype(np.int64)
    fit = np.full((len(jobs), len(count)), np.iinfo(np.int64).max)
    for r in range(demand.shape[1]):
        needy = np.flatnonzero(demand[:, r])
        fit[needy] = np.minimum(fit[needy], capacity[None, :, r] // demand[needy, r, None])
    most = np.where(held.classes.usable[jobs][:, bundle.at[some]], fit, 0)
    most[held.seen.spread[jobs]] = np.minimum(most[held.seen.spread[jobs]], 1)
    ceiling = np.array([max(held.ceiling(int(job)), held.total[job]) for job in jobs])
    best: Fraction | None = None
    proved = True
    for k in range(len(jobs)):
        worth = np.zeros(len(jobs))
        worth[k] = 1.0
        rooms = Rooms(
            demand=demand,
            capacity=capacity,
            count=count,
            most=most,
            floor=held.total[jobs],
            ceiling=ceiling,
            worth=worth,
            caps=caps(held, jobs),
        )
        found = best_mean(rooms) if held.ex_ante else best_whole(rooms)
        proved = proved and found.proved
        if found.tasks is not None and (found.proved or not held.ex_ante):
            tasks = found.tasks if held.ex_ante else np.rint(found.tasks)
            share = held.worth(jobs, [Fraction(each) for each in tasks.tolist()])
            best = share if best is None else max(best, share)
    # Before a draw the mean of a lottery is sought by a program in doubles.
    return Reach(best, proved, IN_DOUBLES if held.ex_ante else EXACT)


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
