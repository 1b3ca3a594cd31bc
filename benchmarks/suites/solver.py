"""Exact filling of several resources: against other programs, at full size, and the whole path."""

from __future__ import annotations

from typing import Any

from benchmarks.cases import Call, Case, Measured, Options, Target

KINDS = ("continuous", "discrete", "local", "balanced", "few-classes", "chains")
FULL_SIZE = {"continuous": 10.0, "balanced": 10.0} | dict.fromkeys(
    ("discrete", "local", "few-classes", "chains"), 2.0
)
ALGORITHM1 = "benchmarks.baselines.algorithm1:algorithm1"
WATER_FILLING = "benchmarks.baselines.water_filling:water_filling"
WATER_FILLING_LEAN = f"{WATER_FILLING}_lean"
WARM_LP = "benchmarks.baselines.warm_lp:warm_lp"
WARM_LP_CLOSING = f"{WARM_LP}_closing"


def cases(options: Options) -> list[Case]:
    """The rows: the baselines at sizes that they can do, the full size, the whole path."""
    found = []
    for group, target, program, baseline, tenants, classes in (
        ("algorithm1", 300.0, "Algorithm 1, SciPy HiGHS", ALGORITHM1, 100, 100),
        ("water-filling", 100.0, "Gavel's programs, cvxpy", WATER_FILLING, 500, 10),
        ("water-filling-lean", 100.0, "leaner Gavel, cvxpy", WATER_FILLING_LEAN, 500, 10),
        ("warm-lp", 5.0, "warm LP, HiGHS", WARM_LP, 500, 100),
        ("warm-lp-closing", 5.0, "closing warm LP, HiGHS", WARM_LP_CLOSING, 500, 100),
    ):
        for kind in KINDS:
            size = _size(options, kind, tenants, classes, machines=10 * classes)
            needs = ("cvxpy",) if baseline.startswith(WATER_FILLING) else ()
            call = Call(
                program,
                "benchmarks.suites.solver:baseline",
                {"spec": size, "function": baseline},
                needs,
            )
            found.append(
                Case(f"{group}/{kind}", _size_words(size), _ours(size), call, Target(ratio=target))
            )
    for kind in KINDS:
        size = _size(options, kind, 5000, 100, machines=100_000)
        arguments = {"spec": size, "function": WARM_LP_CLOSING}
        found.append(
            Case(
                f"full/{kind}",
                _size_words(size),
                _ours(size),
                Call("closing warm LP, HiGHS", "benchmarks.suites.solver:baseline", arguments),
                Target(seconds=FULL_SIZE[kind]),
            )
        )
    for kind in KINDS:
        size = _size(options, kind, 5000, 100, machines=100_000)
        whole = Call("allocate", "benchmarks.suites.solver:whole_path", {"spec": size})
        found.append(Case(f"whole-path/{kind}", _size_words(size), whole))
    # Few machines for so many jobs that end: levels by the hundred, none far from the last.
    for kind in ("labels", "spread"):
        size = _size(options, kind, 3000, 150, machines=3000)
        call = Call(
            "closing warm LP, HiGHS",
            "benchmarks.suites.solver:baseline",
            {"spec": size, "function": WARM_LP_CLOSING},
        )
        found.append(
            Case(f"many-levels/{kind}", _size_words(size), _ours(size), call, Target(ratio=5.0))
        )
    size = _size(options, "few-classes", 5000, 2500, machines=25_000)
    whole = Call("allocate", "benchmarks.suites.solver:whole_path", {"spec": size})
    found.append(Case("wide/few-classes", _size_words(size), whole, target=Target(seconds=30.0)))
    return found


def ours(spec: dict[str, Any]) -> Measured:
    """Fairlead's filling of an instance."""
    from benchmarks.instances import Kind, Spec, problem
    from fairlead.sharing.filling.fill import fill

    def measured(compiled: Any) -> Any:
        scale, weight = compiled.alone, compiled.tree.weight
        return fill(compiled, scale, weight).tasks.sum(axis=1) / scale / weight

    measured(problem(Spec(Kind.CONTINUOUS, tenants=8, classes=4, machines=8)))  # imports
    instance = problem(Spec.of(spec))
    return lambda: measured(instance)


def baseline(spec: dict[str, Any], function: str) -> Measured:
    """A baseline's filling of the same instance."""
    from importlib import import_module

    from benchmarks.instances import Kind, Spec, problem

    module, name = function.split(":")
    program = getattr(import_module(module), name)
    tiny = problem(Spec(Kind.CONTINUOUS, tenants=8, classes=4, machines=8))
    program(tiny, tiny.alone, tiny.tree.weight)
    instance = problem(Spec.of(spec))
    return lambda: program(instance, instance.alone, instance.tree.weight)


def whole_path(spec: dict[str, Any]) -> Measured:
    """`fairlead.allocate` from the model: check, compile, fill, certify, back to names."""
    import fairlead
    from benchmarks.instances import Kind, Spec, model

    tiny = model(Spec(Kind.CONTINUOUS, tenants=8, classes=4, machines=8))
    fairlead.allocate(*tiny, policy="tsf")
    cluster, jobs = model(Spec.of(spec))

    def measured() -> list[float]:
        return [tenant.share for tenant in fairlead.allocate(cluster, jobs, policy="tsf").tenants]

    return measured


def _ours(spec: dict[str, Any]) -> Call:
    return Call("fill", "benchmarks.suites.solver:ours", {"spec": spec})


def _size(options: Options, kind: str, tenants: int, classes: int, machines: int) -> dict[str, Any]:
    """The instance's spec in plain values; a tenth of the tenants and classes for a quick run."""
    if options.quick:
        tenants, classes = max(tenants // 50, 10), max(classes // 10, 4)
        machines = max(machines // 100, 2 * classes)
    return {
        "kind": kind,
        "tenants": tenants,
        "classes": classes,
        "resources": 4,
        "machines": machines,
        "seed": options.seed,
    }


def _size_words(spec: dict[str, Any]) -> dict[str, int | str]:
    return {key: spec[key] for key in ("tenants", "classes", "resources", "machines")}
