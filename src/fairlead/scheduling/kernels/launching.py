"""The steps of a decision by any rule: it begins, launches task after task, and ends."""

from __future__ import annotations

from fairlead.compiling import inner, kernel, shared
from fairlead.scheduling.kernels.change.clocks import comes_forward
from fairlead.scheduling.kernels.change.counts import (
    LAUNCHED,
    freshen,
    reenter,
    ring,
    ring_at,
    update_job,
)
from fairlead.scheduling.kernels.change.in_line import look, reserve_for_first, retry_after_launch
from fairlead.scheduling.kernels.change.leases import end_lease, lapse, pass_on, unreserve
from fairlead.scheduling.kernels.change.limits import end_aside, use
from fairlead.scheduling.kernels.change.stints import begin_stint, end_rests, measure
from fairlead.scheduling.kernels.change.task_lists import link
from fairlead.scheduling.kernels.memory.codes import DecisionCode, Full
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE, UNLIMITED
from fairlead.scheduling.kernels.memory.trail import mix, write_decision
from fairlead.scheduling.kernels.room.permission import (
    at_once,
    has_terms,
    known_useless,
    within_caps,
)
from fairlead.scheduling.kernels.room.places import drop_near
from fairlead.scheduling.kernels.room.rooms import take
from fairlead.scheduling.kernels.search.tenants import hold

LAUNCH = int(DecisionCode.LAUNCH)
NOT_FULL = int(Full.NOT)
OUT_FULL = int(Full.OUT)
TASKS_FULL = int(Full.TASKS)


@kernel
def launch(s: Handle, j: int, m: int, tasks: int) -> None:
    """Starts the next task of job j on machine m, where there is room, one of so many that start
    together. There is a slot for the task and one in `out`."""
    w, job, machine = s.header[0], s.job[j], s.machine[m]
    if w.choice != j or s.fits[0] != m:
        w.choice = NONE
    if job.queue_first >= 0:
        t = int64(job.queue_first)
        job.queue_first = s.task[t].job_next
        if job.queue_first < 0:
            job.queue_last = NONE
        else:
            s.task[job.queue_first].job_before = NONE
    else:
        t = w.free_task
        if t >= 0:
            w.free_task = s.task[t].machine_next
        else:
            t = w.tasks
            w.tasks += 1
        s.task[t].number = job.next
        s.task[t].attempt = 0
        s.task[t].job = j
        job.next += 1
    task = s.task[t]
    task.state = LAUNCHED
    task.attempt += 1
    task.launched = w.now
    link(s, t, m)  # first: what others may have of the room depends on who is there
    task.pieces = take(s, m, j)
    if w.growing > 0 and known_useless(s, m):
        drop_near(s, m)
    hold(s, j, job.held + 1, job.unit)
    forward = w.reserve_for == NEVER or comes_forward(s, j)
    if job.total != UNLIMITED:
        job.waiting -= 1
    job.launches += 1
    if w.filling:
        job.turn = w.turns
        w.turns += 1
    w.launched += 1
    use(s, j, 1)
    only_aside = job.aside > 0 and job.reserved == 0
    end_aside(s, j)
    if w.groups > 0:
        s.runs[j, machine.group] += 1
    if tasks >= job.leased_tasks:
        job.leased = w.now  # what was held so far was not in vain
    used = machine.reserved == j and not machine.pledged
    # Where a limit holds its next one back by now, machines would be held for that one in vain.
    used = used and (
        forward or tasks > 1 or machine.kept == 1 or not within_caps(s, j, at_once(s, j))
    )
    if only_aside:
        end_lease(s, j, True)
    if not used:
        pass_on(s, j)
    update_job(s, j)
    if used and machine.reserved == j:
        end_lease(s, j, True)
        unreserve(s, j)
    retry_after_launch(s, j, m)
    write_decision(s, LAUNCH, t)
    mix(s, m)


@inner
def is_preferred(s: Handle, j: int, m: int) -> bool:
    """Does the job prefer anything, and the machine satisfies all of it?"""
    return s.job[j].likes == 1 and has_terms(s, s.prefers, j, m)


@inner
def restart_patience(s: Handle, j: int) -> None:
    """A job was placed on machines that it prefers: its patience begins anew."""
    job = s.job[j]
    job.since = s.header[0].now
    if not job.patient:
        job.patient = 1
        s.header[0].choice = NONE
        reenter(s, j)
    ring_at(s, j)


@inner
def begin(s: Handle) -> None:
    """A decision begins, or one goes on that was left for a larger table."""
    w = s.header[0]
    w.choice = NONE
    w.heap = -1
    if not w.deciding:
        w.deciding = 1
        w.decided += 1
        ring(s)
        lapse(s)
        end_rests(s)


@inner
def lacks(s: Handle, tasks: int) -> int:
    """Which table is too full for so many launches."""
    w = s.header[0]
    if w.out + tasks > len(s.out):
        return OUT_FULL
    return TASKS_FULL if w.tasks + tasks > len(s.task) else NOT_FULL


@inner
def split_gang(s: Handle, j: int, tasks: int) -> bool:
    """After so many tasks of the job were launched together: need those that are left not start
    together? Then all machines are looked at for it."""
    job = s.job[j]
    if tasks > 1:
        begin_stint(s, j, tasks)
    parted = tasks > 1 and 0 < job.waiting < job.gang
    if parted:
        freshen(s, j)
    return parted


@shared
def finish(s: Handle) -> None:
    """A decision ends: nobody may be placed anywhere until room grows."""
    w = s.header[0]
    for i in range(w.dirty):
        s.machine[s.dirty[i]].dirty = 0
    w.dirty = 0
    w.heap = -1
    w.deciding = 0
    if w.reserve_for == NEVER:
        reserve_for_first(s)
    else:
        measure(s)
        look(s)
