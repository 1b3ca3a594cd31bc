"""A workload in numbers: machines, jobs, durations, demands, constraints and load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.scheduling.state.terms import Term, write_term
from fairlead.simulation.traces.matching import Matching, at_start
from fairlead.simulation.workload import Floats, Ints, JobBatch, Workload

PERCENTS = (1, 10, 25, 50, 75, 90, 99, 100)
"""The percentiles that are told; the last is the largest value."""

STEPS = 10
"""Equal parts of the time from the first to the last submission, for the load over time."""

_SHARE = 1_000_000  # shares of machines are counted in millionths


@dataclass(frozen=True)
class Load:
    """Average that tasks would hold if they started as soon as they are submitted, from `begin` to
    `end` (microseconds), as a share of the capacity at the start; None without capacity."""

    begin: int
    end: int
    share: tuple[float | None, ...]  # per resource


@dataclass(frozen=True)
class Description:
    """The numbers. Percentiles are those of PERCENTS; amounts are in units of the resource."""

    machines_ever: int
    machines: int  # there at the start
    machine_events: int
    configurations: int
    capacity: tuple[int, ...]  # at the start, per resource
    jobs: int
    tasks: int
    tenants: int  # that have a job; jobs of their own are not counted
    jobs_alone: int  # that are tenants of their own
    first_submission: int | None
    last_submission: int | None
    tasks_of_jobs: tuple[int, ...] | None
    durations: tuple[int, ...] | None
    demands: tuple[tuple[int, ...] | None, ...]  # per resource
    demand_vectors: int
    spread_jobs: int
    spread_tasks: int
    gang_jobs: int
    constrained_jobs: int
    constrained_tasks: int
    terms: tuple[tuple[str, int, int], ...]  # as written, jobs that need it, machines satisfying it
    eligible: tuple[float, ...] | None  # per job: machines it may use, as a share of all
    nowhere_jobs: int  # that no machine of the start can run
    nowhere_tasks: int
    at_once: tuple[float | None, ...]  # all tasks together, as a share of the capacity
    load: tuple[Load, ...]


def describe(workload: Workload) -> Description:
    """The numbers of a workload; reads its jobs twice."""
    return _Describing(workload).description()


class _Describing:
    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._resources = len(workload.resources)
        self._terms: list[Term] = list(workload.terms)
        machines = workload.machines
        rows = at_start(machines)
        self._capacity = machines.capacity[rows].sum(axis=0)
        labels = machines.labels
        self._configurations = len(
            {
                (tuple(machines.capacity[row].tolist()), labels[machines.machine[row]])
                for row in rows.tolist()
            }
        )
        self._jobs = self._tasks = self._alone = 0
        self._first: int | None = None
        self._last: int | None = None
        self._tenants: Ints = np.zeros(len(workload.tenants), dtype=np.int64)
        self._sizes, self._durations, self._eligible = Counted(), Counted(), Counted()
        self._demands = [Counted() for _ in range(self._resources)]
        self._vectors: set[bytes] = set()
        self._spread = self._spread_tasks = self._gangs = 0
        self._constrained = self._constrained_tasks = 0
        self._needed: Ints = np.zeros(len(self._terms), dtype=np.int64)
        self._nowhere = self._nowhere_tasks = 0
        self._asked = np.zeros(self._resources, dtype=np.float64)

    def description(self) -> Description:
        matching = Matching(self._workload.machines, self._terms)
        for batch in self._workload.batches():
            if batch.terms:
                self._terms += batch.terms
                self._needed = np.append(self._needed, np.zeros(len(batch.terms), dtype=np.int64))
                matching = Matching(self._workload.machines, self._terms)
            self._count(batch, matching)
        eligible = self._eligible.percentiles(PERCENTS)
        return Description(
            machines_ever=len(self._workload.machines.names),
            machines=matching.machines,
            machine_events=len(self._workload.machines.time),
            configurations=self._configurations,
            capacity=tuple(int(amount) for amount in self._capacity),
            jobs=self._jobs,
            tasks=self._tasks,
            tenants=int((self._tenants > 0).sum()),
            jobs_alone=self._alone,
            first_submission=self._first,
            last_submission=self._last,
            tasks_of_jobs=_percentiles_of(self._sizes),
            durations=_percentiles_of(self._durations),
            demands=tuple(map(_percentiles_of, self._demands)),
            demand_vectors=len(self._vectors),
            spread_jobs=self._spread,
            spread_tasks=self._spread_tasks,
            gang_jobs=self._gangs,
            constrained_jobs=self._constrained,
            constrained_tasks=self._constrained_tasks,
            terms=tuple(
                (write_term(term), int(jobs), machines)
                for term, jobs, machines in zip(
                    self._terms, self._needed, matching.counts, strict=True
                )
            ),
            eligible=None if eligible is None else tuple(share / _SHARE for share in eligible),
            nowhere_jobs=self._nowhere,
            nowhere_tasks=self._nowhere_tasks,
            at_once=self._of_capacity(self._asked),
            load=tuple(self._load()),
        )

    def _count(self, batch: JobBatch, matching: Matching) -> None:
        if not len(batch):
            return
        self._jobs += len(batch)
        self._tasks += int(batch.tasks.sum())
        own = batch.tenant < 0
        self._alone += int(own.sum())
        self._tenants += np.bincount(batch.tenant[~own], minlength=len(self._tenants))
        self._first = int(batch.submit[0]) if self._first is None else self._first
        self._last = int(batch.submit[-1])
        once = np.ones(len(batch), dtype=np.int64)
        self._sizes.add(batch.tasks, once)
        self._durations.add(batch.durations, _repeats(batch))
        for place, counted in enumerate(self._demands):
            counted.add(batch.demand[:, place], batch.tasks)
        self._vectors.update(row.tobytes() for row in np.unique(batch.demand, axis=0))
        self._spread += int(batch.spread.sum())
        self._spread_tasks += int(batch.tasks[batch.spread].sum())
        self._gangs += int((batch.gang > 1).sum())
        constrained = (batch.needs != 0).any(axis=1)
        self._constrained += int(constrained.sum())
        self._constrained_tasks += int(batch.tasks[constrained].sum())
        for number in range(min(len(self._terms), 64 * batch.needs.shape[1])):
            bit = np.uint64(1 << (number % 64))
            self._needed[number] += int((batch.needs[:, number // 64] & bit != 0).sum())
        self._asked += batch.tasks.astype(np.float64) @ batch.demand
        if matching.machines:
            eligible, holding = matching.usable(batch.needs, batch.demand)
            self._eligible.add(eligible * _SHARE // matching.machines, once)
            self._nowhere += int((holding == 0).sum())
            self._nowhere_tasks += int(batch.tasks[holding == 0].sum())

    def _of_capacity(self, amounts: Floats) -> tuple[float | None, ...]:
        pairs = zip(amounts.tolist(), self._capacity.tolist(), strict=True)
        return tuple(amount / capacity if capacity else None for amount, capacity in pairs)

    def _load(self) -> Iterator[Load]:
        """The second reading."""
        if self._first is None or self._last is None or self._last == self._first:
            return
        edges = np.linspace(self._first, self._last, STEPS + 1).astype(np.int64)
        held = np.zeros((STEPS + 1, self._resources))  # up to each edge, amount x time
        for batch in self._workload.batches():
            begin = np.repeat(batch.submit, np.diff(batch.first))
            repeats = _repeats(batch)
            job = np.repeat(np.arange(len(batch)), np.diff(batch.first))
            for place, edge in enumerate(edges):
                time = np.clip(edge - begin, 0, batch.durations) * repeats
                of_job = np.bincount(job, weights=time, minlength=len(batch))
                held[place] += of_job @ batch.demand
        for place in range(STEPS):
            span = int(edges[place + 1] - edges[place])
            amounts = (held[place + 1] - held[place]) / max(1, span)
            yield Load(int(edges[place]), int(edges[place + 1]), self._of_capacity(amounts))


def _repeats(batch: JobBatch) -> Ints:
    """For how many tasks each duration stands: one, or all of a job that gives a single one."""
    given = np.diff(batch.first)
    repeats: Ints = np.repeat(np.where(given == 1, batch.tasks, 1), given)
    return repeats


def _percentiles_of(counted: Counted) -> tuple[int, ...] | None:
    found = counted.percentiles(PERCENTS)
    return None if found is None else tuple(found)


_PENDING = 2_000_000  # values that wait before they are counted


class Counted:
    """Counts of values: how often each came."""

    def __init__(self) -> None:
        self._values = np.zeros(0, dtype=np.int64)
        self._counts = np.zeros(0, dtype=np.int64)
        self._waiting: list[tuple[Ints, Ints]] = []
        self._rows = 0

    def add(self, values: Ints, counts: Ints) -> None:
        """Each value came so many times more."""
        self._waiting.append((values, counts))
        self._rows += len(values)
        if self._rows > max(_PENDING, len(self._values)):
            self._gather()

    def _gather(self) -> None:
        values = np.concatenate([self._values, *(values for values, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._waiting)])
        self._values, place = np.unique(values, return_inverse=True)
        self._counts = np.zeros(len(self._values), dtype=np.int64)
        np.add.at(self._counts, place, counts)
        self._waiting, self._rows = [], 0

    def percentiles(self, percents: Sequence[int]) -> list[int] | None:
        """For each percentage, the least value that at least so many of a hundred do not exceed
        (the nearest rank); None where no value came."""
        self._gather()
        there = self._counts > 0
        values, counts = self._values[there], self._counts[there]
        if not len(values):
            return None
        upto = np.cumsum(counts)
        ranks = [max(1, -(-int(upto[-1]) * percent // 100)) for percent in percents]
        return [int(value) for value in values[np.searchsorted(upto, ranks)]]
