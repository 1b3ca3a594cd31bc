"""Choosy, Figures 10 to 13: nine users who join and leave, under five schedulers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairlead.simulation.engine.run import simulate
from fairlead.simulation.ideal.compare import Allocations, apart
from fairlead.simulation.ideal.kinds import Kind
from fairlead.simulation.ideal.run import run_ideal
from fairlead.simulation.workload import Floats, Ints, Resource, Workload
from fairlead.simulation.workloads.draws import SECOND, Shape, Stream, Times, numbers
from fairlead.studies.claims import Row, whether
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.runs import Load, workload
from fairlead.studies.study import About, Findings, Setting, Table

POLICY = "cmmf(slot)"
USERS = 9
MACHINES, FEW_MACHINES = 100, 6
MEAN = 1.0
"""Seconds of a task in the mean: the unit of time."""
EVERY = SECOND // 10
BETWEEN = 5.0
"""Seconds between two users that join."""
TOGETHER = 100
"""Seconds that a user alone would need for its tasks, about, on a ninth of the machines."""
LAST = USERS * BETWEEN
AT_ONCE = 6.0
"""Seconds that are drawn where all join at once."""
KINDS = (Kind.RESTRICTED, Kind.PREEMPTION, Kind.PERIODIC)
SEEDS, FEW = tuple(range(1, 11)), (1,)
TIMES = Times(Shape.EXPONENTIAL)


class Case(NamedTuple):
    """A draw of constraints and task times; `at_once`: all join an empty cluster."""

    seed: int
    at_once: bool
    machines: int


@dataclass(frozen=True)
class Compared:
    """Shares of each user over time under each scheduler, and distances from them."""

    seconds: Floats
    shares: dict[str, Floats]
    """By scheduler (S, U)."""
    from_kind: dict[Kind, Floats]
    """The online scheduler's distance from each kind, user by user."""
    from_best: dict[str, Floats]
    """Of the online and of the periodic scheduler, the distance from the ideal."""


ONLINE = "online"


def run(setting: Setting) -> Findings:
    """Lets nine users join one after the other, and all at once."""
    seeds = FEW if setting.quick else SEEDS
    machines = FEW_MACHINES if setting.quick else MACHINES
    cases = [Case(seed, at_once, machines) for at_once in (False, True) for seed in seeds]
    done = dict(zip(cases, setting.spread(compared, cases), strict=True))
    joining = [one for case, one in done.items() if not case.at_once]
    together = [one for case, one in done.items() if case.at_once]
    first, empty = joining[0], together[0]
    return Findings(
        rows=(*_joining(joining), *_together(together)),
        tables=(_table("joining", first, 2 * LAST), _table("at-once", empty, AT_ONCE)),
        pictures=(
            Picture(
                "Nine users who join, and leave as their tasks end",
                "Each panel has the shares of all users under the online scheduler (drawn through)"
                " and under one that solves (dashes); the last is of an empty"
                " cluster that all join at once. Seed 1.",
                (
                    *(
                        _panel(first, kind.value, f"{figure}: {kind.value}", 2 * LAST)
                        for figure, kind in zip((10, 11, 12), KINDS, strict=True)
                    ),
                    _panel(empty, Kind.PREEMPTION.value, "13: all at once", AT_ONCE),
                ),
            ),
        ),
        seeds=seeds,
    )


def compared(case: Case) -> Compared:
    """The same users under the online scheduler and under each kind."""
    work = nine_users(case)
    online = Allocations(EVERY)
    simulate(work, policy=POLICY, sinks=(online,))
    ideal = {}
    for kind in KINDS:
        ideal[kind] = Allocations(EVERY)
        run_ideal(work, kind, POLICY, sinks=(ideal[kind],))
    best = ideal[Kind.PREEMPTION]
    end = int(LAST * SECOND)
    times = sorted(time for time in online.at if time <= 2 * end)
    named = {ONLINE: online, **{kind.value: one for kind, one in ideal.items()}}
    return Compared(
        seconds=np.array(times) / SECOND,
        shares={name: _shares(one, times) for name, one in named.items()},
        from_kind={kind: apart(online, one, until=end).rmse for kind, one in ideal.items()},
        from_best={
            ONLINE: apart(online, best, until=end).rmse,
            Kind.PERIODIC.value: apart(ideal[Kind.PERIODIC], best, until=end).rmse,
        },
    )


def nine_users(case: Case) -> Workload:
    """Nine users, each of whom may use machines that are drawn."""
    draw = numbers(case.seed, Stream.CONSTRAINTS)
    names = tuple(f"m{at}" for at in range(case.machines))
    part = draw.uniform(0.1, 1.0, USERS)
    users = [
        Load(
            f"u{at + 1}",
            TOGETHER * case.machines // USERS,
            (1,),
            MEAN,
            start=0.0 if case.at_once else at * BETWEEN,
            on=tuple(names[m] for m in np.flatnonzero(draw.random(case.machines) < part[at])),
            times=TIMES,
        )
        for at in range(USERS)
    ]
    one = (Resource("slot", Fraction(1)),)
    return workload(
        "nine-users", one, names, np.ones((case.machines, 1), np.int64), users, case.seed
    )


def _shares(kept: Allocations, times: Sequence[int]) -> Floats:
    found = np.zeros((len(times), USERS))
    for row, time in enumerate(times):
        job, share = kept.at.get(time, (np.zeros(0, np.int64), np.zeros(0)))
        found[row, job] = share
    return found


def _mean(runs: Sequence[Compared], kind: Kind) -> float:
    return float(np.mean([one.from_kind[kind].mean() for one in runs]))


def _joining(runs: Sequence[Compared]) -> list[Row]:
    near = {kind: _mean(runs, kind) for kind in KINDS}
    best = {name: [float(one.from_best[name].mean()) for one in runs] for name in runs[0].from_best}
    online, periodic = best[ONLINE], best[Kind.PERIODIC.value]
    return [
        whether(
            "Figure 10: Choosy closely matches the offline scheduler that may not move tasks"
            " (within 1% of the cluster)",
            near[Kind.RESTRICTED] < 1.0,
            "where several machines are as good the two choose others, and tasks stay",
            shown=f"{near[Kind.RESTRICTED]:.2f}% in the mean while users join",
        ),
        whether(
            "Figure 11: there is more between it and one that may move and pause tasks",
            near[Kind.PREEMPTION] > near[Kind.RESTRICTED],
            shown=f"{near[Kind.PREEMPTION]:.2f}%",
        ),
        whether(
            "Figure 12: Choosy is nearer to the best than the periodic scheduler",
            float(np.mean(online)) < float(np.mean(periodic)),
            "the periodic one solves at every arrival, and here tasks end quickly",
            shown=f"{np.mean(online):.2f}% and {np.mean(periodic):.2f}%, in"
            f" {sum(a < b for a, b in zip(online, periodic, strict=True))} of {len(runs)} draws",
        ),
    ]


def _together(runs: Sequence[Compared]) -> list[Row]:
    def off(name: str, second: float) -> float:
        """The mean distance of a user from what it has under the best, at this moment."""
        found = []
        for one in runs:
            row = int(np.argmin(abs(one.seconds - second)))
            best = one.shares[Kind.PREEMPTION.value]
            found.append(float(abs(one.shares[name][row] - best[row]).mean()))
        return 100 * float(np.mean(found))

    close = [
        float((abs(one.shares[ONLINE][row] - one.shares[Kind.PREEMPTION.value][row]) < 0.02).mean())
        for one in runs
        for row in [int(np.argmin(abs(one.seconds - 1.0)))]
    ]
    return [
        whether(
            "Figure 13: all offline schedulers are at the optimum at once",
            off(Kind.RESTRICTED.value, 0.0) < 0.2,
            "whole machines leave more than one optimum",
            shown=f"{off(Kind.RESTRICTED.value, 0.0):.2f}% from one another",
        ),
        whether(
            "… Choosy takes some time",
            off(ONLINE, 0.0) > off(ONLINE, 3.0),
            shown=f"{off(ONLINE, 0.0):.2f}% off at first, {off(ONLINE, 1.0):.2f}% after one mean"
            f" task time, {off(ONLINE, 3.0):.2f}% after three",
        ),
        whether(
            "… after one mean task time most users are very close to their share (2% of the"
            " cluster)",
            float(np.mean(close)) > 0.5,
            shown=f"{np.mean(close):.0%} of the users",
        ),
    ]


def _table(name: str, one: Compared, until: float) -> Table:
    some = _choose_moments(one, until)
    columns: dict[str, Sequence[object]] = {"second": one.seconds[some].tolist()}
    for scheduler, shares in one.shares.items():
        for user in range(USERS):
            columns[f"{scheduler}, u{user + 1}"] = shares[some, user].tolist()
    return Table(name, columns)


def _choose_moments(one: Compared, until: float) -> Ints:
    """The rows of the moments that are drawn: some 120."""
    some: Ints = np.flatnonzero(one.seconds <= until)
    return some[:: max(1, len(some) // 120)]


def _panel(one: Compared, other: str, title: str, until: float) -> Panel:
    """Shares of all users, stacked, so that bands do not cross."""
    some = _choose_moments(one, until)
    x = one.seconds[some].tolist()

    def sums(shares: Mapping[str, Floats], name: str) -> Floats:
        found: Floats = np.cumsum(shares[name][some], axis=1)
        return found

    mine, its = sums(one.shares, ONLINE), sums(one.shares, other)
    return lines(
        [
            *(Line(ONLINE, x, mine[:, user].tolist()) for user in range(USERS)),
            *(Line("solved", x, its[:, user].tolist()) for user in range(USERS)),
        ],
        "mean task times",
        "shares, stacked",
        title=title,
        steps=True,
        y_most=1.02,
        order=[ONLINE, "solved"],
    )


STUDY = About(
    figure="Figures 10 to 13",
    title="nine users who join and leave",
    shows="Nine users with constraints join one after the other and leave. Choosy closely follows"
    " the best scheduler that may not move tasks; one that may is ahead of it a little when"
    " somebody joins; and it is better than one that solves only when somebody comes or goes and"
    " has machines follow. Where all join an empty cluster, the best is there at once, and Choosy"
    " nearly so after a mean task time.",
    assumes=(
        (
            f"{MACHINES} machines; each user may use each with a chance between 10% and 100%, drawn"
            " once a user; the paper says only that constraints are random."
        ),
        (
            "Users leave as their tasks end: the simulator's workloads cannot cancel a job."
            " Distances are taken while users join."
        ),
    ),
    weight=20.0,
)
