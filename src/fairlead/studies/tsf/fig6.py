"""TSF, Figure 6: four jobs in pools of their own, and the same jobs sharing the cluster."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairlead.model.tenant import Tenant
from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.claims import Row, compare, whether
from fairlead.studies.pictures.charts import bars
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.runs import Load, by_name, completions
from fairlead.studies.study import About, Findings, Setting, Table
from fairlead.studies.tsf.cluster import KINDS, nodes, on_fifty

POOLS = (nodes((1, 10)), nodes((11, 25)), nodes((26, 35)), nodes((36, 50)))
CAN = (nodes((1, 25)), nodes((1, 25)), None, None)
HOLDS = (10, 30, 20, 30)
"""Tasks of each job that its pool runs at once."""
SEEDS, FEW = tuple(range(50)), (0, 1, 2)
ROUNDS = 5
NOISE = 0.01
"""A job is slower if it takes longer by more than this part: the order in which tasks end moves
its last task."""


class Variant(NamedTuple):
    """The choices that the paper leaves open: how many tasks the jobs have, when they come, and
    which node a task gets."""

    name: str
    tasks: tuple[int, ...]
    starts: tuple[float, ...]
    rule: str = "scarce-last"


TABLE_II = tuple(kind.tasks for kind in KINDS)
EQUAL = tuple(ROUNDS * tasks for tasks in HOLDS)
AT_ONCE = (0.0,) * 4
VARIANTS = (
    Variant("Table II", TABLE_II, tuple(kind.start for kind in KINDS)),
    Variant("Table II, all at once", TABLE_II, AT_ONCE),
    Variant(f"{ROUNDS} rounds, all at once", EQUAL, AT_ONCE),
    Variant(f"{ROUNDS} rounds, spread out", EQUAL, AT_ONCE, "worst-fit"),
)
NAMES = tuple(f"job-{number}" for number in range(1, 5))

WHERE = machines(*[(1, 1)] * 25, *[(2, 1)] * 25)
OWNERS = [
    Tenant(f"owner-{at}", pool=[f"m{number}" for number in range(low, high + 1)])
    for at, (low, high) in enumerate(((1, 10), (11, 25), (26, 35), (36, 50)), 1)
]
USERS = [
    job(
        name,
        Fraction(kind.demand[0], 2),
        Fraction(kind.demand[1], 2),
        on=range(1, 26) if can else None,
        tenant=owner.name,
    )
    for name, kind, can, owner in zip(NAMES, KINDS, CAN, OWNERS, strict=True)
]
"""The same jobs and pools for the exact shares, in CPUs and GB."""


class Case(NamedTuple):
    """A repetition of a variant."""

    variant: Variant
    seed: int


def run(setting: Setting) -> Findings:
    """Runs the jobs in their pools and under TSF, with the same task times."""
    seeds = FEW if setting.quick else SEEDS
    cases = [Case(variant, seed) for variant in VARIANTS for seed in seeds]
    done = dict(zip(cases, setting.spread(both, cases), strict=True))
    exact = tasks(share(WHERE, USERS, "tsf", OWNERS))
    rows: list[Row] = [
        compare(
            "exact shares: tasks of each job, against 10, 30, 20 and 30 in its pool",
            "≥ 10, ≥ 30, ≥ 20 and ≥ 30",
            exact,
        )
    ]
    data: list[tuple[object, ...]] = []
    panels = []
    for variant in VARIANTS:
        runs = [both_ for case, both_ in done.items() if case.variant == variant]
        pools, shared = [one for one, _ in runs], [one for _, one in runs]
        sooner = []
        times: dict[str, tuple[list[float], list[float]]] = {"pools": ([], []), "TSF": ([], [])}
        for name in NAMES:
            took = {"pools": by_name(pools, name), "TSF": by_name(shared, name)}
            for how, seconds in took.items():
                times[how][0].append(float(np.mean(seconds)))
                times[how][1].append(float(np.std(seconds)))
            parts = [1 - b / a for a, b in zip(took["pools"], took["TSF"], strict=True)]
            sooner.append(float(np.mean(parts)))
            data += [
                (variant.name, name, seed, a, b)
                for seed, a, b in zip(seeds, took["pools"], took["TSF"], strict=True)
            ]
        rows += _rows(variant, sooner)
        panels.append(
            bars(
                NAMES,
                {how: mean for how, (mean, _) in times.items()},
                "seconds to completion",
                title=variant.name,
                spread={how: deviation for how, (_, deviation) in times.items()},
                numbers=".0f",
            )
        )
    return Findings(
        rows=tuple(rows),
        tables=(Table.of_rows("completions", ("jobs", "job", "seed", "pools", "tsf"), data),),
        pictures=(
            Picture(
                "Completion in pools of their own and under TSF",
                "Means over the runs; the whiskers are standard deviations.",
                tuple(panels),
            ),
        ),
        seeds=seeds,
    )


def _rows(variant: Variant, sooner: list[float]) -> list[Row]:
    most, least = max(sooner), min(sooner)
    shown = ", ".join(f"{name} {part:+.1%}" for name, part in zip(NAMES, sooner, strict=True))
    return [
        whether(
            f"{variant.name}: no job is slower under TSF than in its pool",
            least >= -NOISE,
            "Theorem 1 is of exact shares. Here nothing that runs is stopped: a job whose places"
            " others have taken, because they came first or can run anywhere, gets them back only"
            " as their tasks end",
            shown=f"sooner by {shown}",
        ),
        compare(
            "… the most that a job is sooner",
            "22%",
            most,
            "the paper does not say how many tasks the jobs had, which decides it: a job goes on"
            " in the others' pools once they are over",
            within=0.1,
        ),
    ]


def both(case: Case) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds to completion of each job in its pool, and under TSF with what its pool is worth as
    its weight."""
    alone, shared = [], []
    for at, (kind, name) in enumerate(zip(KINDS, NAMES, strict=True)):
        mine = Load(
            name,
            case.variant.tasks[at],
            kind.demand,
            kind.mean,
            case.variant.starts[at],
            tenant=Tenant(f"owner-{at + 1}", pool=POOLS[at]),
        )
        alone.append(replace(mine, on=POOLS[at]))
        shared.append(replace(mine, on=CAN[at]))
    return (
        completions(on_fifty("pools", alone, case.seed), case.variant.rule),
        completions(on_fifty("shared", shared, case.seed), case.variant.rule),
    )


STUDY = About(
    figure="Figure 6",
    title="pools of their own against TSF",
    shows="Four jobs like those of Table II have pools of their own: nodes 1–10, 11–25, 26–35 and"
    " 36–50. Then they share all nodes under TSF, where jobs 1 and 2 can run on nodes 1–25, jobs 3"
    " and 4 on all. With TSF no job is slower, and one is faster by 22% (Theorem 1).",
    assumes=(
        (
            "The paper says that demands and task times follow Table II, not how many tasks the"
            " jobs have, nor when they come: so there are variants. Table II's tasks and times;"
            " Table II's tasks, all at once; as many tasks as keep each pool busy for"
            f" {ROUNDS} rounds, all at once, with tasks placed by the rule scarce-last, as in the"
            " others, and by worst-fit."
        ),
        (
            "A job's weight under TSF is k/h: the tasks that its pool runs, by those that the"
            " cluster without constraints would."
        ),
        f"Slower means by more than {NOISE:.0%} in the mean of the runs.",
    ),
    weight=10.0,
)
