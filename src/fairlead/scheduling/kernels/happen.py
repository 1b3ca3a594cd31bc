"""What events do to the state. All that decides comes later, in `decide`.

Each function changes the state by one event that was found legal. The caller fills in the rows of
a slot before the function is called that takes it into the state.
"""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.changes import (
    RUNNING,
    STOPPING,
    free_task,
    freshen,
    queue,
    release,
    settle,
    soil,
)
from fairlead.scheduling.kernels.compiling import inner, kernel
from fairlead.scheduling.kernels.levels import hold, relevel, reweigh
from fairlead.scheduling.kernels.line import review
from fairlead.scheduling.kernels.rooms import ONE, UP, fill, measure, plant
from fairlead.scheduling.kernels.state import Handle, int64
from fairlead.scheduling.kernels.tables import (
    MANY,
    NEVER,
    NONE,
    UNLIMITED,
    Full,
    Happened,
    Said,
)
from fairlead.scheduling.kernels.trail import mix

DRAINING = 2
GONE = 3
OUT_FULL = int(Full.OUT)
NOT_FULL = int(Full.NOT)
STOP = int(Said.STOP)
JOINED, LEFT = int(Happened.JOINED), int(Happened.LEFT)
DRAINED, BACK = int(Happened.DRAINED), int(Happened.BACK)
CHANGED, SUBMITTED = int(Happened.CHANGED), int(Happened.SUBMITTED)
GROWN, CANCELLED = int(Happened.GROWN), int(Happened.CANCELLED)
STARTED, FINISHED = int(Happened.STARTED), int(Happened.FINISHED)
FAILED, LOST, STOPPED = int(Happened.FAILED), int(Happened.LOST), int(Happened.STOPPED)
WEIGHED, LIMITED, PASSED = int(Happened.WEIGHED), int(Happened.LIMITED), int(Happened.PASSED)


@inner
def _record(s: Handle, what: int, which: int) -> None:
    mix(s, what)
    mix(s, s.whole[0].now)
    mix(s, which)


@kernel
def advance(s: Handle, now: int) -> None:
    """Time has come so far."""
    s.whole[0].now = now
    _record(s, PASSED, 0)


@inner
def _count(s: Handle, m: int, sign: int) -> None:
    """Counts a machine in, or out, among those that have a resource and satisfy a term."""
    s.whole[0].present += sign
    for r in range(s.capacity.shape[1]):
        if s.capacity[m, r] > 0:
            s.have[r] += sign
    for k in range(len(s.satisfied)):
        if (s.satisfies[m, k // 64] >> np.uint64(k % 64)) & ONE:
            s.satisfied[k] += sign


@kernel
def join(s: Handle) -> int:
    """The next machine is there, whose capacity and terms are in their rows. Returns its slot."""
    w = s.whole[0]
    m = w.machines
    w.machines += 1
    machine = s.machine[m]
    machine.state = UP
    machine.dirty = 0
    machine.pledged = 0
    machine.tasks = 0
    machine.first = NONE
    machine.reserved = NONE
    machine.group = 0
    machine.until = NEVER
    machine.mark = 0
    fill(s, m)
    measure(s, m)
    plant(s, m)
    _count(s, m, 1)
    soil(s, m)
    w.hopeless = 0
    _record(s, JOINED, m)
    for r in range(s.capacity.shape[1]):
        mix(s, s.capacity[m, r])
    return m


@kernel
def before_change(s: Handle, m: int) -> None:
    """A machine's capacity and terms are about to be written anew."""
    _count(s, m, -1)


@kernel
def change(s: Handle, m: int) -> None:
    """A machine's capacity or terms were written anew, after `before_change`."""
    _count(s, m, 1)
    fill(s, m)
    measure(s, m)
    plant(s, m)
    soil(s, m)
    review(s, m)
    _record(s, CHANGED, m)
    for r in range(s.capacity.shape[1]):
        mix(s, s.capacity[m, r])


@kernel
def drain(s: Handle, m: int) -> None:
    """A machine takes no more tasks."""
    s.machine[m].state = DRAINING
    plant(s, m)
    review(s, m)
    _record(s, DRAINED, m)


@kernel
def bring_back(s: Handle, m: int) -> None:
    """A machine that drained takes tasks again."""
    s.machine[m].state = UP
    plant(s, m)
    soil(s, m)
    s.whole[0].hopeless = 0
    _record(s, BACK, m)


@kernel
def leave(s: Handle, m: int) -> None:
    """A machine is gone; its tasks wait again, in the order of (job, number)."""
    machine = s.machine[m]
    machine.state = GONE
    _count(s, m, -1)
    plant(s, m)
    _record(s, LEFT, m)
    while machine.first >= 0:
        least = int64(machine.first)
        t = int64(s.task[least].machine_next)
        while t >= 0:
            a, b = s.job[s.task[t].job].seq, s.job[s.task[least].job].seq
            if a < b or (a == b and s.task[t].number < s.task[least].number):
                least = t
            t = int64(s.task[t].machine_next)
        _lose(s, least)
    review(s, m)


@kernel
def new_job(s: Handle) -> int:
    """A slot for a job, with nothing in it yet. There is one."""
    w = s.whole[0]
    j = w.free_job
    if j >= 0:
        w.free_job = int64(s.job[j].leaf)
    else:
        j = w.jobs
        w.jobs += 1
    job = s.job[j]
    job.used = 1
    job.spread = 0
    job.usable = 0
    job.active = 0
    job.cancelled = 0
    job.patient = 0
    job.likes = 0
    job.due = 0
    job.fresh = 0
    job.first_task = NONE
    job.queue_first = NONE
    job.queue_last = NONE
    job.leaf = NONE
    job.reserved = 0
    job.gang = 1
    job.total = UNLIMITED
    job.waiting = 0
    job.held = 0
    job.over = 0
    job.next = 0
    job.launches = 0
    job.expected = 0
    job.patience = 0
    job.checked = 0
    job.alarmed = 0
    job.unit = 0
    job.scale = 0.0
    job.mu = 0.0
    return j


@kernel
def new_tenant(s: Handle, parent: int, weight: float) -> int:
    """A tenant, last among its siblings, without limits. There is a slot."""
    w = s.whole[0]
    t = w.free_tenant
    if t >= 0:
        w.free_tenant = int64(s.tenant[t].sibling)
    else:
        t = w.tenants
        w.tenants += 1
    tenant = s.tenant[t]
    tenant.used = 1
    tenant.single = 0
    tenant.capped = 0
    tenant.cut = 0
    tenant.parent = parent
    tenant.child = NONE
    tenant.sibling = NONE
    tenant.root = NONE
    tenant.leaf = NONE
    tenant.jobs = 0
    tenant.children = 0
    tenant.seq = w.tenant_seq
    w.tenant_seq += 1
    tenant.held = 0
    tenant.moving = 0
    tenant.weight = weight
    tenant.weights = 0.0
    tenant.effective = weight
    tenant.offset = 0.0
    tenant.rate = weight
    for r in range(s.limit.shape[1]):
        s.limit[t, r] = UNLIMITED
        s.used[t, r] = 0
    if parent >= 0:
        tenant.capped = s.tenant[parent].capped
        if s.tenant[parent].child < 0:
            s.tenant[parent].child = t
        else:
            last = int64(s.tenant[parent].child)
            while s.tenant[last].sibling >= 0:
                last = int64(s.tenant[last].sibling)
            s.tenant[last].sibling = t
    return t


@kernel
def weigh(s: Handle, t: int, weight: float) -> None:
    """A tenant has another weight."""
    tenant = s.tenant[t]
    tenant.weight = weight
    if tenant.jobs + tenant.children > 0:
        if tenant.parent >= 0:
            reweigh(s, int64(tenant.parent))
            relevel(s, int64(tenant.parent))
        else:
            relevel(s, t)
    _record(s, WEIGHED, tenant.seq)


@kernel
def cap(s: Handle, t: int) -> None:
    """A tenant's limits were written anew: what is held below counts against them from now on."""
    tenant, w = s.tenant, s.whole[0]
    for i in range(w.tenants):
        if not tenant[i].used:
            continue
        for r in range(s.used.shape[1]):
            s.used[i, r] = 0
        tenant[i].capped = 0
        up = int64(i)
        while up >= 0:
            for r in range(s.limit.shape[1]):
                if s.limit[up, r] != UNLIMITED:
                    tenant[i].capped = 1
            up = int64(tenant[up].parent)
    for j in range(w.jobs):
        job = s.job[j]
        if job.used and tenant[job.tenant].capped:
            up = int64(job.tenant)
            while up >= 0:
                for r in range(s.used.shape[1]):
                    s.used[up, r] += job.held * s.demand[j, r]
                up = int64(tenant[up].parent)
            # It may have been held back by the old limit.
        if job.used and job.active:
            freshen(s, j)
    _record(s, LIMITED, tenant[t].seq)
    for r in range(s.limit.shape[1]):
        mix(s, s.limit[t, r])


@kernel
def submit(s: Handle, j: int) -> None:
    """A job is there, whose fields and rows were written; all its tasks wait."""
    w, job = s.whole[0], s.job[j]
    job.seq = w.job_seq
    w.job_seq += 1
    job.waiting = MANY if job.total == UNLIMITED else job.total
    job.likes = 0
    for i in range(s.prefers.shape[1]):
        if s.prefers[j, i]:
            job.likes = 1
    if w.groups > 0:
        for g in range(s.rank.shape[1]):
            s.rank[j, g] = 0
            s.target[j, g] = 0
            s.runs[j, g] = 0
    _begin_to_wait(s, j)
    settle(s, j)
    _record(s, SUBMITTED, job.seq)
    mix(s, job.total)
    for r in range(s.demand.shape[1]):
        mix(s, s.demand[j, r])


@inner
def _begin_to_wait(s: Handle, j: int) -> None:
    """The patience of a job that had nothing waiting begins anew."""
    job = s.job[j]
    job.since = s.whole[0].now
    if job.likes:
        job.patient = 1


@kernel
def grow(s: Handle, j: int, total: int) -> None:
    """A job has so many tasks in all, or no end."""
    job = s.job[j]
    idle = job.waiting == 0
    if total == UNLIMITED:
        job.waiting = MANY
    elif job.total == UNLIMITED:
        queued = 0
        t = int64(job.queue_first)
        while t >= 0:
            queued += 1
            t = int64(s.task[t].job_next)
        job.waiting = total - job.next + queued
    else:
        job.waiting += total - job.total
    job.total = total
    if idle and job.waiting > 0:
        _begin_to_wait(s, j)
    freshen(s, j)
    _record(s, GROWN, job.seq)
    mix(s, total)


@kernel
def cancel(s: Handle, j: int) -> int:
    """A job's waiting tasks are dropped, and those that it holds are told to stop, in the order
    of their numbers. Returns Full.OUT, and does nothing, where `out` has no room for that."""
    w, job = s.whole[0], s.job[j]
    if w.out + job.held > len(s.out):
        return OUT_FULL
    while job.queue_first >= 0:
        t = int64(job.queue_first)
        job.queue_first = s.task[t].job_next
        free_task(s, t)
    job.queue_last = NONE
    job.cancelled = 1
    job.waiting = 0
    settle(s, j)
    _record(s, CANCELLED, job.seq)
    while True:
        least = NONE
        t = int64(job.first_task)
        while t >= 0:
            running = s.task[t].state != STOPPING
            if running and (least < 0 or s.task[t].number < s.task[least].number):
                least = t
            t = int64(s.task[t].job_next)
        if least < 0:
            return NOT_FULL
        stop(s, least)


@kernel
def stop(s: Handle, t: int) -> None:
    """A task that is launched or runs is told to stop. There is room in `out`."""
    w, task = s.whole[0], s.task[t]
    task.state = STOPPING
    said = s.out[w.out]
    said.kind = STOP
    said.job = task.job
    said.machine = task.machine
    said.task = t
    said.attempt = task.attempt
    said.number = task.number
    said.pieces = task.pieces
    w.out += 1
    mix(s, STOP)
    mix(s, s.job[task.job].seq)
    mix(s, task.number)


@kernel
def start(s: Handle, t: int) -> None:
    """A launched task runs."""
    task = s.task[t]
    task.state = RUNNING
    _record(s, STARTED, s.job[task.job].seq)
    mix(s, task.number)


@kernel
def end(s: Handle, t: int, how: int) -> int:
    """A task ended: `how` is FINISHED, FAILED, LOST or STOPPED of `Happened`. Returns its job, or
    NONE where that was its last task and the job is gone with it."""
    task = s.task[t]
    j = int64(task.job)
    _record(s, how, s.job[j].seq)
    mix(s, task.number)
    if how in (LOST, STOPPED):
        _lose(s, t)
    else:
        release(s, t)
        free_task(s, t)
        s.job[j].over += 1
        settle(s, j)
    return j


@inner
def _lose(s: Handle, t: int) -> None:
    """A task holds its machine no more and waits again, or is dropped with its job."""
    j = int64(s.task[t].job)
    job = s.job[j]
    release(s, t)
    if job.cancelled:
        free_task(s, t)
        job.over += 1
        settle(s, j)
        return
    idle = job.waiting == 0
    queue(s, t)
    if job.total != UNLIMITED:
        job.waiting += 1
    if idle:
        _begin_to_wait(s, j)
    freshen(s, j)


@kernel
def done(s: Handle, j: int) -> bool:
    """Has the job nothing that waits or is held, for good?"""
    job = s.job[j]
    return job.held == 0 and job.waiting == 0


@kernel
def forget(s: Handle, j: int) -> None:
    """Gives a job's slot back, and that of the tenant that stood for it alone."""
    w, job = s.whole[0], s.job[j]
    job.used = 0
    job.leaf = w.free_job
    w.free_job = j
    tenant = s.tenant[job.tenant]
    if tenant.single:
        tenant.used = 0
        tenant.sibling = w.free_tenant
        w.free_tenant = job.tenant


@kernel
def rescale(s: Handle, j: int, scale: float, unit: int, usable: bool) -> None:
    """A job's scale changed, or whether any machine could run it."""
    job = s.job[j]
    if job.unit != unit:
        hold(s, j, job.held * (unit - job.unit))
        job.unit = unit
    job.scale = scale
    job.usable = 1 if usable else 0
    settle(s, j)
