"""The compiled event loop: completions and arrivals of an instant, then the core's decisions.

It drives the same kernels as the live core, `scheduling.kernels`, and decides nothing itself. All
events of an instant are applied (completions in the order of their launches, then what Python
applies, then arrivals in the order of submission), then the core decides once.
"""

from __future__ import annotations

from typing import Any

from fairlead.compiling import inner, kernel
from fairlead.scheduling.kernels.alarms import wake
from fairlead.scheduling.kernels.change.job_events import enrol, forget
from fairlead.scheduling.kernels.change.machine_events import advance as pass_time
from fairlead.scheduling.kernels.change.machine_events import end
from fairlead.scheduling.kernels.decide import decide
from fairlead.scheduling.kernels.guided import decide_guided
from fairlead.scheduling.kernels.memory.codes import DecisionCode, Full, TrailCode
from fairlead.scheduling.kernels.memory.state import Handle, Ints, Records, Words, int64
from fairlead.scheduling.kernels.memory.tables import NEVER
from fairlead.simulation.kernels.heap import pop, push
from fairlead.simulation.kernels.tables import NOT_YET, SLOT_BITS, VOID, Phase, Why

# Enums are slow to compile.
OVER, EVENTS, ASK, DECIDE, LAUNCH = (int(phase) for phase in Phase)
DONE, JOBS, STOP, BUDGET, RECORDS, QUEUE, FULL, ADVICE, POOLS, ROUND = (int(why) for why in Why)
GO_ON = -1
LAUNCHED = int(DecisionCode.LAUNCH)
FINISHED = int(TrailCode.FINISHED)
NOT_FULL, JOBS_FULL, TENANTS_FULL = int(Full.NOT), int(Full.JOBS), int(Full.TENANTS)
SLOT = (1 << SLOT_BITS) - 1


@kernel
def advance(
    s: Handle,
    rule: Any,
    clock: Records,
    chunk: Records,
    demand: Ints,
    needs: Words,
    prefers: Words,
    job_side: Records,
    task_side: Records,
    queue: Ints,
    durations: Ints,
    job_out: Ints,
    task_out: Ints,
) -> int:
    """Goes on until something needs Python; returns a `Why`."""
    c = clock[0]
    left = c.budget
    while True:
        if c.phase == EVENTS:
            why = complete(s, clock, job_side, task_side, queue, job_out, task_out)
            if why == GO_ON:
                why = _arrive(s, clock, chunk, demand, needs, prefers, job_side)
            if why != GO_ON:
                return why
            c.phase = ASK
        if c.phase == ASK:
            came_and_went = c.jobs_so_far + c.over
            if c.pools and c.weighed != came_and_went:
                c.weighed = came_and_went
                return POOLS
            if c.exact and c.now >= c.advise_at and c.advised != came_and_went:
                c.advised = came_and_went
                return ADVICE
            c.phase = DECIDE
        if c.phase == DECIDE:
            if c.preempts:
                return ROUND
            c.full = decide_guided(s, rule) if s.header[0].groups > 0 else decide(s, rule)
            if c.full != NOT_FULL:
                return FULL
            c.phase = LAUNCH
        if c.phase == LAUNCH:
            if c.queue + s.header[0].out > len(queue):
                return QUEUE
            decisions = s.out[: s.header[0].out]
            queue_completions(decisions, clock, job_side, task_side, queue, durations)
            left -= len(decisions)
            s.header[0].out = 0
            c.phase = OVER
        # Entries of tasks that were lost are no events.
        while c.queue > 0 and task_side[queue[0, 1] & SLOT].key != queue[0, 1]:
            c.queue = pop(queue, c.queue)
        if c.at == c.jobs and not c.last:
            return JOBS
        time = wake(s)
        goes_on = c.queue > 0 or c.at < c.jobs or not c.last or c.may_help or time != NEVER
        if c.preempts and goes_on:
            # Else nothing runs that could be stopped, for ever.
            time = min(time, c.preempt_at)
        if c.queue > 0:
            time = min(time, queue[0, 0])
        if c.at < c.jobs:
            time = min(time, chunk[c.at].submit)
        if time >= c.stop:
            return STOP if c.stop != NEVER else DONE
        if left <= 0:
            return BUDGET
        left -= 1
        c.now = time
        c.end = time
        c.phase = EVENTS
        if time > s.header[0].now:
            pass_time(s, time)


@kernel
def complete(
    s: Handle,
    clock: Records,
    job_side: Records,
    task_side: Records,
    queue: Ints,
    job_out: Ints,
    task_out: Ints,
) -> int:
    """Ends the tasks that are due, first launched first. GO_ON, or RECORDS where a buffer of
    records is full before all are."""
    c = clock[0]
    while c.queue > 0 and queue[0, 0] <= c.now:
        if (c.keep_jobs and c.job_records == len(job_out)) or (
            c.keep_tasks and c.task_records == len(task_out)
        ):
            return RECORDS
        key = queue[0, 1]
        c.queue = pop(queue, c.queue)
        t = key & SLOT
        if task_side[t].key != key:
            continue
        j = int64(s.task[t].job)
        side, of_task = job_side[j], task_side[t]
        if c.keep_tasks:
            write_task(s, clock, job_side, task_side, task_out, t, 0)
        of_task.key = VOID
        c.finished += 1
        side.finished += 1
        side.work += of_task.duration
        side.longest = max(side.longest, of_task.duration)
        end(s, t, FINISHED)
        if side.finished == side.total:
            forget(s, j)
            c.over += 1
            c.dead += side.durations
            side.used = 0
            if c.keep_jobs:
                write_job(clock, job_side, job_out, j, c.now)
    return GO_ON


@kernel
def lose(
    s: Handle,
    clock: Records,
    job_side: Records,
    task_side: Records,
    task_out: Ints,
    t: int,
) -> None:
    """Before the core hears that a task on a machine is lost: it waits from now on, and its
    completion is void. There must be room for a record."""
    c = clock[0]
    if c.keep_tasks:
        write_task(s, clock, job_side, task_side, task_out, t, 1)
    task_side[t].key = VOID
    task_side[t].since = c.now
    c.lost += 1


@inner
def write_task(
    s: Handle,
    clock: Records,
    job_side: Records,
    task_side: Records,
    task_out: Ints,
    t: int,
    lost: int,
) -> None:
    """A record of a task that leaves its machine."""
    c, task = clock[0], s.task[t]
    row = task_out[c.task_records]
    c.task_records += 1
    row[0] = job_side[task.job].number
    row[1] = task.number
    row[2] = task.attempt
    row[3] = task.machine
    row[4] = task_side[t].since
    row[5] = task.launched
    row[6] = c.now
    row[7] = lost


@kernel
def write_job(clock: Records, job_side: Records, job_out: Ints, j: int, completed: int) -> None:
    """A record of a job that is over, or (`completed` NOT_YET) not over when the run ends."""
    c, side = clock[0], job_side[j]
    row = job_out[c.job_records]
    c.job_records += 1
    row[0] = side.number
    row[1] = side.tenant
    row[2] = side.submitted
    row[3] = side.first_start
    row[4] = completed
    row[5] = side.total
    row[6] = side.finished
    row[7] = side.launches
    row[8] = side.waited
    row[9] = side.work
    row[10] = side.longest


@inner
def _arrive(
    s: Handle,
    clock: Records,
    chunk: Records,
    demand: Ints,
    needs: Words,
    prefers: Words,
    job_side: Records,
) -> int:
    """Submits the jobs that are due. GO_ON; JOBS where more may be due that are not in the chunk;
    FULL."""
    c = clock[0]
    while c.at < c.jobs and chunk[c.at].submit <= c.now:
        new = chunk[c.at]
        j = enrol(
            s,
            new.tenant,
            demand[c.at],
            needs[c.at],
            prefers[c.at],
            new.signature,
            new.spread,
            new.gang,
            new.tasks,
            new.patience,
            new.expected,
            new.scale,
            new.unit,
            new.usable,
        )
        if j < 0:
            c.full = _full(s)
            return FULL
        side = job_side[j]
        side.number = new.number
        side.tenant = new.owner
        side.submitted = c.now
        side.first_start = NOT_YET
        side.finished = 0
        side.launches = 0
        side.waited = 0
        side.work = 0
        side.longest = 0
        side.first = new.first
        side.durations = new.durations
        side.total = new.tasks
        side.used = 1
        c.jobs_so_far += 1
        c.tasks_so_far += new.tasks
        c.at += 1
    if c.at == c.jobs and not c.last:
        return JOBS
    return GO_ON


@kernel
def queue_completions(
    decisions: Records,
    clock: Records,
    job_side: Records,
    task_side: Records,
    queue: Ints,
    durations: Ints,
) -> None:
    """Gives each task that these decisions launch its completion. There is room in the queue."""
    c = clock[0]
    for i in range(len(decisions)):
        launch = decisions[i]
        if launch.kind != LAUNCHED:
            continue
        side, of_task = job_side[launch.job], task_side[launch.task]
        if launch.attempt == 1:
            of_task.since = side.submitted
            c.placed += 1
        if side.first_start == NOT_YET:
            side.first_start = c.now
        side.launches += 1
        side.waited += c.now - of_task.since
        at = side.first + (launch.number if side.durations > 1 else 0)
        of_task.duration = durations[at]
        of_task.key = (c.launches << SLOT_BITS) | launch.task
        c.launches += 1
        c.queue = push(queue, c.queue, c.now + of_task.duration, of_task.key)


@inner
def _full(s: Handle) -> int:
    """Which table has no room for one more job that is its own tenant."""
    w = s.header[0]
    return JOBS_FULL if w.free_job < 0 and w.jobs == len(s.job) else TENANTS_FULL


@kernel
def lose_all(
    s: Handle, clock: Records, job_side: Records, task_side: Records, task_out: Ints, m: int
) -> int:
    """Before the core hears that a machine left: its tasks are lost. GO_ON; RECORDS, and nothing
    was changed, where there is no room for their records."""
    c = clock[0]
    if c.keep_tasks and c.task_records + s.machine[m].tasks > len(task_out):
        return RECORDS
    t = int64(s.machine[m].first)
    while t >= 0:
        lose(s, clock, job_side, task_side, task_out, t)
        t = int64(s.task[t].machine_next)
    return GO_ON
