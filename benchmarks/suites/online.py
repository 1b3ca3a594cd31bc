"""The online core: placements a second, against plain Python and SimPy, and how its cost grows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.cases import Call, Case, Measured, Options, Target

BASELINES = {
    "heaps": ("plain Python, heaps", "with_heaps", ()),
    "simpy": ("plain Python, SimPy", "with_simpy", ("simpy",)),
}
POLICIES = ("tsf", "drf", "cdrf", "cmmf(resource=cpu)", "cmmf(resource=memory)", "fifo")

RULES = ("first-fit", "best-fit", "worst-fit", "alignment", "scarce-last")
MACHINES = (125, 400, 1_250, 4_000, 12_500)
JOBS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
TENANTS = (1, 10, 100, 1_000, 10_000)
BELOW = 10
"""In a tree so many tenants are above all others."""


def cases(options: Options) -> list[Case]:
    """The rows: the speed we promised, the baselines, and the sizes one after the other."""
    return [
        *_promised(options),
        *_steady(options),
        *_against(options),
        *_rules(options),
        *_growing(options),
        _study(options),
    ]


def _promised(options: Options) -> list[Case]:
    """TSF's own study in 0.3 s, and a million placements a second at 12,500 machines."""
    study = _tsf_study(20, 60, 1_000) if options.quick else _tsf_study(1_000, 4_500, 180_000)
    big = _overload(50, 40, 20) if options.quick else _overload(12_500, 10_000, 200)
    return [
        _case("tsf-study/default", study, options, {"target": 0.3}),
        _case("tsf-study/first-fit", study, options, {"target": 0.3, "placement": "first-fit"}),
        _case("overload/default", big, options, {"target": big["tasks"] / 1e6}),
        _case(
            "overload/first-fit",
            big,
            options,
            {"target": big["tasks"] / 1e6, "placement": "first-fit"},
        ),
    ]


def _steady(options: Options) -> list[Case]:
    """The same, without the first fill of the empty cluster: placements a second of processor time
    from the tenth to the thirtieth minute, in which each task that ends makes room for others."""
    big = _overload(50, 40, 200) if options.quick else _overload(12_500, 10_000, 200)
    shown = {key: value for key, value in big.items() if key != "text"}
    return [
        Case(
            f"steady/{rule}",
            shown,
            Call(
                rule,
                "benchmarks.suites.online:steady",
                {"spec": big["text"], "seed": options.seed, "placement": rule},
            ),
        )
        for rule in ("first-fit", "best-fit")
    ]


def _against(options: Options) -> list[Case]:
    """The same rules in plain Python: first fit, and nothing is reserved."""
    small = _tsf_study(10, 40, 300) if options.quick else _tsf_study(100, 450, 18_000)
    full = _tsf_study(20, 60, 1_000) if options.quick else _tsf_study(1_000, 4_500, 180_000)
    large = _overload(50, 40, 20) if options.quick else _overload(1_250, 1_000, 200)
    found = []
    for size, spec in (("tenth", small), ("full", full), ("overload-tenth", large)):
        for group, (program, function, needs) in BASELINES.items():
            call = Call(
                program,
                "benchmarks.suites.online:baseline",
                {"spec": spec["text"], "seed": options.seed, "function": function},
                needs,
            )
            told = {"placement": "first-fit", "reserve": False}
            found.append(_case(f"{group}/{size}", spec, options, told, call))
    return found


def _rules(options: Options) -> list[Case]:
    """The rows on the cost of the placement rules."""
    spec = _overload(50, 40, 20) if options.quick else _overload(1_250, 1_000, 200)
    return [_case(f"rule/{rule}", spec, options, {"placement": rule}) for rule in RULES]


def _growing(options: Options) -> list[Case]:
    """One of the three numbers grows, the others stay: 1,250 machines, 3,000 waiting jobs, each
    its own tenant, and about 150,000 tasks. Tenants once stand side by side, once below others."""
    most = 400 if options.quick else 10**9
    found = []
    for machines in (m for m in MACHINES if m <= most):
        tasks = 20 * machines + (0 if options.quick else 100_000)
        spec = _overload(machines, 30 if options.quick else 3_000, 0, tasks)
        found.append(_case(f"grow-machines/{machines}", spec, options, {}))
    for jobs in (j for j in JOBS if j <= most):
        spec = _overload(
            50 if options.quick else 1_250, jobs, 0, 4 * jobs if options.quick else 200_000
        )
        found.append(_case(f"grow-jobs/{jobs}", spec, options, {}))
    for tenants in (t for t in TENANTS if t <= most):
        spec = _overload(50, 100, 10) if options.quick else _overload(1_250, 10_000, 15)
        found.append(
            _case(
                f"grow-tenants/{tenants}",
                {**spec, "tenants": tenants},
                options,
                {"tenants": tenants},
            )
        )
    for tenants in (t for t in TENANTS if BELOW < t <= most):
        spec = _overload(50, 100, 10) if options.quick else _overload(1_250, 10_000, 15)
        told = {"tenants": tenants, "below": BELOW}
        found.append(_case(f"grow-trees/{tenants}", {**spec, "trees": tenants}, options, told))
    return found


def _study(options: Options) -> Case:
    """50 repetitions of TSF's study under six policies, on two cores."""
    spec = _tsf_study(20, 60, 500) if options.quick else _tsf_study(1_000, 4_500, 180_000)
    repeat = 2 if options.quick else 50
    shown = {key: value for key, value in spec.items() if key != "text"}
    return Case(
        "study",
        {**shown, "runs": repeat * len(POLICIES)},
        Call(
            "2 processes",
            "benchmarks.suites.online:study",
            {"spec": spec["text"], "repeat": repeat, "seed": options.seed},
        ),
        None,
        Target(seconds=60),
    )


def _tsf_study(machines: int, jobs: int, tasks: int) -> dict[str, Any]:
    return {
        "text": f"tsf-study(machines={machines}, jobs={jobs}, tasks={tasks})",
        "machines": machines,
        "jobs": jobs,
        "tasks": tasks,
    }


def _overload(machines: int, jobs: int, each: int, tasks: int = 0) -> dict[str, Any]:
    each = each or max(1, tasks // jobs)
    return {
        "text": f"overload(machines={machines}, jobs={jobs}, each={each})",
        "machines": machines,
        "jobs": jobs,
        "tasks": jobs * each,
    }


def _case(
    name: str,
    spec: dict[str, Any],
    options: Options,
    told: dict[str, Any],
    baseline: Call | None = None,
) -> Case:
    """A row of one workload under TSF."""
    target = Target(seconds=told.get("target"))
    arguments = {key: value for key, value in told.items() if key != "target"}
    return Case(
        name,
        {key: value for key, value in spec.items() if key != "text"},
        Call(
            told.get("placement", "default rule"),
            "benchmarks.suites.online:ours",
            {"spec": spec["text"], "seed": options.seed, **arguments},
        ),
        baseline,
        target,
    )


def ours(
    spec: str,
    seed: int,
    placement: str | None = None,
    *,
    reserve: bool = True,
    tenants: int = 0,
    below: int = 0,
) -> Measured:
    """A whole run, from the workload in memory to the digest. Gives the sum of the starting times
    of each job's tasks, in seconds."""
    from fairlead.simulation.engine.options import Options as Chosen
    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.measure.sinks import Kept
    from fairlead.simulation.workloads.registry import generate

    options = Chosen() if reserve else Chosen(reserve_after=None)
    workload = in_memory(generate(spec, seed))
    if tenants:
        workload = shared_out(workload, tenants, below)

    def run(what: Any) -> list[float]:
        kept = Kept(tasks=False)
        result = simulate(what, placement=placement, sinks=[kept], options=options)
        if result.placed != result.tasks:
            raise RuntimeError(f"{result.tasks - result.placed} tasks were never placed")
        jobs = kept.jobs_kept
        started: list[float] = ((jobs.submitted * jobs.launches + jobs.waited) / 1e6).tolist()
        return started

    run(in_memory(generate("overload(machines=20, jobs=20, each=40)", 1)))
    return lambda: run(workload)


def steady(spec: str, seed: int, placement: str) -> Measured:
    """A run of half an hour. Gives what it took from the tenth minute on."""
    from time import process_time

    import numpy as np

    from fairlead.simulation.engine.options import Options as Chosen
    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.measure.moment import Moment
    from fairlead.simulation.measure.sinks import Sink, TaskRecords
    from fairlead.simulation.workloads.registry import generate

    tenth = 600_000_000

    class Clock(Sink):
        """Processor time and held tasks at each sample, and how many tasks ended in between."""

        wants_tasks = True
        every = tenth

        def __init__(self) -> None:
            self.seconds: list[float] = []
            self.held: list[int] = []
            self.ended = 0

        def sample(self, moment: Moment) -> None:
            if moment.time >= tenth:
                self.seconds.append(process_time())
                self.held.append(int(moment.held.sum()))

        def tasks(self, records: TaskRecords) -> None:
            self.ended += int(np.count_nonzero(records.end > tenth))

    workload = in_memory(generate(spec, seed))
    simulate(generate("overload(machines=20, jobs=20, each=40)", 1), placement=placement)

    def run() -> dict[str, float]:
        clock = Clock()
        simulate(workload, placement=placement, sinks=[clock], options=Chosen(until=3 * tenth))
        placed = clock.ended + clock.held[-1] - clock.held[0]
        seconds = clock.seconds[-1] - clock.seconds[0]
        return {"placements": placed, "CPU s": seconds, "placements a second": placed / seconds}

    return run


def baseline(spec: str, seed: int, function: str) -> Measured:
    """The same workload under the rules in plain Python."""
    from benchmarks.baselines import plain_scheduler
    from fairlead.simulation.workloads.registry import generate

    workload = in_memory(generate(spec, seed))
    program = getattr(plain_scheduler, function)
    return lambda: program(workload)


def study(spec: str, repeat: int, seed: int) -> Measured:
    """All runs of a study, its workloads generated where they are run."""
    from fairlead.scheduling.placement.registry import DEFAULT
    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.studies.source import source_of
    from fairlead.simulation.studies.study import Study
    from fairlead.simulation.studies.workers import run_study
    from fairlead.simulation.workloads.registry import generate

    planned = Study(
        source=source_of([spec]),
        policies=POLICIES,
        placement=DEFAULT,
        seeds=tuple(range(seed, seed + repeat)),
    )
    for policy in POLICIES:
        simulate(generate("overload(machines=20, jobs=20, each=40)", 1), policy=policy)

    def run() -> None:
        found = run_study(planned, 2)
        assert len(found) == repeat * len(POLICIES)

    return run


def in_memory(workload: Any) -> Any:
    """The workload with its jobs in memory, so that only the run is timed."""
    batches = tuple(workload.batches())
    return replace(workload, batches=lambda: iter(batches))


def shared_out(workload: Any, tenants: int, below: int) -> Any:
    """The workload with its jobs given to so many tenants of weight 1, one after the other, which
    are below so many others, if any."""
    import numpy as np

    from fairlead.model.tenant import Tenant

    batches = []
    first = 0
    for batch in workload.batches():
        owner = below + np.arange(first, first + len(batch)) % tenants
        batches.append(replace(batch, tenant=owner))
        first += len(batch)
    above = [f"above-{number}" for number in range(below)]
    under = [above[number % below] if below else None for number in range(tenants)]
    return replace(
        workload,
        tenants=(
            *map(Tenant, above),
            *(Tenant(f"tenant-{number}", parent=name) for number, name in enumerate(under)),
        ),
        batches=lambda: iter(batches),
    )
