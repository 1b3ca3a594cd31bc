"""The parts of a job of the cluster's own, as the records have them, and the events by which they
become what is seen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from fairlead.engines.interface import Attempt, Cause
from fairlead.engines.observing import Part, PartEnd, SeenJob
from fairlead.model.errors import InputError
from fairlead.scheduling.events import (
    JobCancelled,
    JobChanged,
    JobSubmitted,
    TaskFailed,
    TaskFinished,
    TaskLost,
    TaskPlaced,
    TaskStarted,
)
from fairlead.scheduling.reading.lookup import job_counts, job_total, next_task
from fairlead.scheduling.transitions import HELD, OVER, TaskState
from fairlead.service.loop.step import Step
from fairlead.service.records.jobs import JobRecord

LOST = "the cluster does not know it any more, and nobody saw how it ended"
AGAIN = "it was given back to the queue"


@dataclass(frozen=True, slots=True)
class _Held:
    """A task on a machine, as the records have it. `launched`: nobody has heard that it runs."""

    task: int
    attempt: int
    machine: str
    started: int
    launched: bool = False


@dataclass
class Standing:
    """The parts of a job on machines, each with its tasks, and names of those that are over.
    `alone`: another scheduler placed them."""

    number: int
    alone: bool
    held: dict[str, list[_Held]] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)


def standing_of(step: Step, record: JobRecord) -> Standing:
    """The parts of a job before this step."""
    standing = Standing(record.id, not step.core.placement.places)
    table = step.records.table
    for task, part in (record.parts or {}).items():
        row = record.first + task
        state = TaskState(table.state[row])
        if state in OVER:
            standing.over.add(part)
        elif state in HELD:
            machine = step.records.machine_names[table.machine[row]]
            launched = state is TaskState.LAUNCHED
            held = _Held(task, table.attempt[row], machine, table.started[row], launched)
            standing.held.setdefault(part, []).append(held)
    return standing


def find_begun(standing: Standing, seen: SeenJob) -> list[Part]:
    """Parts that run and of which the records do not know it. Of what is launched here they do."""
    if not standing.alone:
        return []
    return [part for part in seen.running if not _goes_on(standing, part)]


def collect_ended(standing: Standing, seen: SeenJob) -> list[PartEnd]:
    """Parts that are over, and of which nobody ever saw that they ran."""
    if not standing.alone:
        return []
    known = standing.over | standing.held.keys()
    return [each for each in seen.ended if each.part.name not in known]


def _goes_on(standing: Standing, part: Part) -> bool:
    """Whether it runs as it did: where it was, and since then. What was launched here runs where
    it was to, however often it began there."""
    held = standing.held.get(part.name, ())
    same = sorted(each.machine for each in held) == sorted(part.machines)
    return same and (not standing.alone or all(each.started == part.started for each in held))


def end_parts(step: Step, name: str, standing: Standing, seen: SeenJob) -> None:
    """Ends what runs no more as it did, and forgets it in `standing`."""
    running = {part.name: part for part in seen.running}
    ended = {each.part.name: each for each in seen.ended}
    for part in list(standing.held):
        if part in seen.given:
            continue
        if part in running and _goes_on(standing, running[part]):
            _start(step, name, standing, running[part])
            continue
        tasks = standing.held.pop(part)
        again = part in running or part in seen.again or part in seen.queued
        again |= part not in ended and all(held.launched for held in tasks)
        for held in tasks:
            if again:
                _lose(step, name, standing.number, held)
            else:
                _end(step, name, standing.number, held, ended.get(part))
        if not again:
            standing.over.add(part)


def _start(step: Step, name: str, standing: Standing, part: Part) -> None:
    """Takes down that a part runs which was launched here, if that is news."""
    found = []
    for held in standing.held[part.name]:
        if held.launched:
            event = TaskStarted(step.time, name, held.task)
            step.apply(event, id=standing.number, attempt=held.attempt, started=part.started)
        found.append(replace(held, started=part.started, launched=False))
    standing.held[part.name] = found


def leave(step: Step, record: JobRecord, standing: Standing, *, forget: bool) -> None:
    """A job waits and runs no more. `forget`: as if it had never been, since it comes back."""
    name = record.name
    for tasks in standing.held.values():
        for held in tasks:
            if forget:
                _lose(step, name, record.id, held)
                if not standing.alone:  # who launched it is told that it is none of ours now
                    step.cancels.append(Attempt(record.id, held.task, held.attempt))
            else:
                _end(step, name, record.id, held, None)
    if name in step.core.ids.jobs:
        standing.held.clear()
        if forget or not job_counts(step.core, name).started:
            step.apply(JobCancelled(step.time, name))
        else:
            shrink(step, name, standing, 0)
    if forget:
        step.forget(record)


def submit(step: Step, name: str, seen: SeenJob) -> Standing:
    """A job is new. That it runs once only is Slurm's affair where it is launched here: nobody here
    stops it, nor starts it again."""
    alone = not step.core.placement.places
    before = step.records.names.get(name)
    if before is not None and not alone and before.parts is None:
        raise InputError("a job that was submitted here has its name", "forget that one")
    if before is not None and before.id not in step.removals:
        step.forget(before)  # Slurm runs it again
    parts = (*seen.running, *(each.part for each in seen.ended))
    tasks = seen.waiting + sum(len(part.machines) for part in parts)
    number = step.records.next_id + step.numbers
    tasks = max(tasks, int(seen.job.gang))
    job = replace(seen.job, tasks=Fraction(tasks), rerunnable=alone)
    origin = {"id": number, "by": None, "key": None, "request": None, "adopted": True}
    step.apply(JobSubmitted(step.time, job), **origin)
    step.numbers += 1
    return Standing(number, alone)


def grow(step: Step, name: str, waiting: int) -> None:
    """At least so many tasks wait."""
    counts = job_counts(step.core, name)
    if counts.waiting < waiting:
        _resize(step, name, waiting - counts.waiting)


def shrink(step: Step, name: str, standing: Standing, waiting: int) -> bool:
    """No more tasks wait than so many; whether that is so. Of those that ran before, none is taken
    back unless all of the job is."""
    if name not in step.core.ids.jobs:
        return True
    counts, total = job_counts(step.core, name), job_total(step.core, name)
    less = min(counts.waiting - waiting, total - max(1, counts.gang, counts.started))
    if less > 0:
        _resize(step, name, -less)
    left = counts.waiting - max(less, 0) - waiting
    if left and not waiting and not standing.held:
        step.apply(JobCancelled(step.time, name))
        return True
    return left == 0


def _resize(step: Step, name: str, more: int) -> None:
    step.apply(JobChanged(step.time, name, job_total(step.core, name) + more))


def place_parts(step: Step, name: str, standing: Standing, seen: SeenJob) -> bool:
    """All parts that are not known to run or to be over do, or are; whether their machines are
    there."""
    machines, whole = step.core.ids.machines, True
    for part in find_begun(standing, seen):
        if all(machine in machines for machine in part.machines):
            _place(step, name, standing, part)
        else:
            whole = False
    for each in collect_ended(standing, seen):
        if all(machine in machines for machine in each.part.machines):
            for held in _place(step, name, standing, each.part):
                _end(step, name, standing.number, held, each)
            del standing.held[each.part.name]
    return whole


def _place(step: Step, name: str, standing: Standing, part: Part) -> list[_Held]:
    placed = []
    for machine in part.machines:
        task, attempt = next_task(step.core, name)
        event = TaskPlaced(step.time, name, task, machine)
        body = {"id": standing.number, "attempt": attempt, "part": part.name}
        step.apply(event, **body, started=part.started)  # by that cluster's clock
        placed.append(_Held(task, attempt, machine, part.started))
    standing.held[part.name] = placed
    return placed


def _lose(step: Step, name: str, number: int, held: _Held) -> None:
    """It waits again."""
    event = TaskLost(step.time, name, held.task)
    step.apply(event, **_body(number, held, "lost", 0, step.time, AGAIN))


def _end(step: Step, name: str, number: int, held: _Held, end: PartEnd | None) -> None:
    """It is over, as far as anybody knows how."""
    if end is None or end.cause is None:
        why, ended = (LOST, step.time) if end is None else (end.message, end.ended)
        event = TaskFailed(step.time, name, held.task)
        step.apply(event, **_body(number, held, "lost", 0, ended, why))
        return
    well = end.cause is Cause.EXITED and end.code == 0
    kind = TaskFinished if well else TaskFailed
    body = _body(number, held, end.cause.value, end.code, end.ended, end.message)
    step.apply(kind(step.time, name, held.task), **body)


def _body(
    number: int, held: _Held, cause: str, code: int, ended: int, why: str
) -> dict[str, object]:
    return {
        "id": number,
        "attempt": held.attempt,
        "machine": held.machine,
        "cause": cause,
        "code": code,
        "started": held.started,
        "ended": ended,
        "why": why,
        "retry": False,
        "given_up": False,
    }
