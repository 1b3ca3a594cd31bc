"""Sinks: what is told to whoever measures a run, in arrays of many records at a time.

A sink of one's own is a class that inherits from `Sink` and overrides what it needs; what it does
not want is not collected, so a run costs what its sinks ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from fairlead.children import holding
from fairlead.scheduling.events import AdviceChanged, GuaranteesChanged
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.workload import Bools, Floats, Ints, Workload

NEVER = -1
"""In arrays of times: it did not happen. Files have null there."""


@dataclass(frozen=True)
class RunInfo:
    """Facts about a run. `job_name(number)` is the name of a job whose record is being told."""

    workload: Workload
    policy: str
    placement: str
    seed: int
    job_name: Callable[[int], str]


@dataclass(frozen=True)
class JobRecords:
    """Jobs that are over, in the order in which they ended; those that are not over when the run
    ends come last, in the order of submission. Times in microseconds."""

    number: Ints  # place in the workload's stream, from 0
    tenant: Ints  # index into the workload's tenants; -1: the job is its own tenant
    submitted: Ints
    first_start: Ints  # NEVER: no task was placed
    completed: Ints  # NEVER: not over when the run ended
    tasks: Ints
    finished: Ints  # tasks that ended well
    launches: Ints  # as often as a task was placed, lost ones again
    waited: Ints  # sum over launches of the time since the task began to wait
    work: Ints  # sum of the durations of finished tasks
    longest: Ints  # the longest duration of a finished task

    def __len__(self) -> int:
        return len(self.number)

    @property
    def delay(self) -> Ints:
        """From submission until the first task starts; NEVER where none did."""
        return np.where(self.first_start == NEVER, NEVER, self.first_start - self.submitted)

    @property
    def slowdown(self) -> Floats:
        """The time to completion ÷ the longest task: 1 where all tasks ran at once, at once. NaN
        where the job is not over or took no time."""
        over = (self.completed != NEVER) & (self.longest > 0)
        took = np.where(over, self.completed - self.submitted, 0).astype(np.float64)
        found: Floats = np.divide(took, self.longest, out=np.full(len(self), np.nan), where=over)
        return found


@dataclass(frozen=True)
class TaskRecords:
    """Tasks that left a machine, in the order in which they did. Times in microseconds."""

    job: Ints  # number of the job in the workload's stream
    task: Ints  # number of the task in its job, from 0
    attempt: Ints  # from 1
    machine: Ints  # index into the workload's machine names
    waiting_since: Ints
    start: Ints
    end: Ints
    lost: Bools  # its machine went away or evicted it, or it was stopped: the task waits again

    def __len__(self) -> int:
        return len(self.job)


class Sink:
    """Measures a run. All methods do nothing here; override what is needed.

    Exactly one of `finish` and `abandon` is called, last. What a sink has written to a file is
    there only after `finish`.
    """

    wants_jobs = False
    wants_tasks = False
    every: int | None = None
    """Microseconds between samples; None: no samples. A sink may choose a longer interval when it
    is told of a sample, or none for the rest of the run."""

    def start(self, run: RunInfo) -> None:
        """The run begins."""

    def jobs(self, records: JobRecords) -> None:
        """More jobs are over (if `wants_jobs`)."""

    def tasks(self, records: TaskRecords) -> None:
        """More tasks left their machines (if `wants_tasks`)."""

    def sample(self, moment: Moment) -> None:
        """The state at a multiple of `every` after the start (if `every`)."""

    def event(self, event: AdviceChanged | GuaranteesChanged) -> None:
        """The core gets news of the exact allocation, before it decides."""

    def finish(self) -> None:
        """The run is over."""

    def abandon(self) -> None:
        """The run failed or was interrupted: leave nothing behind."""


@contextmanager
def telling(sinks: Sequence[Sink], run: RunInfo) -> Iterator[None]:
    """Tells sinks that the run begins and that it is over, or that it failed. A signal waits until
    files that are begun can be abandoned, and until they are: a pool tells its workers to end more
    than once."""
    try:
        with holding():
            for sink in sinks:
                sink.start(run)
        yield
        for sink in sinks:
            sink.finish()
    except BaseException:
        with holding():
            for sink in sinks:
                sink.abandon()
        raise


class Kept(Sink):
    """Keeps all records in memory: `jobs_kept`, `tasks_kept`, `samples`."""

    def __init__(self, *, tasks: bool = True, every: int | None = None) -> None:
        self.wants_jobs = True
        self.wants_tasks = tasks
        self.every = every
        self.samples: list[Moment] = []
        self._jobs: list[JobRecords] = []
        self._tasks: list[TaskRecords] = []
        self._names: dict[int, str] = {}
        self._run: RunInfo | None = None

    def start(self, run: RunInfo) -> None:
        self._run = run

    def jobs(self, records: JobRecords) -> None:
        assert self._run is not None  # start() comes first
        self._jobs.append(records)
        self._names.update((n, self._run.job_name(n)) for n in records.number.tolist())

    def tasks(self, records: TaskRecords) -> None:
        self._tasks.append(records)

    def sample(self, moment: Moment) -> None:
        self.samples.append(moment)

    @property
    def names(self) -> dict[int, str]:
        return self._names

    @property
    def jobs_kept(self) -> JobRecords:
        """All jobs of the run, in the order of submission."""
        columns = _join(self._jobs, JobRecords)
        order = np.argsort(columns["number"], kind="stable")
        return JobRecords(**{name: column[order] for name, column in columns.items()})

    @property
    def tasks_kept(self) -> TaskRecords:
        """All launches of the run, in the order in which they ended."""
        columns = _join(self._tasks, TaskRecords)
        lost = columns.pop("lost") == 1
        return TaskRecords(**columns, lost=lost)


def _join(parts: Sequence[object], kind: type[JobRecords] | type[TaskRecords]) -> dict[str, Ints]:
    """The columns of all parts, one after the other."""
    names = list(kind.__dataclass_fields__)
    none = np.zeros(0, np.int64)
    return {name: np.concatenate([none, *(getattr(p, name) for p in parts)]) for name in names}
