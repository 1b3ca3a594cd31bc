"""Events change jobs and tenants here. All that decides comes later, in `decide`."""

from __future__ import annotations

import numpy as np

from fairlead.compiling import kernel
from fairlead.scheduling.kernels.change.clocks import stir
from fairlead.scheduling.kernels.change.counts import STOPPING, begin_to_wait, freshen, update_job
from fairlead.scheduling.kernels.change.leases import end_lease, find_rest
from fairlead.scheduling.kernels.change.limits import ease_all
from fairlead.scheduling.kernels.change.machine_events import stop
from fairlead.scheduling.kernels.change.stints import end_stint
from fairlead.scheduling.kernels.change.task_lists import free_task
from fairlead.scheduling.kernels.memory.codes import Full, TrailCode
from fairlead.scheduling.kernels.memory.state import Floats, Handle, Ints, Words, int64
from fairlead.scheduling.kernels.memory.tables import BLANK_JOB, BLANK_TENANT, MANY, NONE, UNLIMITED
from fairlead.scheduling.kernels.memory.trail import mix, record
from fairlead.scheduling.kernels.search.filling import stake_tenant
from fairlead.scheduling.kernels.search.levels import forget_levels
from fairlead.scheduling.kernels.search.tenants import hold, lift_tenant, reweigh, settle

OUT_FULL = int(Full.OUT)
NOT_FULL = int(Full.NOT)
SUBMITTED = int(TrailCode.SUBMITTED)
GROWN, CANCELLED = int(TrailCode.GROWN), int(TrailCode.CANCELLED)
WEIGHED, LIMITED = int(TrailCode.WEIGHED), int(TrailCode.LIMITED)


@kernel
def new_job(s: Handle) -> int:
    """A slot for a job, with nothing in it yet. There is one."""
    w = s.header[0]
    j = w.free_job
    if j >= 0:
        w.free_job = int64(s.job[j].leaf)
    else:
        j = w.jobs
        w.jobs += 1
    s.job[j] = BLANK_JOB[0]
    s.job[j].used = 1
    return j


@kernel
def new_tenant(s: Handle, parent: int, weight: float) -> int:
    """A tenant, last among its siblings, without limits. There is a slot."""
    w = s.header[0]
    t = w.free_tenant
    if t >= 0:
        w.free_tenant = int64(s.tenant[t].sibling)
    else:
        t = w.tenants
        w.tenants += 1
    s.tenant[t] = BLANK_TENANT[0]
    tenant = s.tenant[t]
    tenant.used = 1
    tenant.parent = parent
    tenant.seq = w.tenant_seq
    w.tenant_seq += 1
    tenant.weight = weight
    for r in range(s.limit.shape[1]):
        s.limit[t, r] = UNLIMITED
        s.used[t, r] = 0
        s.owed[t, r] = 0
        s.ending[t, r] = 0
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
def weigh(s: Handle, t: int, weight: float, low: float) -> None:
    """A tenant has another weight: this, and what rounding took from it."""
    tenant, w = s.tenant[t], s.header[0]
    tenant.weight = weight
    tenant.weight_low = low
    if tenant.jobs + tenant.children > 0:
        if tenant.parent >= 0:
            reweigh(s, int64(tenant.parent))
            settle(s, int64(tenant.parent))
            stake_tenant(s, t)
        w.fell = 1
        w.relook = 1
        forget_levels(s, t)
        lift_tenant(s, t)
    stir(s)
    record(s, WEIGHED, tenant.seq)


@kernel
def cap(s: Handle, t: int) -> None:
    """A tenant's limits were written anew: what is held below counts against them from now on."""
    tenant, w = s.tenant, s.header[0]
    w.relook = 1
    alone = tenant[t].child < 0  # as one that has just come: nobody else's sums change
    for j in range(w.jobs):
        if s.job[j].used and s.job[j].tenant == t:
            alone = False
    for i in range(t if alone else 0, t + 1 if alone else w.tenants):
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
        if job.used and not alone and tenant[job.tenant].capped:
            up = int64(job.tenant)
            while up >= 0:
                for r in range(s.used.shape[1]):
                    s.used[up, r] += (job.held + job.aside) * s.demand[j, r]
                up = int64(tenant[up].parent)
            # It may have been held back by the old limit.
        if job.used and job.active:
            freshen(s, j)
    ease_all(s)
    stir(s)
    record(s, LIMITED, tenant[t].seq)
    for r in range(s.limit.shape[1]):
        mix(s, s.limit[t, r])


@kernel
def submit(s: Handle, j: int) -> None:
    """A job is there, whose fields and rows were written; all its tasks wait."""
    w, job = s.header[0], s.job[j]
    job.seq = w.job_seq
    w.job_seq += 1
    job.turn = w.turns
    w.turns += 1
    job.waiting = MANY if job.total == UNLIMITED else job.total
    if job.expected > 0:
        w.told = 1
    job.likes = 0
    for i in range(s.prefers.shape[1]):
        if s.prefers[j, i]:
            job.likes = 1
    if w.groups > 0:
        for g in range(s.rank.shape[1]):
            s.rank[j, g] = 0
            s.target[j, g] = 0
            s.runs[j, g] = 0
    begin_to_wait(s, j)
    update_job(s, j)
    stir(s)
    record(s, SUBMITTED, job.seq)
    mix(s, job.total)
    for r in range(s.demand.shape[1]):
        mix(s, s.demand[j, r])


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
        begin_to_wait(s, j)
    freshen(s, j)
    stir(s)
    record(s, GROWN, job.seq)
    mix(s, total)


@kernel
def cancel(s: Handle, j: int) -> int:
    """A job's waiting tasks are dropped, and those that it holds are told to stop, in the order
    of their numbers. Returns Full.OUT, and does nothing, where `out` has no room for that."""
    w, job = s.header[0], s.job[j]
    if w.out + job.held > len(s.out):
        return OUT_FULL
    while job.queue_first >= 0:
        t = int64(job.queue_first)
        job.queue_first = s.task[t].job_next
        free_task(s, t)
    job.queue_last = NONE
    job.cancelled = 1
    job.waiting = 0
    update_job(s, j)
    record(s, CANCELLED, job.seq)
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
def forget(s: Handle, j: int) -> None:
    """Gives a job's slot back, and that of the tenant that stood for it alone."""
    w, job = s.header[0], s.job[j]
    end_lease(s, j, False)
    job.used = 0
    job.leaf = w.free_job
    w.free_job = j
    tenant = s.tenant[job.tenant]
    if tenant.single:
        end_stint(s, int64(job.tenant))
        tenant.used = 0
        tenant.sibling = w.free_tenant
        w.free_tenant = job.tenant
        if tenant.rests > 0:
            find_rest(s)


@kernel
def rescale(s: Handle, jobs: Ints, scale: Floats, unit: Ints, usable: Ints) -> None:
    """The scales of these jobs changed, or whether they could ever run. One call for all: with
    thousands of them the way from Python to here took ten times as long as what is done."""
    for i in range(len(jobs)):
        j = jobs[i]
        job = s.job[j]
        changed = job.unit != unit[i] or job.scale != scale[i]
        job.scale = scale[i]
        if changed:
            hold(s, j, int64(job.held), unit[i])
        job.usable = usable[i]
        update_job(s, j)


@kernel
def enrol(
    s: Handle,
    tenant: int,
    demand: Ints,
    needs: Words,
    prefers: Words,
    signature: np.uint64,
    spread: bool,
    gang: int,
    total: int,
    patience: int,
    expected: int,
    scale: float,
    unit: int,
    usable: int,
) -> int:
    """A job is there; all its tasks wait. `tenant` NONE: it is its own. Returns its slot, or NONE
    if a table is full (Full.JOBS or Full.TENANTS): then nothing was changed."""
    w = s.header[0]
    if w.free_job < 0 and w.jobs == len(s.job):
        return NONE
    if tenant < 0:
        if w.free_tenant < 0 and w.tenants == len(s.tenant):
            return NONE
        tenant = new_tenant(s, NONE, 1.0)
        s.tenant[tenant].single = 1
    j = new_job(s)
    job = s.job[j]
    job.tenant = tenant
    job.spread = 1 if spread else 0
    job.gang = gang
    job.total = total
    job.patience = patience
    job.expected = expected
    job.signature = signature
    job.scale = scale
    job.unit = unit
    job.usable = usable
    for r in range(s.demand.shape[1]):
        s.demand[j, r] = demand[r]
    for i in range(s.needs.shape[1]):
        s.needs[j, i] = needs[i]
        s.prefers[j, i] = prefers[i]
    submit(s, j)
    return j
