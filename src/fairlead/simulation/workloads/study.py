"""Parts that generators after Google's trace share: its machines, its jobs, constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fairlead.model.errors import InputError
from fairlead.model.values import FrozenMap
from fairlead.simulation.workload import Bools, Ints, Workload
from fairlead.simulation.workloads.constraints import constraints_of, runnable
from fairlead.simulation.workloads.draws import Stream, Times, numbers, quantile_mean, shape_of
from fairlead.simulation.workloads.first_hour import (
    COUNTED,
    TASK_TIMES,
    arrivals,
    counts,
    draw_jobs,
    to_total,
)
from fairlead.simulation.workloads.jobs import Jobs, load, needs_of, stream
from fairlead.simulation.workloads.machines import RESOURCES, UNIT, sample, table

OWN = UNIT // 10_000
"""Units behind the fourth digit: what a job has of its own where all jobs differ."""

DAY = 86_400.0
"""Seconds."""


@dataclass(frozen=True)
class Study:
    """A workload after Google's trace. A user may write most of this, and `after_google` says
    which generator takes what: names, types and defaults are those of here."""

    name: str
    machines: int
    jobs: int
    tasks: int = 0  # in all; 0: as drawn
    each: int = 0  # tasks of every job; 0: as drawn
    at_start: float | None = None  # the part of the jobs that is there at time 0; None: as counted
    span: float = 3600.0  # seconds in which the others come
    days: float = 0.0  # in which the others come, instead of the span; 0: it is the span
    times: str = "google"
    mean: float = 0.0  # seconds; 0: that of the times, or by the load
    load: float = 0.0  # 0: by the mean
    alpha: float = 1.9
    vary: float = 0.2
    constraints: str = "sharma"
    least: float = 0.0001  # of each resource, in parts of the largest machine
    distinct: bool = False
    nodes: str = ""
    trace: str = ""
    seed: int = 0

    @property
    def seconds(self) -> float:
        """The time in which jobs come."""
        return self.days * DAY or self.span

    @property
    def first(self) -> float:
        """The part of the jobs that is there at time 0."""
        return counts().at_start if self.at_start is None else self.at_start


def build(study: Study) -> Workload:
    """The workload of the study, with notes on all that was assumed."""
    _check(study)
    seed, kinds = study.seed, constraints_of(study.constraints)
    machines = sample(study.machines, study.nodes, seed)
    attributes = kinds.attributes(study.machines, seed)
    drawn = draw_jobs(study.jobs, study.trace, seed)
    asked = np.rint(drawn.demand * UNIT).astype(np.int64)
    least = max(round(study.least * UNIT), 1 if study.distinct else 0)
    units = np.maximum(asked, least)
    if study.distinct:
        units = -(-units // OWN) * OWN
    needs = kinds.needs(study.jobs, seed)
    can = runnable(needs, units, attributes, machines.capacity)
    other = _others(can, seed)
    units = units[other] - _own(study.jobs) if study.distinct else units[other]
    jobs = Jobs(
        submit=arrivals(study.jobs, study.first, study.seconds, seed),
        demand=units,
        tasks=_sizes(study, drawn.tasks),
        mean=np.ones(study.jobs),
        needs=needs_of(needs[other], len(kinds.terms)),
        spread=drawn.spread[other],
    )
    times = Times(shape_of(study.times), study.vary, study.alpha, TASK_TIMES)
    loads = load(jobs, machines.capacity.sum(0), study.seconds)
    mean = study.load / float(loads.max()) if study.load else study.mean
    mean = mean or quantile_mean(TASK_TIMES)
    jobs = replace(jobs, mean=jobs.mean * mean)
    cpu, memory = (loads * mean).tolist()
    offered = f"Load, Σ tasks × demand × mean time ÷ (capacity × {study.seconds:g} s)"
    notes = (
        _source(study),
        machines.note,
        kinds.note,
        _least(study, int((asked < least).any(1).sum())),
        _replaced(int((~can).sum()), study.jobs),
        f"Task times: {_times(study)}, with a mean of {mean:.6g} s.",
        f"{offered}: cpu {cpu:.4f}, memory {memory:.4f}; a load that is asked for is the larger.",
        *_more(study),
    )
    return Workload(
        name=study.name,
        resources=RESOURCES,
        machines=table(machines.capacity, attributes, kinds.names, machines.platforms),
        terms=kinds.terms,
        batches=stream(jobs, times, seed),
        notes=notes,
        jobs=study.jobs,
        tasks=int(jobs.tasks.sum()),
        options=FrozenMap(_options(study) | {"mean": f"{mean:.6g}"}),
    )


def _check(study: Study) -> None:
    about = f"`{study.name}`"
    if study.jobs < 1:
        raise InputError(f"{about}: {study.jobs} jobs", "write at least 1")
    if study.distinct and study.jobs > OWN * OWN:
        raise InputError(
            f"{about}: {study.jobs} jobs cannot all differ",
            f"write at most {OWN * OWN}, or distinct=false",
        )
    if study.load and study.mean:
        raise InputError(f"{about} has a mean and a load", "write one of them")
    if min(study.load, study.mean, study.days) < 0 or study.seconds <= 0:
        raise InputError(f"{about}: a negative time or load", "write more than 0")
    if not 0 <= study.least <= 1:
        raise InputError(f"{about}: least={study.least:g}", "write from 0 to 1")


def _others(can: Bools, seed: int) -> Ints:
    """For each job its own number, or that of another one where no machine can run it."""
    if not can.any():
        raise InputError(
            "no machine can run any of the jobs", "draw more machines, or another seed"
        )
    draw = numbers(seed, Stream.OTHER)
    instead = draw.choice(np.flatnonzero(can), len(can))
    return np.where(can, np.arange(len(can)), instead)


def _own(jobs: int) -> Ints:
    """Amounts that each job asks less than others with the same four digits: a pair of its own."""
    number = np.arange(jobs)
    return np.stack([number % OWN, number // OWN], 1)


def _sizes(study: Study, tasks: Ints) -> Ints:
    if study.each:
        return np.full(study.jobs, study.each)
    if not study.tasks:
        return tasks
    try:
        return to_total(tasks, study.tasks)
    except ValueError as error:
        raise InputError(f"`{study.name}`: {error}", "write more tasks, or fewer jobs") from error


def _source(study: Study) -> str:
    where = f"the file {Path(study.trace).name}" if study.trace else "published counts"
    return f"Job sizes, demands and spread are those of the first hour of {COUNTED}, from {where}."


def _times(study: Study) -> str:
    match study.times:
        case "google":
            return "quantiles of 10,000 jobs of the trace (GOOG_subtrace.tr of megha)"
        case "pareto":
            return f"Pareto with alpha={study.alpha:g}"
        case "uniform":
            return f"within {study.vary:.0%} of the mean"
        case _:
            return study.times


def _replaced(jobs: int, among: int) -> str:
    return (
        f"{jobs} of {among} jobs could run on no machine: they have the demand, the constraints "
        "and the spread of another job."
    )


def _least(study: Study, jobs: int) -> str:
    return (
        f"{jobs} of {study.jobs} jobs would ask for less than {study.least:g} of a resource, or "
        f"for none: they ask for so much (least={study.least:g})."
    )


def _more(study: Study) -> tuple[str, ...]:
    come = f"{study.first:.2%} of the jobs are there at time 0, the others come evenly at random"
    notes = ["Each job is its own tenant.", "Times of tasks do not depend on the job."]
    notes.append(f"{come} over {study.seconds:g} s.")
    if not study.trace and not study.each:
        notes.append(
            "Demands depend on the size of the job by five classes of size only; within a class "
            "they follow the quantiles and the rank correlation that were counted."
        )
    if study.tasks and not study.each:
        notes.append(f"Jobs of more than 10 tasks are scaled so that there are {study.tasks}.")
    if study.each:
        notes.append(f"Every job has {study.each} tasks (each={study.each}).")
    if study.distinct:
        notes.append(
            "Demands keep four digits, rounded up; what each job asks less than that is its own, "
            "so that no two jobs have the same demands."
        )
    return tuple(notes)


def _options(study: Study) -> dict[str, str]:
    """The assumptions where the trace says nothing."""
    return {
        "times": study.times,
        "constraints": study.constraints,
        "at_start": f"{study.first:g}",
        "span": f"{study.seconds:g}",
        "least": f"{study.least:g}",
    }
