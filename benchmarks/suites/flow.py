"""Exact filling of one resource (CMMF), a flow problem: 5,000 tenants, 100,000 machines."""

from __future__ import annotations

from typing import Any

from benchmarks.cases import Call, Case, Measured, Options, Target

KINDS = ("continuous", "discrete", "local", "balanced")
BASELINES = {
    "max-flow": ("Choosy's rounds, SciPy flow", "benchmarks.baselines.max_flow:max_flow"),
    "warm-lp": (
        "closing warm LP, HiGHS",
        "benchmarks.baselines.warm_lp:warm_lp_closing",
    ),
}


def cases(options: Options) -> list[Case]:
    """The rows: Choosy's offline filling by flows, and by a warm linear program."""
    spec: dict[str, Any] = {
        "tenants": 60 if options.quick else 5000,
        "classes": 10 if options.quick else 100,
        "resources": 1,
        "machines": 100 if options.quick else 100_000,
        "seed": options.seed,
    }
    shown = {key: spec[key] for key in ("tenants", "classes", "machines")}
    return [
        Case(
            f"{group}/{kind}",
            shown,
            Call("fill", "benchmarks.suites.flow:ours", {"spec": {**spec, "kind": kind}}),
            Call(
                program,
                "benchmarks.suites.flow:baseline",
                {"spec": {**spec, "kind": kind}, "function": function},
            ),
            Target(seconds=0.1),
        )
        for group, (program, function) in BASELINES.items()
        for kind in KINDS
    ]


def ours(spec: dict[str, Any]) -> Measured:
    """Fairlead's filling of an instance under CMMF's scale."""
    from fairlead.sharing.filling.fill import fill

    def shares(problem: Any, scale: Any, weight: Any) -> Any:
        return fill(problem, scale, weight).tasks.sum(axis=1) / scale / weight

    return _prepared(spec, shares)


def baseline(spec: dict[str, Any], function: str) -> Measured:
    """A baseline's filling of the same instance."""
    from importlib import import_module

    module, name = function.split(":")
    return _prepared(spec, getattr(import_module(module), name))


def _prepared(spec: dict[str, Any], program: Any) -> Measured:
    """The program on the instance, after a small one, large enough for the same way, has loaded
    all that it imports."""
    from benchmarks.instances import Kind, Spec, problem

    small = problem(Spec(Kind.BALANCED, tenants=150, classes=50, resources=1, machines=50))
    program(small, small.total[0] / small.demand[:, 0], small.tree.weight)
    instance = problem(Spec.of(spec))
    scale = instance.total[0] / instance.demand[:, 0]
    return lambda: program(instance, scale, instance.tree.weight)
