"""Workloads of studies in a line a job, and when the jobs of a run were over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.state.terms import Listed
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.sinks import Kept
from fairlead.simulation.workload import Ints, Resource, Workload, always_there, plain_batch
from fairlead.simulation.workloads.draws import SECOND, Shape, Stream, Times, microseconds, numbers

VARIED = Times(Shape.UNIFORM, vary=0.2)
"""Task times of TSF's experiments: within 20% of the mean."""


@dataclass(frozen=True)
class Load:
    """A job of a study's workload: `demand` in the resources' units, `mean` and `start` in seconds;
    `on`: the machines that it may use, if not all."""

    name: str
    tasks: int
    demand: tuple[int, ...]
    mean: float
    start: float = 0.0
    on: tuple[str, ...] | None = None
    tenant: Tenant | None = None
    times: Times = VARIED


def workload(
    name: str,
    resources: tuple[Resource, ...],
    machines: Sequence[str],
    capacity: Ints,
    jobs: Sequence[Load],
    seed: int,
) -> Workload:
    """The workload of these jobs, each with task times of its own, drawn with the seed."""
    jobs = sorted(jobs, key=lambda job: job.start)
    lists = list(dict.fromkeys(job.on for job in jobs if job.on is not None))
    tenants = tuple(job.tenant for job in jobs if job.tenant is not None)
    durations = [
        microseconds(job.times.factors(job.tasks, numbers(seed, Stream.TIMES, at)) * job.mean)
        for at, job in enumerate(jobs)
    ]
    needs = [0 if job.on is None else 1 << lists.index(job.on) for job in jobs]
    batch = plain_batch(
        names=tuple(job.name for job in jobs),
        submit=microseconds(np.array([job.start for job in jobs])),
        tenant=np.array([-1 if job.tenant is None else tenants.index(job.tenant) for job in jobs]),
        demand=np.array([job.demand for job in jobs]),
        tasks=np.array([job.tasks for job in jobs]),
        needs=np.array(needs, np.uint64)[:, None],
        durations=np.concatenate(durations),
        first=np.concatenate([[0], np.cumsum([len(times) for times in durations])]),
    )
    return Workload(
        name=name,
        resources=resources,
        machines=always_there(tuple(machines), (FrozenMap(),) * len(machines), capacity),
        tenants=tenants,
        terms=tuple(Listed(frozenset(some)) for some in lists),
        batches=lambda: iter((batch,)),
        jobs=len(jobs),
        tasks=sum(job.tasks for job in jobs),
    )


def completions(work: Workload, placement: str | None = None) -> dict[str, float]:
    """Seconds from submission to completion of each job of a run under TSF, by its name."""
    kept = Kept(tasks=False)
    simulate(work, policy="tsf", placement=placement, sinks=(kept,))
    done = kept.jobs_kept
    took = (done.completed - done.submitted) / SECOND
    return {kept.names[n]: float(t) for n, t in zip(done.number.tolist(), took, strict=True)}


def by_name(runs: Iterable[dict[str, float]], name: str) -> list[float]:
    """A job's number in each of the runs."""
    return [run[name] for run in runs]
