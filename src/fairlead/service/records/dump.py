"""The records as bytes, and back, without loss: columns of tasks as they are, all else as JSON."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from operator import attrgetter
from typing import Any

from fairlead.engines.interface import Attempt
from fairlead.model.alike import jobs_of, plain_jobs
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.json_parts import json_parts
from fairlead.model.plain import Plain, machine_of, plain_machine, plain_tenant, tenant_of
from fairlead.service.journal.entry import CorruptJournalError
from fairlead.service.records.book import Kept, Records, Totals
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.marks import Mark, Marks
from fairlead.service.records.names import Names
from fairlead.service.records.people import (
    KeyOwner,
    KeyRecord,
    KeyTotals,
    MachineRecord,
    Quarantine,
    Start,
    TokenRecord,
)
from fairlead.service.records.sizes import attempt_bytes, key_bytes, why_bytes
from fairlead.service.records.tasks import COLUMNS, AttemptRecord, Outcome, TaskTable
from fairlead.wire.kinds import MarkKind, Role

VERSION = 8

READ = (3, 4, 5, 6, 7, VERSION)
"""Versions that are read. Of 3, jobs that are over have rows for all of their tasks, and keys are
those of jobs that are known. Up to 4, jobs are called by their unique names alone; up to 5, nobody
else places tasks; up to 6 there are no marks; up to 7, nobody knows how much tasks wrote. What is
lost by that (`alike` knows it) stays lost in dumps that are made on top: they say the `oldest` one
that they came through; one that does not may have come through any."""

OLDEST = READ[0]


@dataclass(frozen=True)
class RecordsDump:
    """The records as they were at one moment. Taking one is quick; `written` takes longer, and may
    run in another thread."""

    records: Records  # without jobs
    jobs: Sequence[Job]
    rows: Sequence[list[Any]]  # of each job, what is known of it
    columns: dict[str, bytes]

    def encode(self) -> bytes:
        records = self.records
        kinds, works = plain_jobs(self.jobs)
        header = {
            "version": VERSION,
            "oldest": records.version or VERSION,
            "seq": records.seq,
            "step": records.step,
            "time": records.time,
            "start": None if records.start is None else _ordered(_plain(records.start)),
            "next_id": records.next_id,
            "kinds": kinds,
            "jobs": ([work, *_plain_row(row)] for work, row in zip(works, self.rows, strict=True)),
            "over": list(records.over),
            "over_tasks": records.over_tasks,
            "free": records.table.free,
            "tenants": [plain_tenant(tenant) for tenant in records.tenants.values()],
            "machines": [_plain_machine(machine) for machine in records.machines.values()],
            "tokens": [
                _plain(token) | {"role": token.role.value} for token in records.tokens.values()
            ],
            "keys": [
                [*at, known.request, known.ids, known.names, known.time]
                for at, known in records.keys.items()
            ],
            "totals": [
                [name, each.known, each.jobs, each.tasks] for name, each in records.totals.items()
            ],
            "away": list(records.away.items()),
            "machine_names": records.machine_names,
            "marks": [_plain_mark(mark) for mark in records.marks],
            "columns": {name: len(column) for name, column in self.columns.items()},
        }
        text = json_parts(header)
        return b"".join([len(text).to_bytes(8, "little"), text, *self.columns.values()])


def _ordered(tree: Any) -> Any:
    """The tree with its keys in order, as they are when it was read from the journal."""
    return json.loads(json.dumps(tree, sort_keys=True))


def take(records: Records) -> RecordsDump:
    table = TaskTable()
    table.free = records.table.free
    copied = replace(
        records,
        jobs={},
        names=Names(),
        over=dict(records.over),
        kept={},
        key_totals={},
        table=table,
        tenants=dict(records.tenants),
        machines={name: _machine_copy(each) for name, each in records.machines.items()},
        tokens=dict(records.tokens),
        keys=dict(records.keys),
        totals={name: replace(each) for name, each in records.totals.items()},
        running=dict(records.running),
        away=dict(records.away),
        machine_names=list(records.machine_names),
        machine_numbers={},
        marks=records.marks.copy(),
    )
    columns = {name: column.tobytes() for name, column in records.table.columns().items()}
    known = records.jobs.values()
    return RecordsDump(
        copied, [each.job for each in known], [_row(each) for each in known], columns
    )


def _machine_copy(machine: MachineRecord) -> MachineRecord:
    return replace(machine, held=dict(machine.held), given_up=dict(machine.given_up))


def load(data: bytes) -> Records:
    """The records of these bytes. Raises CorruptJournalError where they are none."""
    try:
        return _load(data)
    except (ValueError, KeyError, TypeError, IndexError, InputError) as error:
        raise CorruptJournalError(f"a snapshot's records cannot be read: {error!r}") from error


def _load(data: bytes) -> Records:
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    version = header["version"]
    if version not in READ:
        raise ValueError(f"their version is {version}, known are {READ}")
    table = TaskTable()
    table.free = header["free"]
    for name, kind in COLUMNS.items():
        size = header["columns"][name]
        column = array(kind)
        column.frombytes(data[end : end + size])
        setattr(table, name, column)
        end += size
    if end != len(data):
        raise ValueError("they have not the length that they say")
    works = jobs_of(header["kinds"], [work for work, *_ in header["jobs"]])
    known = [_now(row, version, header["seq"]) for _, *row in header["jobs"]]
    jobs = [_job(work, *row) for work, row in zip(works, known, strict=True)]
    machines = [_machine(each) for each in header["machines"]]
    tenants = [tenant_of(each) for each in header["tenants"]]
    tokens = [TokenRecord(**(each | {"role": Role(each["role"])})) for each in header["tokens"]]
    names: list[str] = header["machine_names"]
    records = Records(
        seq=header["seq"],
        step=header["step"],
        time=header["time"],
        start=None if header["start"] is None else Start(**header["start"]),
        next_id=header["next_id"],
        jobs={job.id: job for job in jobs},
        over=dict.fromkeys(header["over"]),
        over_tasks=header["over_tasks"],
        table=table,
        tenants={tenant.name: tenant for tenant in tenants},
        machines={machine.name: machine for machine in machines},
        tokens={token.name: token for token in tokens},
        totals={name: Totals(*counts) for name, *counts in header["totals"]},
        away=dict(header["away"]),
        machine_names=names,
        machine_numbers={name: number for number, name in enumerate(names)},
        marks=Marks(_mark(*row) for row in header.get("marks", ())),
        version=min(version, header.get("oldest", OLDEST)),
    )
    for job in jobs:
        records.names.add(job)
        if not job.over:
            totals = records.totals[job.tenant]
            totals.bytes += job.bytes
            totals.ends += job.ends
            totals.output += job.output
            if job.held:
                records.running[job.tenant] = records.running.get(job.tenant, 0) + job.held
    for number in records.over:
        job = records.jobs[number]
        kept = records.kept.setdefault(job.job.tenant, Kept())
        kept.jobs[number] = None
        kept.rows += job.rows
        kept.bytes += job.bytes + job.ends
        kept.output += job.output
    for by, *row in header["keys"]:
        at, key = _key(records, by, *row) if version == 3 else _key_of(by, *row)
        records.keys[at] = key
        of_keys = records.key_totals.setdefault(at[1], KeyTotals())
        of_keys.keys += 1
        of_keys.bytes += key_bytes(at, key.names)
    return records


def _now(row: list[Any], version: int, seq: int) -> list[Any]:
    """A job's row as one of this version; `seq` is the last entry before its snapshot."""
    if version == 3:
        row = [*row[:4], *row[3:]]
    if version < 5:
        row = [*row[:5], None, seq, *row[5:]]
    if version < 6:
        row = [*row[:-1], None, row[-1]]
    return row if version >= 8 else [*row[:-1], 0, row[-1]]


def _key(
    records: Records, by: str | None, key: str, request: str, ids: list[int]
) -> tuple[KeyOwner, KeyRecord]:
    """A key of version 3."""
    jobs = [records.jobs[number] for number in ids]
    names = [job.name for job in jobs]
    return records.key_owner(by, key), KeyRecord(request, ids, names, jobs[0].submitted)


def _key_of(
    by: str | None,
    tenant: str | None,
    key: str,
    request: str,
    ids: list[int],
    names: list[str],
    time: int,
) -> tuple[KeyOwner, KeyRecord]:
    return (by, tenant, key), KeyRecord(request, ids, names, time)


def _plain(value: Any) -> Plain:
    """A frozen value whose fields are all plain."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _row(job: JobRecord) -> list[Any]:
    """The fields of a job but for its work, in their order, as they are now. What there may be much
    of is copied as it is: the loop waits for it."""
    return [
        *(job.id, job.submitted, job.first, job.tasks, job.rows),
        *(None if job.called == job.name else job.called, job.seq, job.by, job.key),
        *(job.began, job.ended, job.cancelled, job.reason),
        job.why and dict(job.why),
        job.pieces and dict(job.pieces),
        job.past and dict(job.past),
        None if job.parts is None else dict(job.parts),
        job.output,
        list(job.counts),
    ]


def _plain_row(row: list[Any]) -> list[Any]:
    """The row as JSON has it. Attempts, of which there may be hundreds of thousands, are made when
    they are written, and gone after that."""
    *plain, why, pieces, past, parts, output, counts = row
    return [
        *plain,
        why and list(why.items()),
        pieces and list(pieces.items()),
        past and ((task, tuple(map(_plain_attempt, attempts))) for task, attempts in past.items()),
        None if parts is None else list(parts.items()),
        output,
        counts,
    ]


def _job(work: Job, number: int, *row: Any) -> JobRecord:
    *plain, why, pieces, past, parts, output, counts = row
    job = JobRecord(number, work, *plain)
    job.called = job.called or job.name
    job.why = dict(why) if why else None
    if pieces:
        job.pieces = {task: tuple((name, piece) for name, piece in each) for task, each in pieces}
    if past:
        job.past = {task: tuple(_attempt(*each) for each in attempts) for task, attempts in past}
    job.parts = None if parts is None else dict(parts)
    job.output, job.counts = output, counts
    said, attempts = (job.why or {}).values(), chain.from_iterable((job.past or {}).values())
    job.ends = sum(map(why_bytes, said)) + sum(map(attempt_bytes, attempts))
    return job


_plain_attempt = attrgetter(*(each.name for each in fields(AttemptRecord)))
"""The fields of an attempt, in their order."""


def _attempt(attempt: int, machine: str, outcome: int, *rest: Any) -> AttemptRecord:
    return AttemptRecord(attempt, machine, Outcome(outcome), *rest)


def _plain_mark(mark: Mark) -> list[Any]:
    return [mark.time, mark.kind.value, *(getattr(mark, each.name) for each in fields(mark)[2:])]


def _mark(time: int, kind: str, *rest: Any) -> Mark:
    return Mark(time, MarkKind(kind), *rest)


def _plain_machine(record: MachineRecord) -> Plain:
    quarantine = record.quarantine
    return _plain(record) | {
        "machine": None if record.machine is None else plain_machine(record.machine),
        "quarantine": None if quarantine is None else _plain(quarantine),
        "held": [[job, task, attempt] for (job, task), attempt in record.held.items()],
        "given_up": [[a.job, a.task, a.number, time] for a, time in record.given_up.items()],
    }


def _machine(tree: Plain) -> MachineRecord:
    quarantine = tree["quarantine"]
    values = tree | {
        "machine": None if tree["machine"] is None else machine_of(tree["machine"]),
        "quarantine": None if quarantine is None else Quarantine(**quarantine),
        "held": {(job, task): attempt for job, task, attempt in tree["held"]},
        "given_up": {
            Attempt(job, task, number): time for job, task, number, time in tree["given_up"]
        },
    }
    return MachineRecord(**values)
