"""Choosy, Figure 7: how nearly task times are distributed after Pareto."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import Floats, Workload
from fairlead.simulation.workloads.draws import SECOND
from fairlead.studies.choosy.fig6 import waited
from fairlead.studies.claims import Row, compare, impossible
from fairlead.studies.clusters import alibaba_files, google
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

POINTS = 200
"""Of the distribution, evenly in the logarithm of the chance to be longer."""
PICKINESS = 0.85
FORMULA = (
    f"For α = 1.9 the formula of Figure 6 gives {waited(1.9, PICKINESS):.2f} mean task times at a"
    f" pickiness of {PICKINESS}."
)
OTHERS = (
    "perhaps other clusters' tasks are of another kind than Facebook's and Bing's: services and"
    " long jobs are among them"
)


def run(setting: Setting) -> Findings:
    """Fits the times that we have."""
    folder = setting.data("google-2011")
    found = {
        "Google, 10,000 jobs": _of_jobs(folder / "job_task_durations_10k.tr.gz"),
        "Google, the first hour": _times(google(folder)),
        "Alibaba's pods": _times(load(alibaba_files(setting))),
    }
    rows: list[Row] = [
        impossible("the task times of Facebook and Bing", "a picture", "they were never published")
    ]
    shown, data = [], []
    for name, times in found.items():
        x, longer = _distribution(times)
        alpha, fit = pareto(x, longer)
        wait = ramp_up(times, PICKINESS)
        rows += [
            compare(f"{name}: α", "> 1.9", alpha, OTHERS),
            compare(f"{name}: fit R²", "~0.8", fit, OTHERS, within=0.15),
            compare(
                f"{name}: wait ÷ mean task time at a pickiness of {PICKINESS}, from the times"
                " themselves",
                "< 2",
                wait,
                _long(times),
            ),
        ]
        shown.append(Line(name, x.tolist(), longer.tolist()))
        data += [(name, float(a), float(b)) for a, b in zip(x, longer, strict=True)]
    return Findings(
        rows=tuple(rows),
        tables=(Table.of_rows("longer", ("times", "seconds", "part that takes longer"), data),),
        pictures=(
            Picture(
                "The part of tasks that take longer",
                "After Pareto these would be straight lines.",
                (lines(shown, "seconds", "part of the tasks", log="xy"),),
            ),
        ),
        notes=(FORMULA,),
    )


def pareto(x: Floats, longer: Floats) -> tuple[float, float]:
    """The α of the Pareto distribution that fits best, and R²: by a line through the logarithms."""
    slope, at = np.polyfit(np.log(x), np.log(longer), 1)
    left = np.log(longer) - slope * np.log(x) - at
    return float(-slope), float(1 - left.var() / np.log(longer).var())


def ramp_up(times: Floats, pickiness: float) -> float:
    """The quantile of the time that is left of the tasks that run at some moment, in mean times:
    what Figure 6 has for Pareto times (section 6.2)."""
    times = np.concatenate([[0.0], np.sort(times)])
    # Of the running tasks the part whose rest is at most r: ∫ min(t, r) over all tasks ÷ their sum.
    rest = times * np.arange(len(times), 0, -1) + np.concatenate([[0.0], np.cumsum(times)[:-1]])
    part = rest / times.sum()
    return float(np.interp(pickiness, part, times) / times[1:].mean())


def _long(times: Floats) -> str:
    """How many tasks take long, and what they hold."""
    long = times > 2 * times.mean()
    return (
        f"{long.mean():.1%} of the tasks take more than twice the mean, and at any moment hold"
        f" {times[long].sum() / times.sum():.0%} of the machines"
    )


def _distribution(times: Floats) -> tuple[Floats, Floats]:
    """Times, and the part of tasks that take longer, from all of them to one in ten thousand."""
    longer = np.geomspace(1, max(1e-4, 1 / len(times)), POINTS)
    x = np.quantile(times, 1 - longer)
    some = x > 0
    return x[some], longer[some]


def _of_jobs(path: Path) -> Floats:
    """Times of all tasks in the file: of each job its arrival, tasks, mean, then each task's."""
    with gzip.open(path, "rt", encoding="ascii") as file:
        found = [float(word) for line in file for word in line.split()[3:]]
    return np.array(found)


def _times(work: Workload) -> Floats:
    """Times of all tasks of a trace, in seconds."""
    found: Floats = np.concatenate([batch.durations for batch in work.batches()]) / SECOND
    return found[found > 0]


STUDY = About(
    figure="Figure 7",
    title="how long tasks take",
    shows="Task times in clusters of Facebook and Bing are distributed after Pareto with α above"
    " 1.9, at a fit of about 0.8, so that nobody waits for its machines much longer than two mean"
    " task times.",
    assumes=(
        "α is the slope of a line through the logarithms, from all tasks to the longest.",
        "Of Google's first hour times are from schedule to finish; the others are drawn from them.",
    ),
    weight=8.0,
)
