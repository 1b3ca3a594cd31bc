"""A month of the size of Google's 2011 trace: 25 million tasks of 670,000 jobs."""

from __future__ import annotations

from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.study import Study, build

DAY = 86_400.0
"""Seconds."""


def generate(
    *,
    name: str = "month",
    machines: int = 12_500,
    jobs: int = 670_000,
    tasks: int = 25_000_000,
    days: float = 29.0,
    load: float = 1.1,
    times: str = "pareto",
    alpha: float = 1.9,
    vary: float = 0.2,
    constraints: str = "sharma",
    distinct: bool = True,
    trace: str = "",
    seed: int = 0,
) -> Workload:
    """Jobs after the trace's first hour, all different, for a month at a given load.

    The mean time of tasks follows from the load of the scarcest resource.
    """
    return build(
        Study(
            name=name,
            seed=seed,
            machines=machines,
            jobs=jobs,
            tasks=tasks,
            at_start=0.0,
            span=days * DAY,
            times=times,
            load=load,
            alpha=alpha,
            vary=vary,
            constraints=constraints,
            distinct=distinct,
            trace=trace,
        )
    )
