"""Why a job can never run, as long as machines and limits stay: asked of a job that is there, and
of one that is about to be submitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fairlead.model.job import Job
from fairlead.model.slips import slips
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import NEVER, UNLIMITED
from fairlead.scheduling.state.book import Book
from fairlead.scheduling.state.ids import Ids
from fairlead.scheduling.state.terms import Term, written_term
from fairlead.scheduling.transitions import MachineState
from fairlead.scheduling.why.values import (
    Counts,
    Excluded,
    GangTooLarge,
    OverLimit,
    Reason,
    TooSmall,
)
from fairlead.sharing.problem.problem import Bools, Ints


@dataclass(frozen=True)
class Wanted:
    """What a job wants: `demand` of a task, so many tasks that start together (`size`), one on each
    machine (`spread`); the slot of its tenant, and the machines that satisfy each of its terms."""

    job: Job
    demand: Ints
    size: int
    spread: bool
    tenant: int
    holders: Mapping[Term, Bools]


def never(book: Book, job: Job) -> tuple[Reason, ...]:
    """Why the job could never run on the machines that are there, if it were submitted now. It is
    legal by itself."""
    machines = there(book.state)
    if not len(machines):
        return ()  # they are to come
    needed, _ = book.terms_of(job)
    size = job.gang if job.tasks is None or job.tasks >= job.gang else 1
    wanted = Wanted(
        job=job,
        demand=np.array(book.ids.demand(job), np.int64),
        size=size,
        spread=job.spread,
        tenant=-1 if job.tenant is None else book.ids.tenants[job.tenant],
        holders=holders_of(book.state, book.ids, needed)
        | {term: holds[machines] for term, holds in book.holders(needed).items()},
    )
    return lasting(book.state, book.ids, machines, wanted)


def there(state: State) -> Ints:
    """The slots of the machines that are up or drain."""
    kind = state.machine["state"][: int(state.header[0]["machines"])]
    return np.flatnonzero(np.isin(kind, (MachineState.UP, MachineState.DRAINING)))


def holders_of(state: State, ids: Ids, terms: tuple[Term, ...]) -> dict[Term, Bools]:
    """Of each term that has a bit, which of the machines that are there satisfy it."""
    words = state.satisfies[there(state)]
    found: dict[Term, Bools] = {}
    for term in terms:
        bit = ids.terms.get(term)
        if bit is not None:
            found[term] = (words[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1) == 1
    return found


def lasting(state: State, ids: Ids, machines: Ints, wanted: Wanted) -> tuple[Reason, ...]:
    """Why it could not run even if nothing else did: machines and limits are too small."""
    found: list[Reason] = []
    allowed = np.ones(len(machines), bool)
    for holds in wanted.holders.values():
        allowed &= holds
    least = counts(state, machines, wanted.demand, empty=True)
    able = allowed & (least.min(axis=1) > 0)
    if not allowed.any():
        parts = tuple((written_term(term), int((~h).sum())) for term, h in wanted.holders.items())
        named = [ids.machine_at[m] for m in machines.tolist() if m in ids.machine_at]
        excluding = tuple(part for part in parts if part[1])
        found.append(Excluded(len(machines), excluding, tuple(slips(named, wanted.job))))
    elif not able.any():
        found.append(TooSmall(int(allowed.sum()), lacking(ids, least[allowed])))
    else:
        fit = fit_together(least.min(axis=1)[able], wanted.spread)
        if fit < wanted.size:
            found.append(GangTooLarge(wanted.size, fit, int(able.sum())))
    for tenant, r, _, limit in limits(state, ids, wanted.tenant, wanted.demand):
        unit, need = ids.units[r], wanted.size * int(wanted.demand[r])
        if need > limit:
            amounts = need * unit.unit, limit * unit.unit
            found.append(OverLimit(tenant, unit.name, wanted.size, *amounts))
    return tuple(found)


def fit_together(least: Ints, spread: bool) -> int:
    """How many tasks machines hold that have room for so many each."""
    return int((np.minimum(least, 1) if spread else least).sum())


def limits(
    state: State, ids: Ids, tenant: int, demand: Ints
) -> Iterator[tuple[str, int, int, int]]:
    """Of what a task needs, what a tenant and those above it may hold: the tenant's name, the
    resource, what is held, and the limit."""
    t = tenant
    while t >= 0:
        for r in np.flatnonzero(demand > 0).tolist():
            limit = int(state.limit[t, r])
            if limit != UNLIMITED:
                yield ids.tenant_at[t].name, r, int(state.used[t, r]), limit
        t = int(state.tenant[t]["parent"])


def lacking(ids: Ids, least: Ints) -> Counts:
    """How many of these machines (rows) have too little of each resource for a task."""
    short = (least == 0).sum(axis=0).tolist()
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
