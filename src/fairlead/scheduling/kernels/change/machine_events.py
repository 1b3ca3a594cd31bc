"""Events change machines and tasks here. All that decides comes later, in `decide`.

Each function changes the state by one event that was found legal. The caller fills in the rows of
a slot before the function is called that takes it into the state.
"""

from __future__ import annotations

import numpy as np

from fairlead.compiling import inner, kernel
from fairlead.scheduling.kernels.change.clocks import stir
from fairlead.scheduling.kernels.change.counts import (
    RUNNING,
    STOPPING,
    begin_to_wait,
    freshen,
    release,
    update_job,
)
from fairlead.scheduling.kernels.change.grown import mark_room_grew
from fairlead.scheduling.kernels.change.leases import remember_run
from fairlead.scheduling.kernels.change.reservations import check_reservation
from fairlead.scheduling.kernels.change.stints import charge
from fairlead.scheduling.kernels.change.task_lists import free_task, queue
from fairlead.scheduling.kernels.memory.codes import DecisionCode, TrailCode
from fairlead.scheduling.kernels.memory.state import Handle, int64
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE, UNLIMITED
from fairlead.scheduling.kernels.memory.trail import mix, record, write_decision
from fairlead.scheduling.kernels.room.places import ONE, UP, replant
from fairlead.scheduling.kernels.room.rooms import fill, measure
from fairlead.scheduling.transitions import MachineState

DRAINING, GONE = int(MachineState.DRAINING), int(MachineState.GONE)
STOP = int(DecisionCode.STOP)
JOINED, LEFT = int(TrailCode.JOINED), int(TrailCode.LEFT)
DRAINED, BACK = int(TrailCode.DRAINED), int(TrailCode.BACK)
CHANGED, PASSED = int(TrailCode.CHANGED), int(TrailCode.PASSED)
STARTED, LOST, STOPPED = int(TrailCode.STARTED), int(TrailCode.LOST), int(TrailCode.STOPPED)


@kernel
def advance(s: Handle, now: int) -> None:
    """Time has come so far."""
    charge(s, now)
    s.header[0].now = now
    record(s, PASSED, 0)


@inner
def _count(s: Handle, m: int, sign: int) -> None:
    """Counts a machine in, or out, among those that have a resource and satisfy a term."""
    s.header[0].present += sign
    for r in range(s.capacity.shape[1]):
        s.largest[r] = max(s.largest[r], s.capacity[m, r])
        if s.capacity[m, r] > 0:
            s.have[r] += sign
    for k in range(len(s.satisfied)):
        if (s.satisfies[m, k // 64] >> np.uint64(k % 64)) & ONE:
            s.satisfied[k] += sign


@kernel
def join(s: Handle) -> int:
    """The next machine is there, whose capacity and terms are in their rows. Returns its slot."""
    w = s.header[0]
    m = w.machines
    w.machines += 1
    machine = s.machine[m]
    machine.state = UP
    machine.dirty = 0
    machine.changed = 0
    machine.pledged = 0
    machine.kept = 0
    machine.unset = 0
    machine.tasks = 0
    machine.first = NONE
    machine.reserved = NONE
    machine.wanted = 0
    machine.group = 0
    machine.apart = NONE
    machine.until = NEVER
    fill(s, m)
    measure(s, m)
    replant(s, m)
    _count(s, m, 1)
    mark_room_grew(s, m)
    stir(s)
    record(s, JOINED, m)
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
    machine = s.machine[m]
    s.header[0].changed -= machine.changed
    machine.changed = 1 if machine.tasks > 0 else 0
    s.header[0].changed += machine.changed
    fill(s, m)
    measure(s, m)
    replant(s, m)
    mark_room_grew(s, m)
    check_reservation(s, m)
    record(s, CHANGED, m)
    for r in range(s.capacity.shape[1]):
        mix(s, s.capacity[m, r])


@kernel
def drain(s: Handle, m: int) -> None:
    """A machine takes no more tasks."""
    s.machine[m].state = DRAINING
    replant(s, m)
    check_reservation(s, m)
    record(s, DRAINED, m)


@kernel
def bring_back(s: Handle, m: int) -> None:
    """A machine that drained takes tasks again."""
    s.machine[m].state = UP
    replant(s, m)
    mark_room_grew(s, m)
    stir(s)
    record(s, BACK, m)


@kernel
def leave(s: Handle, m: int) -> None:
    """A machine is gone; its tasks wait again, in the order of (job, number)."""
    machine = s.machine[m]
    machine.state = GONE
    _count(s, m, -1)
    replant(s, m)
    record(s, LEFT, m)
    while machine.first >= 0:
        least = int64(machine.first)
        t = int64(s.task[least].machine_next)
        while t >= 0:
            a, b = s.job[s.task[t].job].seq, s.job[s.task[least].job].seq
            if a < b or (a == b and s.task[t].number < s.task[least].number):
                least = t
            t = int64(s.task[t].machine_next)
        _lose(s, least)
    check_reservation(s, m)


@kernel
def stop(s: Handle, t: int) -> None:
    """A task that is launched or runs is told to stop. There is room in `out`."""
    s.task[t].state = STOPPING
    write_decision(s, STOP, t)


@kernel
def start(s: Handle, t: int) -> None:
    """A task that was launched runs."""
    task = s.task[t]
    task.state = RUNNING
    record(s, STARTED, s.job[task.job].seq)
    mix(s, task.number)


@kernel
def end(s: Handle, t: int, how: int) -> int:
    """A task ended: `how` is FINISHED, FAILED, LOST or STOPPED of `TrailCode`. Returns its job, or
    NONE where that was its last task and the job is gone with it."""
    task = s.task[t]
    j = int64(task.job)
    record(s, how, s.job[j].seq)
    mix(s, task.number)
    if how in (LOST, STOPPED):
        _lose(s, t)
        stir(s)
    else:
        remember_run(s, s.header[0].now - task.launched)
        release(s, t)
        free_task(s, t)
        s.job[j].over += 1
        update_job(s, j)
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
        update_job(s, j)
        return
    idle = job.waiting == 0
    queue(s, t)
    if job.total != UNLIMITED:
        job.waiting += 1
    if idle:
        begin_to_wait(s, j)
    freshen(s, j)
