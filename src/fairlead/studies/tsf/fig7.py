"""TSF, Figure 7: mice among elephants, and among more elephants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairlead.simulation.workloads.table_ii import NODES
from fairlead.studies.cases import job, machines, share, shares
from fairlead.studies.claims import contradiction, whether
from fairlead.studies.pictures.charts import bars
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.runs import Load, by_name, completions
from fairlead.studies.study import About, Findings, Setting, Table
from fairlead.studies.tsf.cluster import KINDS, nodes, on_fifty

SEEDS, FEW = tuple(range(50)), (0, 1, 2)
ELEPHANTS, MICE = ("elephant 1", "elephant 2"), ("mouse 1", "mouse 2")
NAMES = ELEPHANTS + MICE
PICKY = ((1, 5), (25, 30))
"""The nodes of mouse 1."""
MORE = 4
FEW_WORDS, MANY_WORDS = "two elephants", f"and {MORE} more"
CLOSE, MUCH = 0.05, 0.25
"""A job is slowed down if it takes longer by more than this part in the mean, and much so."""


def run(setting: Setting) -> Findings:
    """Runs the four jobs alone, and beside four elephants more."""
    seeds = FEW if setting.quick else SEEDS
    runs = setting.spread(both, seeds)
    fair = fair_share()
    few, many = [one for one, _ in runs], [one for _, one in runs]
    took = {
        FEW_WORDS: [by_name(few, name) for name in NAMES],
        MANY_WORDS: [by_name(many, name) for name in NAMES],
    }
    mean = {key: [float(np.mean(each)) for each in all_] for key, all_ in took.items()}
    deviation = {key: [float(np.std(each)) for each in all_] for key, all_ in took.items()}
    later = {
        name: after / before
        for name, before, after in zip(NAMES, mean[FEW_WORDS], mean[MANY_WORDS], strict=True)
    }
    shown = {
        some: ", ".join(f"{name} ×{later[name]:.2f}" for name in some) for some in (ELEPHANTS, MICE)
    }
    return Findings(
        rows=(
            whether(
                f"more elephants delay both elephants much (by more than {MUCH:.0%})",
                all(later[name] > 1 + MUCH for name in ELEPHANTS),
                shown=shown[ELEPHANTS],
            ),
            *(
                whether(
                    f"{mouse} is not affected (by more than {CLOSE:.0%})",
                    later[mouse] <= 1 + CLOSE,
                    f"its exact share is {fair[0]:.2f}, then {fair[1]:.2f}; what a mouse keeps is"
                    " its share, not its time",
                    shown=f"×{later[mouse]:.2f}",
                )
                for mouse in MICE
            ),
            contradiction(
                "nodes that mouse 1 can use",
                "10",
                "11",
                "its list, 1–5 and 25–30,",
                float(len(nodes(*PICKY))),
            ),
        ),
        tables=(
            Table.of_rows(
                "completions",
                ("job", "seed", "two elephants", "six elephants"),
                [
                    (name, seed, before[name], after[name])
                    for name in NAMES
                    for seed, (before, after) in zip(seeds, runs, strict=True)
                ],
            ),
        ),
        pictures=(
            Picture(
                "Mice among elephants",
                "Means over the runs; the whiskers are standard deviations.",
                (bars(NAMES, mean, "seconds to completion", spread=deviation, numbers=".0f"),),
            ),
        ),
        seeds=seeds,
    )


def fair_share() -> tuple[float, float]:
    """The exact share of mouse 1 among two elephants, and among six."""
    found = []
    where = machines(*[(1, 1)] * 25, *[(2, 1)] * 25)
    jobs, more = _jobs()
    for some in (jobs, jobs + more):
        exact = share(
            where,
            [
                job(
                    one.name.replace(" ", "-"),
                    Fraction(one.demand[0], 2),
                    Fraction(one.demand[1], 2),
                    on=None if one.on is None else [NODES.index(node) + 1 for node in one.on],
                    tasks=one.tasks,
                )
                for one in some
            ],
            "tsf",
        )
        found.append(shares(exact)[NAMES.index("mouse 1")])
    return found[0], found[1]


def both(seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds to completion of each job, among two elephants and among six."""
    jobs, more = _jobs()
    return (
        completions(on_fifty("mice", jobs, seed)),
        completions(on_fifty("more", jobs + more, seed)),
    )


def _jobs() -> tuple[list[Load], list[Load]]:
    """The four jobs, and the elephants that come beside them."""
    jobs = [
        _job("elephant 1", 250, 0, (1, 40)),
        _job("elephant 2", 250, 3, (11, 50)),
        _job("mouse 1", 100, 1, *PICKY),
        _job("mouse 2", 10, 2),
    ]
    more = [_job(f"elephant {number}", 250, number % 4, (1, 50)) for number in range(3, 3 + MORE)]
    return jobs, more


def _job(name: str, tasks: int, kind: int, *ranges: tuple[int, int]) -> Load:
    """A job with demand and task times of a job of Table II."""
    of = KINDS[kind]
    return Load(name, tasks, of.demand, of.mean, on=nodes(*ranges) if ranges else None)


STUDY = About(
    figure="Figure 7",
    title="mice among elephants",
    shows="Two elephants of 250 tasks can run on nodes 1–40 and on 11–50. Mouse 1 has 100 tasks for"
    " nodes 1–5 and 25–30 only, mouse 2 has 10 tasks for any node. Then four elephants of 250 tasks"
    " more come, which can run anywhere: the two elephants are much delayed, the mice are not.",
    assumes=(
        (
            "Demands and task times follow Table II (the paper: “the previous setup”): elephant 1"
            " has those of job 1, mouse 1 of job 2, mouse 2 of job 3, elephant 2 of job 4;"
            " elephants 3 to 6 have those of jobs 4, 1, 2 and 3."
        ),
        "All jobs come at once, with the same weight.",
    ),
    weight=6.0,
)
