"""CDRF, Theorems 4.3 and 4.6: how far whole tasks are from the CDRF point, beside the bounds."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, fields
from math import dist, log, sqrt

import numpy as np

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.studies.cases import job, machines, share
from fairlead.studies.claims import compare, contradiction, whether
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
DRAWS = 20
SEED = 1
"""Of the demands."""
EXAMPLE = 4
"""Machines of section 4.2's example: an even number."""


@dataclass(frozen=True)
class Errors:
    """The errors on so many machines: relative, and of whoever is worst off."""

    machines: int
    drawn: float  # gim-cdrf, the worst of the draws
    middle: float  # the draw in the middle
    bound_4_3: float
    tries: float  # on average, until a draw keeps what is promised
    rounded_down: float  # gim-cdrf(deterministic=true)
    shapley_folkman: float
    bound_4_6: float
    tasks_off: float  # shapley-folkman, Euclidean, in tasks
    bound_4_5: float


def users() -> tuple[Job, ...]:
    """Five jobs with drawn demands."""
    draw = np.random.default_rng(SEED)
    return tuple(job(f"j{j}", *draw.integers(1, 9, 2).tolist()) for j in range(5))


def measure(part: tuple[int, int]) -> Errors:
    """The errors on so many machines of 32 CPUs and 29 GB, in so many draws."""
    size, draws = part
    jobs = users()
    where = machines(*[(32, 29)] * size)
    mean = share(where, jobs, "cdrf-lottery")
    answers = [share(where, jobs, f"gim-cdrf(seed={seed})") for seed in range(draws)]
    drawn = sorted(off(answer, mean)[0] for answer in answers)
    near = share(where, jobs, "shapley-folkman")
    error, apart = off(near, mean)
    n = len(jobs)
    return Errors(
        machines=size,
        drawn=drawn[-1],
        middle=statistics.median(drawn),
        bound_4_3=sqrt(12 * n * log(n) / size),
        tries=statistics.mean(map(tries, answers)),
        rounded_down=off(share(where, jobs, "gim-cdrf(deterministic=true)"), mean)[0],
        shapley_folkman=error,
        bound_4_6=n**1.5 * radius(mean) / size,
        tasks_off=apart,
        bound_4_5=float(_word(near, "Shapley-Folkman-Starr", " is ")),
    )


def off(answer: Allocation, mean: Allocation) -> tuple[float, float]:
    """The largest relative error of anybody, and the distance in tasks."""
    apart = [job.tasks - mean.job(job.name).tasks for job in answer.jobs]
    part = [abs(d) / mean.job(job.name).tasks for d, job in zip(apart, answer.jobs, strict=True)]
    return max(part), float(np.linalg.norm(apart))


def radius(mean: Allocation) -> float:
    """The largest distance of a packing in use from the mean of a machine: a ball around the mean
    with this radius holds packings whose mean it is, which is what the inner radius asks for."""
    assert mean.whole is not None
    number = sum(float(each.machines) for each in mean.whole.packings)
    centre = np.array([job.tasks for job in mean.jobs]) / number
    at = {job.name: j for j, job in enumerate(mean.jobs)}
    far = 0.0
    for packing in mean.whole.packings:
        tasks = np.zeros(len(centre))
        for name, has in packing.jobs:
            tasks[at[name]] = has
        far = max(far, float(np.linalg.norm(tasks - centre)))
    return far


def example(n: int) -> float:
    """Section 4.2's example: n machines, on each of which user 0 has a task or user i, who can use
    the i-th only, has n. The distance from the mean of the farthest allocation that the lottery
    draws: the inner radius at that point is no larger."""
    names = [f"r{r}" for r in range(n + 1)]
    where = machines(
        *[[n if r in (0, i) else 0 for r in range(n + 1)] for i in range(1, n + 1)],
        resources=names,
    )
    users = [job("u0", n, resources=names)]
    users += [
        job(f"u{i}", *[1 if r in (0, i) else 0 for r in range(n + 1)], resources=names)
        for i in range(1, n + 1)
    ]
    found = share(where, users, "cdrf-lottery")
    assert found.whole is not None
    mean = [one.tasks for one in found.jobs]
    return max(dist([count for _, count in chance.jobs], mean) for chance in found.whole.lottery)


def tries(answer: Allocation) -> int:
    """How often the machines drew, from the sentence that says so."""
    word = _word(answer, "drawn ", "drawn ")
    return 1 if word.startswith("once") else int(word)


def _word(answer: Allocation, of: str, after: str) -> str:
    """The word after these ones in the answer's sentence on that."""
    assert answer.whole is not None
    (note,) = (each for each in answer.whole.notes if of in each)
    return note.split(after)[1].split()[0]


def run(setting: Setting) -> Findings:
    """Measures the errors on more and more machines."""
    sizes, draws = ((10, 100), 5) if setting.quick else (SIZES, DRAWS)
    found = setting.spread(measure, [(size, draws) for size in sizes])
    columns = {field.name: [getattr(one, field.name) for one in found] for field in fields(Errors)}
    closest = max(one.drawn / one.bound_4_3 for one in found)
    nearest = max(one.shapley_folkman / one.bound_4_6 for one in found)
    last = found[-1]
    at = columns["machines"]
    names = ("bound", "worst draw", "median draw", "rounded down", "Shapley-Folkman-Starr")
    panels = tuple(
        lines(
            [Line(name, at, columns[of]) for name, of in drawn],
            "machines",
            "largest relative error of a job",
            title=title,
            log="xy",
            marks=True,
            order=names,
        )
        for title, drawn in (
            (
                "Theorem 4.3: machines draw",
                (
                    ("bound", "bound_4_3"),
                    ("worst draw", "drawn"),
                    ("median draw", "middle"),
                ),
            ),
            (
                "Theorem 4.6: nearly all are fixed",
                (
                    ("bound", "bound_4_6"),
                    ("rounded down", "rounded_down"),
                    ("Shapley-Folkman-Starr", "shapley_folkman"),
                ),
            ),
        )
    )
    return Findings(
        rows=(
            whether(
                "Theorem 4.3: each job is within √(12 n log n / m) of its mean",
                all(one.drawn <= one.bound_4_3 for one in found),
                shown=f"in the worst draw {closest:.2f} of the bound at most",
            ),
            compare(
                "Theorem 4.3: tries on average",
                "< 2",
                statistics.mean(one.tries for one in found),
            ),
            whether(
                "Theorem 4.5: the distance in tasks is within √ of the sum of the n largest radii²",
                all(one.tasks_off <= one.bound_4_5 for one in found),
                shown=f"{last.tasks_off:.2f} of {last.bound_4_5:.2f} on {last.machines} machines",
            ),
            whether(
                "Theorem 4.6: each job is within n^(3/2) I* / m of its mean",
                all(one.shapley_folkman <= one.bound_4_6 for one in found),
                shown=f"{nearest:.2f} of the bound at most",
            ),
            whether(
                "section 4.2: rounding down has an error of n² / m",
                all(one.rounded_down <= len(users()) ** 2 / one.machines for one in found),
                shown=f"{last.rounded_down:.2g} on {last.machines} machines",
            ),
            contradiction(
                f"section 4.2's example of {EXAMPLE} machines: its inner radius, 2n√n",
                f"{2 * EXAMPLE * sqrt(EXAMPLE):g}",
                f"≤ {EXAMPLE * sqrt(EXAMPLE + 1):.2f}",
                "the set itself, whose points are at most n√(n + 1) apart,",
                example(EXAMPLE),
            ),
        ),
        tables=(Table("errors", columns),),
        pictures=(
            Picture(
                "How far whole tasks are from the CDRF point",
                "Five jobs on machines of one kind. Where all machines draw, the error falls with"
                " the root of their number; where all but one for each job are fixed, with their"
                " number.",
                panels,
            ),
        ),
        seeds=tuple(range(draws)),
    )


STUDY = About(
    figure="Theorems 4.3 and 4.6",
    title="whole tasks close to the CDRF point",
    shows="On m machines of one kind, n users get whole tasks within √(12 n log n / m) of their"
    " mean if every machine draws what it runs, in fewer than two tries on average (Theorem 4.3),"
    " and within n^(3/2) I* / m if nearly all machines are fixed (Theorem 4.6, by Shapley, Folkman"
    " and Starr), I* being the largest inner radius of a machine. The paper states the orders and"
    " draws no picture.",
    assumes=(
        "Five jobs need 1 to 8 CPUs and 1 to 8 GB (drawn, seed 1); a machine has 32 and 29.",
        "Theorem 4.3's constant is that of IM-CDRF; `gim-cdrf` keeps a stricter promise.",
        "Theorem 4.6's radius is the one at the point, which is no larger than I*.",
        "The constants of Theorem 4.6 and of section 4.2 are taken as 1.",
    ),
    weight=6.0,
)
