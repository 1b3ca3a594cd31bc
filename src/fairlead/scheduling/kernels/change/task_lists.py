"""The lists that a task is in: of its machine, of its job, of what waits again, of free slots."""

from __future__ import annotations

from fairlead.compiling import inner
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import FREE, NONE
from fairlead.scheduling.kernels.room.permission import count
from fairlead.scheduling.transitions import TaskState

WAITING = int(TaskState.WAITING)


@inner
def link(s: Handle, t: int, m: int) -> None:
    """Task t is on machine m, and among those that its job holds."""
    task, job, machine = s.task[t], s.job[s.task[t].job], s.machine[m]
    task.machine = m
    task.machine_before = NONE
    task.machine_next = machine.first
    if machine.first >= 0:
        s.task[machine.first].machine_before = t
    machine.first = t
    machine.tasks += 1
    task.job_before = NONE
    task.job_next = job.first_task
    if job.first_task >= 0:
        s.task[job.first_task].job_before = t
    job.first_task = t
    if job.spread:
        count(s, int64(task.job), m, 1)


@inner
def unlink(s: Handle, t: int) -> None:
    """Task t is on no machine any more, nor among those that its job holds."""
    task, job, machine = s.task[t], s.job[s.task[t].job], s.machine[s.task[t].machine]
    if job.spread:
        count(s, int64(task.job), int64(task.machine), -1)
    if task.machine_before >= 0:
        s.task[task.machine_before].machine_next = task.machine_next
    else:
        machine.first = task.machine_next
    if task.machine_next >= 0:
        s.task[task.machine_next].machine_before = task.machine_before
    machine.tasks -= 1
    if machine.tasks == 0 and machine.changed:
        machine.changed = 0
        s.header[0].changed -= 1
    if task.job_before >= 0:
        s.task[task.job_before].job_next = task.job_next
    else:
        job.first_task = task.job_next
    if task.job_next >= 0:
        s.task[task.job_next].job_before = task.job_before


@inner
def queue(s: Handle, t: int) -> None:
    """Task t waits again, behind those of its job that do so already."""
    task, job = s.task[t], s.job[s.task[t].job]
    task.state = WAITING
    task.machine = NONE
    task.job_next = NONE
    task.job_before = job.queue_last
    if job.queue_last >= 0:
        s.task[job.queue_last].job_next = t
    else:
        job.queue_first = t
    job.queue_last = t


@inner
def free_task(s: Handle, t: int) -> None:
    """The slot of task t may be used again."""
    s.task[t].state = FREE
    s.task[t].machine_next = s.header[0].free_task
    s.header[0].free_task = t


@inner
def enlist(s: Handle, j: int) -> None:
    """An active gang more."""
    w, job = s.header[0], s.job[j]
    job.gang_before = NONE
    job.gang_next = w.gangs
    if w.gangs >= 0:
        s.job[w.gangs].gang_before = j
    w.gangs = j


@inner
def delist(s: Handle, j: int) -> None:
    """A gang is active no more."""
    w, job = s.header[0], s.job[j]
    if job.gang_before >= 0:
        s.job[job.gang_before].gang_next = job.gang_next
    else:
        w.gangs = int64(job.gang_next)
    if job.gang_next >= 0:
        s.job[job.gang_next].gang_before = job.gang_before
    job.gang_next = NONE
    job.gang_before = NONE
