"""The generators after Google's trace: what each is, and which parameters of a study it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from inspect import Parameter, Signature

from fairlead.simulation.workload import Workload
from fairlead.simulation.workloads.first_hour import HOUR
from fairlead.simulation.workloads.study import Study, build

ALL = ("machines", "jobs", "times", "alpha", "vary", "constraints", "least", "trace")
"""Parameters that every one of them takes."""


def _generator(about: str, study: Study, *more: str) -> Callable[..., Workload]:
    """A generator with the study's values for what nobody writes: it takes ALL and `more`."""
    taken = [field for field in fields(Study) if field.name in (*ALL, *more)]

    def generate(**given: str | float | bool) -> Workload:
        return build(replace(study, **given))  # type: ignore[arg-type]  # as the signature says

    generate.__doc__ = about
    # For the registry, which reads what a user writes by the types of the parameters.
    generate.__signature__ = Signature(  # type: ignore[attr-defined]  # any function may have one
        [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=getattr(study, field.name),
                annotation=field.type,
            )
            for field in (*taken, *(f for f in fields(Study) if f.name == "seed"))
        ]
    )
    return generate


google_hour = _generator(
    "Jobs after the first hour of Google's 2011 trace: sizes, demands, spread and arrivals.",
    Study("google-hour", machines=12_477, jobs=4616, span=HOUR),
    *("tasks", "mean", "load", "distinct", "nodes"),
)

tsf_study = _generator(
    # The paper says that the jobs were submitted within one hour.
    "TSF VI.B: jobs after one hour of Google's trace, with constraints, on 1,000 machines.",
    Study(
        "tsf-study",
        machines=1000,
        jobs=4500,
        tasks=180_000,
        at_start=0.0,
        times="constant",
        mean=3600.0,
    ),
    *("tasks", "span", "mean"),
)

overload = _generator(
    "Jobs with many tasks each that all wait from the start, more than the machines can hold.",
    Study(
        "overload",
        machines=12_500,
        jobs=10_000,
        each=200,
        at_start=1.0,
        times="exponential",
        mean=600.0,
        distinct=True,
    ),
    *("each", "mean", "distinct"),
)

month = _generator(
    # The mean time of the tasks follows from the load of the scarcest resource.
    "Jobs after the trace's first hour, all different, for a month at a given load.",
    Study(
        "month",
        machines=12_500,
        jobs=670_000,
        tasks=25_000_000,
        at_start=0.0,
        days=29.0,
        times="pareto",
        load=1.1,
        distinct=True,
    ),
    *("tasks", "days", "load", "distinct"),
)
