"""Engines' reports as events: which ends are final, and which tasks are tried again."""

from __future__ import annotations

from fairlead.engines.credible import heard
from fairlead.engines.interface import Cause, Ended, Lost, Report, Started
from fairlead.model.job import Job
from fairlead.scheduling.events import TaskFailed, TaskFinished, TaskLost, TaskStarted, TaskStopped
from fairlead.scheduling.reading.lookup import is_cancelled, task_state
from fairlead.scheduling.transitions import TaskState
from fairlead.service.loop.step import Step
from fairlead.service.records.jobs import JobRecord

LARGEST_CODE = 2**31 - 1
"""Of an exit code as it is kept; systems have smaller ones."""

LOSS_RETRIES = 3
"""Retries of a lost task whose job says nothing of them."""

TaskEnd = type[TaskFinished] | type[TaskFailed] | type[TaskLost] | type[TaskStopped]


def take_report(step: Step, report: Report, *, may_run_twice: bool = False) -> bool:
    """Tells the core what the report says; whether it was of an attempt that is under way. What is
    late changes nothing but that a given up attempt is known to be over. `may_run_twice`: somebody
    has said of this very attempt that its task is started again, whatever it did."""
    attempt = report.attempt
    job = step.records.jobs.get(attempt.job)
    state = None if job is None else _current(step, job, attempt.task, attempt.number)
    if job is None or state is None:
        if not isinstance(report, Started):
            step.mark_attempt_gone(attempt)
        return False
    if isinstance(report, Started):
        if state is TaskState.LAUNCHED:
            event = TaskStarted(step.time, job.name, attempt.task)
            step.apply(event, id=job.id, attempt=attempt.number, started=_time(step, report.time))
        return True
    end, retry = _end(step, job, state, report, may_run_twice)
    step.apply(end(step.time, job.name, attempt.task), **_end_body(step, job, report, retry))
    return True


def _current(step: Step, job: JobRecord, task: int, number: int) -> TaskState | None:
    """The state in the core of a task whose attempt this is; None if it is another one's."""
    if not 0 <= task < job.rows or step.records.table.attempt[job.first + task] != number:
        return None
    if job.over:  # another job of the same name may be there by now
        return None
    return task_state(step.core, job.name, task)


def _end(
    step: Step, job: JobRecord, state: TaskState, report: Ended | Lost, may_run_twice: bool
) -> tuple[TaskEnd, bool]:
    """The end as the core's event, and whether it costs a retry."""
    lost = isinstance(report, Lost)
    if isinstance(report, Ended):
        if report.cause is Cause.EXITED and report.code == 0:
            return TaskFinished, False
        started = report.cause is not Cause.NOT_STARTED
        # Nobody here wanted it stopped: what stopped it was not the task's doing.
        lost = report.cause is Cause.STOPPED
    else:
        started = (report.started or state is TaskState.RUNNING) and not may_run_twice
    again = may_be_tried(job.job) or not started
    if state is TaskState.STOPPING:
        if is_cancelled(step.core, job.name) or again:
            return TaskStopped, False
        return TaskFailed, False
    if lost and not started:
        return TaskLost, False
    tries = step.records.table.tries[job.first + report.attempt.task]
    if again and tries < retries_of(job.job, lost):
        return TaskLost, True
    return TaskFailed, False


def may_be_tried(job: Job) -> bool:
    """Whether a task of it that may have started may be started again."""
    return job.rerunnable


def retries_of(job: Job, lost: bool) -> int:
    """The retries that a task of it has, when it was lost or when it ended badly."""
    if job.retries is not None:
        return job.retries
    return LOSS_RETRIES if lost else 0


def _end_body(step: Step, job: JobRecord, report: Ended | Lost, retry: bool) -> dict[str, object]:
    common = {
        "id": job.id,
        "attempt": report.attempt.number,
        "machine": step.machine_of(report.attempt),
        "retry": retry,
        "given_up": False,
    }
    if report.output:
        common["output"] = report.output
    if isinstance(report, Ended):
        return common | {
            "cause": report.cause.value,
            "code": max(-LARGEST_CODE - 1, min(LARGEST_CODE, report.code)),
            "started": _time(step, report.started),
            "ended": _time(step, report.time),
            "why": heard(report.message),
        }
    return common | {
        "cause": "lost",
        "code": 0,
        "started": None,
        "ended": step.time,
        "why": heard(report.why),
    }


def _time(step: Step, time: int | None) -> int | None:
    """A time that an engine tells: none that comes after it was told, by a clock that is wrong."""
    return None if time is None or time < 0 else min(time, step.time)
