"""Reads the project's own trace format, fairlead.trace/1; jobs are streamed from the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairlead.files import unreadable
from fairlead.model.constraint import Label
from fairlead.model.errors import InputError, Mistake
from fairlead.model.json_tree import json_tree
from fairlead.model.machine import label_values
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Term
from fairlead.simulation.traces.own import form as own_form
from fairlead.simulation.traces.own.description import read_description
from fairlead.simulation.traces.own.form import DESCRIPTION, EVENTS, Form, term_of
from fairlead.simulation.traces.tables import (
    MISSING,
    Column,
    Layout,
    Part,
    Vocabulary,
    arrays,
    parts,
)
from fairlead.simulation.workload import Ints, JobBatch, MachineTable, Resource, Words, Workload

_ROWS = 65_536  # of a Parquet file that are in memory at a time


def is_trace(path: str) -> bool:
    """Whether the path is a directory in this format, or its trace.json."""
    return _directory(path).joinpath(DESCRIPTION).is_file()


def _directory(path: str) -> Path:
    return Path(path).parent if Path(path).name == DESCRIPTION else Path(path)


def load(path: str) -> Workload:
    """The workload in the directory. Raises InputError."""
    directory = _directory(path)
    given = read_description(directory / DESCRIPTION)
    terms = _terms(directory, given.form)
    reader = _Jobs(directory, given.form, given.resources, given.tenants, terms)
    return Workload(
        name=given.name,
        resources=given.resources,
        machines=_machines(directory, given.form, given.resources),
        tenants=given.tenants,
        terms=terms,
        batches=reader.batches,
        notes=given.notes,
        jobs=given.jobs,
        tasks=given.tasks,
        options=given.options,
    )


def _rows(
    directory: Path,
    table: str,
    form: Form,
    columns: Sequence[Column],
    words: Mapping[str, Vocabulary],
) -> Iterator[Part]:
    path = str(own_form.table_path(directory, table, form))
    if form is Form.CSV:
        yield from parts(path, Layout(tuple(columns)), words)
        return
    try:
        with pq.ParquetFile(path) as file:
            for column in columns:
                if column.name not in file.schema_arrow.names:
                    right = f"its columns are {', '.join(file.schema_arrow.names)}"
                    what = f"{path}: the column {column.name} is missing"
                    raise InputError(what, right)
            names = [column.name for column in columns]
            for batch in file.iter_batches(batch_size=_ROWS, columns=names):
                yield arrays(batch, columns, words, path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(unreadable(path, error)) from error


def _whole(
    directory: Path,
    table: str,
    form: Form,
    columns: Sequence[Column],
    words: Mapping[str, Vocabulary],
) -> dict[str, Ints]:
    """All rows of a small table."""
    read = list(_rows(directory, table, form, columns, words))
    if not read:
        return {column.name: np.zeros(0, dtype=np.int64) for column in columns}
    return {name: np.concatenate([part[name] for part in read]) for name in read[0]}


def _terms(directory: Path, form: Form) -> tuple[Term, ...]:
    words = {"kind": Vocabulary(), "text": Vocabulary()}
    rows = _whole(directory, "terms", form, own_form.TERMS, words)
    path = own_form.table_path(directory, "terms", form)
    if (rows["term"] != np.arange(len(rows["term"]))).any():
        raise InputError(f"{path}: the terms are not numbered 0, 1, 2 …", "number them so")
    terms = []
    for row, (kind, text) in enumerate(zip(rows["kind"], rows["text"], strict=True)):
        try:
            written = "" if text == MISSING else words["text"].texts[text]
            terms.append(term_of(words["kind"].texts[kind], written))
        except InputError as error:
            wrong = error.mistakes[0]
            what = f"{path}, row {row + 1}: {wrong.what}"
            raise InputError(Mistake(what, wrong.right, context=wrong.context)) from error
    if len(set(terms)) < len(terms):
        raise InputError(f"{path}: a term is there twice", "write each term once")
    return tuple(terms)


def _machines(directory: Path, form: Form, resources: Sequence[Resource]) -> MachineTable:
    names, texts = Vocabulary(), Vocabulary()
    words = {"machine": names, "labels": texts}
    rows = _whole(directory, "machines", form, own_form.MACHINES, words)
    path = own_form.table_path(directory, "machines", form)
    if len(names.texts) < len(rows["machine"]):
        raise InputError(f"{path}: a machine is listed twice", "list each machine once")
    labels = [_labels(text, path) for text in texts.texts]
    count = len(names.texts)
    kinds = Vocabulary()
    columns = own_form.machine_events(resources)
    found = _whole(directory, "machine_events", form, columns, {"machine": names, "event": kinds})
    path = own_form.table_path(directory, "machine_events", form)
    if len(names.texts) > count:
        raise InputError(f"{path}: the machine {names.texts[count]!r} is not listed", "list it")
    unknown = [text for text in kinds.texts if text not in EVENTS]
    if unknown:
        raise InputError(f"{path}: {unknown[0]!r} is no event", f"write one of {', '.join(EVENTS)}")
    if (np.diff(found["time_us"]) < 0).any():
        row = int(np.flatnonzero(np.diff(found["time_us"]) < 0)[0]) + 2
        raise InputError(f"{path}, row {row}: its time is before the row above", "sort it")
    kind_of = np.array([EVENTS[text] for text in kinds.texts], dtype=np.int64)
    capacity = [found[f"capacity_{resource.name}"] for resource in resources]
    return MachineTable(
        names=tuple(names.texts),
        labels=tuple(labels[code] for code in rows["labels"].tolist()),
        time=found["time_us"],
        machine=found["machine"],
        kind=kind_of[found["event"]] if len(kind_of) else found["event"],
        capacity=np.stack(capacity, axis=1)
        if capacity
        else np.zeros((len(found["time_us"]), 0), dtype=np.int64),
    )


def _labels(text: str, path: Path) -> FrozenMap[Label]:
    """Numbers are kept as they were written."""
    try:
        found = json_tree(text, str(path), number=Decimal)
    except InputError as error:
        what = f"{path}: the labels {text!r} are no JSON"
        raise InputError(what, 'write as in {"zone": "east"}') from error
    if not isinstance(found, dict):
        what = f"{path}: the labels {text!r} are no names with values"
        raise InputError(what, 'write as in {"zone": "east"}')
    try:
        return label_values(found)
    except InputError as error:
        raise InputError(
            [replace(wrong, what=f"{path}: {wrong.what}", about=()) for wrong in error.mistakes]
        ) from error


class _Jobs:
    """The stream of jobs of a trace."""

    def __init__(
        self,
        directory: Path,
        form: Form,
        resources: Sequence[Resource],
        tenants: Sequence[Tenant],
        terms: Sequence[Term],
    ) -> None:
        self._directory, self._form = directory, form
        self._resources, self._tenants, self._terms = resources, tenants, len(terms)
        self._path = own_form.table_path(directory, "jobs", form)

    def batches(self) -> Iterator[JobBatch]:
        """The jobs, from the first one. Raises InputError where the tables do not fit together."""
        tenants = Vocabulary()
        for tenant in self._tenants:
            tenants.code(tenant.name)
        names, needs, prefers = Vocabulary(), Vocabulary(), Vocabulary()
        words = {"name": names, "tenant": tenants, "needs": needs, "prefers": prefers}
        columns = own_form.jobs(self._resources)
        tasks = _Tasks(self._directory, self._form)
        before, latest = 0, 0
        for rows in _rows(self._directory, "jobs", self._form, columns, words):
            if len(tenants.texts) > len(self._tenants):
                stranger = tenants.texts[len(self._tenants)]
                row = before + int(np.flatnonzero(rows["tenant"] >= len(self._tenants))[0]) + 1
                self._refuse(row, f"the tenant {stranger!r} is not in {DESCRIPTION}", "add it")
            batch = self._batch(rows, before, tasks, names, needs, prefers)
            # A stream must not gather the texts of all jobs.
            for vocabulary in (names, needs, prefers):
                vocabulary.forget()
            if len(batch):
                early = np.flatnonzero(np.diff(batch.submit, prepend=latest) < 0)
                if len(early):
                    row = before + int(early[0]) + 1
                    self._refuse(row, "it is submitted before the job above it", "sort the jobs")
                latest = int(batch.submit[-1])
                before += len(batch)
                yield batch
        tasks.end(before)

    def _refuse(self, row: int, what: str, right: str) -> None:
        raise InputError(f"{self._path}, row {row}: {what}", right)

    def _batch(
        self,
        rows: Part,
        before: int,
        tasks: _Tasks,
        names: Vocabulary,
        needs: Vocabulary,
        prefers: Vocabulary,
    ) -> JobBatch:
        count = len(rows["submit_us"])
        named = (rows["name"] != MISSING).sum()
        if named not in (0, count):
            self._refuse(
                before + int(np.flatnonzero(rows["name"] == MISSING)[0]) + 1,
                "it has no name, others do",
                "name all jobs or none",
            )
        for column in ("tasks", "gang"):
            if count and rows[column].min() < 1:
                row = before + int(np.flatnonzero(rows[column] < 1)[0]) + 1
                self._refuse(row, f"{column} is 0", "write 1 or more")
        first, durations = tasks.of(before, rows["tasks"])
        soft = None
        if (rows["prefers"] != MISSING).any():
            soft = self._sets(prefers, rows["prefers"], "prefers")
        demand = [rows[f"demand_{resource.name}"] for resource in self._resources]
        return JobBatch(
            names=tuple(names.texts[code] for code in rows["name"].tolist()) if named else None,
            submit=rows["submit_us"],
            tenant=rows["tenant"],
            demand=np.stack(demand, axis=1) if demand else np.zeros((count, 0), dtype=np.int64),
            tasks=rows["tasks"],
            needs=self._sets(needs, rows["needs"], "needs"),
            spread=rows["spread"].astype(np.bool_),
            gang=rows["gang"],
            durations=durations,
            first=first,
            prefers=soft,
            patience=_known_times(rows["patience_us"]),
            expected=_known_times(rows["expected_us"]),
        )

    def _sets(self, words: Vocabulary, codes: Ints, column: str) -> Words:
        name = f"{self._path}: {column}"
        return own_form.numbers_from_text(words.texts, codes, self._terms, name)


def _known_times(values: Ints) -> Ints | None:
    return None if (values == MISSING).all() else np.maximum(values, 0)


class _Tasks:
    """The stream of durations, beside that of the jobs."""

    def __init__(self, directory: Path, form: Form) -> None:
        self._path = own_form.table_path(directory, "tasks", form)
        self._parts = _rows(directory, "tasks", form, own_form.TASKS, {})
        self._job = np.zeros(0, dtype=np.int64)
        self._duration = np.zeros(0, dtype=np.int64)

    def of(self, before: int, tasks: Ints) -> tuple[Ints, Ints]:
        """`first` and `durations` of the next jobs, of which `before` came before. Raises
        InputError where a job has another number of durations than of tasks, and not 1."""
        after = before + len(tasks)
        jobs, durations = [self._job], [self._duration]
        while not len(jobs[-1]) or jobs[-1][-1] < after:
            part = next(self._parts, None)
            if part is None:
                break
            last = jobs[-1][-1] if len(jobs[-1]) else before
            if len(part["job"]) and (np.diff(part["job"], prepend=last) < 0).any():
                raise InputError(
                    f"{self._path}: the tasks are not in the order of the jobs", "sort it"
                )
            jobs.append(part["job"])
            durations.append(part["duration_us"])
        job, duration = np.concatenate(jobs), np.concatenate(durations)
        first = np.searchsorted(job, np.arange(before, after + 1))
        counts = np.diff(first)
        wrong = np.flatnonzero((counts != tasks) & (counts != 1))
        if len(wrong):
            at = int(wrong[0])
            raise InputError(
                f"{self._path} has {int(counts[at])} durations of job {before + at}, which has"
                f" {int(tasks[at])} tasks",
                "write one for each task, or one for all",
            )
        self._job, self._duration = job[first[-1] :], duration[first[-1] :]
        return first.astype(np.int64), duration[: first[-1]]

    def end(self, jobs: int) -> None:
        """Sees that no durations are left over."""
        left = self._job if len(self._job) else next(self._parts, {"job": self._job})["job"]
        if len(left):
            raise InputError(
                f"{self._path} has durations of job {int(left[0])}; the last job is {jobs - 1}",
                "take them out, or add the job",
            )
