"""Microsoft's Philly GPU jobs of 2017: durations, GPUs and virtual clusters."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairlead.simulation.traces.build import jobs_of_one_task, no_machines, workload_of
from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.options import SECOND, Option, Settings
from fairlead.simulation.traces.public.machine_lists import GPU
from fairlead.simulation.traces.tables import Column, Kind, Layout, Vocabulary, read_rows
from fairlead.simulation.workload import Ints, JobBatch, Workload

OPTIONS = (
    Option(
        "task",
        "gpu",
        "`gpu`: a job of n GPUs is n tasks of one GPU that start together (a gang); `job`: it is"
        " one task of n GPUs, which must be on one machine",
    ),
)

HEADER = ["timestamp", "duration", "num_gpus", "gpu_time", "cluster"]

_LAYOUT = Layout(
    (
        Column("timestamp", Kind.MOMENT),
        Column("duration", Kind.AMOUNT, unit=Fraction(1, SECOND)),
        Column("num_gpus", Kind.WHOLE, most=2**20),
        Column("cluster", Kind.TEXT),
    )
)


def role(line: str) -> str | None:
    """Whether the header is that of the table."""
    return "jobs" if line.split(",") == HEADER else None


def load(files: Files, options: Settings) -> Workload:
    """The workload: virtual clusters are tenants; no machines."""
    whole = options.choice("task", ("gpu", "job")) == "job"
    words = {"cluster": Vocabulary()}
    rows = read_rows(files["jobs"], _LAYOUT, words)
    count = len(rows["timestamp"])
    start = int(rows["timestamp"].min()) if count else 0
    gpus = rows["num_gpus"]
    demand = (gpus if whole else np.ones(count, dtype=np.int64)) * GPU.piece
    single = jobs_of_one_task(
        None, rows["timestamp"] - start, demand[:, None], rows["duration"], rows["cluster"]
    )
    jobs = single if whole else _gangs(single, gpus[np.argsort(rows["timestamp"], kind="stable")])
    moment = np.datetime64(start, "us").astype("datetime64[s]")
    notes = (
        (
            f"found {count} jobs of {len(words['cluster'].texts)} virtual clusters, which are"
            f" tenants; time 0 is {str(moment).replace('T', ' ')}"
        ),
        "task=job: a job of n GPUs is one task"
        if whole
        else "task=gpu: a job of n GPUs is a gang of n tasks, each with one GPU",
        "missing: machines, constraints, and every resource but GPUs",
    )
    clusters = words["cluster"].texts
    return workload_of(FORMAT.name, (GPU,), no_machines(1), jobs, options, notes, clusters)


def _gangs(jobs: JobBatch, gpus: Ints) -> JobBatch:
    """The jobs with as many tasks as GPUs, which start together and all take the job's time."""
    return replace(jobs, tasks=gpus, gang=np.maximum(gpus, 1))


FORMAT = Format(
    name="philly-2017",
    title="Microsoft's Philly GPU jobs of 2017: one table of jobs",
    options=OPTIONS,
    role=role,
    load=load,
)
