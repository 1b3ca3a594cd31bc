"""The simulation of Choosy section 7.1: one resource, 300 jobs in an hour on 1,000 machines."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.model.errors import InputError
from fairlead.model.values import FrozenMap
from fairlead.simulation.workload import Resource, Workload
from fairlead.simulation.workloads.constraints import constraints_of, runnable
from fairlead.simulation.workloads.draws import Stream, Times, numbers, shape_of
from fairlead.simulation.workloads.facebook import FACEBOOK, LARGEST, job_sizes
from fairlead.simulation.workloads.first_hour import TASK_TIMES, arrivals
from fairlead.simulation.workloads.jobs import Jobs, needs_of, stream
from fairlead.simulation.workloads.machines import table


def generate(
    *,
    name: str = "choosy-study",
    machines: int = 1000,
    jobs: int = 300,
    slots: int = 1,
    span: float = 3600.0,
    sample: str = "2009_1",
    largest: int = LARGEST,
    times: str = "pareto",
    alpha: float = 1.9,
    vary: float = 0.2,
    load: float = 1.0,
    mean: float = 0.0,
    constraints: str = "sharma",
    seed: int = 0,
) -> Workload:
    """Choosy 7.1: jobs of Facebook's sizes with constraints, one task a machine.

    The paper does not say how long tasks take: their mean follows from the load, or is given.
    """
    _check(name, machines, jobs, slots, span, load, mean)
    kinds = constraints_of(constraints)
    attributes = kinds.attributes(machines, seed)
    capacity = np.full((machines, 1), slots)
    demand = np.ones((jobs, 1), np.int64)
    needs = kinds.needs(jobs, seed)
    can = runnable(needs, demand, attributes, capacity)
    if not can.any():
        raise InputError(f"`{name}`: no machine can run any of the jobs", "draw more")
    instead = numbers(seed, Stream.OTHER).choice(np.flatnonzero(can), jobs)
    tasks = job_sizes(jobs, sample, largest, seed)
    if load:
        mean = load * machines * slots * span / int(tasks.sum())
    offered = int(tasks.sum()) * mean / (machines * slots * span)
    made = Jobs(
        submit=arrivals(jobs, 0.0, span, seed),
        demand=demand,
        tasks=tasks,
        mean=np.full(jobs, mean),
        needs=needs_of(np.where(can, needs, needs[instead]), len(kinds.terms)),
    )
    return Workload(
        name=name,
        resources=(Resource("slot", Fraction(1)),),
        machines=table(capacity, attributes, kinds.names, ("",) * machines),
        terms=kinds.terms,
        batches=stream(made, Times(shape_of(times), vary, alpha, TASK_TIMES), seed),
        notes=(
            "Machines, jobs and the hour are those of Choosy section 7.1; each job is a user.",
            f"Job sizes are those of sample {sample} of SWIM's Facebook traces, at most {largest}.",
            FACEBOOK,
            kinds.note,
            f"{int((~can).sum())} of {jobs} jobs could run on no machine: they have others' needs.",
            f"Jobs come evenly at random over {span:g} s: the paper does not say how they come.",
            f"Task times: {times} (alpha={alpha:g}, after Choosy 6.2) with a mean of {mean:.6g} s.",
            f"Load, Σ tasks × mean time ÷ (slots × {span:g} s): {offered:.4f}.",
        ),
        jobs=jobs,
        tasks=int(tasks.sum()),
        options=FrozenMap(
            {
                "sample": sample,
                "largest": str(largest),
                "times": times,
                "alpha": f"{alpha:g}",
                "mean": f"{mean:.6g}",
                "constraints": constraints,
            }
        ),
    )


def _check(
    name: str, machines: int, jobs: int, slots: int, span: float, load: float, mean: float
) -> None:
    if min(machines, jobs, slots) < 1:
        raise InputError(f"`{name}` without machines, jobs or slots", "write at least 1")
    if span <= 0 or min(load, mean) < 0:
        raise InputError(f"`{name}`: a negative time or load", "write more than 0")
    if bool(load) == bool(mean):
        raise InputError(
            f"`{name}` has both or none of load and mean", "write load=0 to give a mean"
        )
