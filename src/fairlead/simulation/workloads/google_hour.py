"""Jobs after the first hour of Google's 2011 trace on machines after its configurations."""

from __future__ import annotations

from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.first_hour import HOUR, counts
from fairlead.simulation.workloads.study import Study, build


def generate(
    *,
    name: str = "google-hour",
    machines: int = 12477,
    jobs: int = 4616,
    tasks: int = 0,
    times: str = "google",
    mean: float = 0.0,
    load: float = 0.0,
    alpha: float = 1.9,
    vary: float = 0.2,
    constraints: str = "sharma",
    distinct: bool = False,
    nodes: str = "",
    trace: str = "",
    seed: int = 0,
) -> Workload:
    """Jobs after the first hour of Google's 2011 trace: sizes, demands, spread and arrivals."""
    return build(
        Study(
            name=name,
            seed=seed,
            machines=machines,
            jobs=jobs,
            tasks=tasks,
            at_start=counts().at_start,
            span=HOUR,
            times=times,
            mean=mean,
            load=load,
            alpha=alpha,
            vary=vary,
            constraints=constraints,
            distinct=distinct,
            nodes=nodes,
            trace=trace,
        )
    )
