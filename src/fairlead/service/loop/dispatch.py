"""Orders to engines, once the journal holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.engines.interface import Assignment, Attempt, Engine, LimitsOutputs, Lost
from fairlead.scheduling.transitions import TaskState
from fairlead.service.journal.entry import Entry
from fairlead.service.records.book import Records
from fairlead.service.records.jobs import JobRecord


def assignment(
    records: Records, job: JobRecord, task: int, attempt: int, machine: str, most: int
) -> Assignment:
    """The order to run an attempt at a task on this machine. `most`: bytes of the outputs of a
    tenant's unfinished jobs."""
    work = job.job
    return Assignment(
        attempt=Attempt(job.id, task, attempt),
        machine=machine,
        name=job.called,
        tenant=work.tenant or job.called,
        demand=work.demand,
        command=work.command,
        call=work.call,
        env=work.env,
        cwd=work.cwd,
        time_limit=work.time_limit,
        pieces=(job.pieces or {}).get(task, ()),
        user=records.user_of(work.tenant),
        part=None if job.parts is None else job.parts.get(task, ""),
        room=room(records, job.tenant, most),
    )


def room(records: Records, tenant: str, most: int) -> int:
    """Bytes that attempts that run may write, where the outputs of a tenant's unfinished jobs have
    so many."""
    return max(0, most - records.totals[tenant].output)


def dispatch(
    engine: Engine,
    records: Records,
    entries: Sequence[Entry],
    cancels: Iterable[Attempt],
    most: int,
) -> tuple[int, int]:
    """Tells the engine what these entries, which are durable and folded, ask for; how many were
    launched and stopped. `most`: as of an assignment. Raises EngineError; what was not told then is
    for `resume`."""
    stops = dict.fromkeys(cancels)
    launches: list[Assignment] = []
    for entry in entries:
        body = entry.body
        if entry.kind == "launch":
            job = records.names[body["job"]]
            launches.append(
                assignment(records, job, body["task"], body["attempt"], body["machine"], most)
            )
        elif entry.kind == "stop":
            job = records.names[body["job"]]
            if is_carried_out(job):
                stops[Attempt(job.id, body["task"], body["attempt"])] = None
        elif entry.kind == "job_cancelled":
            cancelled = records.job(body["job"])
            if cancelled is not None and cancelled.cancelled:  # it may be forgotten by now
                stops.update(dict.fromkeys(records.attempts_held(cancelled)))
    if stops:
        engine.cancel(list(stops))
    if launches:
        engine.launch(launches)
    return len(launches), len(stops)


def is_carried_out(job: JobRecord) -> bool:
    """Whether its tasks are stopped when the core says so. One that must not be started again
    would be stopped for good: unless its job is cancelled, it runs to its end. The core says so of
    none, but a journal may hold that an older one did."""
    return job.cancelled or job.job.rerunnable


AFTERWARDS = (
    "it had started and must run once, and the engine knows nothing of it any more, as where the"
    " journal is a copy from before it ended"
)


def resume(
    engine: Engine, records: Records, most: int, restored: bool
) -> tuple[list[Attempt], list[Lost]]:
    """At the start, and after the engine failed: tells it what should be launched or running,
    launches what never was and cancels again what was to stop. Which of the attempts that were
    given up with their machines are certainly over; and those that are lost, since the engine knows
    nothing of them, they had started and must run once. `most`: as of an assignment. `restored`:
    what was launched may have started since, and ended. Raises EngineError."""
    held: dict[Attempt, Assignment] = {}
    given_up: dict[Attempt, Assignment] = {}
    start = records.start
    assert start is not None  # who resumes owns the journal
    # What another engine had is given up (`bootstrap.begin`): this one is told nothing of it.
    known = engine.knows(start.engine)
    for machine in records.machines.values() if known else ():
        for (number, task), attempt in machine.held.items():
            job = records.jobs[number]
            held[Attempt(number, task, attempt)] = assignment(
                records, job, task, attempt, machine.name, most
            )
        for each in machine.given_up:
            job = records.jobs[each.job]
            given_up[each] = assignment(records, job, each.task, each.number, machine.name, most)
    expected = [*held.values(), *given_up.values()]
    missing = set(engine.reconcile(expected, start.owner))
    stops, launches, lost = [], [], []
    for each, asked in held.items():
        job = records.jobs[each.job]
        row = job.first + each.task
        state = records.table.state[row]
        stopping = state == TaskState.STOPPING
        ran = state == TaskState.RUNNING or (stopping and records.table.started[row])
        ran = ran or (restored and not stopping)
        if each in missing and ran and not job.job.rerunnable:
            lost.append(Lost(each, True, AFTERWARDS, machine_at_fault=False))
        elif stopping and (each in missing or is_carried_out(job)):
            stops.append(each)  # one that never started: the engine says that it is lost
        elif each in missing:
            launches.append(asked)
    stops += [each for each in given_up if each not in missing]
    if stops:
        engine.cancel(stops)
    if launches:
        engine.launch(launches)
    return [each for each in given_up if each in missing], lost


def limit_outputs(engine: LimitsOutputs, records: Records, most: int, kept: int) -> None:
    """Has the outputs of what runs cut where those of a tenant's unfinished jobs are more than so
    many bytes. `kept`: of one attempt at most. Raises EngineError."""
    rooms: dict[str, int] = {}
    for tenant, running in records.running.items():
        has = room(records, tenant, most)
        if running * kept > has:  # else they cannot have written as much
            rooms[tenant] = has
    if rooms:
        engine.limit_outputs(rooms)
