"""All that is known, and how to look it up."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from fairlead.engines.interface import Attempt
from fairlead.model.tenant import Tenant
from fairlead.scheduling.transitions import HELD, TaskState
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.marks import Marks
from fairlead.service.records.names import Names
from fairlead.service.records.people import (
    KeyOwner,
    KeyRecord,
    KeyTotals,
    MachineRecord,
    Start,
    TokenRecord,
)
from fairlead.service.records.tasks import NO_TIME, AttemptRecord, Outcome, TaskRecord, TaskTable
from fairlead.service.requests import JobKey


@dataclass(slots=True)
class Totals:
    """Of a tenant itself: jobs that are known; of these that are not over jobs, tasks, bytes of
    what was written of them, of what is kept of their tasks' ends, and of their outputs."""

    known: int = 0
    jobs: int = 0
    tasks: int = 0
    bytes: int = 0
    ends: int = 0
    output: int = 0


@dataclass(slots=True)
class Kept:
    """Of a tenant, the jobs that are over, in the order of their ends, rows of their tasks, and
    bytes of what was written of them and is kept of their ends, and of their outputs."""

    jobs: dict[int, None] = field(default_factory=dict)
    rows: int = 0
    bytes: int = 0
    output: int = 0


@dataclass
class Records:
    """The sum of the journal's entries up to `seq`. Only `fold` changes it.

    `jobs` are in the order of their numbers, `over` those that are over in the order of their
    ends, `kept` these by tenant (None: of jobs without one), `keys` in the order of their times,
    `machines` in the order in which they were first seen. `away`: of jobs, how many of their
    attempts may still run on machines that were given up. `version`: the oldest version of a dump
    that they came through; None: through none."""

    seq: int = 0
    step: int = 0
    time: int = 0
    start: Start | None = None
    next_id: int = 1
    jobs: dict[int, JobRecord] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    over: dict[int, None] = field(default_factory=dict)
    over_tasks: int = 0  # rows of these
    kept: dict[str | None, Kept] = field(default_factory=dict)
    table: TaskTable = field(default_factory=TaskTable)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    machines: dict[str, MachineRecord] = field(default_factory=dict)
    tokens: dict[str, TokenRecord] = field(default_factory=dict)
    keys: dict[KeyOwner, KeyRecord] = field(default_factory=dict)
    key_totals: dict[str | None, KeyTotals] = field(default_factory=dict)  # by tenant
    totals: dict[str, Totals] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)  # tasks on machines, by tenants with any
    away: dict[int, int] = field(default_factory=dict)
    machine_names: list[str] = field(default_factory=list)  # as the table numbers them
    machine_numbers: dict[str, int] = field(default_factory=dict)
    marks: Marks = field(default_factory=Marks)
    version: int | None = field(default=None, compare=False)

    def job(self, key: JobKey) -> JobRecord | None:
        """The job of this number or unique name, if it is known. What people mean by a name
        `lookup.find` knows."""
        return self.names.get(key) if isinstance(key, str) else self.jobs.get(key)

    def task(self, job: JobRecord, number: int) -> TaskRecord:
        """A task of the job, 0 <= number < job.tasks."""
        if number >= job.rows:
            return _dropped_task(number)
        row, table = job.first + number, self.table
        there = table.attempt[row] > 0
        return TaskRecord(
            task=number,
            state=TaskState(table.state[row]),
            attempt=table.attempt[row],
            tries=table.tries[row],
            machine=self.machine_names[table.machine[row]] if there else None,
            outcome=Outcome(table.outcome[row]),
            code=table.code[row],
            launched=_time(table.launched[row]),
            started=_time(table.started[row]),
            ended=_time(table.ended[row]),
            why=(job.why or {}).get(number, ""),
            pieces=(job.pieces or {}).get(number, ()),
        )

    def state(self, job: JobRecord, number: int) -> TaskState:
        """The state of a task of the job, 0 <= number < job.tasks."""
        if number >= job.rows:
            return TaskState.DROPPED
        return TaskState(self.table.state[job.first + number])

    def tasks(self, job: JobRecord, first: int = 0, most: int = 1000) -> list[TaskRecord]:
        """So many tasks of the job, from that number on."""
        return [self.task(job, number) for number in range(first, min(job.tasks, first + most))]

    def attempts(self, job: JobRecord, number: int) -> tuple[AttemptRecord, ...]:
        """The attempts at a task before its last one, oldest first, the last few of them."""
        return (job.past or {}).get(number, ())

    def attempts_held(self, job: JobRecord) -> list[Attempt]:
        if not job.held:
            return []
        state, attempt, first = self.table.state, self.table.attempt, job.first
        return [
            Attempt(job.id, task, attempt[first + task])
            for task in range(job.tasks)
            if state[first + task] in HELD
        ]

    def attempt_counts(self, job: JobRecord) -> array[int]:
        """Of each task of the job, how many attempts there ever were at it; of those after the last
        one nothing."""
        return self.table.attempt[job.first : job.first + job.rows]

    def key_owner(self, token: str | None, key: str) -> KeyOwner:
        """Whose key it is, if this token says it now."""
        known = None if token is None else self.tokens.get(token)
        return (token, None if known is None else known.tenant, key)

    def is_below(self, tenant: str | None, above: str) -> bool:
        while tenant is not None and tenant != above:
            known = self.tenants.get(tenant)
            tenant = None if known is None else known.parent
        return tenant is not None

    def user_of(self, tenant: str | None) -> str | None:
        """As whom a tenant's tasks run: what it says, or the next above it that says anything."""
        while tenant is not None:
            known = self.tenants.get(tenant)
            if known is None or known.user is not None:
                return None if known is None else known.user
            tenant = known.parent
        return None


def _dropped_task(number: int) -> TaskRecord:
    """A task that never was anywhere, of a job that is over."""
    return TaskRecord(
        task=number,
        state=TaskState.DROPPED,
        attempt=0,
        tries=0,
        machine=None,
        outcome=Outcome.NONE,
        code=0,
        launched=None,
        started=None,
        ended=None,
        why="",
        pieces=(),
    )


def _time(time: int) -> int | None:
    return None if time == NO_TIME else time
