"""Moments and records of an ideal run, for its sinks."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fairlead.simulation.ideal.instance import Instance
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.sinks import NEVER, JobRecords
from fairlead.simulation.workload import Bools, Floats, Ints


@dataclass
class Job:
    waiting: int
    next: int = 0  # the first task that was never launched
    paused: deque[tuple[int, int, int, int]] = field(default_factory=deque)
    lost: deque[tuple[int, int, int]] = field(default_factory=deque)  # task, attempts, since
    running: list[int] = field(default_factory=list)  # launches, the latest last
    first_start: int = NEVER
    finished: int = 0
    launches: int = 0
    waited: int = 0
    work: int = 0
    longest: int = 0


@dataclass
class Launch:
    """A task that runs: `left` is what it still needed when it was started or resumed."""

    job: int
    task: int
    machine: int
    start: int  # for the first time
    resumed: int
    left: int
    since: int  # it waited from here
    attempt: int = 1


@dataclass(frozen=True)
class There:
    """The jobs of a moment, and their machines."""

    jobs: Mapping[int, Job]
    present: Bools  # (M,)
    scale: Floats  # (J,)
    weight: Floats  # (T,)


def moment_of(
    g: Instance, now: There, runs: Mapping[int, Launch], on: Mapping[int, Ints] | None, at: int
) -> Moment:
    """The state as sinks see it. `on`, where tasks move: the tasks of each job on each class; they
    are anywhere in it."""
    jobs = np.array(sorted(now.jobs), np.int64)
    place = {int(job): index for index, job in enumerate(jobs)}
    counts = _counts(runs, place) if on is None else _spread_out(g, on, place)
    rows = [(job, machine, tasks) for (job, machine), tasks in sorted(counts.items())]
    pairs = np.array(rows, np.int64).reshape(-1, 3)
    machines = np.flatnonzero(now.present)
    pairs[:, 1] = (np.cumsum(now.present) - 1)[pairs[:, 1]]
    free = g.capacity[machines]
    np.subtract.at(free, pairs[:, 1], g.demand[jobs[pairs[:, 0]]] * pairs[:, 2:])
    held = np.array([len(now.jobs[j].running) for j in jobs.tolist()], np.int64)
    placed = np.bincount(pairs[:, 0], pairs[:, 2], len(jobs)).astype(np.int64)
    _take_anywhere(free, (held - placed) @ g.demand[jobs])
    return Moment(
        time=at,
        machine=g.machine[machines],
        capacity=g.capacity[machines],
        free=free,
        satisfied=g.satisfied[machines],
        open=np.ones(len(machines), np.bool_),
        job=jobs,
        tenant=g.tenant[jobs],
        submitted=g.submit[jobs],
        demand=g.demand[jobs],
        needs=g.needs[jobs],
        spread=g.spread[jobs],
        gang=g.gang[jobs],
        waiting=np.array([now.jobs[j].waiting for j in jobs.tolist()], np.int64),
        held=held,
        scale=now.scale[jobs],
        tenant_weight=now.weight.copy(),
        terms=g.terms,
    )


def _counts(runs: Mapping[int, Launch], place: Mapping[int, int]) -> dict[tuple[int, int], int]:
    counts: dict[tuple[int, int], int] = {}
    for launch in runs.values():
        key = (place[launch.job], launch.machine)
        counts[key] = counts.get(key, 0) + 1
    return counts


def _spread_out(
    g: Instance, on: Mapping[int, Ints], place: Mapping[int, int]
) -> dict[tuple[int, int], int]:
    """Tasks on a class, machine after machine in order, as many as each holds."""
    counts: dict[tuple[int, int], int] = {}
    room = [0] * len(g.machine)
    for job, classes in sorted(on.items()):
        for c in np.flatnonzero(classes).tolist():
            most = max(1, int(g.holds[job, c]))
            left = int(classes[c])
            for machine in g.members[c]:
                some = min(left, most - room[machine])
                if some > 0:
                    room[machine] += some
                    left -= some
                    counts[place[job], machine] = some
    return counts


def _take_anywhere(free: Ints, amounts: Ints) -> None:
    """Takes the amounts of tasks that are on no one machine, from the first machines on."""
    for r, amount in enumerate(amounts.tolist()):
        before = np.concatenate([[0], np.cumsum(free[:, r])[:-1]])
        free[:, r] -= np.clip(amount - before, 0, free[:, r])


def job_records(g: Instance, rows: Sequence[tuple[int, int, Job]]) -> JobRecords:
    """The records of jobs, when each was over (NEVER), and what became of it."""
    numbers = np.array([job for job, _, _ in rows], np.int64)
    states = [state for _, _, state in rows]
    return JobRecords(
        number=numbers,
        tenant=g.tenant[numbers],
        submitted=g.submit[numbers],
        first_start=np.array([state.first_start for state in states], np.int64),
        completed=np.array([when for _, when, _ in rows], np.int64),
        tasks=g.tasks[numbers],
        finished=np.array([state.finished for state in states], np.int64),
        launches=np.array([state.launches for state in states], np.int64),
        waited=np.array([state.waited for state in states], np.int64),
        work=np.array([state.work for state in states], np.int64),
        longest=np.array([state.longest for state in states], np.int64),
    )
