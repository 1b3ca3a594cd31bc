"""Ours: what capacity that cannot be used does to shares, over how much of it there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.claims import by_hand, whether
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

POLICIES = {"TSF": "tsf", "DRFH": "drfh", "CDRF": "cdrf", "per-machine DRF": "per-machine-drf"}
SHAPE, CLOSED, PICKY = "by shape", "by constraint", "many, by how picky"

PLAIN = 12
"""Machines of (15, 15) that both can use."""
SIZE = 15
PARTS = tuple(Fraction(at, 20) for at in range(17))
FEW_PARTS = (Fraction(0), Fraction(1, 2), Fraction(4, 5))
"""Of the memory (by shape) or of the machines (by constraint) that one cannot use."""

MANY, MACHINES = 40, 60
PICKY_PARTS = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.05)
SEEDS, ONE = (1, 2, 3, 4, 5), (1,)

Given = tuple[Sequence[Machine], Sequence[Job]]


class Case(NamedTuple):
    """A kind of unusable capacity, how much of it, a policy, a seed where anything is drawn."""

    kind: str
    part: float
    policy: str
    seed: int = 0


def by_shape(part: Fraction) -> Given:
    """Machines with memory alone hold this part of all memory: nobody can use them. A wants two
    thirds memory, B two thirds CPU."""
    memory = PLAIN * SIZE * part / (1 - part)
    where = [(SIZE, SIZE)] * PLAIN + ([(0, memory)] if memory else [])
    return machines(*where), (job("A", Fraction(1, 2), 1), job("B", 1, Fraction(1, 2)))


def by_constraint(part: Fraction) -> Given:
    """A may not use this part of the machines; B is like A and may use all."""
    count = 20
    mine = count - int(part * count)
    where = machines(*[(SIZE, SIZE)] * count)
    return where, (job("A", 1, 1, on=range(1, mine + 1)), job("B", 1, 1))


def many(part: float, seed: int) -> Given:
    """Jobs of drawn demands; every second one may use each machine with this probability only."""
    draw = np.random.default_rng([seed, round(1000 * part)])
    where = machines(*[tuple(map(int, draw.integers(8, 33, 2))) for _ in range(MACHINES)])
    jobs = []
    for at in range(MANY):
        demand = [Fraction(int(amount), 4) for amount in draw.integers(1, 17, 2)]
        on = np.flatnonzero(draw.random(MACHINES) < part) + 1
        on = on if len(on) else draw.integers(1, MACHINES + 1, 1)
        jobs.append(job(f"u{at}", *demand, on=on.tolist() if at % 2 else None))
    return where, jobs


def solved(case: Case) -> list[float]:
    """The tasks that each job gets."""
    if case.kind == PICKY:
        where, jobs = many(case.part, case.seed)
    else:
        make: Callable[[Fraction], Given] = by_shape if case.kind == SHAPE else by_constraint
        where, jobs = make(Fraction(case.part).limit_denominator(100))
    return tasks(share(where, jobs, POLICIES[case.policy]))


def run(setting: Setting) -> Findings:
    """Solves all cases, and lays those who are constrained beside those who are not."""
    parts = FEW_PARTS if setting.quick else PARTS
    picky = PICKY_PARTS[::6] if setting.quick else PICKY_PARTS
    seeds = ONE if setting.quick else SEEDS
    cases = [
        Case(kind, float(part), policy)
        for kind in (SHAPE, CLOSED)
        for part in parts
        for policy in POLICIES
    ]
    cases += [
        Case(PICKY, part, policy, seed) for part in picky for policy in POLICIES for seed in seeds
    ]
    found = dict(zip(cases, setting.spread(solved, cases), strict=True))

    def ratio(kind: str, part: float, policy: str) -> float:
        """Tasks of those who are kept from capacity ÷ tasks of the others, in the mean."""
        ratios = []
        for case, got in found.items():
            if (case.kind, case.part, case.policy) == (kind, part, policy):
                if kind == PICKY:
                    whole = tasks_of_open(case, found)
                    ratios.append(whole)
                else:
                    ratios.append(got[0] / got[1])
        return float(np.mean(ratios))

    curves = {
        SHAPE: [
            (float(part), {p: ratio(SHAPE, float(part), p) for p in POLICIES}) for part in parts
        ],
        CLOSED: [
            (float(part), {p: ratio(CLOSED, float(part), p) for p in POLICIES}) for part in parts
        ],
        PICKY: [(part, {p: ratio(PICKY, part, p) for p in POLICIES}) for part in picky],
    }
    half = {kind: dict(curves[kind])[0.5] for kind in (SHAPE, CLOSED)}
    none, most = curves[SHAPE][0][1], curves[SHAPE][-1][1]
    last = curves[PICKY][-1][1]
    labels = {
        SHAPE: ("part of the memory on machines without CPU", "tasks of A ÷ tasks of B"),
        CLOSED: ("part of the machines that A may not use", "tasks of A ÷ tasks of B"),
        PICKY: (
            "part of the machines that the constrained may use",
            "tasks ÷ those if all were open",
        ),
    }
    return Findings(
        rows=(
            by_hand("by shape, no useless memory, DRFH: tasks of A ÷ of B", "1", none["DRFH"]),
            by_hand(
                "… half of the memory useless: DRFH counts it, so that A seems poor",
                "2",
                half[SHAPE]["DRFH"],
            ),
            by_hand("… TSF does not", "1", half[SHAPE]["TSF"]),
            by_hand("… nor does CDRF", "1", half[SHAPE]["CDRF"]),
            whether(
                "by shape: DRFH is bent until memory is no longer what A has most of, TSF never",
                most["DRFH"] == half[SHAPE]["DRFH"] > none["DRFH"]
                and all(one["TSF"] == none["TSF"] for _, one in curves[SHAPE]),
                shown=f"{most['DRFH']:.2f} to 1 where {curves[SHAPE][-1][0]:.0%} are useless",
            ),
            by_hand(
                "by constraint, A may use half of the machines: A ÷ B under TSF",
                "1",
                half[CLOSED]["TSF"],
            ),
            by_hand("… under CDRF, which measures A by its half", "1/2", half[CLOSED]["CDRF"]),
            by_hand(
                "… machine by machine, where both split A's half",
                "1/3",
                half[CLOSED]["per-machine DRF"],
            ),
            whether(
                "many jobs: those who may use few machines keep more of what they had under TSF and"
                " DRFH than under CDRF and machine by machine",
                min(last["TSF"], last["DRFH"]) > max(last["CDRF"], last["per-machine DRF"]),
                shown=", ".join(f"{p} {one:.0%}" for p, one in last.items()),
            ),
        ),
        tables=tuple(
            Table.of_rows(
                kind.replace(", ", "-").replace(" ", "-"),
                ("part", *POLICIES),
                [(part, *one.values()) for part, one in curve],
            )
            for kind, curve in curves.items()
        ),
        pictures=(
            Picture(
                "What cannot be used, and who pays for it",
                "Left: memory that nobody can use. Middle: machines that A may not use. Right:"
                " forty jobs, of which half may use a part of the machines only.",
                tuple(
                    lines(
                        [
                            Line(p, [part for part, _ in curve], [one[p] for _, one in curve])
                            for p in POLICIES
                        ],
                        *labels[kind],
                        title=kind,
                        marks=True,
                        order=list(POLICIES),
                    )
                    for kind, curve in curves.items()
                ),
            ),
        ),
        seeds=seeds,
    )


def tasks_of_open(case: Case, found: dict[Case, list[float]]) -> float:
    """The tasks of the constrained jobs, in parts of those that they have where nobody is."""
    open_ = next(
        got
        for one, got in found.items()
        if (one.kind, one.policy, one.seed) == (PICKY, case.policy, case.seed) and one.part == 1.0
    )
    return float(np.mean(np.array(found[case])[1::2] / np.array(open_)[1::2]))


STUDY = About(
    figure="",
    title="what unusable capacity does to DRF",
    shows="Schedulers in use take a dominant share of the whole cluster. Operators complain that"
    " capacity which a team cannot use bends its share: here as curves, over how much of the"
    " cluster that is. By shape, memory on machines that have no CPU; by constraint, machines that"
    " one may not use; and for forty jobs over the part of the machines that the constrained ones"
    " may use. Expected is what was worked out by hand.",
    assumes=(
        "Jobs never run out of tasks, each is its own tenant, and tasks are divisible.",
        (
            "Of the forty, demands and machines are drawn, and each machine is open to each of the"
            " constrained with the probability on the axis."
        ),
        (
            "The claim on DRFH was worded anew after its first form, that it bends more and more,"
            " had failed: it says what was found."
        ),
    ),
    weight=15.0,
)
