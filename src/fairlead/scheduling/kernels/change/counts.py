"""The counts of a job (tasks held, waiting, over), and its place in line."""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, kernel, shared
from fairlead.scheduling.kernels.change.clocks import begin_clock, end_clock
from fairlead.scheduling.kernels.change.grown import mark_only_room_grew
from fairlead.scheduling.kernels.change.leases import end_lease, extend_leases, unreserve
from fairlead.scheduling.kernels.change.limits import use
from fairlead.scheduling.kernels.change.task_lists import delist, enlist, unlink
from fairlead.scheduling.kernels.memory.briefs import abridge
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import ALONE, NEVER, NONE
from fairlead.scheduling.kernels.room.rooms import give
from fairlead.scheduling.kernels.search.filling import stake_all
from fairlead.scheduling.kernels.search.levels import leads, turn_of
from fairlead.scheduling.kernels.search.tenants import (
    hold,
    lift_levels,
    lift_tenant,
    set_active,
    settle,
)
from fairlead.scheduling.kernels.search.trie import (
    LOW,
    free_node,
    insert,
    lift_key,
    new_node,
    remove,
)
from fairlead.scheduling.transitions import TaskState

LAUNCHED = int(TaskState.LAUNCHED)
RUNNING, STOPPING = int(TaskState.RUNNING), int(TaskState.STOPPING)


@inner
def _enter(s: Handle, j: int) -> None:
    """A leaf for a job that became active."""
    job = s.job[j]
    tenant = s.tenant[job.tenant]
    n = new_node(s)
    leaf = s.node[n]
    leaf.owner = j
    leaf.team = 0
    leaf.key = job.mu
    leaf.turn = turn_of(s, j)
    leaf.fresh = job.fresh
    leaf.plain = 1 if job.gang <= 1 and not job.spread else 0
    leaf.signature = (job.signature & ~LOW) | np.uint64(j)
    for r in range(s.need.shape[1]):
        s.need[n, r] = s.demand[j, r]
    for i in range(s.terms.shape[1]):
        s.terms[n, i] = s.needs[j, i] | (s.prefers[j, i] if job.patient else np.uint64(0))
    abridge(s, n)
    job.leaf = n
    tenant.root = insert(s, tenant.root, n)


@inner
def _leave(s: Handle, j: int) -> None:
    """The leaf of a job that is active no more goes."""
    job = s.job[j]
    tenant = s.tenant[job.tenant]
    tenant.root = remove(s, tenant.root, job.leaf)
    free_node(s, job.leaf)
    job.leaf = NONE


@kernel
def plant(s: Handle) -> None:
    """All tries and stakes, anew, from the jobs that are active."""
    w = s.header[0]
    w.nodes = 0
    w.free_node = NONE
    w.root = NONE
    w.leveled += 1
    for t in range(w.tenants):
        tenant = s.tenant[t]
        tenant.root = NONE
        tenant.teams = NONE
        tenant.leaf = NONE
        tenant.levels = w.leveled
        tenant.leveled = NONE  # nothing is kept, of whatever version it was
        tenant.bounded = NONE
        tenant.known = NONE
        settle(s, t)
    stake_all(s)
    for j in range(w.jobs):
        if s.job[j].used and s.job[j].active:
            _enter(s, j)
    for t in range(w.tenants):
        if s.tenant[t].used and s.tenant[t].root >= 0:
            lift_tenant(s, t)


@inner
def _sweep(s: Handle) -> None:
    """Forgets the alarms of jobs that are gone: then there is room for all others'."""
    w = s.header[0]
    kept = 0
    for i in range(w.alarms):
        j, seq, time = int64(s.alarm[i].job), s.alarm[i].seq, s.alarm[i].time
        if s.job[j].used and s.job[j].seq == seq:
            s.alarm[kept].time = time
            s.alarm[kept].job = j
            s.alarm[kept].seq = seq
            kept += 1
    w.alarms = kept


@inner
def ring_at(s: Handle, j: int) -> None:
    """An alarm for the moment at which a job's patience is over; one is enough."""
    job, w = s.job[j], s.header[0]
    if job.alarmed or not job.patient:
        return
    if w.alarms == len(s.alarm):
        _sweep(s)
    job.alarmed = 1
    alarm = s.alarm[w.alarms]
    alarm.time = job.since + job.patience
    alarm.job = j
    alarm.seq = job.seq
    w.alarms += 1
    w.soonest = min(w.soonest, alarm.time)


@kernel
def update_job(s: Handle, j: int) -> None:
    """After a job's counts changed: is it active, and where is it in line?"""
    job = s.job[j]
    if s.header[0].fifo == 0 and job.scale > 0:
        job.mu = job.held / job.scale
    else:
        job.mu = 0.0
    could = job.usable == 1 or (job.usable == ALONE and job.waiting < job.gang)
    active = could and job.waiting > 0 and not job.cancelled
    if active != (job.active == 1):
        s.header[0].relook = 1
    if active and not job.active:
        job.fresh = 1
        _enter(s, j)
        set_active(s, j, True)
        if s.tenant[job.tenant].jobs == 1:
            begin_clock(s, int64(job.tenant))
        if job.gang > 1:
            enlist(s, j)
        if job.likes:
            ring_at(s, j)
    elif job.active and not active:
        _leave(s, j)
        set_active(s, j, False)
        if s.tenant[job.tenant].jobs == 0:
            end_clock(s, int64(job.tenant))
        if job.gang > 1:
            delist(s, j)
        if job.reserved > 0 or job.aside > 0:
            end_lease(s, j, True)
            unreserve(s, j)
    elif active:
        leaf = s.node[job.leaf]
        turn = turn_of(s, j)
        if leaf.key != job.mu or leaf.fresh != job.fresh or leaf.turn != turn:
            leaf.key = job.mu
            leaf.turn = turn
            leaf.fresh = job.fresh
            lift_key(s, job.leaf)
            lift_levels(s, int64(job.tenant))
        if not s.header[0].relook:
            _line_up(s, j)


@inner
def _line_up(s: Handle, j: int) -> None:
    """After the level of active job j changed: may another be first in line now?"""
    w = s.header[0]
    if w.first == NONE or w.first_slot == j:
        w.relook = 1
        return
    if leads(s, j, int64(w.first_slot)):
        w.relook = 1


@inner
def reenter(s: Handle, j: int) -> None:
    """A job whose terms changed (its patience is over, or began anew) is put in line again."""
    job = s.job[j]
    if job.active:
        tenant = s.tenant[job.tenant]
        tenant.root = remove(s, tenant.root, job.leaf)
        free_node(s, job.leaf)
        _enter(s, j)
        lift_tenant(s, job.tenant)


@kernel
def freshen(s: Handle, j: int) -> None:
    """All machines are looked at for a job."""
    s.job[j].fresh = 1
    update_job(s, j)


@inner
def _remember(s: Handle, m: int, j: int) -> None:
    """Before a task of job j leaves machine m: nobody could be placed with room as it is, but for a
    job that spreads, whose task this was. Equal room may be other pieces, or more for others of a
    machine that is reserved where what must end is more: then nothing is known."""
    machine, spread = s.machine[m], s.job[j].spread
    if machine.dirty:
        if spread:
            machine.refused = 0  # one job stands apart, not two
        return
    machine.refused = 1 if s.piece.shape[1] == 1 and machine.reserved < 0 else 0
    machine.apart = j if spread else NONE
    for r in range(s.room.shape[1]):
        s.before[m, r] = s.room[m, r]


@shared
def release(s: Handle, t: int) -> None:
    """Task t holds its machine no more. What it is now is the caller's."""
    task = s.task[t]
    j, m = int64(task.job), int64(task.machine)
    job = s.job[j]
    unlink(s, t)
    _remember(s, m, j)
    extend_leases(s, j, m, task.launched)
    give(s, m, j, task.pieces)
    mark_only_room_grew(s, m)
    if s.header[0].groups > 0:
        s.runs[j, s.machine[m].group] -= 1
    hold(s, j, job.held - 1, job.unit)
    use(s, j, -1)


@inner
def ring(s: Handle) -> None:
    """Jobs whose patience is over take what they can get."""
    w = s.header[0]
    if w.soonest > w.now:
        return
    kept = 0
    w.soonest = NEVER
    for i in range(w.alarms):
        alarm = s.alarm[i]
        j = int64(alarm.job)
        job = s.job[j]
        if not job.used or job.seq != alarm.seq:
            continue
        over = job.since + job.patience
        if not job.active or not job.patient or over <= w.now:
            job.alarmed = 0
            if job.active and job.patient:
                job.patient = 0
                job.fresh = 1
                reenter(s, j)
            continue
        s.alarm[kept].time = over
        s.alarm[kept].job = j
        s.alarm[kept].seq = job.seq
        kept += 1
        w.soonest = min(w.soonest, over)
    w.alarms = kept


@inner
def begin_to_wait(s: Handle, j: int) -> None:
    """The patience of a job that had nothing waiting begins anew."""
    job = s.job[j]
    job.since = s.header[0].now
    if job.likes:
        job.patient = 1
