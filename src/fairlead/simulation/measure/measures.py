"""The built-in sinks: jobs, tasks, shares over time and utilisation over time, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.measure.sampling import (
    MINUTE,
    MOST_ROWS,
    MOST_SAMPLES,
    first_interval,
    longer,
)
from fairlead.simulation.measure.sinks import NEVER, JobRecords, RunInfo, Sink, TaskRecords
from fairlead.simulation.measure.tables import Form, Table, dictionary
from fairlead.simulation.workload import Floats, Ints

NAMES = pa.dictionary(pa.int32(), pa.string())

JOBS = Form(
    "fairlead.simulation.jobs/1",
    (
        ("number", pa.int64()),
        ("job", pa.string()),
        ("tenant", pa.string()),
        ("submitted", pa.int64()),
        ("first_start", pa.int64()),
        ("completed", pa.int64()),
        ("delay", pa.int64()),
        ("slowdown", pa.float64()),
        ("tasks", pa.int64()),
        ("finished", pa.int64()),
        ("launches", pa.int64()),
        ("waited", pa.int64()),
        ("work", pa.int64()),
        ("longest", pa.int64()),
    ),
)

TASKS = Form(
    "fairlead.simulation.tasks/1",
    (
        ("job", pa.int64()),
        ("task", pa.int64()),
        ("attempt", pa.int32()),
        ("machine", NAMES),
        ("waiting_since", pa.int64()),
        ("wait", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("lost", pa.bool_()),
    ),
)

SHARES = Form(
    "fairlead.simulation.shares/1",
    (
        ("time", pa.int64()),
        ("tenant", pa.string()),
        ("share", pa.float64()),
        ("held", pa.int64()),
        ("waiting", pa.int64()),
    ),
)

UTILISATION = Form(
    "fairlead.simulation.utilisation/1",
    (
        ("time", pa.int64()),
        ("resource", NAMES),
        ("capacity", pa.float64()),
        ("used", pa.float64()),
        ("waiting", pa.float64()),
    ),
)

FORMS = {"jobs": JOBS, "tasks": TASKS, "shares": SHARES, "utilisation": UTILISATION}


class TableSink(Sink):
    """A sink that writes one table. The file is there once the run has ended well."""

    form: Form

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._table: Table | None = None
        self._run: RunInfo | None = None

    def start(self, run: RunInfo) -> None:
        self._run = run
        self._table = Table(self.path, self.form)

    def finish(self) -> None:
        self.table.close()

    def abandon(self) -> None:
        if self._table is not None:
            self._table.abandon()

    @property
    def table(self) -> Table:
        assert self._table is not None  # start() comes first
        return self._table

    @property
    def run(self) -> RunInfo:
        assert self._run is not None  # start() comes first
        return self._run


class SampleSink(TableSink):
    """A table of samples: `every` so many microseconds, or, where that is None, at an interval that
    the run's length chooses. Its samples are then kept in memory until the run is over, and where
    there are too many, those stay that a longer interval would have given."""

    def __init__(self, path: str | Path, every: int | None = None) -> None:
        super().__init__(path)
        self._fixed = every
        self.every: int = every or MINUTE
        self._kept: list[tuple[int, int, Mapping[str, object]]] = []  # (time, rows, columns)
        self._rows = 0  # of them all

    def start(self, run: RunInfo) -> None:
        super().start(run)
        if self._fixed is None:
            self.every = first_interval(run.workload)

    def keep(self, time: int, rows: int, columns: Mapping[str, object]) -> None:
        if self._fixed is not None:
            self.table.write(columns)
            return
        self._kept.append((time, rows, columns))
        self._rows += rows
        while len(self._kept) > 1 and (len(self._kept) > MOST_SAMPLES or self._rows > MOST_ROWS):
            self.every = longer(self.every)
            self._kept = [sample for sample in self._kept if sample[0] % self.every == 0]
            self._rows = sum(rows for _, rows, _ in self._kept)

    def finish(self) -> None:
        for _, _, columns in self._kept:
            self.table.write(columns)
        self._kept.clear()
        super().finish()


class Jobs(TableSink):
    """A row per job: queueing delay, first start, completion, slowdown."""

    form = JOBS
    wants_jobs = True

    def jobs(self, records: JobRecords) -> None:
        names = [self.run.job_name(number) for number in records.number.tolist()]
        tenants = self.run.workload.tenants
        owners = [
            name if tenant < 0 else tenants[tenant].name
            for name, tenant in zip(names, records.tenant.tolist(), strict=True)
        ]
        self.table.write(
            {
                **vars(records),
                "job": names,
                "tenant": owners,
                "first_start": times(records.first_start),
                "completed": times(records.completed),
                "delay": times(records.delay),
                "slowdown": numbers(records.slowdown),
            }
        )


class Tasks(TableSink):
    """A row per launch: which machine, since when it waited, when it started and ended."""

    form = TASKS
    wants_tasks = True

    def tasks(self, records: TaskRecords) -> None:
        self.table.write(
            {
                **vars(records),
                "attempt": pa.array(records.attempt.astype(np.int32)),
                "machine": dictionary(records.machine, self.run.workload.machines.names),
                "wait": records.start - records.waiting_since,
            }
        )


class Shares(SampleSink):
    """At each sample a row per tenant that holds something or waits: its share, as the policy
    counts it: the sum of tasks ÷ scale over the jobs in its subtree, ÷ its weight."""

    form = SHARES

    def sample(self, moment: Moment) -> None:
        tenants = self.run.workload.tenants
        known = len(tenants)
        share = np.divide(
            moment.held,
            moment.scale,
            out=np.zeros(len(moment.job)),
            where=moment.scale > 0,
        )
        # Jobs without a tenant are numbered after the tenants.
        own = np.flatnonzero(moment.tenant < 0)
        owner = moment.tenant.copy()
        owner[own] = known + np.arange(len(own))
        size = known + len(own)
        sums = np.bincount(owner, share, size)
        held = np.bincount(owner, moment.held, size).astype(np.int64)
        waiting = np.bincount(owner, moment.waiting, size).astype(np.int64)
        parents = self.run.workload.parents.tolist()
        for column in (sums, held, waiting):
            for place in reversed(range(known)):
                if parents[place] >= 0:
                    column[parents[place]] += column[place]
        sums[:known] = sums[:known] / moment.tenant_weight
        there = np.flatnonzero((held > 0) | (waiting > 0))
        names = [
            tenants[place].name
            if place < known
            else self.run.job_name(int(moment.job[own[place - known]]))
            for place in there.tolist()
        ]
        self.keep(
            moment.time,
            len(there),
            {
                "time": np.full(len(there), moment.time),
                "tenant": pa.array(names, pa.string()),  # a quarter of a list's memory
                "share": sums[there],
                "held": held[there],
                "waiting": waiting[there],
            },
        )


class Utilisation(SampleSink):
    """At each sample a row per resource: what the machines have, what is used, what waits."""

    form = UTILISATION

    def sample(self, moment: Moment) -> None:
        resources = self.run.workload.resources
        units = np.array([float(resource.unit) for resource in resources])
        capacity = moment.capacity.sum(axis=0)
        used = capacity - moment.free.sum(axis=0)
        waiting = moment.waiting @ moment.demand
        self.keep(
            moment.time,
            len(resources),
            {
                "time": np.full(len(resources), moment.time),
                "resource": dictionary(
                    np.arange(len(resources)), [resource.name for resource in resources]
                ),
                "capacity": capacity * units,
                "used": used * units,
                "waiting": waiting * units,
            },
        )


def times(values: Ints) -> pa.Array:
    """The times, with null where it never happened."""
    return pa.array(values, pa.int64(), mask=values == NEVER)


def numbers(values: Floats) -> pa.Array:
    """The numbers, with null for NaN."""
    return pa.array(values, pa.float64(), mask=np.isnan(values))
