"""The jobs and machines of Google's first hour, with task times by one of three rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairlead.simulation.workload import Floats, Workload
from fairlead.simulation.workloads.draws import (
    SECOND,
    Shape,
    Stream,
    Times,
    microseconds,
    numbers,
    quantile_mean,
)
from fairlead.simulation.workloads.first_hour import TASK_TIMES
from fairlead.simulation.workloads.registry import generate
from fairlead.studies.clusters import google

SAMPLED, RECORDED, ONE = "10,000 jobs", "the hour itself", "one time a job"
RULES = {
    SAMPLED: "each task's time is drawn from those of 10,000 jobs of the whole trace",
    RECORDED: "each task's time is drawn from those of the hour's tasks, from schedule to finish,"
    " of which those that the file does not see finish are left out",
    ONE: "all tasks of a job take the same time, drawn as in the first",
}
"""Where task times come from: the paper does not say."""
TIMES = Times(Shape.QUANTILES, quantiles=TASK_TIMES)


class Case(NamedTuple):
    """A repetition: a seed, and by which rule tasks take their times."""

    rule: str
    seed: int
    trace: str
    jobs: int
    machines: int
    tasks: int
    recorded: tuple[float, ...]
    """Quantiles of the times of the hour's tasks, in seconds."""


def recorded_times(folder: Path) -> Floats:
    """Times of the hour's tasks, from schedule to finish, in seconds."""
    batches = google(folder).batches()
    found: Floats = np.concatenate([batch.durations for batch in batches]) / SECOND
    return found


def workload_of(case: Case) -> Workload:
    """The hour's jobs with constraints, on machines drawn from the trace's."""
    size = f"jobs={case.jobs}, machines={case.machines}, tasks={case.tasks}"
    work = generate(f"tsf-study({size}, trace={case.trace}, times=google, mean=0)", case.seed)
    if case.rule == SAMPLED:
        return work
    draw = numbers(case.seed, Stream.TIMES)
    batches = []
    for batch in work.batches():
        if case.rule == RECORDED:
            chances = np.linspace(0, 1, len(case.recorded))
            times = np.interp(draw.random(int(batch.tasks.sum())), chances, case.recorded)
        else:
            one_each = TIMES.factors(len(batch), draw) * quantile_mean(TASK_TIMES)
            times = np.repeat(one_each, batch.tasks)
        first = np.concatenate([[0], np.cumsum(batch.tasks)])
        batches.append(replace(batch, durations=microseconds(times), first=first))
    return replace(work, batches=lambda: iter(batches))
