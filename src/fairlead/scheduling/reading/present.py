"""Machines, tenants, jobs and tasks that are there, as columns: a hundred thousand jobs are read at
every sample. A column is copied when it is asked for, since copying all of them takes most of the
time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from operator import attrgetter

import numpy as np

from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.kernels.memory.state import Ints, Words
from fairlead.scheduling.kernels.memory.tables import UNLIMITED
from fairlead.scheduling.reading.lookup import is_fifo
from fairlead.scheduling.state.rows import (
    STOPPING,
    UP,
    jobs_present,
    machines_there,
    stopping_tasks,
    tasks_held,
)
from fairlead.scheduling.state.scales import Classes, Scaler
from fairlead.sharing.problem.problem import Bools, Floats

_name = attrgetter("name")

NO_SCALE = "tsf"
"""The policy that fifo is measured by, which has no scale of its own."""


class Machines:
    """The machines that are there, in the order in which they joined."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.slot = machines_there(core.state)

    @property
    def values(self) -> tuple[Machine, ...]:
        """The machines as they were said to be."""
        return tuple(map(self._core.ids.machine_at.__getitem__, self.slot.tolist()))

    @property
    def up(self) -> Bools:
        """(M,) whether each takes tasks."""
        up: Bools = self._core.state.machine["state"][self.slot] == UP
        return up

    @property
    def capacity(self) -> Ints:
        """(M, R) in the core's units."""
        return self._core.state.capacity[self.slot]

    @property
    def satisfies(self) -> Words:
        """(M, words) the bits of the terms that each satisfies."""
        return self._core.state.satisfies[self.slot]


class Tenants:
    """The tenants that were declared, a parent before its children."""

    def __init__(self, core: Core) -> None:
        self._core = core
        rows = core.state.tenant
        slots = sorted(core.ids.tenant_at, key=lambda t: int(rows[t]["seq"]))
        self._slots = slots
        self._place = np.full(len(rows) + 1, -1)  # the last is the place of none, whose slot is -1
        self._place[slots] = np.arange(len(slots))

    @property
    def values(self) -> tuple[Tenant, ...]:
        """The tenants as they were declared."""
        return tuple(map(self._core.ids.tenant_at.__getitem__, self._slots))

    @property
    def parent(self) -> Ints:
        """(T,) the place of each one's parent, -1 where it has none."""
        parent: Ints = self._place[self._core.state.tenant["parent"][self._slots]]
        return parent

    @property
    def weight(self) -> Floats:
        """(T,) the weight among those with the same parent."""
        weight: Floats = self._core.state.tenant["weight"][self._slots]
        return weight

    @property
    def limit(self) -> Ints:
        """(T, R) the most that each may hold."""
        return self._core.state.limit[self._slots]

    def owners(self, jobs: Jobs) -> Ints:
        """(J,) the place of each job's tenant, -1 where it is its own."""
        owners: Ints = self._place[self._core.state.job["tenant"][jobs.slot]]
        return owners


class Jobs:
    """The jobs that have tasks which wait or are held, in the order of submission."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.slot = jobs_present(core.state)

    @property
    def names(self) -> tuple[str, ...]:
        """(J,) their names."""
        return tuple(map(_name, map(self._core.ids.job_at.__getitem__, self.slot.tolist())))

    def _column(self, field: str) -> Ints:
        column: Ints = self._core.state.job[field][self.slot]
        return column

    @property
    def seq(self) -> Ints:
        """(J,) the number of each one's submission."""
        return self._column("seq")

    @cached_property
    def cancelled(self) -> Bools:
        """(J,) whether each was cancelled: what it holds is on its way out."""
        cancelled: Bools = self._column("cancelled") == 1
        return cancelled

    @cached_property
    def waiting(self) -> Ints:
        """(J,) tasks that wait; a cancelled job wants nothing more."""
        return np.where(self.cancelled, 0, self._column("waiting"))

    @cached_property
    def held(self) -> Ints:
        """(J,) tasks on machines, those of cancelled jobs left out."""
        return np.where(self.cancelled, 0, self._column("held"))

    @property
    def running(self) -> Ints:
        """(J,) of the held tasks those that were not told to stop."""
        stopping = stopping_tasks(self._core.state)[self.slot]
        return np.where(self.cancelled, 0, self._column("held") - stopping)

    @property
    def endless(self) -> Bools:
        """(J,) whether each has tasks without end."""
        endless: Bools = self._column("total") == UNLIMITED
        return endless

    @property
    def gang(self) -> Ints:
        """(J,) how many tasks of each job start together."""
        return self._column("gang")

    @property
    def demand(self) -> Ints:
        """(J, R) in the core's units."""
        return self._core.state.demand[self.slot]

    @property
    def needs(self) -> Words:
        """(J, words) the bits of the terms that each one's constraint is made of."""
        return self._core.state.needs[self.slot]

    @property
    def spread(self) -> Bools:
        """(J,) whether each runs one task a machine."""
        spread: Bools = self._column("spread") == 1
        return spread

    @property
    def scale(self) -> Floats:
        """(J,) tasks that make one unit of share, as the core orders by them; of fifo, nothing."""
        scale: Floats = self._core.state.job["scale"][self.slot]
        return scale

    def measuring_scale(self, machines: Machines) -> Floats:
        """The scale that exact shares are computed by: the core's, and NO_SCALE's for fifo."""
        if not is_fifo(self._core):
            return self.scale
        state = self._core.state
        scaler = Scaler(NO_SCALE, tuple(unit.name for unit in self._core.ids.units), state.unit)
        ones = np.ones(len(machines.slot), np.int64)
        there = Classes(machines.capacity, machines.satisfies, ones, machines.slot)
        return scaler.scales(self.demand, self.needs, self.spread, there).scale

    def places_among(self, slot: Ints, seq: Ints) -> Ints:
        """(J,) where each stands among jobs that were present before, by their slots and numbers;
        -1 where it was not."""
        place = np.full(len(self._core.state.job), -1)
        same = is_same_job(self._core, slot, seq)
        place[slot[same]] = np.flatnonzero(same)
        return place[self.slot]


class Tasks:
    """The tasks that are on machines, by their slots."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._slot = tasks_held(core.state)

    def _column(self, field: str) -> Ints:
        column: Ints = self._core.state.task[field][self._slot].astype(np.int64)
        return column

    @property
    def job(self) -> Ints:
        """The slot of each one's job."""
        return self._column("job")

    @property
    def number(self) -> Ints:
        """The number of each task within its job."""
        return self._column("number")

    @property
    def machine(self) -> Ints:
        """The slot of each one's machine."""
        return self._column("machine")

    @property
    def attempt(self) -> Ints:
        """The number of the attempt at each task that is under way."""
        return self._column("attempt")

    @property
    def launched(self) -> Ints:
        return self._column("launched")

    @property
    def stopping(self) -> Bools:
        """Whether each was told to stop."""
        stopping: Bools = self._column("state") == STOPPING
        return stopping

    @property
    def expected(self) -> Ints:
        """How long each is said to take, 0 where nobody says it."""
        expected: Ints = self._core.state.job["expected"][self.job]
        return expected


def measuring_policy(core: Core) -> str:
    """The policy that exact shares are computed by: the core's, and NO_SCALE for fifo."""
    return NO_SCALE if is_fifo(core) else core.book.scaler.spec


def is_same_job(core: Core, slot: Ints, seq: Ints) -> Bools:
    """Whether the job in each of these slots is still the one of that number."""
    same: Bools = core.state.job["seq"][slot] == seq
    return same


def job_slots(core: Core) -> int:
    """The number of slots for jobs, of those that are there or not."""
    return len(core.state.job)


def tenants_of(core: Core, jobs: Ints) -> Ints:
    """The slot of the tenant of the job in each of these slots, -1 where it is its own."""
    tenants: Ints = core.state.job["tenant"][jobs]
    return tenants


def owner_names(core: Core, jobs: Ints, display_name: Callable[[str], str] = str) -> Iterable[str]:
    """The tenant's name of the job in each of these slots; where it has no tenant, what the job is
    `display_name` to be called."""
    for j, t in zip(jobs.tolist(), tenants_of(core, jobs).tolist(), strict=True):
        tenant = core.ids.tenant_at.get(t)
        yield display_name(core.book.name_of(j)) if tenant is None else tenant.name


def by_owner(
    core: Core, jobs: Ints, display_name: Callable[[str], str] = str
) -> tuple[tuple[str, ...], Ints]:
    """The names of `owner_names`, those of a tenant's jobs as one, and of each job the place of its
    own among them. So that what many jobs have is summed by numpy, and not in turn."""
    tenant = tenants_of(core, jobs).astype(np.int64)
    owner = np.where(tenant >= 0, tenant, -1 - jobs)
    _, first, place = np.unique(owner, return_index=True, return_inverse=True)
    return tuple(owner_names(core, jobs[first], display_name)), place
