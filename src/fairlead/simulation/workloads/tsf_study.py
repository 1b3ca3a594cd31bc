"""The simulation of TSF section VI.B: 180,000 tasks of 4,500 jobs on 1,000 machines."""

from __future__ import annotations

from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.study import Study, build


def generate(
    *,
    name: str = "tsf-study",
    machines: int = 1000,
    jobs: int = 4500,
    tasks: int = 180_000,
    span: float = 3600.0,
    times: str = "constant",
    mean: float = 3600.0,
    alpha: float = 1.9,
    vary: float = 0.2,
    constraints: str = "sharma",
    trace: str = "",
    seed: int = 0,
) -> Workload:
    """TSF VI.B: jobs after one hour of Google's trace, with constraints, on 1,000 machines.

    Jobs come evenly over the hour: the paper says that they were submitted within one hour.
    """
    return build(
        Study(
            name=name,
            seed=seed,
            machines=machines,
            jobs=jobs,
            tasks=tasks,
            at_start=0.0,
            span=span,
            times=times,
            mean=mean,
            alpha=alpha,
            vary=vary,
            constraints=constraints,
            trace=trace,
        )
    )
