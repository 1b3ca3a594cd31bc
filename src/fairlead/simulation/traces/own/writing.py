"""Writes a workload in the project's own format: a directory, whole or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from fairlead.model.constraint import Label
from fairlead.model.errors import InputError, OutputError
from fairlead.model.quantity import write_amount
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Term
from fairlead.simulation.traces.own.form import (
    ARROW,
    DESCRIPTION,
    EVENTS,
    MACHINES,
    SCHEMA,
    TASKS,
    TERMS,
    Form,
    jobs,
    machine_events,
    null_where,
    numbers_to_text,
    table_path,
    term_fields,
    texts_of_codes,
)
from fairlead.simulation.traces.tables import MISSING, Column
from fairlead.simulation.workload import JobBatch, Resource, Workload

Progress = Callable[[int], object]
"""Hears how many jobs have been written since it last heard."""


def write(
    workload: Workload, directory: Path, form: Form, progress: Progress = lambda _: None
) -> tuple[int, int]:
    """Writes the workload into a directory that must not be there yet; returns its numbers of
    jobs and of tasks. Raises OutputError where it cannot be written; nothing is left then."""
    if directory.exists():
        raise InputError(f"{directory} is already there", "give a directory that is not there yet")
    beside = None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
        counts = _tables(workload, beside, form, progress)
        text = json.dumps(_description(workload, form, counts), indent=2, ensure_ascii=False)
        (beside / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
        beside.chmod(0o755)  # mkdtemp keeps it private
        beside.rename(directory)
        beside = None
    except OSError as error:
        raise OutputError(f"{directory} cannot be written: {error.strerror or error}") from error
    finally:
        if beside is not None:
            shutil.rmtree(beside, ignore_errors=True)
    return counts


def _tables(workload: Workload, directory: Path, form: Form, progress: Progress) -> tuple[int, int]:
    """Writes all tables; the numbers of jobs and of tasks."""
    machines = workload.machines
    resources = workload.resources
    labels = [_labels_to_text(each) for each in machines.labels]
    names = pa.array(machines.names, pa.string())
    _write(directory, "machines", MACHINES, form, [names, pa.array(labels, pa.string())])
    _write(
        directory,
        "machine_events",
        machine_events(resources),
        form,
        [
            pa.array(machines.time),
            texts_of_codes(machines.machine, machines.names),
            texts_of_codes(machines.kind, list(EVENTS)),
            *(pa.array(column) for column in machines.capacity.T),
        ],
    )
    terms: list[Term] = list(workload.terms)
    count = tasks = 0
    tenants = [tenant.name for tenant in workload.tenants]
    with ExitStack() as stack:
        job_rows = _writer(stack, directory, "jobs", jobs(resources), form)
        task_rows = _writer(stack, directory, "tasks", TASKS, form)
        for batch in workload.batches():
            terms += batch.terms
            job_rows(_job_columns(batch, resources, tenants))
            numbers = np.arange(count, count + len(batch), dtype=np.int64)
            repeated = np.repeat(numbers, np.diff(batch.first))
            task_rows([pa.array(repeated), pa.array(batch.durations)])
            count += len(batch)
            tasks += int(batch.tasks.sum())
            progress(len(batch))
    fields = [term_fields(term) for term in terms]
    _write(
        directory,
        "terms",
        TERMS,
        form,
        [
            pa.array(range(len(fields)), pa.int64()),
            pa.array([kind.value for kind, _ in fields], pa.string()),
            pa.array([text for _, text in fields], pa.string()),
        ],
    )
    return count, tasks


def _job_columns(
    batch: JobBatch, resources: Sequence[Resource], tenants: Sequence[str]
) -> list[pa.Array]:
    count = len(batch)
    nothing = pa.nulls(count, pa.int64())
    demands = batch.demand.T if resources else ()
    return [
        pa.nulls(count, pa.string()) if batch.names is None else pa.array(batch.names, pa.string()),
        pa.array(batch.submit),
        texts_of_codes(batch.tenant, tenants),
        pa.array(batch.tasks),
        *(pa.array(column) for column in demands),
        numbers_to_text(batch.needs),
        pa.nulls(count, pa.string()) if batch.prefers is None else numbers_to_text(batch.prefers),
        nothing if batch.patience is None else null_where(batch.patience, MISSING),
        pa.array(batch.spread),
        pa.array(batch.gang),
        nothing if batch.expected is None else null_where(batch.expected, 0),
    ]


def _write(
    directory: Path, table: str, columns: Sequence[Column], form: Form, rows: list[pa.Array]
) -> None:
    with ExitStack() as stack:
        _writer(stack, directory, table, columns, form)(rows)


def _writer(
    stack: ExitStack, directory: Path, table: str, columns: Sequence[Column], form: Form
) -> Callable[[list[pa.Array]], None]:
    """A function that adds rows to the table; the stack closes it."""
    schema = pa.schema(
        [pa.field(column.name, ARROW[column.kind]) for column in columns],
        metadata={b"fairlead.schema": SCHEMA.encode()} if form is Form.PARQUET else None,
    )
    path = str(table_path(directory, table, form))
    writer: Any
    if form is Form.PARQUET:
        writer = stack.enter_context(pq.ParquetWriter(path, schema, compression="zstd"))
    else:
        writer = stack.enter_context(pacsv.CSVWriter(path, schema))

    def add(arrays: list[pa.Array]) -> None:
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))

    return add


def _labels_to_text(labels: FrozenMap[Label]) -> str:
    """JSON in which numbers stand as they were written: 5.10 stays 5.10."""
    fields = (
        f"{json.dumps(key, ensure_ascii=False)}: "
        + (str(label) if isinstance(label, Decimal) else json.dumps(label, ensure_ascii=False))
        for key, label in labels.items()
    )
    return "{" + ", ".join(fields) + "}"


def _description(workload: Workload, form: Form, counts: tuple[int, int]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "name": workload.name,
        "tables": form.value,
        "machines": len(workload.machines.names),
        "jobs": counts[0],
        "tasks": counts[1],
        "resources": [
            {"name": resource.name, "unit": str(resource.unit), "piece": resource.piece}
            for resource in workload.resources
        ],
        "tenants": [_tenant_written(tenant) for tenant in workload.tenants],
        "notes": list(workload.notes),
        "options": dict(workload.options),
    }


def _tenant_written(tenant: Tenant) -> dict[str, object]:
    fields: dict[str, object] = {"name": tenant.name}
    if tenant.weight is not None:
        fields["weight"] = write_amount(tenant.weight)
    if tenant.pool is not None:
        fields["pool"] = list(tenant.pool)
    if tenant.parent is not None:
        fields["parent"] = tenant.parent
    if tenant.limit:
        fields["limit"] = {name: write_amount(amount) for name, amount in tenant.limit.items()}
    return fields
