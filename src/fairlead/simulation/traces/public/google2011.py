"""Google's cluster trace of May 2011: machine_events, task_events, job_events, in any number of
parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from fairlead.model.errors import InputError
from fairlead.model.words import counted
from fairlead.simulation.traces.build import no_jobs, no_machines, workload_of
from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.options import SECOND, Option, Settings, microseconds, refusal
from fairlead.simulation.traces.public.google2011_machines import machine_table
from fairlead.simulation.traces.public.google2011_tasks import (
    FAIL,
    FINISH,
    KILL,
    LOST,
    SCHEDULE,
    SUBMIT,
    Tasks,
    reduce_events,
)
from fairlead.simulation.traces.tables import (
    LARGEST,
    MISSING,
    Column,
    Kind,
    Layout,
    Part,
    Vocabulary,
    parts,
)
from fairlead.simulation.workload import Bools, Ints, JobBatch, Resource, Workload, plain_batch

OPTIONS = (
    Option("hours", "all", "tasks submitted up to so many hours after the trace's beginning"),
    Option("unit", "1e-8", "of cpu and memory, which the trace gives as parts of the largest"),
    Option("ends", "finish", "how a run ends that counts: `finish`, or `any` (fail, kill, lost)"),
    Option(
        "missing-durations",
        "resample",
        "of tasks whose run does not end in the files: `resample` draws among those that do,"
        " `observed` takes the time until the last event, or a time such as 300s",
    ),
    Option("seed", "0", "of the draws"),
    Option(
        "missing-demands",
        "leave-out",
        "tasks that never state a demand: `leave-out`, or `median` of those that do",
    ),
    Option(
        "no-demand",
        "least",
        "tasks that ask for none of cpu and of memory, of which no policy has a share: `least` lets"
        " them ask for one unit of cpu, or `leave-out`",
    ),
    Option(
        "gather",
        "1s",
        "tasks of a job that ask for the same and come within this time are one job",
    ),
    Option("machine-changes", "yes", "machines that come, go and change: `no` keeps the first"),
)

TASK_EVENTS, MACHINE_EVENTS, JOB_EVENTS = "task_events", "machine_events", "job_events"


def _layout(unit: Fraction) -> Layout:
    return Layout(
        header=False,
        columns=(
            Column("time", Kind.WHOLE, clipped=True),
            Column("", Kind.TEXT, required=False),  # missing info
            Column("job", Kind.WHOLE),
            Column("index", Kind.WHOLE),
            Column("", Kind.TEXT, required=False),  # machine
            Column("event", Kind.WHOLE, most=8),
            Column("user", Kind.TEXT, required=False),
            Column("", Kind.TEXT, required=False),  # scheduling class
            Column("", Kind.TEXT, required=False),  # priority
            Column("cpu", Kind.AMOUNT, required=False, unit=unit),
            Column("memory", Kind.AMOUNT, required=False, unit=unit),
            Column("", Kind.TEXT, required=False),  # disk
            Column("different", Kind.WHOLE, required=False, most=1),
        ),
    )


_JOB_LAYOUT = Layout(
    header=False,
    columns=(
        Column("", Kind.TEXT),
        Column("", Kind.TEXT, required=False),
        Column("job", Kind.WHOLE),
        Column("event", Kind.WHOLE, most=8),
        Column("user", Kind.TEXT, required=False),
        Column("", Kind.TEXT, required=False),
        Column("", Kind.TEXT, required=False),
        Column("", Kind.TEXT, required=False),
    ),
)

_ROLES = {
    TASK_EVENTS: re.compile(r"\d+,\d?,\d+,\d+,\d*,\d,[^,]*,\d*,\d*,[^,]*,[^,]*,[^,]*,[01]?"),
    JOB_EVENTS: re.compile(r"\d+,\d?,\d+,\d,[^,]*,\d*,[^,]*,[^,]*"),
    MACHINE_EVENTS: re.compile(r"\d+,\d+,[012],[^,]*,[0-9.eE+-]*,[0-9.eE+-]*"),
}


def role(line: str) -> str | None:
    """The table that begins with this line; the tables have no header."""
    return next((name for name, form in _ROLES.items() if form.fullmatch(line)), None)


def load(files: Files, options: Settings) -> Workload:
    """The workload: users are tenants, tasks of a job that ask for the same are a job."""
    unit = options.amount("unit")
    table, notes = no_machines(2), ["no machine events were given: there are no machines"]
    if MACHINE_EVENTS in files:
        changes = options.choice("machine-changes", ("yes", "no")) == "yes"
        table, notes = machine_table(files[MACHINE_EVENTS], unit, changes)
    users = Vocabulary()
    jobs = no_jobs(2)
    if TASK_EVENTS in files:
        jobs, more = _jobs(files, options, unit, users)
        notes += more
    else:
        notes.append("no task events were given: there are no jobs")
        _check(options)
    resources = (Resource("cpu", unit), Resource("memory", unit))
    return workload_of(FORMAT.name, resources, table, jobs, options, notes, users.texts)


def _check(options: Settings) -> tuple[str, str | int, str, str, int, int | None]:
    """Every option that is about tasks, so that a mistake is seen before the reading."""
    ends = options.choice("ends", ("finish", "any"))
    text = options.values["missing-durations"]
    span = microseconds(text)
    if text not in ("resample", "observed") and span is None:
        raise refusal("missing-durations", text, "write resample, observed, or a time such as 300s")
    demands = options.choice("missing-demands", ("leave-out", "median"))
    nothing = options.choice("no-demand", ("least", "leave-out"))
    options.whole("seed")
    gather = max(1, options.span("gather"))
    hours = options.values["hours"]
    limit = None if hours == "all" else int(options.amount("hours") * 3600 * SECOND)
    return ends, text if span is None else span, demands, nothing, gather, limit


def _jobs(
    files: Files, options: Settings, unit: Fraction, users: Vocabulary
) -> tuple[JobBatch, list[str]]:
    ends, missing, demands, nothing, gather, limit = _check(options)
    horizon = [0]

    def events() -> Iterator[Part]:
        for path in files[TASK_EVENTS]:
            for part in parts(path, _layout(unit), {"user": users}):
                # What has the largest of all times happens after the trace's end.
                if len(part["time"]) and part["time"].max() == LARGEST:
                    inside = part["time"] < LARGEST
                    part = {name: values[inside] for name, values in part.items()}
                if len(part["time"]):
                    horizon[0] = int(part["time"][-1])
                yield part

    kinds = (FINISH,) if ends == "finish" else (FINISH, FAIL, KILL, LOST)
    tasks, counts = reduce_events(events(), kinds)
    read = counted(len(files[TASK_EVENTS]), "part")
    notes = [
        (
            f"found {counts[SUBMIT]} submissions, {counts[SCHEDULE]} schedulings and"
            f" {counts[FINISH]} finishes in {read} of task events, which end"
            f" {max(0, horizon[0] - 600 * SECOND) // SECOND} s after the trace's beginning:"
            f" {len(tasks.key)} tasks of {_distinct(tasks.job)} jobs have an event"
        )
    ]
    user_of_job = _users_of_jobs(files, users, notes)
    kept = tasks.submit != MISSING
    if limit is not None:
        kept &= tasks.submit <= limit
    tasks = _only(tasks, kept)
    user = tasks.user.copy()
    if user_of_job is not None:
        known, theirs = user_of_job
        if len(known):
            place = np.minimum(np.searchsorted(known, tasks.job), len(known) - 1)
            user = np.where((user == MISSING) & (known[place] == tasks.job), theirs[place], user)
    until = "" if limit is None else f" up to hours={options.values['hours']}"
    notes.append(
        f"{len(tasks.key)} tasks of {_distinct(tasks.job)} jobs by"
        f" {_distinct(user[user != MISSING])} users were submitted{until};"
        f" {int((tasks.submit == 0).sum())} of these tasks were there when the trace began"
    )
    if (user == MISSING).any():
        notes.append(f"{int((user == MISSING).sum())} tasks have no user: their jobs are their own")
    cpu, memory, kept = _demands(tasks, demands, notes)
    cpu, kept = _asking(cpu, memory, kept, nothing, notes)
    tasks, user, cpu, memory = _only(tasks, kept), user[kept], cpu[kept], memory[kept]
    durations = _durations(tasks, missing, max(0, horizon[0] - 600 * SECOND), options, notes)
    jobs = _group_tasks(tasks, user, np.stack((cpu, memory), axis=1), durations, gather, notes)
    notes += [
        (
            "read as: user = tenant; different-machines flag = spread; a task's demand is that of"
            " its first event that states one"
        ),
        "time 0 of the workload is 600 s of the trace, where it begins",
        (
            "not read: priorities, scheduling classes, disk requests, updates of running tasks,"
            " and on which machine a task ran"
        ),
        "missing: constraints on machine attributes are in other files of the trace",
    ]
    return jobs, notes


def _only(tasks: Tasks, kept: Bools) -> Tasks:
    return Tasks(**{name: values[kept] for name, values in vars(tasks).items()})


def _distinct(values: Ints) -> int:
    return len(np.unique(values))


def _users_of_jobs(files: Files, users: Vocabulary, notes: list[str]) -> tuple[Ints, Ints] | None:
    """The jobs that job_events name, sorted, and their users; None where there is no such file."""
    if JOB_EVENTS not in files:
        return None
    found: list[Ints] = []
    for path in files[JOB_EVENTS]:
        words = {"user": users}
        for part in parts(path, _JOB_LAYOUT, words):
            here = part["user"] != MISSING
            pairs = np.stack((part["job"][here], part["user"][here]))
            found.append(np.unique(pairs, axis=1))
    pairs = np.concatenate(found, axis=1)
    jobs, first = np.unique(pairs[0], return_index=True)
    notes.append(
        f"the job events name {len(jobs)} jobs of {_distinct(pairs[1])} users; they serve for"
        " the user where a task event has none"
    )
    return jobs, pairs[1][first]


def _demands(tasks: Tasks, missing: str, notes: list[str]) -> tuple[Ints, Ints, Bools]:
    """Demands of cpu and memory, and which tasks stay."""
    cpu, memory = tasks.cpu, tasks.memory
    known = (cpu != MISSING) & (memory != MISSING)
    lacking = int((~known).sum())
    if not lacking:
        return cpu, memory, known
    if missing == "leave-out" or not known.any():
        left = f"missing-demands={missing}: {lacking} tasks without a demand are left out"
        notes.append(left + ("" if missing == "leave-out" else ", as no task states one"))
        return cpu, memory, known
    middle = [int(np.sort(values[known])[int(known.sum()) // 2]) for values in (cpu, memory)]
    notes.append(f"missing-demands=median: assumed for {lacking} tasks without a demand")
    cpu = np.where(cpu == MISSING, middle[0], cpu)
    memory = np.where(memory == MISSING, middle[1], memory)
    return cpu, memory, np.ones(len(cpu), dtype=np.bool_)


def _asking(
    cpu: Ints,
    memory: Ints,
    kept: Bools,
    nothing: str,
    notes: list[str],
) -> tuple[Ints, Bools]:
    """Demands of cpu and which tasks stay, after what is done with tasks that ask for nothing."""
    idle = kept & (cpu == 0) & (memory == 0)
    count = int(idle.sum())
    if not count:
        return cpu, kept
    if nothing == "leave-out":
        notes.append(f"no-demand=leave-out: {count} tasks that ask for nothing are left out")
        return cpu, kept & ~idle
    notes.append(f"no-demand=least: {count} tasks that ask for nothing ask for one unit of cpu")
    return np.where(idle, 1, cpu), kept


def _durations(
    tasks: Tasks, missing: str | int, horizon: int, options: Settings, notes: list[str]
) -> Ints:
    recorded = tasks.ended != MISSING
    durations = np.where(recorded, tasks.ended - tasks.began, MISSING)
    early = int((recorded & (tasks.began == 0)).sum())
    notes.append(
        f"{int(recorded.sum())} tasks have a recorded duration (ends={options.values['ends']});"
        f" {early} of these ran before the trace began, so theirs is what was left of it"
    )
    lacking = ~recorded
    count = int(lacking.sum())
    if not count:
        return durations
    if isinstance(missing, int):
        durations[lacking] = missing
    elif missing == "observed":
        begun = np.where(tasks.running != MISSING, tasks.running, tasks.submit)
        durations[lacking] = (horizon - begun)[lacking]
    else:
        if not recorded.any():
            raise InputError(
                "no task's run ends in these files, so no duration can be drawn",
                "give more parts, or a duration: --set missing-durations=300s",
            )
        draw = np.random.Generator(np.random.PCG64(options.whole("seed")))
        durations[lacking] = draw.choice(durations[recorded], size=count)
    notes.append(
        f"missing-durations={options.values['missing-durations']}, seed={options.values['seed']}:"
        f" assumed for {count} tasks whose run does not end in these files"
    )
    return durations


def _group_tasks(
    tasks: Tasks, user: Ints, demand: Ints, durations: Ints, gather: int, notes: list[str]
) -> JobBatch:
    """Jobs of tasks that are alike: of one job of the trace, equal in demand and flag, submitted
    within `gather`."""
    job, spread = tasks.job, tasks.different == 1
    if not len(job):
        return no_jobs(2)
    same_job = np.concatenate(([True], job[1:] != job[:-1]))
    starts = np.flatnonzero(same_job)
    earliest = np.minimum.reduceat(tasks.submit, starts)
    since = tasks.submit - np.repeat(earliest, np.diff(np.append(starts, len(job))))
    window = since // gather
    # Within a job: by window, demand and flag, then as numbered in the trace.
    order = np.lexsort((spread, demand[:, 1], demand[:, 0], window, job))
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = False
    for column in (job, window, demand[:, 0], demand[:, 1], spread):
        sorted_column = column[order]
        begins[1:] |= sorted_column[1:] != sorted_column[:-1]
    first = np.flatnonzero(begins)
    submit = np.minimum.reduceat(tasks.submit[order], first)
    sizes = np.diff(np.append(first, len(order)))
    moved = tasks.submit[order] - np.repeat(submit, sizes)
    group_job = job[order][first]
    lead = np.concatenate(([True], group_job[1:] != group_job[:-1]))
    number = np.arange(len(first)) - np.maximum.accumulate(np.where(lead, np.arange(len(first)), 0))
    notes.append(
        f"{len(first)} jobs here, from {int(lead.sum())} of the trace: tasks of a job that ask for"
        f" different amounts, or come later than gather={gather / SECOND:g}s, are jobs of their"
        f" own; {int((moved > 0).sum())} tasks come earlier than recorded, by at most"
        f" {int(moved.max()) / SECOND:g} s"
    )
    stream = np.argsort(submit, kind="stable")
    places = np.repeat(first[stream] - _before(sizes[stream]), sizes[stream])
    within = order[places + np.arange(len(order))]
    return plain_batch(
        submit[stream],
        demand[order][first][stream],
        sizes[stream],
        durations[within],
        first=np.concatenate(([0], np.cumsum(sizes[stream]))),
        tenant=user[order][first][stream],
        spread=spread[order][first][stream],
        names=tuple(
            f"{name}.{copy}" if copy else str(name)
            for name, copy in zip(group_job[stream].tolist(), number[stream].tolist(), strict=True)
        ),
    )


def _before(sizes: Ints) -> Ints:
    """The number of tasks that the jobs before each have together."""
    return np.cumsum(sizes) - sizes


FORMAT = Format(
    name="google-2011",
    title="Google cluster trace of May 2011: machine_events, task_events, job_events",
    options=OPTIONS,
    role=role,
    load=load,
)
