"""Each event changes the plain reference here, or is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.times import typical
from fairlead.scheduling import events
from fairlead.scheduling.decisions import Stop
from fairlead.scheduling.events import Event
from fairlead.scheduling.transitions import (
    MachineChange,
    MachineState,
    TaskChange,
    TaskState,
    machine_after,
    task_after,
)
from tests.reference.online import Decider
from tests.reference.online_line import drop_idle, extend_lease, forget_over, remember_run, review
from tests.reference.online_state import UNLIMITED, PlainJob, PlainMachine, PlainTask, Told, World
from tests.reference.online_stints import charge

MICRO = 10**6

REPORTS: dict[type, TaskChange] = {
    events.TaskStarted: TaskChange.STARTED,
    events.TaskFinished: TaskChange.FINISHED,
    events.TaskFailed: TaskChange.FAILED,
    events.TaskLost: TaskChange.LOST,
    events.TaskStopped: TaskChange.STOPPED,
}


class RefusedError(Exception):
    """The event is illegal; nothing has changed."""


def refuse_if(wrong: bool, why: str) -> None:
    """Raises RefusedError if it is wrong."""
    if wrong:
        raise RefusedError(why)


def apply(decider: Decider, event: Event) -> None:
    """Change the world by one event, or raise RefusedError and change nothing."""
    world = decider.world
    refuse_if(event.time < world.now, "time goes back")
    before, rested = [(each, each.owes) for each in world.stints.values()], world.rested
    charge(world, event.time)
    try:
        _apply(decider, event)
    except RefusedError:
        world.rested = rested
        for stint, owes in before:
            stint.owes = owes
        raise


def _apply(decider: Decider, event: Event) -> None:
    """Change the world by one event at its time."""
    world = decider.world
    match event:
        case events.MachineJoined(machine=machine):
            refuse_if(world.machine_named(machine.name) is not None, "it is there already")
            capacity = in_units(world, machine.capacity, devices_whole=True)
            world.machines.append(PlainMachine(len(world.machines), machine, capacity))
            world.stir()
        case events.MachineLeft(machine=name):
            there = _changed(world, name, MachineChange.LEFT)
            for task in sorted(world.tasks_on(there), key=lambda t: (t.job, t.number)):
                _change(decider, task, TaskChange.LOST, event.time)
            review(world, there, decider.active(), event.time)
        case events.MachineDrained(machine=name, back=back):
            there = _changed(world, name, MachineChange.BACK if back else MachineChange.DRAINED)
            review(world, there, decider.active(), event.time)
        case events.MachineChanged(machine=machine):
            review(world, _machine_changed(world, machine), decider.active(), event.time)
        case events.JobSubmitted():
            _submitted(world, event)
        case events.JobChanged(job=name, tasks=tasks):
            _job_changed(world, name, tasks, event.time)
        case events.JobCancelled(job=name):
            job = _job(world, name)
            job.queue, job.cancelled = [], True
            for task in sorted(world.tasks_of(job), key=lambda t: t.number):
                if task.state is not TaskState.STOPPING:
                    decider.pending.append(
                        Stop(name, task.number, _name(world, task), task.attempt)
                    )
                    _change(decider, task, TaskChange.STOP, event.time)
        case events.TenantChanged(tenant=tenant):
            _tenant(world, tenant)
        case events.AdviceChanged(advice=advice):
            refuse_if(any(a.rank < 0 or a.target < 0 for a in advice), "below 0")
            groups = [name for names in {a.machines: 1 for a in advice} for name in names]
            refuse_if(len(set(groups)) < len(groups), "a machine in two groups")
            world.advice = _told(world, advice)
            world.last_rank = max((a.rank for a in advice), default=0) + 1
        case events.TimePassed() | events.GuaranteesChanged():
            pass
        case _:
            _reported(decider, event)
    world.now = event.time
    # Whether machines could run a job is asked once all of the moment has happened.
    never = {seq for seq in world.never_together if world.jobs[seq].waiting >= world.jobs[seq].gang}
    drop_idle(world, {job.seq for job in world.jobs if job.waiting > 0} - never)
    forget_over(world)


def in_units(
    world: World, amounts: Mapping[str, Fraction], devices_whole: bool = False
) -> list[int]:
    """The amounts of all resources, each in its unit; refused where they are finer, where the
    resource is unknown, and where a machine's devices are not whole pieces."""
    names = [measure.name for measure in world.measures]
    refuse_if(any(name not in names for name in amounts), "unknown resource")
    counts = []
    for measure in world.measures:
        count = amounts.get(measure.name, Fraction(0)) / measure.unit
        refuse_if(count.denominator != 1, "finer than the unit")
        whole = not measure.piece or count % measure.piece == 0
        refuse_if(devices_whole and not whole, "a part of a device")
        counts.append(int(count))
    return counts


def _name(world: World, task: PlainTask) -> str:
    return world.machines[task.machine].machine.name


def _changed(world: World, name: str, change: MachineChange) -> PlainMachine:
    machine = world.machine_named(name)
    if machine is None:
        raise RefusedError("no such machine")
    after = machine_after(machine.state, change)
    if after is None:
        raise RefusedError("not in this state")
    machine.state = after
    return machine


def _machine_changed(world: World, machine: Machine) -> PlainMachine:
    capacity = in_units(world, machine.capacity, devices_whole=True)
    there = _changed(world, machine.name, MachineChange.CHANGED)
    there.machine, there.capacity = machine, capacity
    return there


def _submitted(world: World, event: events.JobSubmitted) -> None:
    job = event.job
    refuse_if(world.job_named(job.name) is not None, "there is such a job")
    demand = in_units(world, job.demand)
    for d, measure in zip(demand, world.measures, strict=True):
        parts = not measure.piece or d <= measure.piece or d % measure.piece == 0
        refuse_if(not parts, "more than one device must be whole ones")
    refuse_if(job.tenant is not None and job.tenant not in world.tenants, "no such tenant")
    total = UNLIMITED if job.tasks is None else int(job.tasks)
    refuse_if(job.gang > total, "a gang larger than the tasks")
    patience = 0 if job.prefer_for is None else int(job.prefer_for * MICRO)
    world.jobs.append(
        PlainJob(
            seq=len(world.jobs),
            job=job,
            demand=demand,
            gang=job.gang,
            expected=int((typical(job.duration) or 0) * MICRO),
            patience=patience,
            total=total,
            since=event.time,
        )
    )
    world.take_turn(world.jobs[-1])
    world.stir()


def _told(world: World, advice: Sequence[events.Advice]) -> list[Told]:
    """The advice on the jobs and the machines that are there."""
    found = []
    for each in advice:
        job = world.job_named(each.job)
        machines = [world.machine_named(name) for name in each.machines]
        seqs = tuple(machine.seq for machine in machines if machine is not None)
        if job is not None:
            found.append(Told(job.seq, seqs, each.rank, each.target))
    return found


def _job(world: World, name: str) -> PlainJob:
    """The job, which is not cancelled."""
    job = world.job_named(name)
    if job is None or job.cancelled:
        raise RefusedError("no such job")
    return job


def _job_changed(world: World, name: str, tasks: int | None, time: int) -> None:
    job = _job(world, name)
    total = UNLIMITED if tasks is None else tasks
    refuse_if(total < 1 or total < job.next, "more have started")
    refuse_if(total < job.gang, "a gang larger than the tasks")
    idle = job.waiting == 0
    job.total = total
    world.stir()
    if idle and job.waiting:
        job.since = time


def _reported(decider: Decider, event: Event) -> None:
    """An engine's report on a task."""
    assert isinstance(
        event,
        events.TaskStarted
        | events.TaskFinished
        | events.TaskFailed
        | events.TaskLost
        | events.TaskStopped,
    )
    world = decider.world
    job = world.job_named(event.job)
    if job is None:
        raise RefusedError("no such job")
    task = next((t for t in world.tasks_of(job) if t.number == event.task), None)
    if task is None:
        raise RefusedError("no such task is on a machine")
    _change(decider, task, REPORTS[type(event)], event.time)


def _change(decider: Decider, task: PlainTask, change: TaskChange, time: int) -> None:
    """The task changes; one that waits again or is over leaves its machine."""
    world = decider.world
    job = world.jobs[task.job]
    after = task_after(task.state, change, job.cancelled)
    if after is None:
        raise RefusedError("not in this state")
    task.state = after
    if change in (TaskChange.LOST, TaskChange.STOPPED):
        world.stir()
    elif after in (TaskState.FINISHED, TaskState.FAILED):
        remember_run(world, task, time)
    if after is TaskState.WAITING:
        if job.waiting == 0:
            job.since = time
        job.queue.append(task.number)
    elif after in (TaskState.FINISHED, TaskState.FAILED, TaskState.DROPPED):
        job.ended[task.number] = after
    else:
        return
    extend_lease(world, task, time)
    world.tasks = [t for t in world.tasks if t is not task]


def _tenant(world: World, tenant: Tenant) -> None:
    refuse_if(any(r not in [m.name for m in world.measures] for r in tenant.limit), "no resource")
    for measure in world.measures:
        amount = tenant.limit.get(measure.name, Fraction(0)) / measure.unit
        refuse_if(amount.denominator != 1, "finer than the unit")
    old = world.tenants.get(tenant.name)
    if old is None:
        refuse_if(tenant.parent is not None and tenant.parent not in world.tenants, "no parent")
    else:
        refuse_if(old.parent != tenant.parent, "its parent stays")
    world.tenants[tenant.name] = tenant
    world.stir()


def gone(world: World) -> list[PlainMachine]:
    """The machines that have left."""
    return [m for m in world.machines if m.state is MachineState.GONE]
