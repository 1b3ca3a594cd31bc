"""A run: a workload through the online core, by the compiled event loop, measured by sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter

from fairlead.compiling import report_compiling, time_compiling
from fairlead.simulation.engine.driver import Driver
from fairlead.simulation.engine.options import Options
from fairlead.simulation.engine.pace import Pace
from fairlead.simulation.engine.progress import progress as shown
from fairlead.simulation.engine.progress import remark
from fairlead.simulation.measure.distances import Distances
from fairlead.simulation.measure.result import Result
from fairlead.simulation.measure.sinks import RunInfo, Sink, telling
from fairlead.simulation.workload import Workload


def compile_all(told: Callable[[int, int], None] = lambda _done, _total: None) -> None:
    """Compiles what every run needs, which is kept for other processes: by a small run. `told`
    hears again and again how many of about how many functions are there."""
    from fairlead.simulation.workloads.registry import generate

    with report_compiling(told):
        simulate(generate("table-ii", 0))


def simulate(
    workload: Workload,
    *,
    policy: str = "tsf",
    placement: str | None = None,
    seed: int = 0,
    sinks: Iterable[Sink] = (),
    options: Options | None = None,
    progress: bool = False,
) -> Result:
    """Runs the workload until nothing is left to do, and says what came of it.

    The same workload, policy, placement, seed and options give the same decisions and digest. The
    seed is for what the options draw (failures); a generator's workload has its own. Sinks are
    told what they want while the run goes on; where it fails or is interrupted, they are told to
    leave nothing behind. Raises InputError before anything is run where the policy, the rule or
    the workload cannot be used.
    """
    begun = perf_counter()
    asked: Sequence[Sink] = tuple(sinks)
    with time_compiling() as compiling:
        driver = Driver(workload, policy, placement, seed, asked, options or Options())
        info = RunInfo(workload, driver.policy, driver.placement, seed, driver.job_name)
        with telling(asked, info), shown(workload.tasks, "task", wanted=progress) as bar:
            driver.go(Pace(bar, f"{driver.policy}, seed {seed}", remark))
        seconds = perf_counter() - begun - compiling()
    distance = next((sink for sink in asked if isinstance(sink, Distances)), None)
    rmse, shortfall = (None, None) if distance is None else distance.figures()
    clock = driver.clock[0]
    return Result(
        policy=driver.policy,
        placement=driver.placement,
        seed=seed,
        tasks=driver.tasks,
        placed=int(clock["placed"]),
        seconds=seconds,
        rmse_percent=rmse,
        largest_shortfall=shortfall,
        digest=driver.digest(),
        jobs=driver.jobs,
        finished=int(clock["finished"]),
        launches=int(clock["launches"]),
        lost=int(clock["lost"]),
        end=int(clock["end"]),
        stopped=int(clock["stopped"]),
    )
