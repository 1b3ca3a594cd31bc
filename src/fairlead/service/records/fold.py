"""The fold: what each entry of the journal changes of what is known. Live and in recovery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from fairlead.engines.interface import Attempt
from fairlead.scheduling import events
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.events import Event
from fairlead.scheduling.transitions import HELD, ILLEGAL, TaskChange, TaskState, task_table
from fairlead.service.journal.entry import Body, CorruptJournalError, Entry
from fairlead.service.records import fold_ends as ends
from fairlead.service.records import fold_machines as machines
from fairlead.service.records import fold_people as people
from fairlead.service.records.book import Kept, Records, Totals
from fairlead.service.records.fold_marks import mark
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.people import MachineRecord
from fairlead.service.records.tasks import Outcome

AFTER = (task_table(cancelled=False), task_table(cancelled=True))

Content = Event | Decision | None


def fold(records: Records, entry: Entry, content: Content) -> None:
    """Takes in the entry after the last one; `content` is the event or the decision in it. Raises
    CorruptJournalError where it does not follow from those before."""
    if entry.seq != records.seq + 1:
        raise CorruptJournalError(f"entry {entry.seq} comes after entry {records.seq}")
    known = _KINDS.get(entry.kind)
    if known is None:
        raise CorruptJournalError(f"entry {entry.seq} is of an unknown kind, {entry.kind!r}")
    try:
        mark(records, entry, content)
        known(records, entry, content)
    except (KeyError, IndexError, ValueError) as error:
        raise CorruptJournalError(
            f"entry {entry.seq} ({entry.kind}) does not follow from those before it: {error!r}"
        ) from error
    records.seq, records.step, records.time = entry.seq, entry.step, entry.time


# Jobs


def _job_submitted(records: Records, entry: Entry, content: Content) -> None:
    body, job = entry.body, cast(events.JobSubmitted, content).job
    if body["id"] != records.next_id or job.name in records.names or job.tasks is None:
        raise ValueError(job.name)
    tasks = int(job.tasks)
    record = JobRecord(
        id=body["id"],
        job=job,
        submitted=entry.time,
        first=records.table.add(tasks),
        tasks=tasks,
        rows=tasks,
        called=body.get("called", job.name),
        seq=entry.seq,
        by=body["by"],
        key=body["key"],
        parts={} if body.get("adopted") else None,
    )
    record.counts[TaskState.WAITING] = tasks
    records.next_id += 1
    records.jobs[record.id] = record
    records.names.add(record)
    if record.key is not None:
        people.use_key(records, record, body["request"])
    totals = records.totals.setdefault(record.tenant, Totals())
    totals.known += 1
    totals.jobs += 1
    totals.tasks += tasks
    totals.bytes += record.bytes


def _job_changed(records: Records, entry: Entry, _content: Content) -> None:
    job, tasks = _job(records, entry.body), entry.body["tasks"]
    more = tasks - job.tasks
    if more > 0:
        job.first = records.table.move(job.first, job.tasks, tasks)
    else:
        records.table.free -= more
    job.counts[TaskState.WAITING] += more
    job.tasks = job.rows = tasks
    records.totals[job.tenant].tasks += more
    _sweep(records)
    _settle(records, job, entry.time)


def _job_cancelled(records: Records, entry: Entry, _content: Content) -> None:
    job = _job(records, entry.body)
    job.cancelled = True
    _drop_waiting(records, job)
    _settle(records, job, entry.time)


def _reject(records: Records, entry: Entry, _content: Content) -> None:
    job = _job(records, entry.body)
    job.reason = entry.body["reason"]
    _drop_waiting(records, job)
    _settle(records, job, entry.time)


def _drop_waiting(records: Records, job: JobRecord) -> None:
    """All its tasks that wait are dropped."""
    states = np.frombuffer(records.table.state, np.int8)[job.first : job.first + job.tasks]
    states[states == TaskState.WAITING] = TaskState.DROPPED
    job.counts[TaskState.DROPPED] += job.counts[TaskState.WAITING]
    job.counts[TaskState.WAITING] = 0


def _job_forgotten(records: Records, entry: Entry, _content: Content) -> None:
    job = _job(records, entry.body)
    del records.jobs[job.id], records.over[job.id]
    records.names.remove(job)
    if job.key is not None and job.submitted == entry.time:
        people.give_key_back(records, job)
    records.over_tasks -= job.rows
    kept = records.kept[job.job.tenant]
    kept.rows -= job.rows
    kept.bytes -= job.bytes + job.ends
    kept.output -= job.output
    del kept.jobs[job.id]
    if not kept.jobs:
        del records.kept[job.job.tenant]
    totals = records.totals[job.tenant]
    totals.known -= 1
    if not totals.known:
        del records.totals[job.tenant]
    records.table.free += job.rows
    _sweep(records)


def _sweep(records: Records) -> None:
    """Gives back the rows that belong to nobody, once they are many."""
    table = records.table
    if table.wasteful():
        jobs = list(records.jobs.values())
        firsts = table.sweep([(each.first, each.rows) for each in jobs])
        for each, first in zip(jobs, firsts, strict=True):
            each.first = first


def _settle(records: Records, job: JobRecord, time: int) -> None:
    """A job is over when nothing of it waits or is held."""
    if job.ended is None and not job.waiting and not job.held:
        job.ended = time
        _give_back_rows(records, job)
        records.over[job.id] = None
        records.over_tasks += job.rows
        kept = records.kept.setdefault(job.job.tenant, Kept())
        kept.jobs[job.id] = None
        kept.rows += job.rows
        kept.bytes += job.bytes + job.ends
        kept.output += job.output
        totals = records.totals[job.tenant]
        totals.jobs -= 1
        totals.tasks -= job.tasks
        totals.bytes -= job.bytes
        totals.ends -= job.ends
        totals.output -= job.output
        _sweep(records)


def _give_back_rows(records: Records, job: JobRecord) -> None:
    """Of a job that is over, tasks after the last one that was ever launched need no rows."""
    if job.counts[TaskState.DROPPED]:
        attempts = np.array(records.attempt_counts(job), np.int32)
        rows = int(np.flatnonzero(attempts)[-1]) + 1 if attempts.any() else 0
        records.table.free += job.rows - rows
        job.rows = rows


# Tasks


def _launch(records: Records, entry: Entry, _content: Content) -> None:
    _place(records, entry)
    if "part" in entry.body:
        _name_part(records, entry)


def _task_placed(records: Records, entry: Entry, _content: Content) -> None:
    """Another scheduler placed it: it runs at once, and may be a part that has a name there."""
    body = entry.body
    _place(records, entry)
    job, task = _job(records, body), body["task"]
    row = _row(job, task)
    _move(records, job, row, TaskChange.STARTED)
    records.table.started[row] = body["started"]
    _name_part(records, entry)


def _name_part(records: Records, entry: Entry) -> None:
    """The task is this part of a job of the cluster's own."""
    job = _job(records, entry.body)
    job.parts = {} if job.parts is None else job.parts
    job.parts[entry.body["task"]] = entry.body["part"]


def _place(records: Records, entry: Entry) -> None:
    """A task is on a machine from now on."""
    body = entry.body
    job, task = _job(records, body), body["task"]
    table, row = records.table, _row(job, task)
    if table.attempt[row]:
        ends.archive(records, job, task)
    _move(records, job, row, TaskChange.LAUNCH)
    number = _machine_number(records, body["machine"])
    table.attempt[row] = body["attempt"]
    table.machine[row] = number
    table.outcome[row] = table.code[row] = table.started[row] = table.ended[row] = 0
    table.launched[row] = entry.time
    records.machines[body["machine"]].held[job.id, task] = body["attempt"]
    if job.began is None:
        job.began = entry.time
    if body.get("pieces"):
        job.pieces = {} if job.pieces is None else job.pieces
        job.pieces[task] = tuple((name, piece) for name, piece in body["pieces"])


def _stop(records: Records, entry: Entry, _content: Content) -> None:
    job = _job(records, entry.body)
    _move(records, job, _row(job, entry.body["task"]), TaskChange.STOP)


def _task_started(records: Records, entry: Entry, _content: Content) -> None:
    job = _job(records, entry.body)
    row = _row(job, entry.body["task"])
    _move(records, job, row, TaskChange.STARTED)
    records.table.started[row] = entry.body["started"] or 0


def _ended(change: TaskChange) -> Callable[[Records, Entry, Content], None]:
    def task_ended(records: Records, entry: Entry, _content: Content) -> None:
        body = entry.body
        job, task = _job(records, body), body["task"]
        table, row = records.table, _row(job, task)
        if table.attempt[row] != body["attempt"]:
            raise ValueError(f"attempt {body['attempt']} of task {task}")
        machine = records.machines[records.machine_names[table.machine[row]]]
        del machine.held[job.id, task]
        _move(records, job, row, change)
        table.outcome[row] = Outcome[body["cause"].upper()]
        table.code[row] = body["code"]
        if body["started"] is not None:
            table.started[row] = body["started"]
        table.ended[row] = body["ended"] or 0
        if body["retry"]:
            table.tries[row] += 1
        ends.say(records, job, task, body["why"])
        job.output += body.get("output", 0)
        records.totals[job.tenant].output += body.get("output", 0)
        if body["given_up"]:
            _give_up(records, machine, Attempt(job.id, task, body["attempt"]), entry.time)
        if change is TaskChange.FINISHED and machine.quarantine is None:
            machine.failures = 0
        _settle(records, job, entry.time)

    return task_ended


def _row(job: JobRecord, task: int) -> int:
    if not 0 <= task < job.tasks:
        raise IndexError(task)
    return job.first + task


def _move(records: Records, job: JobRecord, row: int, change: TaskChange) -> None:
    """The task in this row goes where the table of transitions says."""
    before = records.table.state[row]
    after = AFTER[job.cancelled][before][change]
    if after == ILLEGAL:
        raise ValueError(f"{TaskState(before).name}, {change.name}")
    records.table.state[row] = after
    job.counts[before] -= 1
    job.counts[after] += 1
    more = (after in HELD) - (before in HELD)
    if more:
        running = records.running.get(job.tenant, 0) + more
        if running:
            records.running[job.tenant] = running
        else:
            del records.running[job.tenant]


def _job(records: Records, body: Body) -> JobRecord:
    return records.names[body["job"]]


# Machines


def _machine_number(records: Records, name: str) -> int:
    number = records.machine_numbers.get(name)
    if number is None:
        number = records.machine_numbers[name] = len(records.machine_names)
        records.machine_names.append(name)
    return number


def _machine_left(records: Records, entry: Entry, _content: Content) -> None:
    machine = records.machines[entry.body["machine"]]
    lost = list(machine.held.items())
    machine.held.clear()
    machine.machine, machine.left, machine.draining = None, entry.time, False
    table = records.table
    for (number, task), attempt in lost:
        job = records.jobs[number]
        row = _row(job, task)
        stopping = table.state[row] == TaskState.STOPPING
        _move(records, job, row, TaskChange.LOST)
        table.outcome[row], table.ended[row] = Outcome.LOST, entry.time
        table.tries[row] += not stopping
        ends.say(records, job, task, entry.body["why"])
        _give_up(records, machine, Attempt(number, task, attempt), entry.time)
    for number in dict.fromkeys(number for (number, _), _ in lost):
        _settle(records, records.jobs[number], entry.time)
    machines.forget_machine(records, machine)


def _attempt_gone(records: Records, entry: Entry, _content: Content) -> None:
    body = entry.body
    machine = records.machines[body["machine"]]
    del machine.given_up[Attempt(body["id"], body["task"], body["attempt"])]
    records.away[body["id"]] -= 1
    if not records.away[body["id"]]:
        del records.away[body["id"]]
    machines.forget_machine(records, machine)


def _give_up(records: Records, machine: MachineRecord, attempt: Attempt, time: int) -> None:
    """It may still run there."""
    machine.given_up[attempt] = time
    records.away[attempt.job] = records.away.get(attempt.job, 0) + 1


def _nothing(_records: Records, _entry: Entry, _content: Content) -> None:
    """Changes nothing: only the core remembers it."""


_KINDS: Mapping[str, Callable[[Records, Entry, Content], None]] = {
    "job_submitted": _job_submitted,
    "job_changed": _job_changed,
    "job_cancelled": _job_cancelled,
    "job_forgotten": _job_forgotten,
    **people.KINDS,
    "launch": _launch,
    "task_placed": _task_placed,
    "stop": _stop,
    "reject": _reject,
    "task_started": _task_started,
    "task_finished": _ended(TaskChange.FINISHED),
    "task_failed": _ended(TaskChange.FAILED),
    "task_lost": _ended(TaskChange.LOST),
    "task_stopped": _ended(TaskChange.STOPPED),
    **machines.KINDS,
    "machine_left": _machine_left,
    "attempt_gone": _attempt_gone,
    "time_passed": _nothing,
    "advice_changed": _nothing,
    "guarantees_changed": _nothing,
}
