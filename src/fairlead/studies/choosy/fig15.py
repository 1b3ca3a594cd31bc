"""Choosy, Figure 15: the time of the offline solver over users, machines and their types."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairlead.sharing.present import Snapshot, Tenants, exact_now
from fairlead.simulation.workloads.constraints import constraints_of
from fairlead.studies.claims import compare, whether
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.study import About, Findings, Setting, Table

USERS, FEW_USERS = (500, 1000, 2500, 5000), (50, 100)
MACHINES, FEW_MACHINES = (1_000, 10_000, 100_000), (1_000, 10_000)
TYPES, FEW_TYPES = (10, 100), (10,)
SEEDS, ONE = (1, 2, 3), (1,)
SECONDS = "< 5 s"


class Case(NamedTuple):
    users: int
    machines: int
    types: int


def run(setting: Setting) -> Findings:
    """Solves each size, one after the other, in processor time: nothing is spread."""
    quick = setting.quick
    seeds = ONE if quick else SEEDS
    cases = [
        Case(users, machines, types)
        for users in (FEW_USERS if quick else USERS)
        for machines in (FEW_MACHINES if quick else MACHINES)
        for types in (FEW_TYPES if quick else TYPES)
    ]
    took = {case: float(np.mean([solved(case, seed) for seed in seeds])) for case in cases}
    most = max(cases)
    least_machines = most._replace(machines=min(case.machines for case in cases))
    half = most._replace(users=sorted({case.users for case in cases})[-2])
    types = sorted({case.types for case in cases})
    return Findings(
        rows=(
            compare(
                f"{most.users:,} users, {most.machines:,} machines, {most.types} types: seconds",
                SECONDS,
                took[most],
                "the machine was busy or slow",
            ),
            whether(
                "with twice the users it takes at most about twice as long (paper: roughly linear)",
                took[most] / took[half] < 1.2 * most.users / half.users,
                "the machine was busy or slow",
                shown=f"{took[half]:.2f} s for {half.users:,}, {took[most]:.2f} s for"
                f" {most.users:,}",
            ),
            *(
                whether(
                    f"with {most.types // few} times the types it takes at most about as many times"
                    " as long (paper: roughly linear)",
                    took[most] / took[most._replace(types=few)] < 1.2 * most.types / few,
                    "the machine was busy or slow",
                    shown=f"{took[most] / took[most._replace(types=few)]:.1f} times",
                )
                for few in types[:-1]
            ),
            whether(
                "with 100 times the machines it grows by less than 18 times",
                took[most] / took[least_machines] < 18,
                shown=f"{took[most] / took[least_machines]:.1f} times, from"
                f" {least_machines.machines:,} to {most.machines:,} machines",
            ),
        ),
        tables=(
            Table.of_rows(
                "seconds",
                ("users", "machines", "types", "seconds"),
                [(*case, seconds) for case, seconds in took.items()],
            ),
        ),
        pictures=(
            Picture(
                "Seconds of the exact shares of one resource",
                "Means of the draws, by processor time; a line for each number of machines.",
                tuple(_panel(took, kinds) for kinds in types),
            ),
        ),
        seeds=seeds,
    )


def solved(case: Case, seed: int) -> float:
    """Seconds of the exact shares of users with constraints on machines of drawn types."""
    kinds = constraints_of("sharma")
    draw = np.random.default_rng([seed, *case])
    has = kinds.attributes(case.types, seed)[draw.integers(0, case.types, case.machines)]
    needs = kinds.needs(case.users, seed)
    ones = np.ones(case.users, np.int64)
    now = Snapshot(
        time=0,
        capacity=np.ones((case.machines, 1), np.int64),
        satisfies=has[:, None],
        job=np.arange(case.users),
        tenant=-ones,
        demand=ones[:, None],
        needs=needs[:, None],
        spread=np.zeros(case.users, np.bool_),
        waiting=case.machines * ones,
        held=0 * ones,
        scale=np.full(case.users, float(case.machines)),
    )
    nobody = Tenants(parent=np.zeros(0, np.int64), weight=np.zeros(0))
    begun = time.process_time()
    exact_now(now, nobody)
    return time.process_time() - begun


def _panel(took: dict[Case, float], types: int) -> Panel:
    def curve(machines: int) -> Line:
        points: Sequence[tuple[int, float]] = [
            (case.users, seconds)
            for case, seconds in took.items()
            if (case.machines, case.types) == (machines, types)
        ]
        return Line(f"{machines:,} machines", [u for u, _ in points], [s for _, s in points])

    return lines(
        [curve(machines) for machines in sorted({case.machines for case in took})],
        "users",
        "seconds",
        title=f"{types} types",
        marks=True,
        log="y",
    )


STUDY = About(
    figure="Figure 15",
    title="the offline solver's time",
    shows="The flow solver takes less than 5 s for 5,000 users, 100,000 machines and 100 types of"
    " machines, with constraints after Sharma et al. It grows about as the users and the types do,"
    " and by 4 to 18 times with 100 times the machines.",
    assumes=(
        "A type is a set of attributes that is drawn; machines are of types evenly at random.",
        "Our time is that of the exact shares with all that a moment of a run needs, on one core.",
    ),
    weight=30.0,
)
