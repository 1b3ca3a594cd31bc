"""One machine, job or task of the core by its name, at this moment, within a step too."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.scheduling.apply import next_task as applied_next
from fairlead.scheduling.core import Core
from fairlead.scheduling.state.rows import tasks_of
from fairlead.scheduling.transitions import MachineState, TaskState


def task_state(core: Core, job: str, task: int) -> TaskState | None:
    """The state of a task that is on a machine; None if it is on none."""
    at = _find_task(core, job, task)
    if at is None:
        return None
    state = TaskState(int(core.state.task[at]["state"]))
    return None if state is TaskState.WAITING else state


def is_current(core: Core, job: str, task: int, attempt: int) -> bool:
    """Whether this is the newest attempt at a task that waits or is on a machine."""
    at = _find_task(core, job, task)
    return at is not None and int(core.state.task[at]["attempt"]) == attempt


def _find_task(core: Core, job: str, task: int) -> int | None:
    return core.ids.tasks.get(core.ids.jobs.get(job, -1), {}).get(task)


def machine_state(core: Core, name: str) -> MachineState:
    slot = core.ids.machines.get(name)
    if slot is None:
        return MachineState.ABSENT
    return MachineState(int(core.state.machine[slot]["state"]))


def next_task(core: Core, job: str) -> tuple[int, int]:
    """The number of the task of a job that starts next, and of its next attempt."""
    return applied_next(core.book, core.ids.jobs[job])


def is_cancelled(core: Core, job: str) -> bool:
    slot = core.ids.jobs.get(job)
    return slot is not None and bool(core.state.job[slot]["cancelled"])


@dataclass(frozen=True, slots=True)
class JobCounts:
    """A job's numbers. `gang`: so many tasks start together; `expected`: microseconds that a task
    is said to take, 0 where nobody says it; `started`: tasks that ever were."""

    waiting: int
    gang: int
    cancelled: bool
    expected: int
    started: int


def job_counts(core: Core, job: str) -> JobCounts:
    row = core.state.job[core.ids.jobs[job]]
    return JobCounts(
        waiting=int(row["waiting"]),
        gang=int(row["gang"]),
        cancelled=bool(row["cancelled"]),
        expected=int(row["expected"]),
        started=int(row["next"]),
    )


def job_total(core: Core, job: str) -> int:
    """The number of tasks of a job that is there and has an end."""
    return int(core.state.job[core.ids.jobs[job]]["total"])


def machines_of_job(core: Core, job: str) -> tuple[str, ...]:
    """The machines on which tasks of the job are, each once."""
    state, ids = core.state, core.ids
    machines = state.task["machine"][tasks_of(state, ids.jobs[job])].tolist()
    return tuple(dict.fromkeys(ids.machine_at[m].name for m in machines))


def is_fifo(core: Core) -> bool:
    """Whether the core orders jobs by their submission, which is no scale."""
    return bool(core.state.header[0]["fifo"])
