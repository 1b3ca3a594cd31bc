"""Events applied to the state. An illegal one is refused, and nothing is changed then."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

import numpy as np

from fairlead.model.errors import About, InputError, Mistakes
from fairlead.model.hints import Known
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.model.times import typical
from fairlead.scheduling import events
from fairlead.scheduling.kernels.change import job_events, machine_events
from fairlead.scheduling.kernels.launching import launch
from fairlead.scheduling.kernels.memory.codes import Full, TrailCode
from fairlead.scheduling.kernels.memory.tables import NONE, UNLIMITED
from fairlead.scheduling.options import MICROSECONDS
from fairlead.scheduling.state.book import Book, machine_state
from fairlead.scheduling.state.orders import without_order
from fairlead.scheduling.state.pools import check_job_beside, check_siblings
from fairlead.scheduling.state.rows import tasks_on
from fairlead.scheduling.transitions import (
    MachineChange,
    TaskChange,
    TaskState,
    machine_after,
    task_after,
)

Report = (
    events.TaskStarted
    | events.TaskFinished
    | events.TaskFailed
    | events.TaskLost
    | events.TaskStopped
)

NONE_YET = (
    "name it beside the machines, in `tenants:`, or, of a running service, as with"
    " `fairlead tenants --apply FILE`"
)

_CHANGE = {
    events.TaskStarted: (TaskChange.STARTED, TrailCode.STARTED),
    events.TaskFinished: (TaskChange.FINISHED, TrailCode.FINISHED),
    events.TaskFailed: (TaskChange.FAILED, TrailCode.FAILED),
    events.TaskLost: (TaskChange.LOST, TrailCode.LOST),
    events.TaskStopped: (TaskChange.STOPPED, TrailCode.STOPPED),
}


def refuse(about: About, what: str, right: str = "") -> NoReturn:
    raise InputError(what, right, about=about)


def machine_joined(book: Book, time: int, machine: Machine) -> None:
    """A machine joins; under an old name it is a new one."""
    about: About = ("machine", machine.name)
    if machine.name in book.ids.machines:
        refuse(about, "it is there already", "let it leave before it joins again")
    capacity = book.ids.capacity(machine, book.state.most_pieces)
    words = book.satisfied(machine)
    book.pass_time(time)
    m = book.join(np.array([capacity]), words[None], [machine.labels])
    book.ids.machines[machine.name] = m
    book.ids.machine_at[m] = machine


def machine_left(book: Book, time: int, name: str) -> None:
    m, _ = machine_state(book, name)
    book.pass_time(time)
    lost = _tasks_on(book, m)
    book.leave(m)
    del book.ids.machines[name], book.ids.machine_at[m]
    for j, number in lost:
        book.ids.release(j, number)
    for j in dict.fromkeys(j for j, _ in lost):
        _after_job(book, j)


def _tasks_on(book: Book, m: int) -> list[tuple[int, int]]:
    """(job, number) of the tasks on a machine."""
    tasks = book.state.task[tasks_on(book.state, m)]
    return list(zip(tasks["job"].tolist(), tasks["number"].tolist(), strict=True))


def machine_drained(book: Book, time: int, name: str, back: bool) -> None:
    """A machine takes no more tasks, or takes them again."""
    m, state = machine_state(book, name)
    change = MachineChange.BACK if back else MachineChange.DRAINED
    if machine_after(state, change) is None:
        what = "it does not drain" if back else "it drains already"
        refuse(("machine", name), what, "leave the event out")
    book.pass_time(time)
    if back:
        machine_events.bring_back(book.state.handle, m)
    else:
        machine_events.drain(book.state.handle, m)


def machine_changed(book: Book, time: int, machine: Machine) -> None:
    m, _ = machine_state(book, machine.name)
    capacity = book.ids.capacity(machine, book.state.most_pieces)
    words = book.satisfied(machine)
    book.pass_time(time)
    book.change(m, np.array(capacity), words, machine.labels)
    book.ids.machine_at[m] = machine


def job_submitted(book: Book, time: int, job: Job) -> None:
    job_mistakes(book, (job,)).report()
    tenant = NONE if job.tenant is None else book.ids.tenants[job.tenant]
    demand = np.array(book.ids.demand(job), np.int64)
    patience, expected = _patience(job), _expected(job)
    needed, preferred = book.terms_of(job)
    holders = book.holders((*needed, *preferred))
    prefers = book.bits(preferred, holders)
    needs = book.bits(needed, holders)
    prefers = np.concatenate([prefers, np.zeros(len(needs) - len(prefers), np.uint64)])
    try:
        fitted = book.fitted(demand, needs, job, tenant)
    except InputError:
        book.forget_terms((*needed, *preferred))
        raise
    book.pass_time(time)
    book.room_for(Full.JOBS)
    book.room_for(Full.TENANTS)
    state = book.state
    j = job_events.enrol(
        state.handle,
        tenant,
        demand,
        needs,
        prefers,
        book.signature(demand, needs),
        job.spread,
        job.gang,
        UNLIMITED if job.tasks is None else int(job.tasks),
        patience,
        expected,
        fitted.scale,
        fitted.unit,
        fitted.usable,
    )
    book.pools_changed = True
    book.ids.jobs[job.name] = j
    book.ids.job_at[j] = job


def job_mistakes(book: Book, jobs: Sequence[Job]) -> Mistakes:
    """Everything for which these jobs would be refused, each by itself: names, tenants, amounts,
    times, and labels without an order that it compares. Only whether the policy has a scale for
    it is seen when it is submitted."""
    mistakes = Mistakes()
    tenants = Known(book.ids.tenants)
    for job in jobs:
        about: About = ("job", job.name)
        if job.name in book.ids.jobs:
            mistakes.add(about, "there is a job of this name", "give it another name")
        if job.tenant is not None and job.tenant not in book.ids.tenants:
            known = ", ".join(sorted(book.ids.tenants)[:10])
            hint = f"there is {known}" if known else NONE_YET
            what = f'there is no tenant "{job.tenant}"'
            mistakes.add((*about, "tenant"), what, tenants.hint(job.tenant, hint))
        mistakes.attempt((), check_job_beside, book.ids, job.name, job.tenant)
        mistakes.attempt((), book.ids.demand, job)
        mistakes.attempt((), _patience, job)
        mistakes.attempt((), _expected, job)
    mistakes += without_order(book, jobs)
    return mistakes


def _patience(job: Job) -> int:
    return _microseconds(("job", job.name, "prefer_for"), job.prefer_for)


def _expected(job: Job) -> int:
    return _microseconds(("job", job.name, "duration"), typical(job.duration))


def _microseconds(about: About, seconds: Fraction | None) -> int:
    """A time that was given in seconds; 0 where it was not."""
    if seconds is None:
        return 0
    count = seconds * MICROSECONDS
    if count.denominator != 1:
        refuse(about, "the time is finer than a microsecond", "round it")
    return int(count)


def _job(book: Book, name: str) -> int:
    """The slot of a job that is not over."""
    if name not in book.ids.jobs:
        refuse(
            ("job", name), "there is no such job", "it may have finished, or was never submitted"
        )
    return book.ids.jobs[name]


def job_changed(book: Book, time: int, name: str, tasks: int | None) -> None:
    about: About = ("job", name, "tasks")
    j = _job(book, name)
    job = book.state.job[j]
    if job["cancelled"]:
        refuse(about, "the job was cancelled", "submit another one")
    if tasks is not None:
        started = int(job["next"])
        if tasks < 1 or tasks < started:
            refuse(about, f"{started} tasks have started", f"write at least {max(1, started)}")
        if tasks < job["gang"]:
            refuse(about, f"its gang has {job['gang']} tasks", f"write at least {job['gang']}")
    book.pass_time(time)
    job_events.grow(book.state.handle, j, UNLIMITED if tasks is None else tasks)
    book.pools_changed = True
    _after_job(book, j)


def job_cancelled(book: Book, time: int, name: str) -> None:
    """A job's waiting tasks are dropped, and those that run are told to stop."""
    j = _job(book, name)
    if book.state.job[j]["cancelled"]:
        refuse(("job", name), "it is cancelled already", "leave the event out")
    book.pass_time(time)
    while job_events.cancel(book.state.handle, j) == Full.OUT:
        book.state.grow(Full.OUT)
    _after_job(book, j)


def task_placed(book: Book, time: int, name: str, number: int, machine: str) -> None:
    """Another scheduler started the job's next task on a machine."""
    about: About = ("job", name, f"task {number}")
    j = _job(book, name)
    m, _ = machine_state(book, machine)
    state = book.state
    if not state.job[j]["waiting"]:
        refuse(about, "no task of the job waits", "leave the event out")
    if number != (following := next_task(book, j)[0]):
        refuse(about, f"the next task of the job is {following}", f"write {following}")
    for r, unit in enumerate(book.ids.units):
        if unit.piece and state.demand[j, r]:
            refuse(about, f"which {unit.name} it has is not known", "count no devices of it")
    twice = state.job[j]["spread"] and any(of == j for of, _ in _tasks_on(book, m))
    book.pass_time(time)
    book.room_for(Full.TASKS)
    if not len(state.out):
        state.grow(Full.OUT)
    launch(state.handle, j, m, 1)
    state.header[0]["out"] -= 1  # it is no decision of this core
    t = int(state.job[j]["first_task"])
    machine_events.start(state.handle, t)
    book.ids.hold(j, number, t)
    foreign = bool((state.needs[j] & ~state.satisfies[m]).any())
    if (state.free[m] < 0).any() or foreign or twice:
        state.header[0]["changed"] += 1 - int(state.machine[m]["changed"])
        state.machine[m]["changed"] = 1


def next_task(book: Book, j: int) -> tuple[int, int]:
    """The number of the job's task that is launched next, and of its next attempt."""
    job = book.state.job[j]
    queued = int(job["queue_first"])
    if queued == NONE:
        return int(job["next"]), 1
    task = book.state.task[queued]
    return int(task["number"]), int(task["attempt"]) + 1


def task_reported(book: Book, event: Report) -> None:
    about: About = ("job", event.job, f"task {event.task}")
    j = _job(book, event.job)
    t = book.ids.tasks.get(j, {}).get(event.task)
    change, how = _CHANGE[type(event)]
    state = None if t is None else TaskState(int(book.state.task[t]["state"]))
    cancelled = bool(book.state.job[j]["cancelled"])
    if t is None or state is None or task_after(state, change, cancelled) is None:
        now = "is on no machine" if state is None else f"is {state.name.lower()}"
        refuse(about, f"it {now}, so it cannot be {change.name.lower()}", "leave the event out")
    book.pass_time(event.time)
    if how is TrailCode.STARTED:
        machine_events.start(book.state.handle, t)
        return
    machine_events.end(book.state.handle, t, int(how))
    _after_task(book, j, event.task)


def _after_task(book: Book, j: int, number: int) -> None:
    """A task holds its machine no more."""
    book.ids.release(j, number)
    _after_job(book, j)


def _after_job(book: Book, j: int) -> None:
    job = book.state.job[j]
    if job["used"] and job["held"] == 0 and job["waiting"] == 0:
        book.drop(j)


def tenant_changed(book: Book, time: int, tenant: Tenant) -> None:
    """A tenant is new, or has another weight, pool or limit."""
    about: About = ("tenant", tenant.name)
    if tenant.parent is not None and tenant.parent not in book.ids.tenants:
        refuse((*about, "parent"), f'there is no tenant "{tenant.parent}"', "add it first")
    known = book.ids.tenants.get(tenant.name)
    if known is not None and book.ids.tenant_at[known].parent != tenant.parent:
        refuse((*about, "parent"), "a tenant stays below its parent", "leave it as it was")
    check_siblings(book.ids, tenant)
    amounts = book.ids.amounts((*about, "limit"), tenant.limit)
    limit = [
        amount if unit.name in tenant.limit else UNLIMITED
        for amount, unit in zip(amounts, book.ids.units, strict=True)
    ]
    exactly = Fraction(1) if tenant.weight is None else tenant.weight
    weight = float(exactly)
    book.pass_time(time)
    if known is None:
        book.room_for(Full.TENANTS)
        parent = NONE if tenant.parent is None else book.ids.tenants[tenant.parent]
        known = job_events.new_tenant(book.state.handle, parent, weight)
        book.ids.add_tenant(known, tenant)
    book.ids.tenant_at[known] = tenant
    if tenant.pool is None:
        low = 0.0 if exactly == weight else float(exactly - Fraction(weight))
        job_events.weigh(book.state.handle, known, weight, low)
    book.pools_changed = True  # what a pool weighs follows before the next decision
    if book.state.limit[known].tolist() != limit:
        book.state.limit[known] = limit
        job_events.cap(book.state.handle, known)
        book.limits_changed()
