"""The live service: submissions, decisions, local commands, Ray, recovery, and memory."""

from __future__ import annotations

from benchmarks.cases import Call, Case, Options, Target

HERE = "benchmarks.live_service"
REAL = "benchmarks.live_real"


def cases(options: Options) -> list[Case]:
    """The rows, each with what was promised of it where that is a time."""
    quick, seed = options.quick, options.seed
    jobs = 500 if quick else 10_000
    return [
        *(
            Case(
                f"submit/{how}",
                {"machines": 20 if quick else 1_000, "jobs": jobs, "batch": batch},
                Call(
                    program,
                    f"{module}:{function}",
                    {"machines": 20 if quick else 1_000, "jobs": jobs, "batch": batch},
                ),
                None,
                Target(seconds=jobs / 1_000),
            )
            for how, program, module, function, batch in (
                ("loop", "the loop, SQLite", HERE, "submitting", 100),
                ("http", "over HTTP, SQLite", REAL, "submitting_http", 500),
            )
        ),
        *(
            _decisions(waiting, 50 if quick else 1_000, 200 if quick else 3_000, seed)
            for waiting in _sizes(quick)
        ),
        *(_exact(waiting, 50 if quick else 1_000, seed) for waiting in _sizes(quick)),
        _local(60 if quick else 1_500),
        *_ray(20 if quick else 2_000),
        _slurm(20 if quick else 400),
        _recovery(*((3_000, 300) if quick else (1_000_000, 100_000))),
        _memory(2_000 if quick else 1_000_000),
        *(_start(tenants) for tenants in ((1, 100) if quick else (1, 10_000))),
    ]


def _decisions(waiting: int, machines: int, steps: int, seed: int) -> Case:
    """The promise is about percentiles, which are among the figures."""
    size = {"machines": machines, "waiting": waiting, "steps": steps}
    call = Call("fake engine, SQLite", f"{HERE}:deciding", {**size, "seed": seed})
    return Case(f"decide/{waiting}", size, call)


def _sizes(quick: bool) -> tuple[int, ...]:
    return (200, 400) if quick else (10_000, 100_000)


def _exact(waiting: int, machines: int, seed: int) -> Case:
    """The time that the adviser's process takes, and (a figure) what the loop takes to ask."""
    size = {"machines": machines, "waiting": waiting}
    call = Call("in one process", f"{HERE}:advising", {**size, "seed": seed})
    return Case(f"exact/{waiting}", size, call)


def _local(commands: int) -> Case:
    call = Call("local engine", f"{REAL}:commands", {"commands": commands})
    return Case("local/true", {"commands": commands}, call, None, Target(seconds=commands / 300))


def _ray(tasks: int) -> list[Case]:
    """Ours may take 1 / 0.6 of the time of a bare driver: through the whole service, as `map`
    divides the calls by itself and as a task each, of which two are in flight on two CPUs; and a
    task each through the engine alone, which is handed all of them."""
    size = {"tasks": tasks}
    bare = Call("a bare driver, node affinity", "benchmarks.live_ray:bare", size)
    counted = Call(bare.program, bare.prepare, {**size, "count": True})
    each = {**size, "together": 1}
    target = Target(ratio=0.6)
    return [
        Case("ray/map", size, Call("map", "benchmarks.live_ray:ours", size), bare, target),
        Case("ray/each", size, Call("a task each", "benchmarks.live_ray:ours", each), bare, target),
        Case(
            "ray/engine",
            size,
            Call("the engine alone", "benchmarks.live_ray_engine:ours", size),
            counted,
            target,
        ),
    ]


def _slurm(tasks: int) -> Case:
    """Ours may take 1 / 0.8 of the time of submitting held jobs and releasing them in one batch."""
    size = {"tasks": tasks}
    ours = Call("the engine alone", "benchmarks.live_slurm:ours", size)
    hand = Call("by hand, released in one batch", "benchmarks.live_slurm:by_hand", size)
    return Case("slurm/engine", size, ours, hand, Target(ratio=0.8))


def _recovery(entries: int, behind: int) -> Case:
    size = {"entries": entries, "after the snapshot": behind}
    arguments = {"entries": entries, "behind": behind}
    call = Call("SQLite", f"{HERE}:recovering", arguments)
    return Case("recovery", size, call, None, Target(seconds=10))


def _start(tenants: int) -> Case:
    size = {"tenants": tenants}
    call = Call("fairlead serve, local engine", f"{REAL}:starting", size)
    return Case(f"start/{tenants}", size, call, None, Target(seconds=3))


def _memory(tasks: int) -> Case:
    call = Call("fake engine, no disk", f"{HERE}:remembering", {"tasks": tasks})
    return Case("memory", {"tasks": tasks}, call)
