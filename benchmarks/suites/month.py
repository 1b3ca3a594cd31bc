"""A month of the size of Google's: 25 million tasks of 670,000 jobs on 12,500 machines."""

from __future__ import annotations

from benchmarks.cases import Call, Case, Measured, Options, Target

MINUTE, GIB = 60.0, 2**30
SIZES: dict[str, dict[str, int | float]] = {
    # A hundredth and a tenth of the machines, for the whole month; all machines for a tenth of it.
    "hundredth": {"machines": 125, "jobs": 6_700, "tasks": 250_000, "days": 29},
    "tenth": {"machines": 1_250, "jobs": 67_000, "tasks": 2_500_000, "days": 29},
    "three-days": {"machines": 12_500, "jobs": 67_000, "tasks": 2_500_000, "days": 2.9},
    "full": {"machines": 12_500, "jobs": 670_000, "tasks": 25_000_000, "days": 29},
}


def cases(options: Options) -> list[Case]:
    """The rows, from small to full; the memory that we promised for the last is 8 GiB."""
    if options.quick:
        tiny: dict[str, int | float] = {"machines": 20, "jobs": 100, "tasks": 2_000, "days": 1}
        return [_case("tiny", tiny, options)]
    return [_case(name, size, options) for name, size in SIZES.items()]


def _case(name: str, size: dict[str, int | float], options: Options) -> Case:
    written = ", ".join(
        f"{key}={value:g}" if key == "days" else f"{key}={value}" for key, value in size.items()
    )
    return Case(
        name,
        {key: int(value) for key, value in size.items() if key != "days"},
        Call(
            "default rule",
            "benchmarks.suites.month:month",
            {"spec": f"month({written})", "seed": options.seed},
        ),
        None,
        Target(seconds=2 * MINUTE) if name == "full" else Target(),
    )


def month(spec: str, seed: int) -> Measured:
    """A whole run under TSF, in which the workload is drawn batch by batch."""
    import resource

    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.workloads.registry import generate

    simulate(generate("month(machines=20, jobs=100, tasks=2000, days=1)", 1))

    def run() -> dict[str, float]:
        result = simulate(generate(spec, seed))
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "placed": result.placed,
            "launches": result.launches,
            "simulated days": result.end / 86_400e6,
            "CPU s": used.ru_utime + used.ru_stime,
        }

    return run
