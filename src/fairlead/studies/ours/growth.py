"""Ours: how the cost of exact shares and of the online core grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fairlead.sharing.allocate import allocate
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.workloads.registry import generate
from fairlead.studies.claims import Row, whether
from fairlead.studies.clusters import backlog
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.study import About, Findings, Setting, Table

SHARES_JOBS, SHARES_MACHINES = "exact shares, over jobs", "exact shares, over machines"
EVENT_JOBS, EVENT_MACHINES = "an event, over waiting jobs", "an event, over machines"
SIZES = {
    SHARES_JOBS: (50, 100, 200, 400),
    SHARES_MACHINES: (50, 100, 200, 400),
    EVENT_JOBS: (100, 1000, 10_000),
    EVENT_MACHINES: (100, 1000, 10_000),
}
FEW = {
    SHARES_JOBS: (10, 20, 40),
    SHARES_MACHINES: (10, 20, 40),
    EVENT_JOBS: (50, 500),
    EVENT_MACHINES: (50, 500),
}
OTHER, FEW_OTHER = (
    {SHARES_JOBS: 200, SHARES_MACHINES: 200, EVENT_JOBS: 1000, EVENT_MACHINES: 1000},
    40,
)
"""Machines where jobs grow, and jobs where machines do."""
LAUNCHES, FEW_LAUNCHES = 1_000_000, 10_000
"""Of a run of the core, about."""
MOST = {SHARES_JOBS: 2.0, SHARES_MACHINES: 2.0, EVENT_JOBS: 0.5, EVENT_MACHINES: 0.5}
"""Powers of the size that the costs stay below."""
POLICY = "tsf"

Curve = Sequence[tuple[int, float]]


class Case(NamedTuple):
    """A size to measure; `launches` 0: the exact shares."""

    jobs: int
    machines: int
    launches: int = 0


def run(setting: Setting) -> Findings:
    """Measures each size in processor time, one after the other: they are not spread."""
    launches = FEW_LAUNCHES if setting.quick else LAUNCHES
    curves: dict[str, Curve] = {}
    for what, sizes in (FEW if setting.quick else SIZES).items():
        other = FEW_OTHER if setting.quick else OTHER[what]
        many = launches if what in (EVENT_JOBS, EVENT_MACHINES) else 0
        over_jobs = what in (SHARES_JOBS, EVENT_JOBS)
        cases = [Case(n, other, many) if over_jobs else Case(other, n, many) for n in sizes]
        curves[what] = [(n, measured(case)) for n, case in zip(sizes, cases, strict=True)]
    return Findings(
        rows=tuple(_row(what, curve) for what, curve in curves.items()),
        tables=(
            Table.of_rows(
                "costs",
                ("what", "size", "cost"),
                [(what, *point) for what, curve in curves.items() for point in curve],
            ),
        ),
        pictures=(
            Picture(
                "What fairness costs, over size",
                "Left: the exact shares of TSF with their check, every machine being its own kind."
                " Right: an event of the online core (a launch or an end).",
                (
                    _panel(curves, (SHARES_JOBS, SHARES_MACHINES), "seconds", "exact shares"),
                    _panel(curves, (EVENT_JOBS, EVENT_MACHINES), "microseconds", "online core"),
                ),
            ),
        ),
        seeds=(1,),
    )


def measured(case: Case) -> float:
    """Seconds of the exact shares, or microseconds of an event, by processor time."""
    if not case.launches:
        spec = f"google-hour(jobs={case.jobs}, machines={case.machines}, distinct=true)"
        given = backlog(generate(spec, 1), endless=True)
        return _took(lambda: allocate(given.cluster, given.jobs, POLICY))
    each = max(1, case.launches // case.jobs)
    work = generate(f"overload(jobs={case.jobs}, machines={case.machines}, each={each})", 1)
    simulate(generate("table-ii", 0), policy=POLICY)  # what is compiled is loaded
    return _took(lambda: simulate(work, policy=POLICY)) / (2 * case.jobs * each) * 1e6


def _took(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def exponent(curve: Curve) -> float:
    """By which power of the size the cost grows, by least squares of the logarithms."""
    sizes, costs = zip(*curve, strict=True)
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def _row(what: str, curve: Curve) -> Row:
    unit = "s" if what in (SHARES_JOBS, SHARES_MACHINES) else "µs"
    return whether(
        f"{what}: the cost grows less than as the power {MOST[what]:g} of the size",
        exponent(curve) < MOST[what],
        "small inputs are overhead above all, or the machine was busy",
        shown=f"{exponent(curve):.2f}; {curve[0][0]:,}: {curve[0][1]:.3g} {unit},"
        f" {curve[-1][0]:,}: {curve[-1][1]:.3g} {unit}",
    )


def _panel(curves: Mapping[str, Curve], names: Sequence[str], label: str, title: str) -> Panel:
    return lines(
        [Line(what, [n for n, _ in curves[what]], [c for _, c in curves[what]]) for what in names],
        "size",
        label,
        title=title,
        marks=True,
        log="xy",
        order=list(curves),
    )


STUDY = About(
    figure="",
    title="what fairness costs",
    shows="How the exact shares and the online core grow with the jobs and with the machines, on"
    " inputs after Google's trace with constraints after Sharma et al. Expected are bounds of the"
    " powers; times depend on the machine.",
    assumes=(
        (
            "For the exact shares every job has demands of its own, and with constraints nearly"
            " every machine is its own kind: that is the hardest input of its size."
        ),
        "Times are of one processor.",
    ),
    weight=60.0,
)
