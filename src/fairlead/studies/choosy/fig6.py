"""Choosy, Figure 6: how long a user that joins a full cluster waits for its machines."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairlead.model.tenant import Tenant
from fairlead.simulation.engine.run import simulate
from fairlead.simulation.measure.sinks import Sink, TaskRecords
from fairlead.simulation.workload import Floats, Ints, Resource
from fairlead.simulation.workloads.draws import SECOND, Shape, Times
from fairlead.studies.claims import Row, compare, whether
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.runs import Load, workload
from fairlead.studies.study import About, Findings, Setting, Table

ALPHAS = (1.5, 1.9, 2.5, 3.0)
MEAN = 10.0
"""Seconds of a task in the mean."""
MACHINES, LEAST = 2000, 500
"""Of a full and of a quick run."""
SEEDS, FEW = (1, 2, 3), (1, 2)
WARM, BRIEF = 300, 60
"""Mean task times before the user joins: the tasks that run then are of all ages."""
MORE = 1.3
"""Tasks of the others, in parts of what keeps all machines busy until the user joins."""
HOLD = 150
"""Mean task times that a task of the user takes: longer than it waits, so that it keeps what it
was given."""
PICKINESS = tuple(at / 20 for at in range(1, 20))
USER = 1
"""Its number among the jobs."""
CLOSE = 0.10
"""How close the simulation has to come to the formula: the part of it."""
LOW, HIGH = PICKINESS.index(0.2), PICKINESS.index(0.8)
"""Between which it has to: of few machines the mean is of few, and the longest tasks are not there
yet."""


class Case(NamedTuple):
    alpha: float
    machines: int
    warm: int
    seed: int


def run(setting: Setting) -> Findings:
    """Lets a user join a full cluster, and sets the wait beside the paper's formula."""
    alphas = (1.9, 3.0) if setting.quick else ALPHAS
    seeds = FEW if setting.quick else SEEDS
    machines, warm = (LEAST, BRIEF) if setting.quick else (MACHINES, WARM)
    cases = [Case(alpha, machines, warm, seed) for alpha in alphas for seed in seeds]
    waits = dict(zip(cases, setting.spread(ramp_up, cases), strict=True))
    rows: list[Row] = []
    panels: list[Panel] = []
    data: list[tuple[object, ...]] = []
    for alpha in alphas:
        all_ = np.array([wait for case, wait in waits.items() if case.alpha == alpha])
        mean, low, high = all_.mean(axis=0), all_.min(axis=0), all_.max(axis=0)
        said = [waited(alpha, p) for p in PICKINESS]
        shown = f"α = {alpha:g}"
        panels.append(
            lines(
                (
                    Line("formula", PICKINESS, said),
                    Line("simulated", PICKINESS, mean, low, high),
                ),
                "pickiness (machines wanted ÷ machines one may use)",
                "wait ÷ mean task time",
                title=shown,
                y_most=5.0,
            )
        )
        columns = (PICKINESS, said, mean.tolist(), low.tolist(), high.tolist())
        data += [(alpha, *row) for row in zip(*columns, strict=True)]
        if alpha >= 1.9:
            rows += _below(shown, said, mean)
        apart = float(max(abs(mean / said - 1)[LOW : HIGH + 1]))
        rows.append(
            whether(
                f"{shown}: the simulation confirms the formula (within {CLOSE:.0%}, pickiness"
                " 0.2 to 0.8)",
                apart <= CLOSE,
                "the formula is of a cluster that has run for ever and has many machines; the"
                " heavier the tail, the longer tasks that run are younger than in the limit",
                shown=f"at most {apart:.1%} apart",
            )
        )
    header = ("alpha", "pickiness", "formula", "mean", "least", "most")
    return Findings(
        rows=tuple(rows),
        tables=(Table.of_rows("ramp-up", header, data),),
        pictures=(
            Picture(
                "The wait for one's machines, by pickiness",
                "A line for the formula and one for the mean of the runs; the band is from the"
                " least to the most of them.",
                tuple(panels),
            ),
        ),
        seeds=seeds,
    )


def waited(alpha: float, pickiness: float) -> float:
    """The wait in mean task times by the paper's formula: the quantile of the time that is left of
    the tasks that run when the user joins."""
    if pickiness <= (alpha - 1) / alpha:
        return pickiness
    return float((alpha - 1) / alpha * (alpha * (1 - pickiness)) ** (1 / (1 - alpha)))


def ramp_up(case: Case) -> Floats:
    """Mean task times until the user that joins has a twentieth of the machines, two, ... It gets
    each machine that comes free until it has all that it wants, so that the wait for fewer
    machines is when it has so many."""
    wants = [round(pickiness * case.machines) for pickiness in PICKINESS]
    joins = case.warm * MEAN
    others = Load(
        "others",
        int(MORE * case.machines * case.warm),
        (1,),
        MEAN,
        tenant=Tenant("others", weight=case.machines - wants[-1]),
        times=Times(Shape.PARETO, alpha=case.alpha),
    )
    user = Load(
        "user",
        wants[-1],
        (1,),
        HOLD * MEAN,
        start=joins,
        tenant=Tenant("user", weight=wants[-1]),
        times=Times(Shape.CONSTANT),
    )
    work = workload(
        "ramp-up",
        (Resource("slot", Fraction(1)),),
        tuple(f"m{number}" for number in range(case.machines)),
        np.ones((case.machines, 1), np.int64),
        (others, user),
        case.seed,
    )
    starts = _Starts()
    simulate(work, policy="cmmf(slot)", sinks=(starts,))
    waits = (np.sort(np.concatenate(starts.of_user)) / SECOND - joins) / MEAN
    found: Floats = waits[np.array(wants) - 1]
    return found


class _Starts(Sink):
    """Keeps when the user's tasks started."""

    wants_tasks = True

    def __init__(self) -> None:
        self.of_user: list[Ints] = []

    def tasks(self, records: TaskRecords) -> None:
        self.of_user.append(records.start[records.job == USER])


def _below(shown: str, said: Sequence[float], mean: Floats) -> list[Row]:
    """The rows of what the paper reads off the figure."""
    at = PICKINESS.index(0.85)
    return [
        compare(f"{shown}, pickiness 0.85: wait ÷ mean task time, by the formula", "< 2", said[at]),
        compare("… simulated, in the mean of the runs", "< 2", float(mean[at])),
    ]


STUDY = About(
    figure="Figure 6",
    title="how long a user waits for its machines",
    shows="A user joins a full cluster and gets each machine that comes free, until it has its fair"
    " share: k of the n machines that it may use, a pickiness of k/n. With task times after Pareto"
    " (α) it waits about as long as the quantile k/n of the time that is left of a running task."
    " For α above 1.9 and a pickiness up to 0.85 that is less than twice the mean task time; a"
    " simulation confirms the derivation.",
    assumes=(
        (
            f"The user may use all {MACHINES} machines (the paper does not say how many), and"
            " its weight makes what it wants its fair share, so that it gets each machine that"
            " comes free."
        ),
        f"It joins {WARM} mean task times after the cluster was empty.",
    ),
    weight=20.0,
)
