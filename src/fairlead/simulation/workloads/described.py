"""A cluster and its jobs as people describe them, with arrivals and durations, as a workload."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from fairlead.files import load
from fairlead.model.errors import InputError, Mistake, Mistakes
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.quantity import exact
from fairlead.model.times import Shape, Times, read_duration, typical
from fairlead.model.tree import parents_first
from fairlead.model.values import FrozenMap
from fairlead.model.words import counted
from fairlead.scheduling.state.ids import Ids, most_pieces
from fairlead.scheduling.state.terms import Term, needed_by, terms_of
from fairlead.simulation.traces import on_cluster
from fairlead.simulation.traces.build import bits
from fairlead.simulation.traces.options import SECOND, Option, Settings, settings
from fairlead.simulation.workload import Bools, Floats, Ints, JobBatch, Resource, Words, Workload
from fairlead.simulation.workloads.draws import LONGEST, Stream, microseconds, numbers

BATCH = 4096
"""Jobs in a batch."""

MOST_ARRIVALS = 10_000_000
"""Times that jobs come, all together."""

P90 = 1.2815515655446004
"""Standard deviations from the median to what nine of ten do not exceed."""

NONE = ""
OPTIONS = (
    Option("duration", NONE, "how long a task takes of a job that does not say it"),
    Option("tasks", NONE, "how many tasks a job has that does not say it"),
    Option("span", "24h", "until when jobs with `every` come that have no `repeat`"),
)


def is_described(words: Sequence[str]) -> bool:
    """Whether these are files in which people describe machines and jobs, or folders of them."""
    return all(map(on_cluster.is_described, words))


def read_described(words: Sequence[str], given: Mapping[str, str], seed: int) -> Workload:
    """The workload that the files describe. What is drawn is drawn by the seed. Raises InputError
    with every job that lacks what a simulation needs."""
    options = settings(OPTIONS, given, "YAML")
    cluster, jobs = load(
        *words, check=lambda cluster, jobs: _mistakes(cluster, jobs, options.values)
    )
    if not cluster.machines:
        raise InputError(
            f"{' '.join(words)}: no machines in it", "give the file of the cluster, too"
        )
    complete, notes = _with_defaults(jobs, options)
    drawn = [job for job in complete if Times in (type(job.duration), type(job.every))]
    if drawn:
        notes.append(f"times of {counted(len(drawn), 'job')} are drawn (seed {seed})")
    return described(
        " ".join(words),
        cluster,
        complete,
        notes=notes,
        told=[typical(job.duration) for job in jobs],
        span=options.span("span"),
        seed=seed,
        options=FrozenMap({key: value for key, value in options.values.items() if value}),
    )


def _mistakes(cluster: Cluster, jobs: Sequence[Job], given: Mapping[str, str]) -> Iterator[Mistake]:
    """Mistakes: facts that a simulation needs and nobody says, and uncountable amounts."""
    for job in jobs:
        about = ("job", job.name)
        if job.tasks is None and not given["tasks"]:
            yield Mistake(
                "it has no tasks, and without a number of them its simulation would not end",
                "write for example tasks: 100, or give --set tasks=100 for all that have none",
                about=about,
            )
        if job.duration is None and not given["duration"]:
            yield Mistake(
                "it has no duration, so nobody knows how long its tasks take",
                "write for example duration: 10m or duration: {median: 10m, p90: 1h}, or give"
                " --set duration=10m for all that have none",
                about=about,
            )
    ids = Ids(on_cluster.units_of(cluster, jobs))
    found = Mistakes()
    for machine in cluster.machines:
        found.attempt((), ids.capacity, on_cluster.only(machine, ids.units), most_pieces(ids.units))
    for job in jobs:
        found.attempt((), ids.demand, job)
    yield from found


def described(
    name: str,
    cluster: Cluster,
    jobs: Sequence[Job],
    *,
    notes: Sequence[str] = (),
    told: Sequence[Fraction | None] | None = None,
    lasted: Sequence[Ints] | None = None,
    span: int = 0,
    seed: int = 0,
    options: FrozenMap[str] = FrozenMap(),
) -> Workload:
    """The workload of this cluster and these jobs, which all say how many tasks they have.

    `told`: how long the scheduler expects the tasks of each job to take; if nothing is said, as
    long as the job says. `lasted`: for each job the times of its tasks (microseconds), where they
    are known and not to be drawn. Raises InputError."""
    units = on_cluster.units_of(cluster, jobs)
    ids = Ids(units)
    terms = tuple(dict.fromkeys(t for job in jobs for t in (*needed_by(job), *_liked(job))))
    expected = told or [typical(job.duration) for job in jobs]
    arrivals = _arrivals(jobs, span, seed)
    tenants = parents_first(cluster.tenants)
    owner = {tenant.name: place for place, tenant in enumerate(tenants)}
    numbered = {term: place for place, term in enumerate(terms)}
    kinds = _Kinds(
        jobs=jobs,
        submit=arrivals,
        tenant=np.array([owner.get(job.tenant or "", -1) for job in jobs], np.int64),
        demand=np.array([ids.demand(job) for job in jobs], np.int64),
        tasks=np.array([int(job.tasks or 0) for job in jobs], np.int64),
        needs=bits([[numbered[t] for t in needed_by(job)] for job in jobs], len(terms)),
        prefers=bits([[numbered[t] for t in _liked(job)] for job in jobs], len(terms)),
        spread=np.array([job.spread for job in jobs], np.bool_),
        gang=np.array([job.gang for job in jobs], np.int64),
        patience=np.array([_microseconds(job.prefer_for) for job in jobs], np.int64),
        expected=np.array([_microseconds(each) for each in expected], np.int64),
        lasted=lasted,
    )
    return Workload(
        name=name,
        resources=tuple(Resource(unit.name, unit.unit, unit.piece) for unit in units),
        machines=on_cluster.machine_table(cluster, units),
        tenants=tenants,
        terms=terms,
        batches=lambda: _batches(kinds, seed),
        notes=tuple(notes),
        jobs=len(arrivals.kind),
        tasks=int(kinds.tasks[arrivals.kind].sum()),
        options=options,
    )


def _with_defaults(jobs: Sequence[Job], options: Settings) -> tuple[list[Job], list[str]]:
    """The jobs with what was given for those that do not say it, and sentences on that."""
    notes = []
    defaults: dict[str, str] = {}
    for key in ("tasks", "duration"):
        lack = sum(getattr(job, key) is None for job in jobs)
        if lack:
            defaults[key] = options.values[key]
            notes.append(f"{counted(lack, 'job')} without {key}: {key}={options.values[key]}")
    early = sum(job.arrive is None for job in jobs)
    if early:
        notes.append(f"{counted(early, 'job')} without arrive: there from the start")
    endless = sum(job.every is not None and job.repeat is None for job in jobs)
    if endless:
        span = options.values["span"]
        notes.append(f"{counted(endless, 'job')} with every and without repeat: until span={span}")
    tasks, duration = defaults.get("tasks"), defaults.get("duration")
    complete = [job if job.tasks else replace(job, tasks=exact(tasks or "")) for job in jobs]
    if duration is not None:
        time = read_duration(duration)
        complete = [job if job.duration else replace(job, duration=time) for job in complete]
    return complete, notes


@dataclass(frozen=True)
class _Arrivals:
    """Jobs as they come: which (an index), when (microseconds), and for the how-many-eth time."""

    kind: Ints
    time: Ints
    number: Ints


@dataclass(frozen=True)
class _Kinds:
    """The jobs of the files, each of which comes once or again and again, in arrays."""

    jobs: Sequence[Job]
    submit: _Arrivals
    tenant: Ints
    demand: Ints
    tasks: Ints
    needs: Words
    prefers: Words
    spread: Bools
    gang: Ints
    patience: Ints
    expected: Ints
    lasted: Sequence[Ints] | None


def _arrivals(jobs: Sequence[Job], span: int, seed: int) -> _Arrivals:
    """All arrivals in the order of their times; those of one moment as the files have them."""
    times = [_times_of(job, span, numbers(seed, Stream.ARRIVALS, i)) for i, job in enumerate(jobs)]
    if sum(map(len, times)) > MOST_ARRIVALS:
        raise InputError(
            f"jobs come more than {MOST_ARRIVALS:,} times",
            "write less for repeat, or a shorter span",
        )
    kind = np.repeat(np.arange(len(jobs)), [len(each) for each in times])
    number = np.concatenate([np.zeros(0, np.int64), *(np.arange(1, len(t) + 1) for t in times)])
    time = np.concatenate([np.zeros(0, np.int64), *times])
    order = np.argsort(time, kind="stable")
    return _Arrivals(kind[order], time[order], number[order])


def _times_of(job: Job, span: int, draw: np.random.Generator) -> Ints:
    first = _microseconds(job.arrive)
    if job.every is None:
        return np.array([first])
    most = MOST_ARRIVALS + 1
    if isinstance(job.every, Fraction):
        every = max(1, _microseconds(job.every))
        count = job.repeat or max(1, (span - first) // every + 1)
        return first + every * np.arange(min(count, most))
    if job.repeat is not None:
        gaps = microseconds(draw_times(job.every, min(job.repeat, most) - 1, draw))
        return first + np.concatenate([np.zeros(1, np.int64), np.cumsum(gaps)])
    found = np.array([first])
    while found[-1] <= span and len(found) < most:
        gaps = microseconds(draw_times(job.every, len(found) + 100, draw))
        found = np.concatenate([found, found[-1] + np.cumsum(gaps)])
    return found[: max(1, int(np.searchsorted(found, span, "right")))]


def _batches(kinds: _Kinds, seed: int) -> Iterator[JobBatch]:
    """The arrivals in batches, with the times of their tasks."""
    for part, start in enumerate(range(0, len(kinds.submit.kind), BATCH)):
        here = slice(start, start + BATCH)
        kind, draw = kinds.submit.kind[here], numbers(seed, Stream.TIMES, part)
        durations = [
            _durations(kinds.jobs[each], draw) if kinds.lasted is None else kinds.lasted[each]
            for each in kind.tolist()
        ]
        yield JobBatch(
            names=tuple(
                _name(kinds.jobs[each], number)
                for each, number in zip(
                    kind.tolist(), kinds.submit.number[here].tolist(), strict=True
                )
            ),
            submit=kinds.submit.time[here],
            tenant=kinds.tenant[kind],
            demand=kinds.demand[kind],
            tasks=kinds.tasks[kind],
            needs=kinds.needs[kind],
            spread=kinds.spread[kind],
            gang=kinds.gang[kind],
            durations=np.concatenate(durations),
            first=np.concatenate([[0], np.cumsum([len(each) for each in durations])]),
            prefers=kinds.prefers[kind] if kinds.patience.any() else None,
            patience=kinds.patience[kind] if kinds.patience.any() else None,
            expected=kinds.expected[kind] if kinds.expected.any() else None,
        )


def _durations(job: Job, draw: np.random.Generator) -> Ints:
    """The times of its tasks, or the one of all."""
    if isinstance(job.duration, Times):
        return microseconds(draw_times(job.duration, int(job.tasks or 0), draw))
    return np.array([max(1, _microseconds(job.duration))])


def draw_times(times: Times, count: int, draw: np.random.Generator) -> Floats:
    """So many times in seconds."""
    low, *high = map(float, times.numbers)
    match times.shape:
        case Shape.EXPONENTIAL:
            return low * draw.exponential(1.0, count)
        case Shape.LOGNORMAL:
            return low * np.exp(math.log(high[0] / low) / P90 * draw.standard_normal(count))
        case Shape.UNIFORM:
            return draw.uniform(low, high[0], count)


def _name(job: Job, number: int) -> str:
    return job.name if job.every is None else f"{job.name}.{number}"


def _liked(job: Job) -> tuple[Term, ...]:
    """The terms that it prefers."""
    return terms_of(job.prefer, None, ())


def _microseconds(seconds: Fraction | None) -> int:
    """The nearest whole number; 0 where nothing is said."""
    return 0 if seconds is None else min(round(seconds * SECOND), LONGEST)
