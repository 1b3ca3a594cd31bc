"""Why a job waits, at any time: read from the core's arrays, in time proportional to machines and
jobs. It changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fairlead.model.errors import InputError, Mistake
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import NEVER, UNLIMITED
from fairlead.scheduling.kernels.search.levels import level, levels_of
from fairlead.scheduling.state.ids import Ids
from fairlead.scheduling.state.terms import written_term
from fairlead.scheduling.transitions import MachineState, TaskState
from fairlead.scheduling.why.values import (
    Behind,
    Cap,
    Counts,
    Draining,
    Excluded,
    Gang,
    Machines,
    NoMachine,
    NoRoom,
    NotLooked,
    OneEach,
    Prefers,
    Reason,
    Reserved,
    ReservedForOthers,
    TooSmall,
    Why,
)

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

LISTED = 10
"""How many of the jobs that come first a reason carries; the others are counted."""

MICRO = 10**6


def why(state: State, ids: Ids, name: str) -> Why:
    """How the job stands and why its waiting tasks wait. Raises InputError if there is none of
    that name, or no more."""
    if name not in ids.jobs:
        raise InputError(
            Mistake(f'there is no job "{name}"', "a job that is over is forgotten: check the name")
        )
    look = _Look(state, ids, ids.jobs[name])
    waiting = None if look.unlimited else look.waiting
    standing = [state for state in look.states if state is not TaskState.STOPPING]
    return Why(
        job=name,
        tasks=None if look.unlimited else int(look.job["total"]),
        running=len(standing),
        stopping=len(look.states) - len(standing),
        over=int(look.job["over"]),
        waiting=waiting,
        level=look.level(look.slot) if look.job["active"] else None,
        machines=look.machines(),
        reasons=look.reasons() if waiting != 0 else (),
    )


@dataclass(frozen=True)
class _Kinds:
    """For each machine that is there, which of these holds of it for the job."""

    allowed: Bools
    large: Bools  # holds a task when empty
    up: Bools
    free_of_it: Bools  # spread: runs no task of it
    fits: Bools
    open: Bools  # not kept for others
    liked: Bools  # preferred, or the job's patience is over


class _Look:
    """One job among the machines as they are now."""

    def __init__(self, state: State, ids: Ids, slot: int) -> None:
        self.state, self.ids, self.slot = state, ids, slot
        self.header = self.state.header[0]
        self.job = self.state.job[slot]
        used = int(self.header["machines"])
        machine = self.state.machine[:used]
        there = (MachineState.UP, MachineState.DRAINING)
        self.there = np.flatnonzero(np.isin(machine["state"], there))
        self.machine = machine[self.there]
        self.unlimited = bool(self.job["total"] == UNLIMITED and not self.job["cancelled"])
        self.waiting = int(self.job["waiting"])
        self.tasks = list(self._tasks())
        self.states = [TaskState(int(self.state.task[t]["state"])) for t in self.tasks]
        self.kinds = self._kinds()

    def _tasks(self) -> list[int]:
        found, at = [], int(self.job["first_task"])
        while at >= 0:
            found.append(at)
            at = int(self.state.task[at]["job_next"])
        return found

    def _kinds(self) -> _Kinds:
        needs, satisfies = self.state.needs[self.slot], self.state.satisfies[self.there]
        prefers = self.state.prefers[self.slot]
        own = np.isin(self.there, [int(self.state.task[t]["machine"]) for t in self.tasks])
        reserved = self.machine["reserved"]
        expected = int(self.job["expected"])
        ends = int(self.header["now"]) + expected
        passes = (expected > 0) & (self.machine["until"] != NEVER) & (ends <= self.machine["until"])
        passes &= self.machine["pledged"] == 0
        return _Kinds(
            allowed=((satisfies & needs) == needs).all(axis=1),
            large=self._least(empty=True) > 0,
            up=self.machine["state"] == MachineState.UP,
            free_of_it=~own if self.job["spread"] else np.ones(len(own), dtype=bool),
            fits=self._least(empty=False) > 0,
            open=(reserved < 0) | (reserved == self.slot) | passes,
            liked=((satisfies & prefers) == prefers).all(axis=1) | (not self.job["patient"]),
        )

    def _least(self, empty: bool) -> Ints:
        """(machines,) how many tasks each machine has room for."""
        least: Ints = self._counts(empty).min(axis=1)
        return least

    def _counts(self, empty: bool) -> Ints:
        """(machines, resources) how many tasks each resource of each machine has room for."""
        state = self.state
        counts = np.full((len(self.there), state.resources), NEVER)
        for r, need in enumerate(state.demand[self.slot].tolist()):
            capacity = state.capacity[self.there, r]
            unit = int(state.unit[r])
            if need == 0:
                continue
            if unit == 0:
                amount = capacity if empty else state.free[self.there, r]
                counts[:, r] = np.maximum(amount, 0) // need
                continue
            most = int(capacity.max(initial=0)) // unit
            first = int(state.column[r])
            there = np.arange(most) < (capacity // unit)[:, None]
            pieces = np.where(there, unit, 0)
            if not empty:
                free = state.piece[self.there, first : first + most]
                pieces = np.where(there, np.maximum(free, 0), 0)
            if need <= unit:
                counts[:, r] = (pieces // need).sum(axis=1)
            else:
                counts[:, r] = (pieces == unit).sum(axis=1) // (need // unit)
        return counts

    def _job(self, slot: int) -> str:
        return self.ids.job_at[slot].name

    def machines(self) -> Machines:
        """Each machine counted once."""
        k = self.kinds
        left = np.ones(len(self.there), dtype=bool)

        def without(good: Bools) -> int:
            """How many of those that are left are not good; the others are left."""
            nonlocal left
            before = int(left.sum())
            left = left & good
            return before - int(left.sum())

        return Machines(
            excluded=without(k.allowed),
            too_small=without(k.large),
            draining=without(k.up),
            one_each=without(k.free_of_it),
            no_room=without(k.fits),
            reserved=without(k.open),
            not_preferred=without(k.liked),
            room=int(left.sum()),
        )

    def reasons(self) -> tuple[Reason, ...]:
        """All that keeps the waiting tasks from starting, what is hardest to change first."""
        k, count = self.kinds, self.machines()
        if not len(self.there):
            return (NoMachine(),)
        if not k.allowed.any():
            return (Excluded(len(self.there), self._parts()),)
        able = k.allowed & k.large
        if not able.any():
            return (TooSmall(int(k.allowed.sum()), self._lacking(k.allowed, empty=True)),)
        found: list[Reason] = []
        if count.draining:
            found.append(Draining(count.draining))
        if count.one_each:
            found.append(OneEach(count.one_each))
        full = able & k.up & k.free_of_it & ~k.fits
        if full.any():
            found.append(NoRoom(int(full.sum()), self._lacking(full, empty=False)))
        found += self._kept(able & k.up & k.free_of_it & k.fits & ~k.open)
        found += self._gang()
        found += self._caps()
        if count.not_preferred:
            found.append(self._prefers(count.not_preferred, int((able & self._liked()).sum())))
        found += self._own_reservation()
        found += self._behind()
        if count.room and not any(isinstance(reason, (Gang, Cap)) for reason in found):
            found.append(NotLooked(count.room))
        return tuple(found)

    def _parts(self) -> Counts:
        """How many machines each part of the constraint excludes, each by itself."""
        found = []
        satisfies = self.state.satisfies[self.there]
        needs = self.state.needs[self.slot]
        for term, bit in sorted(self.ids.terms.items(), key=lambda item: item[1]):
            if not (needs[bit // 64] >> np.uint64(bit % 64)) & np.uint64(1):
                continue
            has = (satisfies[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1)
            found.append((written_term(term), int((has == 0).sum())))
        return tuple((part, count) for part, count in found if count)

    def _lacking(self, among: Bools, empty: bool) -> Counts:
        """How many of these machines have too little of each resource for a task."""
        short = (self._counts(empty)[among] == 0).sum(axis=0).tolist()
        names = [unit.name for unit in self.ids.units]
        return tuple((name, count) for name, count in zip(names, short, strict=True) if count)

    def _kept(self, kept: Bools) -> list[Reason]:
        if not kept.any():
            return []
        jobs, counts = np.unique(self.machine["reserved"][kept], return_counts=True)
        order = np.argsort(self.state.job["seq"][jobs])
        whom = tuple((self._job(int(jobs[i])), int(counts[i])) for i in order)
        return [ReservedForOthers(int(kept.sum()), whom)]

    def _together(self) -> int:
        """How many tasks start together next."""
        gang = int(self.job["gang"])
        return gang if self.unlimited or self.waiting >= gang else 1

    def _gang(self) -> list[Reason]:
        size = self._together()
        if size == 1:
            return []
        k = self.kinds
        good = k.allowed & k.large & k.up & k.free_of_it & k.open & k.liked
        tasks = self._least(empty=False)[good]
        fit = int(np.minimum(tasks, 1 if self.job["spread"] else size).sum())
        return [Gang(size, fit)] if fit < size else []

    def _caps(self) -> list[Reason]:
        found: list[Reason] = []
        size, t = self._together(), int(self.job["tenant"])
        while t >= 0:
            for r, unit in enumerate(self.ids.units):
                limit, held = int(self.state.limit[t, r]), int(self.state.used[t, r])
                need = int(self.state.demand[self.slot, r])
                if limit != UNLIMITED and need > 0 and held + size * need > limit:
                    tenant = self.ids.tenant_at[t].name
                    found.append(Cap(tenant, unit.name, held * unit.unit, limit * unit.unit))
            t = int(self.state.tenant[t]["parent"])
        return found

    def _liked(self) -> Bools:
        prefers = self.state.prefers[self.slot]
        liked: Bools = ((self.state.satisfies[self.there] & prefers) == prefers).all(axis=1)
        return liked

    def _prefers(self, others: int, preferred: int) -> Reason:
        until = int(self.job["since"] + self.job["patience"])
        return Prefers(until, Fraction(until - int(self.header["now"]), MICRO), preferred, others)

    def _own_reservation(self) -> list[Reason]:
        own = np.flatnonzero(self.machine["reserved"] == self.slot)
        if not len(own):
            return []
        names = tuple(self.ids.machine_at[int(self.there[i])].name for i in own)
        until = int(self.machine["until"][own].max())
        return [Reserved(names, None if until == NEVER else until)]

    def level(self, slot: int) -> float:
        """The level of an active job."""
        return float(level(self.state.handle, slot))

    def _behind(self) -> list[Reason]:
        if not self.job["active"]:
            return []
        own = (self.level(self.slot), int(self.job["seq"]))
        job = self.state.job[: int(self.header["jobs"])]
        active = np.flatnonzero((job["used"] == 1) & (job["active"] == 1))
        found = levels_of(self.state.handle, active)
        seq = job["seq"][active]
        ahead = np.flatnonzero((found < own[0]) | ((found == own[0]) & (seq < own[1])))
        if not len(ahead):
            return []
        order = ahead[np.lexsort((seq[ahead], found[ahead]))][:LISTED]
        first = tuple((self._job(int(active[i])), float(found[i])) for i in order)
        return [Behind(own[0], len(ahead), first)]
