"""Many waiting jobs, all different, on many machines: to measure the speed of the scheduler."""

from __future__ import annotations

from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.study import Study, build


def generate(
    *,
    name: str = "overload",
    machines: int = 12_500,
    jobs: int = 10_000,
    each: int = 200,
    times: str = "exponential",
    mean: float = 600.0,
    alpha: float = 1.9,
    vary: float = 0.2,
    constraints: str = "sharma",
    distinct: bool = True,
    trace: str = "",
    seed: int = 0,
) -> Workload:
    """Jobs with many tasks each that all wait from the start, more than the machines can hold."""
    return build(
        Study(
            name=name,
            seed=seed,
            machines=machines,
            jobs=jobs,
            each=each,
            times=times,
            mean=mean,
            alpha=alpha,
            vary=vary,
            constraints=constraints,
            distinct=distinct,
            trace=trace,
        )
    )
