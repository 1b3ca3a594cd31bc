"""The distance of whole-task allocations from the CDRF point, beside the theorems' bounds.

`python benchmarks/whole_errors.py [--out FILE.svg]`: five jobs on more and more machines of one
kind. Theorem 4.3: every machine draws its packing; the largest relative error of anybody, in the
worst and the middle one of 20 draws, beside the root of 12 n log n / m. Theorem 4.6: all but n
machines have the packing that the mixture says; the error beside n^(3/2) I / m, where I is the
radius at the point, which is no larger than the theorem's inner radius.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from math import log, sqrt
from pathlib import Path

import numpy as np

from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.allocate import allocate

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)
DRAWS = 20
SEED = 1


@dataclass(frozen=True)
class Row:
    """The measurements on so many machines. Errors are relative, and of whoever is worst off."""

    machines: int
    drawn: float  # gim-cdrf, the worst of the draws
    middle: float  # the draw in the middle
    bound_4_3: float
    rounded_down: float  # gim-cdrf(deterministic=true)
    shapley_folkman: float
    bound_4_6: float
    tasks_off: float  # shapley-folkman, Euclidean, in tasks
    bound_4_5: float


def measure(size: int) -> Row:
    """The errors on so many machines of 32 CPUs and 29 GB, five jobs with drawn demands."""
    draw = np.random.default_rng(SEED)
    jobs = tuple(
        Job(f"j{j}", {"cpu": int(draw.integers(1, 9)), "memory": int(draw.integers(1, 9))})
        for j in range(5)
    )
    cluster = Cluster([Machine(f"m{i}", {"cpu": 32, "memory": 29}) for i in range(size)], [], [])
    mean = allocate(cluster, jobs, "cdrf-lottery")
    drawn = sorted(
        off(allocate(cluster, jobs, f"gim-cdrf(seed={seed})"), mean)[0] for seed in range(DRAWS)
    )
    down = off(allocate(cluster, jobs, "gim-cdrf(deterministic=true)"), mean)[0]
    near = allocate(cluster, jobs, "shapley-folkman")
    part, apart = off(near, mean)
    n = len(jobs)
    return Row(
        machines=size,
        drawn=drawn[-1],
        middle=statistics.median(drawn),
        bound_4_3=sqrt(12 * n * log(n) / size),
        rounded_down=down,
        shapley_folkman=part,
        bound_4_6=n**1.5 * radius(mean) / size,
        tasks_off=apart,
        bound_4_5=stated(near),
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


def stated(near: Allocation) -> float:
    """The bound of Shapley, Folkman and Starr that the answer states."""
    assert near.whole is not None
    (note,) = (each for each in near.whole.notes if "Shapley-Folkman-Starr" in each)
    return float(note.split(" is ")[1].split()[0])


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    names = [field.name.replace("_4_", " 4.").replace("_", " ") for field in fields(Row)]
    lines = [f"| {' | '.join(names)} |", "|--:" * len(names) + "|"]
    for row in rows:
        size, *errors = astuple(row)
        cells = [f"{size:,}", *(f"{each:.5f}" for each in errors)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(rows: Sequence[Row], out: Path) -> None:
    """Both theorems as curves, the axes logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "whole"  # the same bytes each time
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0), sharey=True)
    size = [row.machines for row in rows]
    left.set_title("every machine draws")
    left.loglog(size, [row.bound_4_3 for row in rows], "k--", label="bound of Theorem 4.3")
    left.loglog(size, [row.drawn for row in rows], "o-", label=f"gim-cdrf, worst of {DRAWS}")
    left.loglog(size, [row.middle for row in rows], "s-", label="gim-cdrf, median")
    right.set_title("all but n machines are fixed")
    right.loglog(size, [row.bound_4_6 for row in rows], "k--", label="bound of Theorem 4.6")
    right.loglog(size, [row.rounded_down for row in rows], "s-", label="rounded down (§4.2)")
    right.loglog(size, [row.shapley_folkman for row in rows], "o-", label="shapley-folkman")
    for axes in (left, right):
        axes.set_xlabel("machines")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend()
    left.set_ylabel("largest relative error of a job")
    figure.savefig(out, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code, 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the picture, as .svg or .png")
    options = parser.parse_args(arguments)
    rows = [measure(size) for size in SIZES]
    print(table(rows))
    if options.out is not None:
        draw(rows, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
