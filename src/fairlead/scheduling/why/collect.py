"""Why a job waits, at any time: read from the core's arrays, in time proportional to machines and
jobs. It changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fairlead.model.errors import InputError
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import NEVER, UNLIMITED
from fairlead.scheduling.kernels.room.permission import places
from fairlead.scheduling.kernels.search.levels import level
from fairlead.scheduling.state.ids import Ids
from fairlead.scheduling.state.rows import (
    asides,
    eased,
    jobs_in_line,
    limits,
    machines_there,
    tasks_of,
    tasks_on,
)
from fairlead.scheduling.state.terms import needed_by
from fairlead.scheduling.transitions import MachineState, TaskState
from fairlead.scheduling.why.never import Wanted, counts, fit_together, holders_of, lacking, never
from fairlead.scheduling.why.rests import Resting, after_stints
from fairlead.scheduling.why.rivals import columns, could_use, together
from fairlead.scheduling.why.values import (
    Behind,
    Cap,
    Counts,
    Draining,
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
    Term,
    Why,
)

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

LISTED = 10
"""How many of the jobs that come first a reason carries; the others are counted."""

MICRO = 10**6


def why(
    state: State,
    ids: Ids,
    name: str,
    display_name: Callable[[str], str] = str,
    *,
    ahead: bool = True,
) -> Why:
    """How the job stands and why its waiting tasks wait. Raises InputError if there is none of that
    name, or no more. `display_name`: from a job's name to the one that sentences call it by. Not
    `ahead`: who comes first is left out."""
    if name not in ids.jobs:
        raise InputError(f'there is no job "{name}"', "finished jobs are forgotten: check the name")
    look = _Look(state, ids, ids.jobs[name], display_name)
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
        reasons=look.reasons(ahead=ahead) if waiting != 0 else (),
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

    def __init__(
        self, state: State, ids: Ids, slot: int, display_name: Callable[[str], str]
    ) -> None:
        self.state, self.ids, self.slot, self.display_name = state, ids, slot, display_name
        self.header = self.state.header[0]
        self.job = self.state.job[slot]
        self.there = machines_there(state)
        self.machine = state.machine[self.there]
        self.unlimited = bool(self.job["total"] == UNLIMITED and not self.job["cancelled"])
        self.waiting = int(self.job["waiting"])
        self.tasks = tasks_of(state, slot)
        self.states = [TaskState(int(self.state.task[t]["state"])) for t in self.tasks]
        demand = self.state.demand[slot]
        self._room_empty = counts(state, self.there, demand, empty=True)  # (machines, resources)
        self._room = counts(state, self.there, demand, empty=False)
        self._fits: Ints = self._room.min(axis=1)  # so many tasks fit on each machine
        self._let_in = self._places()
        self.kinds = self._kinds()

    def _kinds(self) -> _Kinds:
        needs, satisfies = self.state.needs[self.slot], self.state.satisfies[self.there]
        prefers = self.state.prefers[self.slot]
        return _Kinds(
            allowed=((satisfies & needs) == needs).all(axis=1),
            large=self._room_empty.min(axis=1) > 0,
            up=self.machine["state"] == MachineState.UP,
            free_of_it=self._free_of_it(),
            fits=self._fits > 0,
            open=(self._let_in > 0) | ~self._of_others(),
            liked=((satisfies & prefers) == prefers).all(axis=1) | (not self.job["patient"]),
        )

    def _of_others(self) -> Bools:
        """The machines that are reserved for other jobs."""
        reserved = self.machine["reserved"]
        found: Bools = (reserved >= 0) & (reserved != self.slot)
        return found

    def _places(self) -> Ints:
        """So many tasks fit on each machine beside what is reserved there."""
        found = self._fits.copy()
        for i in np.flatnonzero(self._of_others()).tolist():
            found[i] = places(self.state.handle, self.slot, int(self.there[i]))
        return found

    def _free_of_it(self) -> Bools:
        if not self.job["spread"]:
            return np.ones(len(self.there), dtype=bool)
        return ~np.isin(self.there, [int(self.state.task[t]["machine"]) for t in self.tasks])

    def _job(self, slot: int) -> str:
        return self.display_name(self.ids.job_at[slot].name)

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

    def reasons(self, *, ahead: bool) -> tuple[Reason, ...]:
        """All that keeps the waiting tasks from starting: first what has to change in any case,
        then what would do by itself, then the rest, and (`ahead`) who comes first."""
        if not len(self.there):
            return (NoMachine(),)
        lacks = never(self.state, self.ids, self.there, self._wanted(), self._room_empty)
        if lacks:
            return lacks
        k, able = self.kinds, self.kinds.allowed & self.kinds.large
        room = able & k.up & k.free_of_it & k.fits & k.open & k.liked
        found: list[Reason] = [*self._caps(), *self._gang()]
        if (able & ~k.up).any():
            found.append(Draining(int((able & ~k.up).sum())))
        if (able & ~k.free_of_it).any():
            found.append(OneEach(int((able & ~k.free_of_it).sum())))
        full = able & ~k.fits
        if full.any():
            short = lacking(self.ids, self._room[full])
            found.append(NoRoom(int(full.sum()), short, int(able.sum()), int(room.sum())))
        found += self._reserved_for_others(able & ~k.open)
        if (able & ~k.liked).any():
            others = able & k.up & k.free_of_it & k.fits & k.open & ~k.liked
            found.append(self._prefers(int(others.sum()), int((able & self._liked()).sum())))
        smallest = self._smallest_sets({type(reason) for reason in found})
        ranks = {kind: _rank(kind, smallest) for kind in map(type, found)}
        found.sort(key=lambda reason: ranks[type(reason)])
        found += self._own_reservation() + self._resting()
        found += after_stints(self.state, self.ids, self.slot, self._together())
        found += self._behind() if ahead else []
        if frozenset() in smallest:
            found.append(NotLooked(int(room.sum())))
        return tuple(found)

    def _wanted(self) -> Wanted:
        job = self.ids.job_at[self.slot]
        return Wanted(
            job=job,
            demand=self.state.demand[self.slot],
            size=self._together(),
            spread=job.spread,
            tenant=int(self.job["tenant"]),
            holders=holders_of(self.state, self.ids, needed_by(job)),
        )

    def _smallest_sets(self, kinds: set[type[Reason]]) -> list[frozenset[type[Reason]]]:
        """Of these kinds of reasons, the sets without which tasks would start, and of which no
        part would do. The empty set: nothing is in the way."""
        k, size = self.kinds, self._together()
        able = k.allowed & k.large
        empty: Ints = self._room_empty.min(axis=1)
        ways = {
            Draining: k.up,
            OneEach: k.free_of_it,
            ReservedForOthers: k.open,
            Prefers: k.liked,
        }

        def start(without: frozenset[type[Reason]]) -> bool:
            """Would tasks start if none of these were in the way?"""
            wanted = 1 if Gang in without else size
            if Cap not in without and self._caps(wanted):
                return False
            good = able.copy()
            for kind, fine in ways.items():
                if kind not in without:
                    good &= fine
            least = self._fits if ReservedForOthers in without else self._let_in
            least = empty if NoRoom in without else least
            one_each = bool(self.job["spread"]) and OneEach not in without
            return fit_together(least[good], one_each) >= wanted

        found: list[frozenset[type[Reason]]] = []
        for count in range(len(kinds) + 1):
            for some in map(frozenset, combinations(sorted(kinds, key=str), count)):
                if not any(known <= some for known in found) and start(some):
                    found.append(some)
        return found

    def _reserved_for_others(self, kept: Bools) -> list[Reason]:
        if not kept.any():
            return []
        jobs, counts = np.unique(self.machine["reserved"][kept], return_counts=True)
        order = np.argsort(self.state.job["seq"][jobs])
        whom = tuple((self._job(int(jobs[i])), int(counts[i])) for i in order)
        ends = self.state.job["lapses"][jobs]
        left = self._from_now(int(ends.max())) if (ends > 0).all() else None
        return [ReservedForOthers(int(kept.sum()), whom, left)]

    def _from_now(self, time: int) -> Fraction:
        """Seconds until then."""
        return Fraction(time - int(self.header["now"]), MICRO)

    def _together(self) -> int:
        """How many tasks start together next."""
        return int(together(columns(self.state, np.array([self.slot])))[0])

    def _gang(self) -> list[Reason]:
        size = self._together()
        k = self.kinds
        good = k.allowed & k.large & k.up & k.free_of_it & k.open & k.liked
        fit = fit_together(self._let_in[good], bool(self.job["spread"]))
        return [Gang(size, fit)] if size > 1 and fit < size else []

    def _caps(self, tasks: int | None = None) -> list[Reason]:
        """The limits that keep so many tasks from starting; as many as start together."""
        size = self._together() if tasks is None else tasks
        found: list[Reason] = []
        demand, owner = self.state.demand[self.slot], int(self.job["tenant"])
        for t, r, limit in limits(self.state, owner, demand):
            unit, taken = self.ids.units[r], int(self.state.used[t, r])
            own = int(demand[r]) * int(self.job["aside"])
            free = max(own, int(eased(self.state)[t, r]))
            if taken - free + size * int(demand[r]) > limit:
                for_others = [j for j in asides(self.state, t, r) if j != self.slot]
                amounts = self.state.demand[for_others, r] * self.state.job["aside"][for_others]
                aside = int(amounts.sum())
                found.append(
                    Cap(
                        tenant=self.ids.tenant_at[t].name,
                        resource=unit.name,
                        held=(taken - own - aside) * unit.unit,
                        limit=limit * unit.unit,
                        aside=aside * unit.unit,
                        whom=tuple(map(self._job, for_others)),
                        own=self._term() if own else None,
                    )
                )
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
        start = None if until == NEVER else until
        kept = bool(self.job["kept"] == self.job["reserved"] > 0)
        return [Reserved(names, start, kept, self._term(), self._awaited(own))]

    def _term(self) -> Term | None:
        """How long what is held for the job is held."""
        if not self.job["lapses"]:
            return None
        since, until = -self._from_now(int(self.job["leased"])), int(self.job["lapses"])
        return Term(since, self._from_now(until))

    def _awaited(self, own: Ints) -> Counts:
        """How many tasks of which jobs run on the machines reserved for it that have too little
        room for the tasks counted on there, in the order of the jobs' submission."""
        machine = self.machine[own]
        short = own[(self._fits[own] < machine["wanted"]) & (machine["pledged"] == 0)]
        jobs = [
            int(self.state.task[t]["job"])
            for m in self.there[short].tolist()
            for t in tasks_on(self.state, m)
        ]
        counted = Counter(jobs)
        order = sorted(counted, key=lambda j: int(self.state.job[j]["seq"]))
        return tuple((self._job(j), counted[j]) for j in order)

    def _resting(self) -> list[Reason]:
        tenant = self.state.tenant[int(self.job["tenant"])]
        if tenant["rests"] <= self.header["now"]:
            return []
        name = None if tenant["single"] else self.ids.tenant_at[int(self.job["tenant"])].name
        began, ended = int(tenant["vain_from"]), int(tenant["vain_to"])
        held, ago = Fraction(ended - began, MICRO), -self._from_now(ended)
        left = self._from_now(int(tenant["rests"]))
        return [Resting(name, int(tenant["vain_machines"]), held, ago, left)]

    def level(self, slot: int) -> float:
        return float(level(self.state.handle, slot))

    def _behind(self) -> list[Reason]:
        """The jobs that come first, of those that could use a machine which this job could use."""
        if not self.job["active"]:
            return []
        line, levels = jobs_in_line(self.state)
        before = line[: int(np.flatnonzero(line == self.slot)[0])]
        k = self.kinds
        ahead = np.flatnonzero(
            could_use(self.state, before, self.there[k.allowed & k.large & k.up])
        )
        if not len(ahead):
            return []
        first = tuple((self._job(int(line[i])), float(levels[i])) for i in ahead[:LISTED])
        return [Behind(self.level(self.slot), len(ahead), first)]


def _rank(kind: type[Reason], smallest: Iterable[frozenset[type[Reason]]]) -> int:
    """0: it is in all of the smallest sets. 1: in one that has no more than any other. 2: else."""
    sets = list(smallest)
    if all(kind in each for each in sets):
        return 0
    fewest = min(len(each) for each in sets)
    return 1 if any(kind in each for each in sets if len(each) == fewest) else 2
