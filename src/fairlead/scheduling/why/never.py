"""Why a job can never run, as long as machines and limits stay: asked of a job that is there, and
of one that is about to be submitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairlead.model.job import Job
from fairlead.model.slips import Names, Slips, machine_slips
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import NEVER
from fairlead.scheduling.state.book import Book
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.state.ids import Ids
from fairlead.scheduling.state.rows import limits, machines_there
from fairlead.scheduling.state.terms import Term, write_term
from fairlead.scheduling.why.values import (
    Counts,
    Excluded,
    GangTooLarge,
    OverLimit,
    Reason,
    TooSmall,
)
from fairlead.sharing.problem.problem import Bools, Ints

MOST = 1 << 32
"""So many tasks on a machine are counted at most, that a sum over machines fits into a word."""


@dataclass(frozen=True)
class Wanted:
    """The wishes of a job: `demand` of a task, so many tasks that start together (`size`), one on
    each machine (`spread`); the slot of its tenant, and the machines that satisfy each of its
    terms."""

    job: Job
    demand: Ints
    size: int
    spread: bool
    tenant: int
    holders: Mapping[Term, Bools]

    def allowed(self, machines: Ints) -> Bools:
        """Those of these machines, its holders', that satisfy the whole constraint."""
        allowed = np.ones(len(machines), bool)
        for holds in self.holders.values():
            allowed &= holds
        return allowed


class Prospects:
    """Whether jobs that are submitted now could ever run on the machines that are there. It is
    asked of many jobs at once: what those that are alike have in common is looked at once."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._machines = machines_there(book.state)
        examples, self._kind = alike(book.state.capacity[self._machines])
        self._examples = self._machines[examples]
        self._counts: dict[bytes, Ints] = {}
        self._holders: dict[Term, Bools] = {}
        self._found: dict[tuple[object, ...], tuple[Reason, ...]] = {}

    def never(self, job: Job) -> tuple[Reason, ...]:
        """Why the job, which is legal by itself, could never run; nothing where it could, or where
        the machines are to come."""
        if not len(self._machines):
            return ()
        ids = self._book.ids
        needed, _ = self._book.terms_of(job)
        demand = np.array(ids.demand(job), np.int64)
        size = job.gang if job.tasks is None or job.tasks >= job.gang else 1
        tenant = -1 if job.tenant is None else ids.tenants[job.tenant]
        key = (demand.tobytes(), needed, size, job.spread, tenant)
        if key not in self._found:
            wanted = Wanted(job, demand, size, job.spread, tenant, self._holders_of(needed))
            self._found[key] = self._look(wanted)
        return self._found[key]

    def slips(self, job: Job) -> tuple[str, ...]:
        """The machines that the job lists or excludes and that are not there; nothing where the
        machines are to come."""
        if not len(self._machines) or (job.machines is None and not job.exclude):
            return ()
        return (
            *machine_slips(self._names, job.machines or ()),
            *machine_slips(self._names, job.exclude, ", which it excludes"),
        )

    def _look(self, wanted: Wanted) -> tuple[Reason, ...]:
        state, ids = self._book.state, self._book.ids
        key = wanted.demand.tobytes()
        if key not in self._counts:
            self._counts[key] = counts(state, self._examples, wanted.demand, empty=True)
        allowed = np.bincount(
            self._kind[wanted.allowed(self._machines)], minlength=len(self._examples)
        )
        small = too_little(wanted, allowed, self._counts[key], ids, lambda: self._slips)
        return (*small, *over_limit(state, ids, wanted))

    def _holders_of(self, needed: tuple[Term, ...]) -> dict[Term, Bools]:
        """Of each of these terms, which of the machines that are there satisfy it."""
        new = [term for term in needed if term not in self._holders]
        if new:
            book = self._book
            self._holders |= holders_of(book.state, book.ids, tuple(new))
            fresh = book.holders(new)
            self._holders |= {term: holds[self._machines] for term, holds in fresh.items()}
        return {term: self._holders[term] for term in needed}

    @cached_property
    def _names(self) -> Names:
        return Names(self._book.ids.machines)

    @cached_property
    def _slips(self) -> Slips:
        return slips_of(self._book.ids, self._machines)


def holders_of(state: State, ids: Ids, terms: tuple[Term, ...]) -> dict[Term, Bools]:
    """Of each term that has a bit, which of the machines that are there satisfy it."""
    words = state.satisfies[machines_there(state)]
    found: dict[Term, Bools] = {}
    for term in terms:
        bit = ids.terms.get(term)
        if bit is not None:
            found[term] = (words[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1) == 1
    return found


def never(state: State, ids: Ids, machines: Ints, wanted: Wanted, room: Ints) -> tuple[Reason, ...]:
    """Why it could not run even if nothing else did: machines and limits are too small. `room`:
    that of these machines when they are empty, by resources."""
    allowed = wanted.allowed(machines).astype(np.int64)
    small = too_little(wanted, allowed, room, ids, lambda: slips_of(ids, machines))
    return (*small, *over_limit(state, ids, wanted))


def too_little(
    wanted: Wanted, allowed: Ints, room: Ints, ids: Ids, slips: Callable[[], Slips]
) -> tuple[Reason, ...]:
    """Why machines could not run it if they were empty. Of each kind of them, so many satisfy the
    constraint (`allowed`) and have room for so many tasks, by resources (`room`)."""
    count = int(allowed.sum())
    if not count:
        parts = [(write_term(term), int((~h).sum())) for term, h in wanted.holders.items()]
        machines = len(next(iter(wanted.holders.values())))
        excluding = tuple(part for part in parts if part[1])
        return (Excluded(machines, excluding, tuple(slips().of(wanted.job))),)
    least = room.min(axis=1)
    able = int(allowed[least > 0].sum())
    if not able:
        return (TooSmall(count, lacking(ids, room, allowed)),)
    fit = fit_together(least, wanted.spread, allowed)
    return (GangTooLarge(wanted.size, fit, able),) if fit < wanted.size else ()


def over_limit(state: State, ids: Ids, wanted: Wanted) -> tuple[Reason, ...]:
    """The limits of its tenant, and of those above it, that tasks which start together exceed."""
    found = []
    for t, r, limit in limits(state, wanted.tenant, wanted.demand):
        unit, need = ids.units[r], wanted.size * int(wanted.demand[r])
        if need > limit:
            amounts = need * unit.unit, limit * unit.unit
            found.append(OverLimit(ids.tenant_at[t].name, unit.name, wanted.size, *amounts))
    return tuple(found)


def slips_of(ids: Ids, machines: Ints) -> Slips:
    """The names of what the machines in these slots have."""
    return Slips(ids.machine_at[m] for m in machines.tolist() if m in ids.machine_at)


def fit_together(least: Ints, spread: bool, many: Ints | int = 1) -> int:
    """How many tasks machines hold of which so `many` each have room for so many tasks."""
    each = np.minimum(least, 1) if spread else np.minimum(least, MOST)
    return int((each * many).sum())


def lacking(ids: Ids, least: Ints, many: Ints | int = 1) -> Counts:
    """How many machines, of which so `many` are of each kind (row), have too little of each
    resource for a task."""
    short = ((least == 0).T * many).sum(axis=1).tolist()
    names = [unit.name for unit in ids.units]
    return tuple((name, count) for name, count in zip(names, short, strict=True) if count)


def counts(state: State, machines: Ints, demand: Ints, empty: bool) -> Ints:
    """(machines, resources) how many tasks each resource of each machine has room for, now or when
    it is empty."""
    found = np.full((len(machines), state.resources), NEVER)
    for r, need in enumerate(demand.tolist()):
        capacity = state.capacity[machines, r]
        unit = int(state.unit[r])
        if need == 0:
            continue
        if unit == 0:
            amount = capacity if empty else state.free[machines, r]
            found[:, r] = np.maximum(amount, 0) // need
            continue
        most = int(capacity.max(initial=0)) // unit
        first = int(state.column[r])
        has = np.arange(most) < (capacity // unit)[:, None]
        pieces = np.where(has, unit, 0)
        if not empty:
            free = state.piece[machines, first : first + most]
            pieces = np.where(has, np.maximum(free, 0), 0)
        if need <= unit:
            found[:, r] = (pieces // need).sum(axis=1)
        else:
            found[:, r] = (pieces == unit).sum(axis=1) // (need // unit)
    return found
